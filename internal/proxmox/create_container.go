package proxmox

import (
	"context"
	"maps"
)

// ContainerSpec asks for a new container, unpacked from a template.
type ContainerSpec struct {
	Node string
	// Template is a volume of the content "vztmpl" that the node can read.
	Template string
	// Settings are configuration keys, volumes among them: "rootfs", "mp0", "net0" …
	// "tags" are left to the caller's first write where there is a pool: PVE asks for
	// the right to them on the guest alone, which is not in the pool yet.
	Settings map[string]string
	Pool     string
	// Name is the host name.
	Name string
	// Description is the user's text, without a marker.
	Description string
	// UID is the marker's, see [NewUID]; Source too.
	UID, Source string
	// Rests is the marker's, too.
	Rests bool
	// VMID is a free id in the client's range, 0 to allocate one.
	VMID int
	// Password and SSHKeys are root's inside; PVE keeps neither.
	Password   string
	SSHKeys    []string
	Privileged bool
	// Progress receives what is being waited for and the lines of the task's log.
	// It may be nil.
	Progress func(line string)
}

// CreateContainer makes a container as [Client.CreateClone] makes a VM: its marker
// says "creating" until the caller's last configuration write.
func (c *Client) CreateContainer(ctx context.Context, spec ContainerSpec) (Created, error) {
	return c.carryOut(ctx, c.containerOrder(spec))
}

func (c *Client) containerOrder(s ContainerSpec) order {
	o := order{
		kind: KindContainer, node: s.Node, taskNode: s.Node, name: s.Name, description: s.Description,
		uid: s.UID, source: s.Source, rests: s.Rests, vmid: s.VMID, progress: s.Progress,
		what: "unpack " + s.Template, capability: "container.create", scope: Scope{},
		call: func(ctx context.Context, vmid int, description string) (UPID, error) {
			settings := maps.Clone(s.Settings)
			settings["hostname"], settings["description"] = s.Name, description
			if s.Pool != "" {
				delete(settings, "tags")
			}
			return c.Containers.Create(ctx, CreateRequest{
				Node: s.Node, VMID: vmid, Template: s.Template, Settings: settings,
				Password: s.Password, SSHKeys: s.SSHKeys, Privileged: s.Privileged, Pool: s.Pool,
			})
		},
	}
	for slot, value := range s.Settings {
		if mountSlot.MatchString(slot) {
			o.storages = append(o.storages, ParseMount(value).Storage())
		}
	}
	o.scope["rootdir"] = o.storages
	if storage, _, err := SplitVolID(s.Template); err == nil {
		o.scope["vztmpl"] = []string{storage}
	}
	if s.Pool != "" {
		o.scope["pool"] = []string{s.Pool}
	}
	return o
}
