package proxmox

import (
	"fmt"
	"strings"
)

// Standing is how a guest stands to what is known of it.
type Standing int

// The standings. Only Ours and Unfinished may be changed. Stranger and Gone
// mean that the guest which was made here is no more; all the others that it
// has to be kept in mind, whatever can be proven just now.
const (
	// Ours carries our marker.
	Ours Standing = iota + 1
	// Unfinished carries our marker, and its creation has not come to its end.
	Unfinished
	// Damaged has lost its marker's line, but is our guest by its smbios1 UUID
	// and its creation time.
	Damaged
	// Stub is a guest of which PVE shows nothing but a lock: it is being cloned
	// or destroyed right now, and whose it is shows when that has ended.
	Stub
	// Stranger has our guest's id, and is another.
	Stranger
	// Gone is proven to exist nowhere in the cluster.
	Gone
	// Unreadable exists, and the token may not read it (VM.Audit).
	Unreadable
	// Unreachable is on a node that does not answer.
	Unreachable
	// OutOfRange has an id outside the client's range.
	OutOfRange
)

var standingNames = map[Standing]string{
	Ours: "ours", Unfinished: "unfinished", Damaged: "damaged", Stub: "stub", Stranger: "stranger",
	Gone: "gone", Unreadable: "unreadable", Unreachable: "unreachable", OutOfRange: "out of range",
}

func (s Standing) String() string {
	if name, ok := standingNames[s]; ok {
		return name
	}
	return fmt.Sprintf("Standing(%d)", int(s))
}

// Owned reports whether the guest may be changed.
func (s Standing) Owned() bool { return s == Ours || s == Unfinished }

// Lost reports whether the guest that was made here is no more.
func (s Standing) Lost() bool { return s == Stranger || s == Gone }

// OwnershipError is the gate's refusal.
type OwnershipError struct {
	Standing Standing
	Kind     Kind
	VMID     int
	// Node is where the guest was seen, if it was.
	Node string
	// UID is the one that was looked for.
	UID string
	// Detail says what was found.
	Detail string
}

func (e *OwnershipError) Error() string {
	text := e.text()
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

func (e *OwnershipError) text() string {
	guest := nameGuest(e.Kind, e.VMID, "", e.Node)
	line := Marker{UID: e.UID, VMID: e.VMID}.String()
	switch e.Standing {
	case Damaged:
		return guest + " is ours by " + birthmark(e.Kind) + ", but the marker is gone from its description; " +
			"it is left alone until the description has this line again: " + line
	case Stub:
		return guest + " is being cloned or destroyed right now, so that nobody can tell whose it is; it is left alone"
	case Stranger:
		return guest + " is not the guest that was made here; it is left alone"
	case Gone:
		return guest + " does not exist any more"
	case Unreadable:
		return guest + " exists, but the token may not read it (VM.Audit), so that nobody can tell whose it is; it is left alone"
	case Unreachable:
		return guest + " cannot be reached, so that nobody can tell whose it is; it is left alone"
	case OutOfRange:
		return guest + " is outside the range of guest ids that may be changed; it is left alone"
	case Ours, Unfinished:
	}
	return guest + " may not be changed"
}

// birthmark is what tells a guest of ours whose marker is gone.
func birthmark(kind Kind) string {
	if kind == KindContainer {
		return "its network interfaces' addresses"
	}
	return "its smbios1 UUID and creation time"
}

// nameGuest names a guest for a human: VM 110 "web" on pve1.
func nameGuest(kind Kind, vmid int, name, node string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %d", kind, vmid)
	if name != "" {
		fmt.Fprintf(&b, " %q", name)
	}
	if node != "" {
		b.WriteString(" on " + node)
	}
	return b.String()
}

// sight is what a look at a guest has found. The configuration is nil when it
// could not be read.
type sight struct {
	standing Standing
	node     string
	config   *GuestConfig
	detail   string
}

// judge decides how a guest stands whose configuration was read.
func judge(guest Guest, config *GuestConfig) sight {
	s := sight{node: config.Node, config: config}
	marker, marked := config.Marker()
	switch {
	case marked && guest.UID != "" && marker.UID == guest.UID && marker.Creating:
		s.standing = Unfinished
	case marked && guest.UID != "" && marker.UID == guest.UID:
		s.standing = Ours
	case marked:
		s.standing, s.detail = Stranger, "it carries another guest's marker, uid "+marker.UID
	case sameMachine(guest, config):
		s.standing = Damaged
	case isStub(guest, config):
		s.standing, s.detail = Stub, "lock: "+config.Lock()
	case len(markerLines(config.Description())) > 0:
		s.standing, s.detail = Stranger, "its marker is a copy of another guest's"
	default:
		s.standing, s.detail = Stranger, "it carries no marker"
	}
	return s
}

// sameMachine reports whether it is the guest that was seen before. The creation
// time alone would not do: a clone inherits its template's. Of a container PVE
// keeps nothing but the addresses that it made up for its network interfaces.
func sameMachine(guest Guest, config *GuestConfig) bool {
	if config.Kind == KindContainer {
		return guest.MACs != "" && guest.MACs == config.MACs()
	}
	return guest.SMBIOSUUID != "" &&
		strings.EqualFold(guest.SMBIOSUUID, config.SMBIOSUUID()) && guest.CTime == config.CTime()
}

// isStub reports whether the configuration is a place-holder of PVE's that may
// stand for the guest. A clone begins as one: the marker appears with the first
// disk or with the last. A destroyed VM ends as one, when its disks are gone
// and its configuration not yet. A guest that was complete before is not the
// one that is being made now.
func isStub(guest Guest, config *GuestConfig) bool {
	switch config.Lock() {
	case "destroyed":
		return true
	case "clone", "create":
		return !guest.Known()
	default:
		return false
	}
}
