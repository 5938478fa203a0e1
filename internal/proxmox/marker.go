package proxmox

import (
	"crypto/rand"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxDescription is how many characters PVE accepts as a description, the
// marker's line included.
const MaxDescription = 8192

const (
	markerKey      = "terraform-proxmox-uid="
	markerCreating = " creating"
	markerRests    = " stopped"
	// blanks is what PVE cuts from a description's end.
	blanks = " \t\n\r\f\v"
)

var uidPattern = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// ErrInvalidUID says that a marker's uid is not a lower-case UUID.
var ErrInvalidUID = errors.New("the uid of a marker is a UUID in lower case")

// Marker is the line in a guest's description that decides whose it is:
//
//	terraform-proxmox-uid=<uuid>/<vmid>[ creating[ <source>[ stopped]]]
type Marker struct {
	// UID is random and belongs to one guest for all its life.
	UID string
	// VMID is the guest's own. PVE copies descriptions when it clones or
	// restores, so that a line with another vmid is a copy.
	VMID int
	// Creating is set until the guest's creation has come to its end.
	Creating bool
	// Source says, as long as the guest is Creating, what it is made from: a word of
	// whoever makes it, and empty where that needs no telling.
	Source string
	// Rests says, beside a source, that the guest is made in the place of one that
	// did not run: it is not to be started for its own sake.
	Rests bool
}

// NewUID makes a random uid for a new guest.
func NewUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // Never fails: crypto/rand ends the program instead.
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (m Marker) String() string {
	line := markerKey + m.UID + "/" + strconv.Itoa(m.VMID)
	if m.Creating {
		line = strings.TrimRight(line+markerCreating+" "+m.Source, " ")
	}
	if m.Creating && m.Rests && m.Source != "" {
		line += markerRests
	}
	return line
}

// ParseMarker finds the marker of the guest vmid in its description. There is
// none when the line names another vmid (a copy), is malformed, or is not the
// only one of its kind: whose guest that would be, nobody could tell.
func ParseMarker(description string, vmid int) (Marker, bool) {
	lines := markerLines(description)
	if len(lines) != 1 {
		return Marker{}, false
	}
	m, ok := parseMarkerLine(lines[0])
	if !ok || m.VMID != vmid {
		return Marker{}, false
	}
	return m, true
}

func parseMarkerLine(line string) (Marker, bool) {
	rest, ok := strings.CutPrefix(line, markerKey)
	if !ok {
		return Marker{}, false
	}
	rest, source, creating := cutCreating(rest)
	source, rests := cutRests(source)
	uid, id, ok := strings.Cut(rest, "/")
	if !ok || !uidPattern.MatchString(uid) {
		return Marker{}, false
	}
	vmid, err := strconv.Atoi(id)
	if err != nil || vmid <= 0 || strconv.Itoa(vmid) != id {
		return Marker{}, false
	}
	return Marker{UID: uid, VMID: vmid, Creating: creating, Source: source, Rests: rests}, true
}

// cutCreating splits off what is behind the id while the guest is being made.
func cutCreating(text string) (rest, source string, creating bool) {
	rest, source, creating = strings.Cut(text, markerCreating)
	if source != "" && !strings.HasPrefix(source, " ") {
		return text, "", false
	}
	return rest, strings.TrimPrefix(source, " "), creating
}

// cutRests splits off what is behind the source of a guest that rests.
func cutRests(text string) (source string, rests bool) {
	source, rests = strings.CutSuffix(text, markerRests)
	if source == "" {
		return text, false
	}
	return source, rests
}

func markerLines(description string) []string {
	var found []string
	for line := range strings.SplitSeq(description, "\n") {
		if isMarkerLine(line) {
			found = append(found, strings.Trim(line, blanks))
		}
	}
	return found
}

// isMarkerLine is true of copies and of malformed lines too: a user's text
// never holds one.
func isMarkerLine(line string) bool {
	return strings.HasPrefix(strings.TrimLeft(line, blanks), markerKey)
}

// JoinDescription appends the marker to the user's text. It fails when the text
// holds a line that looks like a marker, or when the whole is longer than
// [MaxDescription].
func JoinDescription(user string, m Marker) (string, error) {
	if !uidPattern.MatchString(m.UID) {
		return "", ErrInvalidUID
	}
	if len(markerLines(user)) > 0 {
		return "", fmt.Errorf("a description may not hold a line that begins with %q: it is kept for the ownership marker", markerKey)
	}
	whole := m.String()
	if user = strings.TrimRight(user, blanks); user != "" {
		whole = user + "\n\n" + whole
	}
	if n := utf8.RuneCountInString(whole); n > MaxDescription {
		return "", fmt.Errorf("the description has %d characters with its ownership marker, %d more than Proxmox VE accepts", n, n-MaxDescription)
	}
	return whole, nil
}

// SplitDescription is the user's part of a description: everything but marker
// lines, with its end cut as PVE cuts it.
func SplitDescription(description string) string {
	var kept []string
	for line := range strings.SplitSeq(description, "\n") {
		if !isMarkerLine(line) {
			kept = append(kept, line)
		}
	}
	return strings.TrimRight(strings.Join(kept, "\n"), blanks)
}
