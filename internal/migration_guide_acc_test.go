package internal_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestAccMigrationGuide follows the guides for those who come from another provider
// with a running VM that nobody marked: it is taken over as it is, and let go again.
func TestAccMigrationGuide(t *testing.T) {
	t.Parallel()

	for _, guide := range []string{"coming-from-bpg", "coming-from-telmate"} {
		t.Run(guide, func(t *testing.T) {
			t.Parallel()
			followMigration(t, "templates/guides/"+guide+".md")
		})
	}
}

func followMigration(t *testing.T, guide string) {
	t.Helper()

	target := acctest.NewLab(t, pvelab.Options{})
	vmid := target.Foreign(0)
	acctest.Must(t, target.Hand.CreateVM(t.Context(), target.Node, vmid, byhand.Params{
		"name": "web-1", "description": "made elsewhere", "cores": 2, "memory": 2048, "scsihw": "virtio-scsi-single",
		"scsi0": "local-lvm:20", "net0": "virtio,bridge=vmbr0,tag=20", "boot": "order=scsi0", "tags": "web",
		"ide2": "local-lvm:cloudinit", "ciuser": "ops",
	}))
	acctest.Must(t, target.Hand.Power(t.Context(), vmid, "start"))
	before := target.Lab.Counters().Snapshot()

	shown := shownIn(t, guide, false)
	_, recipe, found := strings.Cut(shown, "import {")
	if !found {
		t.Fatal("the guide imports nothing")
	}
	recipe = strings.Replace("import {"+recipe, "adopt:104", "adopt:"+strconv.Itoa(vmid), 1)
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(target.Provider()+recipe))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	unchanged(t, workspace)
	if vm := acctest.Resource(t, workspace, "proxmox_vm.web"); vm.Values["marked"] != true || vm.Values["description"] != "made elsewhere" {
		t.Errorf("the VM is %v", vm.Values)
	} else if init := fmt.Sprint(vm.Values["cloud_init_effective"]); !strings.Contains(init, "ops") {
		t.Errorf("cloud-init is given %s", init)
	}

	acctest.Must(t, workspace.Write(target.Provider()+"removed {\n  from = proxmox_vm.web\n  lifecycle {\n    destroy = false\n  }\n}\n"))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	status, err := target.Hand.Status(t.Context(), vmid)
	acctest.Must(t, err)
	if status != "running" {
		t.Errorf("the VM is %s", status)
	}
	for call, n := range target.Lab.Counters().Snapshot().Sub(before).Requests {
		if !strings.HasPrefix(call, "GET ") && call != "PUT /nodes/{node}/qemu/{vmid}/config" && call != "POST /nodes/{node}/qemu/{vmid}/config" {
			t.Errorf("%d × %s", n, call)
		}
	}
}
