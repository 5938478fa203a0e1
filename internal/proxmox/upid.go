package proxmox

import (
	"fmt"
	"regexp"
	"strconv"
	"time"
)

// UPID identifies a task: "UPID:node:pid:pstart:starttime:type:id:user:". Its
// numbers are in hexadecimal.
type UPID struct {
	Node string
	// PID, PStart and Start tell one worker from every other.
	PID    int64
	PStart int64
	Start  time.Time
	// Type is the kind of task ("qmclone"); ID its object, of a clone the
	// *source's* vmid. It may be empty.
	Type string
	ID   string
	// User is the "user@realm" or "user@realm!tokenid" that started it.
	User string

	raw string
}

var upidPattern = regexp.MustCompile(
	`^UPID:([A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?):([0-9A-Fa-f]{8}):([0-9A-Fa-f]{8,9}):([0-9A-Fa-f]{8}):([^:\s/]+):([^:\s/]*):([^:\s/]+):$`)

// ParseUPID parses a task's id.
func ParseUPID(s string) (UPID, error) {
	parts := upidPattern.FindStringSubmatch(s)
	if parts == nil {
		return UPID{}, fmt.Errorf("%.200q is not the id of a task", s)
	}
	var numbers [3]int64
	for i, hex := range parts[2:5] {
		n, err := strconv.ParseInt(hex, 16, 64)
		if err != nil {
			return UPID{}, fmt.Errorf("%.200q is not the id of a task: %w", s, err)
		}
		numbers[i] = n
	}
	return UPID{
		Node: parts[1], PID: numbers[0], PStart: numbers[1], Start: time.Unix(numbers[2], 0),
		Type: parts[5], ID: parts[6], User: parts[7], raw: s,
	}, nil
}

func (u UPID) String() string { return u.raw }

// IsZero reports whether there is no task.
func (u UPID) IsZero() bool { return u.raw == "" }

// UnmarshalText reads what [ParseUPID] does.
func (u *UPID) UnmarshalText(text []byte) error {
	upid, err := ParseUPID(string(text))
	if err != nil {
		return err
	}
	*u = upid
	return nil
}

// MarshalText writes the UPID as PVE does.
func (u UPID) MarshalText() ([]byte, error) { return []byte(u.raw), nil }
