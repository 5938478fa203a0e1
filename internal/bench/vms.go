package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"terraform-provider-proxmox/internal/proxmox"
)

// most is how many VMs go through all of their life by commands; more are made,
// planned and destroyed. The CLI writes its whole state for each of them several
// times, which for a thousand is most of the time.
const most = 100

// vms goes through the life of a number of VMs. Unless it is to be short, many are
// destroyed by a command too.
func (b *bench) vms(ctx context.Context, number int, short bool) error {
	c, err := b.command()
	if err != nil {
		return err
	}
	m := &machines{command: c, bare: b.bare(), n: number}
	steps := []func(context.Context) error{m.create, m.list, m.refresh, m.refreshAsking, m.planAsking}
	switch {
	case number <= most:
		steps = append(steps, m.stop, m.plan, m.update, m.destroy)
	case short:
		steps = append(steps, m.destroyByClient)
	default:
		steps = append(steps, m.destroy)
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// machines are the VMs of one measurement, and those that the bare loop makes.
type machines struct {
	*command
	bare   *bare
	n      int
	guests []proxmox.Guest
}

func (m *machines) write(cores int, power string) error {
	return m.configure(`
resource "proxmox_vm" "many" {
  count    = %d
  name     = "bench-${count.index}"
  template = %d
  cpu      = { cores = %d }
  tags     = ["bench"]
  disks    = { scsi0 = { size_gib = 5 } }
  network  = { net0 = { bridge = "vmbr0", firewall = true } }
  agent    = { enabled = true }
  power    = %q
}
`, m.n, template, cores, power)
}

// tell prints the line of a command beside its bare loop.
func (m *machines) tell(ctx context.Context, what string, ours figures, floor func(ctx context.Context, vmid int) error, extra string) error {
	least, err := m.floor(ctx, floor)
	row{what: what, unit: "vm", n: m.n, by: byCLI, ours: ours, floor: &least, extra: extra}.print()
	return err
}

// floor measures the bare loop over its own VMs.
func (m *machines) floor(ctx context.Context, work func(ctx context.Context, vmid int) error) (figures, error) {
	return m.b.cost(func() error {
		return each(ctx, m.n, func(ctx context.Context, i int) error { return work(ctx, bareID+i) })
	})
}

// create clones, grows, configures and starts them.
func (m *machines) create(ctx context.Context) error {
	if err := m.write(1, "running"); err != nil {
		return err
	}
	spent, err := m.apply(ctx)
	if err != nil {
		return err
	}
	return errors.Join(m.find(ctx), m.tell(ctx, "create", spent, m.bareCreate, "steps=clone,grow,configure,start"))
}

func (m *machines) bareCreate(ctx context.Context, vmid int) error {
	clone := url.Values{"newid": {fmt.Sprint(vmid)}, "name": {fmt.Sprint("bare-", vmid)}, "full": {"1"}, "storage": {storage}}
	if err := m.bare.task(ctx, http.MethodPost, fmt.Sprintf("/nodes/%s/qemu/%d/clone", node, template), clone); err != nil {
		return err
	}
	if err := m.bare.task(ctx, http.MethodPut, bareVM(vmid)+"/resize", url.Values{"disk": {"scsi0"}, "size": {"5G"}}); err != nil {
		return err
	}
	config := url.Values{"cores": {"1"}, "tags": {"bench"}, "net0": {"virtio,bridge=vmbr0,firewall=1"}, "agent": {"1"}}
	if err := m.bare.call(ctx, http.MethodPut, bareVM(vmid)+"/config", config, nil); err != nil {
		return err
	}
	return m.bare.task(ctx, http.MethodPost, bareVM(vmid)+"/status/start", url.Values{})
}

func bareVM(vmid int) string { return fmt.Sprintf("/nodes/%s/qemu/%d", node, vmid) }

// find learns what was made.
func (m *machines) find(ctx context.Context) error {
	state, err := m.State(ctx)
	if err != nil {
		return err
	}
	for _, each := range state.Values.RootModule.Resources {
		vmid, _ := each.Values["vmid"].(float64)
		uid, _ := each.Values["uid"].(string)
		at, _ := each.Values["node"].(string)
		m.guests = append(m.guests, proxmox.Guest{Kind: proxmox.KindVM, VMID: int(vmid), UID: uid, Node: at})
	}
	if len(m.guests) != m.n {
		return fmt.Errorf("the state holds %d VMs, not %d", len(m.guests), m.n)
	}
	return nil
}

// refresh refreshes by the client, and asks no agent.
func (m *machines) refresh(ctx context.Context) error {
	return m.compare(ctx, "agent=off",
		func(context.Context, *proxmox.Client, proxmox.Guest) error { return nil },
		func(context.Context, *bare, int) error { return nil })
}

// refreshAsking asks each agent for addresses too.
func (m *machines) refreshAsking(ctx context.Context) error {
	return m.compare(ctx, "agent=on",
		func(ctx context.Context, client *proxmox.Client, guest proxmox.Guest) error {
			_, err := client.VMs.AgentInterfaces(ctx, guest.Node, guest.VMID)
			return err
		},
		func(ctx context.Context, bare *bare, vmid int) error {
			return bare.get(ctx, "%s/agent/network-get-interfaces", bareVM(vmid))
		})
}

func (m *machines) compare(
	ctx context.Context, agent string, ask func(context.Context, *proxmox.Client, proxmox.Guest) error, bareAsk func(context.Context, *bare, int) error,
) error {
	ours := func() error {
		client, err := m.b.client()
		if err != nil {
			return err
		}
		return each(ctx, m.n, func(ctx context.Context, i int) error {
			look, err := client.Inspect(ctx, m.guests[i])
			if err == nil && look.Standing != proxmox.Ours {
				err = look.Err(m.guests[i])
			}
			if err != nil {
				return err
			}
			return ask(ctx, client, m.guests[i])
		})
	}
	floor := func() error {
		bare := m.b.bare()
		// Without the lists nobody knows where a guest is, and whether it runs.
		if err := errors.Join(bare.get(ctx, "/cluster/resources"), bare.get(ctx, "/nodes/%s/qemu", node)); err != nil {
			return err
		}
		return each(ctx, m.n, func(ctx context.Context, i int) error {
			vmid := m.guests[i].VMID
			return errors.Join(bare.get(ctx, "%s/pending", bareVM(vmid)), bareAsk(ctx, bare, vmid))
		})
	}
	best, least, err := m.b.compare(ours, floor)
	row{what: "refresh", unit: "vm", n: m.n, by: byClient, ours: best, floor: &least, extra: agent}.print()
	return err
}

// planAsking plans by a command what runs; plan what is stopped, whose agents are
// not asked.
func (m *machines) planAsking(ctx context.Context) error { return m.planned(ctx, "agent=on") }

func (m *machines) plan(ctx context.Context) error { return m.planned(ctx, "agent=off") }

func (m *machines) planned(ctx context.Context, agent string) error {
	spent, err := m.command.plan(ctx)
	row{what: "plan", unit: "vm", n: m.n, by: byCLI, ours: spent, extra: agent}.print()
	return err
}

func (m *machines) stop(ctx context.Context) error {
	if err := m.write(1, "stopped"); err != nil {
		return err
	}
	spent, err := m.apply(ctx)
	if err != nil {
		return err
	}
	return m.tell(ctx, "stop", spent, func(ctx context.Context, vmid int) error {
		return m.bare.task(ctx, http.MethodPost, bareVM(vmid)+"/status/shutdown", url.Values{})
	}, "")
}

// list reads the lists that all refreshes share.
func (m *machines) list(ctx context.Context) error {
	nodes := []string{"pve1", "pve2", "pve3"}
	ours := func() error {
		client, err := m.b.client()
		if err != nil {
			return err
		}
		if _, err := client.View.Guests(ctx); err != nil {
			return err
		}
		return each(ctx, len(nodes), func(ctx context.Context, i int) error {
			_, err := client.View.LiveGuests(ctx, nodes[i], proxmox.KindVM)
			return err
		})
	}
	floor := func() error {
		bare := m.b.bare()
		if err := bare.get(ctx, "/cluster/resources"); err != nil {
			return err
		}
		return each(ctx, len(nodes), func(ctx context.Context, i int) error { return bare.get(ctx, "/nodes/%s/qemu", nodes[i]) })
	}
	best, least, err := m.b.compare(ours, floor)
	row{what: "list", unit: "vm", n: 2 * m.n, by: byClient, ours: best, floor: &least, extra: "of=both_makers"}.print()
	return err
}

func (m *machines) update(ctx context.Context) error {
	if err := m.write(2, "stopped"); err != nil {
		return err
	}
	spent, err := m.apply(ctx)
	if err != nil {
		return err
	}
	return m.tell(ctx, "update", spent, func(ctx context.Context, vmid int) error {
		return m.bare.call(ctx, http.MethodPut, bareVM(vmid)+"/config", url.Values{"cores": {"2"}}, nil)
	}, "changes=cores")
}

func (m *machines) destroy(ctx context.Context) error {
	spent, err := m.apply(ctx, "-destroy")
	if err != nil {
		return err
	}
	return m.tell(ctx, "destroy", spent, m.bareDestroy, m.running())
}

// destroyByClient destroys them as the provider does, without a CLI.
func (m *machines) destroyByClient(ctx context.Context) error {
	client, err := m.b.client()
	if err != nil {
		return err
	}
	spent, err := m.b.cost(func() error {
		return each(ctx, m.n, func(ctx context.Context, i int) error {
			_, err := client.Destroy(ctx, m.guests[i], proxmox.DestroyOptions{ShutdownTimeout: time.Minute, ForceStop: true})
			return err
		})
	})
	if err != nil {
		return err
	}
	least, err := m.floor(ctx, m.bareDestroy)
	row{what: "destroy", unit: "vm", n: m.n, by: byClient, ours: spent, floor: &least, extra: m.running()}.print()
	return err
}

// run reports whether the VMs run when they are destroyed.
func (m *machines) run() bool { return m.n > most }

func (m *machines) running() string { return fmt.Sprint("running=", m.run()) }

func (m *machines) bareDestroy(ctx context.Context, vmid int) error {
	if m.run() {
		if err := m.bare.task(ctx, http.MethodPost, bareVM(vmid)+"/status/shutdown", url.Values{}); err != nil {
			return err
		}
	}
	return m.bare.task(ctx, http.MethodDelete, bareVM(vmid), nil)
}

// client is a new one, without anything cached.
func (b *bench) client() (*proxmox.Client, error) {
	id, secret := b.lab.Token("full")
	return proxmox.New(proxmox.Options{
		Endpoint: b.lab.URL(), TokenID: id, TokenSecret: secret, CAPEM: b.lab.CAPEM(),
		VMIDRange: proxmox.VMIDRange{First: firstID, Last: lastID},
	})
}
