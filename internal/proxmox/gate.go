package proxmox

import (
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Kind is the kind of a guest, as PVE's paths name it.
type Kind string

// The kinds of guests.
const (
	KindVM        Kind = "qemu"
	KindContainer Kind = "lxc"
)

// String is the kind in a sentence: VM, container.
func (k Kind) String() string {
	if k == KindContainer {
		return "container"
	}
	return "VM"
}

// tool is PVE's command for guests of the kind.
func (k Kind) tool() string {
	if k == KindContainer {
		return "pct"
	}
	return "qm"
}

// What the permissions of the gate are refused with before any call.
var (
	// ErrNoPermission says that the gate granted nothing.
	ErrNoPermission = errors.New("no permission of the ownership gate was given")
	// ErrPermissionSpent says that the permission's one call was made already.
	ErrPermissionSpent = errors.New("the permission of the ownership gate was used before")
	// ErrWrongKind says that a permission for a VM was used on a container, or the
	// other way round.
	ErrWrongKind = errors.New("the permission of the ownership gate is for a guest of the other kind")
)

// Guest is what is known of a guest that was made here.
type Guest struct {
	// Kind is [KindVM] when it is empty.
	Kind Kind
	VMID int
	// Node is where the guest was last seen. It is a hint, and may be empty:
	// a guest on another node is the same guest.
	Node string
	// UID is the marker's.
	UID string
	// SMBIOSUUID and CTime tell our VM with its marker gone from a stranger. They
	// are empty until the guest was seen complete for the first time.
	SMBIOSUUID string
	CTime      int64
	// MACs tell a container instead, see [GuestConfig.MACs].
	MACs string
}

// kind is the guest's kind, whose zero value means a VM.
func (g Guest) kind() Kind {
	if g.Kind == "" {
		return KindVM
	}
	return g.Kind
}

// Known reports whether there is something that tells the guest apart without its
// marker: it was seen complete before.
func (g Guest) Known() bool { return g.SMBIOSUUID != "" || g.MACs != "" }

func (g Guest) String() string { return nameGuest(g.kind(), g.VMID, "", g.Node) }

// grant is what one permission lets one call do. The digest is that of the
// configuration which the gate read, for the calls that take one.
type grant struct {
	kind   Kind
	node   string
	vmid   int
	digest string
	// read is when the gate has read the guest, zero where that is no matter.
	read time.Time
	// fence marks a permission that reaches strangers: it stops, starts and
	// changes links, and nothing else.
	fence bool
}

// PowerPermission permits one power operation on one guest. [*Owned] and
// [*FenceTarget] do.
type PowerPermission interface{ spend() (grant, error) }

// permission is a grant that can be spent once.
type permission struct {
	grant   grant
	granted bool
	spent   atomic.Bool
}

func (p *permission) spend() (grant, error) {
	if p == nil || !p.granted {
		return grant{}, ErrNoPermission
	}
	if !p.spent.CompareAndSwap(false, true) {
		return grant{}, ErrPermissionSpent
	}
	return p.grant, nil
}

// Owned permits one mutation of one guest that carries our marker. Only the
// gate makes one that is worth anything. It is good for one call right after
// the gate's read: where PVE takes a digest the call carries it, and where it
// takes none the time in between is the remaining risk, which is bounded by
// permitLife.
type Owned struct {
	permission permission
	config     *GuestConfig
}

func (o *Owned) spend() (grant, error) {
	if o == nil {
		return grant{}, ErrNoPermission
	}
	return o.permission.spend()
}

// Config is the configuration that the gate read.
func (o *Owned) Config() *GuestConfig { return o.config }

// Node is where the guest is.
func (o *Owned) Node() string { return o.permission.grant.node }

// VMID is the guest's id.
func (o *Owned) VMID() int { return o.permission.grant.vmid }

// Gate grants the permissions without which no guest is changed.
type Gate struct {
	c      *Client
	silent silence
}

func newGate(c *Client) *Gate { return &Gate{c: c} }

// Own reads the guest, live and never from a cache, and permits one mutation if
// its id is in the client's range and it carries our marker, finished or not.
// Everything else is refused with an [*OwnershipError].
func (g *Gate) Own(ctx context.Context, guest Guest) (*Owned, error) {
	if err := g.checkRange(guest); err != nil {
		return nil, err
	}
	s, err := g.look(ctx, guest)
	if err != nil {
		return nil, err
	}
	return g.granted(guest, s)
}

func (g *Gate) checkRange(guest Guest) error {
	bounds := g.c.options.VMIDRange
	switch {
	case bounds.Contains(guest.VMID):
		return nil
	case !bounds.Configured():
		return ErrNoRange
	}
	return g.refuse(guest, sight{standing: OutOfRange, detail: "the range is " + bounds.String()})
}

// granted turns a look at a guest into the permission, or into the refusal.
func (g *Gate) granted(guest Guest, s sight) (*Owned, error) {
	if err := g.checkRange(guest); err != nil {
		return nil, err
	}
	if !s.standing.Owned() {
		return nil, g.refuse(guest, s)
	}
	own := permit(s.config)
	own.permission.grant.read = g.c.clock.Now()
	return own, nil
}

// permit makes the permission for the guest whose configuration was read.
func permit(config *GuestConfig) *Owned {
	own := &Owned{config: config}
	own.permission.grant = grant{kind: config.Kind, node: config.Node, vmid: config.VMID, digest: config.Digest}
	own.permission.granted = true
	return own
}

func (g *Gate) refuse(guest Guest, s sight) error {
	return &OwnershipError{Standing: s.standing, Kind: guest.kind(), VMID: guest.VMID, Node: s.node, UID: guest.UID, Detail: s.detail}
}
