package proxmox

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"
)

// Creation never adopts a guest and never loses one.
//
// The marker goes out with the clone call. PVE writes the clone's
// configuration, the marker with it, when a disk is done: until then there is a
// stub that carries nothing but "lock: clone". Three things follow. A stub is
// nobody's until its clone has ended. After a lost answer the marker alone
// tells whether the clone is ours; the same call for the same id may be
// repeated meanwhile, since PVE makes a guest only where there is none. And
// before a clone everything in the range that might turn out to be an
// unfinished guest of this name has to be looked at.

// callGrace is how long a clone call may go on after its creation was
// cancelled, so that its answer, the task to save, is not thrown away.
const callGrace = 30 * time.Second

// settlePause is the time between two looks at clones that are still running.
const settlePause = time.Second

// CloneSpec asks for a new VM, a full clone of a template.
type CloneSpec struct {
	// TemplateNode is where the template is. Template, its vmid, has to be
	// outside the client's range.
	TemplateNode string
	Template     int
	// Node is where the VM is to be, "" for the template's own node. Another
	// one needs the template on a shared storage.
	Node string
	// Storage and Pool are PVE's defaults when empty: the template's storages,
	// and no pool.
	Storage, Pool string
	Name          string
	// Description is the user's text, without a marker.
	Description string
	// UID is the marker's, see [NewUID].
	UID string
	// VMID is a free id in the client's range, 0 to allocate one.
	VMID int
	// Progress receives what is being waited for and the lines of the clone's
	// log. It may be nil.
	Progress func(line string)
}

func (s CloneSpec) node() string {
	if s.Node == "" {
		return s.TemplateNode
	}
	return s.Node
}

// target is the node to name in the call: PVE wants none for its own.
func (s CloneSpec) target() string {
	if s.node() == s.TemplateNode {
		return ""
	}
	return s.Node
}

// Created is what a creation has made.
type Created struct {
	// Guest has a VMID whenever a guest of ours exists or may come to exist,
	// beside an error too: it has to be saved, or it is lost.
	Guest Guest
	// Own is the permission for the first change, granted by the read that
	// verified the clone. It is nil beside an error.
	Own *Owned
	// Warnings are for the user: what PVE warned of, and what could not be
	// proven.
	Warnings []string
}

// UnfinishedError says that an earlier run began a guest of this name and did
// not finish it. A second one would make the first an orphan.
type UnfinishedError struct {
	Kind       Kind
	VMID       int
	Node, Name string
	UID        string
}

func (e *UnfinishedError) Error() string {
	return fmt.Sprintf("%s was begun by a run that did not finish it (uid %s): import it by its id, %d, and the next apply finishes it, "+
		"or destroy it in Proxmox VE; no second one is made", nameGuest(e.Kind, e.VMID, e.Name, e.Node), e.UID, e.VMID)
}

// TakenError says that the configured id is somebody else's.
type TakenError struct {
	VMID   int
	Detail string
}

func (e *TakenError) Error() string {
	return fmt.Sprintf("guest id %d is taken, and what has it is not adopted (%s)", e.VMID, e.Detail)
}

// ErrNoRange says that no range of guest ids is configured.
var ErrNoRange = errors.New("no range of guest ids is configured: guests are made, changed and destroyed in a range only")

// CreateClone makes a VM: it waits for clones in the range that might turn out
// to be this guest, refuses to make a second one ([*UnfinishedError]), takes an
// id, clones, waits and verifies the marker, which then says "creating" until
// the caller's last configuration write.
//
// When the context ends in the middle the error is an [*InterruptedError] and
// Created.Guest is filled: [Client.ResumeClone] goes on from there. After any
// other error Created.Guest is filled if something of ours is, or may be, left.
func (c *Client) CreateClone(ctx context.Context, spec CloneSpec) (Created, error) {
	if bounds := c.options.VMIDRange; bounds.Contains(spec.Template) {
		return Created{}, fmt.Errorf("template %d lies inside the range of guest ids %s, where nothing but guests made here may be", spec.Template, bounds)
	}
	return c.carryOut(ctx, c.cloneOrder(spec))
}

func (c *Client) cloneOrder(s CloneSpec) order {
	o := order{
		kind: KindVM, node: s.node(), taskNode: s.TemplateNode, storages: []string{s.Storage},
		name: s.Name, description: s.Description, uid: s.UID, vmid: s.VMID, progress: s.Progress,
		what: fmt.Sprintf("clone template %d", s.Template), capability: "vm.create",
		scope: Scope{"template": {strconv.Itoa(s.Template)}},
		call: func(ctx context.Context, vmid int, description string) (UPID, error) {
			return c.VMs.Clone(ctx, CloneRequest{
				TemplateNode: s.TemplateNode, Template: s.Template, NewID: vmid, Name: s.Name,
				Description: description, Target: s.target(), Storage: s.Storage, Pool: s.Pool, Full: true,
			})
		},
	}
	if s.Pool != "" {
		o.scope["pool"] = []string{s.Pool}
	}
	if s.Storage != "" {
		o.scope["images"] = []string{s.Storage}
	}
	return o
}
