package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
)

// name is that of the VM, and of the stranger beside it.
const name = "lifecycle-test"

// vm is one that is never started, so that it makes no noise on the network.
const vm = block + `
resource "proxmox_vm" "it" {
  name     = "` + name + `"
  template = %d
  cpu      = { cores = %d }
  tags     = ["lifecycle"]
  power    = "stopped"
}
`

// lifecycle is a VM of the provider's, and a stranger with the same name.
type lifecycle struct {
	n        *node
	w        *cli.Workspace
	stranger int
	// before is the stranger's configuration.
	before map[string]string
	vmid   int
	// began is set once something may have been made.
	began bool
}

// changing are the steps that create, change and destroy.
func changing(n *node, w *cli.Workspace) []step {
	l := &lifecycle{n: n, w: w, stranger: n.first + (n.last-n.first)/2}
	return []step{
		{name: "range is free", do: l.demandFree},
		{name: "make a stranger", do: l.makeStranger},
		{name: "create", do: l.create},
		{name: "second plan is empty", do: l.planEmpty},
		{name: "change in place", do: l.change},
		{name: "drift is seen and repaired", do: l.drift},
		{name: "destroy", do: l.destroy},
		{name: "the stranger is untouched", do: l.untouched},
		{name: "clean up", do: l.cleanUp, always: true},
	}
}

// demandFree refuses to begin where a guest has an id of the range: what is found
// there at the end is destroyed.
func (l *lifecycle) demandFree(ctx context.Context) (string, error) {
	held, err := l.n.inRange(ctx)
	if err != nil {
		return "", err
	}
	if len(held) > 0 {
		return "", fmt.Errorf("guest %d %q is in PROXMOX_VMID_RANGE: name a range without guests", held[0].VMID, held[0].Name)
	}
	return "", nil
}

func (l *lifecycle) makeStranger(ctx context.Context) (string, error) {
	l.began = true
	if err := l.n.hand.CreateVM(ctx, l.n.name, l.stranger, byhand.Params{"name": name, "description": "made by hand"}); err != nil {
		return "", err
	}
	var err error
	l.before, err = l.n.hand.Config(ctx, l.stranger)
	return fmt.Sprintf("VM %d, with the same name", l.stranger), err
}

func (l *lifecycle) apply(ctx context.Context, cores int) error {
	if err := l.w.Write(fmt.Sprintf(vm, l.n.template, cores)); err != nil {
		return err
	}
	if _, err := l.w.Apply(ctx); err != nil {
		return err
	}
	state, err := l.w.State(ctx)
	if err != nil {
		return err
	}
	it, _ := state.Resource("proxmox_vm.it")
	vmid, _ := it.Values["vmid"].(float64)
	if l.vmid != 0 && l.vmid != int(vmid) {
		return fmt.Errorf("VM %d was replaced by VM %d", l.vmid, int(vmid))
	}
	l.vmid = int(vmid)
	return l.demandCores(ctx, cores)
}

func (l *lifecycle) demandCores(ctx context.Context, cores int) error {
	config, err := l.n.hand.Config(ctx, l.vmid)
	if err != nil {
		return err
	}
	if config["cores"] != strconv.Itoa(cores) || config["name"] != name {
		return fmt.Errorf("VM %d %q has %s cores, not %d", l.vmid, config["name"], config["cores"], cores)
	}
	return nil
}

func (l *lifecycle) create(ctx context.Context) (string, error) {
	if err := l.apply(ctx, 1); err != nil {
		return "", err
	}
	if l.vmid == l.stranger {
		return "", fmt.Errorf("the stranger was taken for the VM")
	}
	return fmt.Sprintf("VM %d", l.vmid), nil
}

func (l *lifecycle) planEmpty(ctx context.Context) (string, error) {
	changes, output, err := l.w.Plan(ctx)
	if err == nil && changes {
		err = errors.New("it has changes: " + output)
	}
	return "", err
}

func (l *lifecycle) change(ctx context.Context) (string, error) {
	return "2 cores", l.apply(ctx, 2)
}

func (l *lifecycle) drift(ctx context.Context) (string, error) {
	if err := l.n.hand.Configure(ctx, l.vmid, byhand.Params{"cores": 3}); err != nil {
		return "", err
	}
	changes, _, err := l.w.Plan(ctx)
	if err != nil {
		return "", err
	}
	if !changes {
		return "", errors.New("the plan missed that the cores were changed by hand")
	}
	return "3 cores by hand, 2 again", l.apply(ctx, 2)
}

func (l *lifecycle) destroy(ctx context.Context) (string, error) {
	if _, err := l.w.Destroy(ctx); err != nil {
		return "", err
	}
	held, err := l.n.inRange(ctx)
	if err != nil {
		return "", err
	}
	if len(held) != 1 || held[0].VMID != l.stranger {
		return "", fmt.Errorf("the range holds %v, and not the stranger alone", held)
	}
	return fmt.Sprintf("VM %d is gone", l.vmid), nil
}

func (l *lifecycle) untouched(ctx context.Context) (string, error) {
	after, err := l.n.hand.Config(ctx, l.stranger)
	if err != nil {
		return "", err
	}
	if !maps.Equal(l.before, after) {
		return "", fmt.Errorf("VM %d was %v and is %v", l.stranger, l.before, after)
	}
	return fmt.Sprintf("VM %d is as it was made", l.stranger), nil
}

// cleanUp destroys what this run has made: the range was free, and both have the
// name.
func (l *lifecycle) cleanUp(ctx context.Context) (string, error) {
	if !l.began {
		return "", errPointless
	}
	if _, err := l.w.Destroy(ctx); err != nil {
		return "", err
	}
	held, err := l.n.inRange(ctx)
	if err != nil {
		return "", err
	}
	count := 0
	for _, guest := range held {
		if guest.Name != name {
			return "", fmt.Errorf("guest %d %q appeared in the range meanwhile, and is left alone", guest.VMID, guest.Name)
		}
		if err := l.n.hand.Destroy(ctx, guest.VMID); err != nil {
			return "", err
		}
		count++
	}
	return fmt.Sprintf("%d destroyed", count), nil
}
