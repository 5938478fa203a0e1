package vm_test

import (
	"context"
	"fmt"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
)

// TestAccVM_refusedAtPlan holds what can be known before anything is changed.
func TestAccVM_refusedAtPlan(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	facts := target.Facts(t)
	ctx := context.Background()
	noTemplate := target.Foreign(0)
	acctest.Must(t, target.Hand.CreateVM(ctx, target.Node, noTemplate, nil))
	t.Cleanup(func() { acctest.Must(t, target.Hand.Destroy(ctx, noTemplate)) })

	withTemplate := func(template int) string {
		return target.Provider() + fmt.Sprintf("resource \"proxmox_vm\" \"test\" {\n  name = \"acc-refused\"\n  template = %d\n}\n", template)
	}
	insideRange := *target
	insideRange.First, insideRange.Last = target.Template-1, target.Template+1

	for name, test := range map[string]struct {
		config string
		want   []string
	}{
		"id below the range":      {plain(target, "acc-refused", fmt.Sprintf("vmid = %d", target.First-1)), []string{"vmid", "range"}},
		"id above the range":      {plain(target, "acc-refused", fmt.Sprintf("vmid = %d", target.Last+1)), []string{"vmid", "range"}},
		"template inside range":   {plain(&insideRange, "acc-refused", ""), []string{"template", "range"}},
		"template is none":        {withTemplate(noTemplate), []string{"template"}},
		"template does not exist": {withTemplate(999999), []string{"999999"}},
		"other slot as boot disk": {plain(target, "acc-refused", fmt.Sprintf("disks = { %s = { size_gib = %d } }", otherSlot(facts.BootDisk), facts.SizeGiB+1)), []string{facts.BootDisk}},
		"smaller than template":   {plain(target, "acc-refused", fmt.Sprintf("disks = { %s = { size_gib = 0 } }", facts.BootDisk)), []string{"size_gib"}},
		"unknown node":            {plain(target, "acc-refused", `node = "nowhere"`), []string{"nowhere"}},
		"unknown storage":         {plain(target, "acc-refused", `storage = "nothing"`), []string{"nothing"}},
		"unknown bridge":          {plain(target, "acc-refused", `network = { net0 = { bridge = "vmbr99" } }`), []string{"vmbr99"}},
		"no such slot":            {plain(target, "acc-refused", `disks = { scsi31 = { size_gib = 1 } }`), []string{"scsi31"}},
		"name with underscore":    {plain(target, "acc_refused", ""), []string{"name"}},
	} {
		t.Run(name, func(t *testing.T) {
			workspace := target.Workspace(t)
			acctest.Must(t, workspace.Write(test.config))
			planFails(t, workspace, test.want...)
		})
	}
	acctest.Must(t, target.CheckGone("acc-refused")(nil))
}

// otherSlot is the first slot of the other usual bus.
func otherSlot(bootDisk string) string {
	if bootDisk == "scsi0" {
		return "virtio0"
	}

	return "scsi0"
}

// TestAccVM_noRange makes guests only where a range says which ids are ours.
func TestAccVM_noRange(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(fmt.Sprintf(`
terraform {
  required_providers {
    proxmox = { source = %q }
  }
}
provider "proxmox" {
  endpoint     = %q
  token_id     = %q
  token_secret = %q
  ca_file      = %q
}
`, acctest.Source, target.Endpoint, target.TokenID, target.TokenSecret, target.CAFile)+vmBlock("test", target, "acc-no-range", "")))
	workspace.Setenv("PROXMOX_VMID_RANGE", "")
	planFails(t, workspace, "vmid_range")
}

// TestAccVM_shrink refuses to make a disk smaller before anything is sent.
func TestAccVM_shrink(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	facts := target.Facts(t)
	disks := func(size int) string {
		return fmt.Sprintf("disks = { %s = { size_gib = %d } }", facts.BootDisk, size)
	}
	workspace, vm := applied(t, target, plain(target, "acc-shrink", disks(facts.SizeGiB+1)))
	check := untouched(t, target, vmidOf(vm))

	acctest.Must(t, workspace.Write(plain(target, "acc-shrink", disks(facts.SizeGiB)+"\ntags = [\"too\"]")))
	planFails(t, workspace, facts.BootDisk, "shr")
	check()
	acctest.Must(t, workspace.Write(plain(target, "acc-shrink", disks(facts.SizeGiB+1))))
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}
