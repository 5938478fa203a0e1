package proxmox

import "time"

// UPID identifies a task: "UPID:node:pid:pstart:starttime:type:id:user:".
type UPID struct {
	Node string
	// PID, PStart and Start tell one worker from every other.
	PID    int64
	PStart int64
	Start  time.Time
	// Type is the kind of task ("qmclone"); ID its object, of a clone the
	// *source's* vmid.
	Type string
	ID   string
	// User is the user or "user@realm!tokenid" that started it.
	User string

	raw string
}

// ParseUPID parses a task's id.
func ParseUPID(s string) (UPID, error) { return UPID{}, nil }

func (u UPID) String() string { return u.raw }

// IsZero reports whether there is no task.
func (u UPID) IsZero() bool { return u.raw == "" }
