package proxmox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// keepsKey begins the line in a holder's description that says for whom it holds
// volumes:
//
//	terraform-proxmox-keeps=<uuid>/<vmid>[ running]
const (
	keepsKey     = "terraform-proxmox-keeps="
	keepsRunning = " running"
)

// keepsLine is that line.
func keepsLine(guest Guest, running bool) string {
	line := keepsKey + guest.UID + "/" + strconv.Itoa(guest.VMID)
	if running {
		line += keepsRunning
	}
	return line
}

// keepsFor reports whether a description is that of a holder of the guest's
// volumes, and whether the guest ran when it was made.
func keepsFor(guest Guest, description string) (running, ok bool) {
	for line := range strings.SplitSeq(description, "\n") {
		switch strings.Trim(line, blanks) {
		case keepsLine(guest, false):
			return false, true
		case keepsLine(guest, true):
			return true, true
		}
	}
	return false, false
}

// holderName is the host name of a container that holds another's volumes.
func holderName(guest Guest) string { return fmt.Sprintf("keeps-%d", guest.VMID) }

// Holder is a container that holds the volumes of another one, which was being
// reinstalled.
type Holder struct {
	Guest Guest
	// Slots are the mount points whose volumes it holds.
	Slots      []string
	WasRunning bool
}

// UnclearHolderError is a container with the name of one that holds the volumes of
// another, and without the notes that would prove it. To take that as absence could
// lose those volumes.
type UnclearHolderError struct {
	Node string
	VMID int
	// Guest is whose volumes it may hold.
	Guest Guest
}

func (e *UnclearHolderError) Error() string {
	name := holderName(e.Guest)
	return fmt.Sprintf("%s may hold volumes of %s, whose reinstallation was not finished: it has the name of such a container, and its notes do not say so any more. "+
		"Write the line %q into them, and the line of its marker, or give it another name if it is somebody else's",
		nameGuest(KindContainer, e.VMID, name, e.Node), e.Guest, keepsLine(e.Guest, false))
}

// Holders finds the containers that hold a guest's volumes, on whatever node. One
// that cannot be read is an error: it may be the one. So is one whose notes are gone
// ([*UnclearHolderError]).
func (c *Client) Holders(ctx context.Context, guest Guest) ([]Holder, error) {
	resources, err := c.Cluster.Resources(ctx, "vm")
	if err != nil {
		return nil, err
	}
	var found []Holder
	for _, r := range resources {
		if !c.mayHold(r, guest) {
			continue
		}
		config, err := c.Containers.Pending(ctx, r.Node, r.VMID)
		if IsNotFound(err) {
			config, err = c.configElsewhere(ctx, r)
		}
		if err == nil && config == nil {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find out whether %s holds volumes of %s: %w", nameGuest(KindContainer, r.VMID, r.Name, r.Node), guest, err)
		}
		running, keeps := keepsFor(guest, config.Description())
		if !keeps && config.Name() == holderName(guest) && len(markerLines(config.Description())) == 0 && !isStub(Guest{}, config) {
			return nil, &UnclearHolderError{Node: config.Node, VMID: r.VMID, Guest: guest}
		}
		if marker, marked := config.Marker(); keeps && marked {
			held := Guest{Kind: KindContainer, VMID: r.VMID, Node: config.Node, UID: marker.UID, MACs: config.MACs()}
			found = append(found, Holder{Guest: held, Slots: leftIn(config), WasRunning: running})
		}
	}
	return found, nil
}

// HeldFor reports whether there is a container by whose name it may hold volumes of
// the guest, as far as the shared view knows: it costs a refresh no call. One that is
// listed without its name, as a new one is for ten seconds, may hold any.
func (c *Client) HeldFor(ctx context.Context, guest Guest) (bool, error) {
	resources, err := c.View.Guests(ctx)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(resources, func(r Resource) bool { return c.mayHold(r, guest) }), nil
}

// mayHold reports whether a listed guest may be a container that holds volumes of
// another one.
func (c *Client) mayHold(r Resource, guest Guest) bool {
	return r.Type == string(KindContainer) && c.options.VMIDRange.Contains(r.VMID) && r.VMID != guest.VMID && (unnamed(r) || r.Name == holderName(guest))
}

// findHolder takes the holder of an earlier run over.
func (r *reinstallation) findHolder(ctx context.Context) error {
	holders, err := r.c.Holders(ctx, r.guest)
	if err != nil {
		return err
	}
	var empty []Guest
	for _, holder := range holders {
		r.wasRunning = r.wasRunning || holder.WasRunning
		if r.holder.VMID == 0 && (len(holder.Slots) > 0 || len(holders) == 1) {
			r.holder = holder.Guest
			continue
		}
		if len(holder.Slots) > 0 {
			return fmt.Errorf("both %s and %s hold volumes of %s", r.holder, holder.Guest, r.guest)
		}
		empty = append(empty, holder.Guest)
	}
	for _, each := range empty {
		if err := r.c.destroyEmpty(ctx, each); err != nil {
			return err
		}
	}
	return nil
}

// makeHolder makes the container that the kept volumes move to: in the same pool
// and on the same node, with a root volume like the new one, since PVE makes none
// without a template.
func (r *reinstallation) makeHolder(ctx context.Context) error {
	spec := r.spec.New
	spec.VMID, spec.UID, spec.Node, spec.Source = 0, NewUID(), r.guest.Node, ""
	spec.Name, spec.Password, spec.SSHKeys = holderName(r.guest), "", nil
	spec.Description = fmt.Sprintf("It holds %s of container %d while that is reinstalled. Do not destroy it.\n\n%s",
		strings.Join(r.spec.Keep, ", "), r.guest.VMID, keepsLine(r.guest, r.wasRunning))
	spec.Settings = map[string]string{}
	maps.Copy(spec.Settings, map[string]string{"rootfs": r.spec.New.Settings["rootfs"], "memory": "16", "swap": "0"})
	created, err := r.c.CreateContainer(ctx, spec)
	var begun *UnfinishedError
	if errors.As(err, &begun) {
		return r.adoptHolder(ctx, err)
	}
	if err != nil {
		return fmt.Errorf("make a container to hold what is kept: %w", err)
	}
	r.holder = created.Guest
	return nil
}

// adoptHolder takes over the holder that an earlier run had begun.
func (r *reinstallation) adoptHolder(ctx context.Context, cause error) error {
	if err := r.findHolder(ctx); err != nil {
		return err
	}
	if r.holder.VMID == 0 {
		return cause
	}
	return nil
}

func (r *reinstallation) destroyHolder(ctx context.Context) error {
	err := r.c.destroyEmpty(ctx, r.holder)
	if err == nil {
		r.holder = Guest{}
	}
	return err
}

// destroyEmpty destroys a holder that holds nothing any more.
func (c *Client) destroyEmpty(ctx context.Context, holder Guest) error {
	_, err := c.Destroy(ctx, holder, DestroyOptions{Check: mustBeEmpty})
	return err
}
