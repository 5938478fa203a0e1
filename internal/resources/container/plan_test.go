package container_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/pvelab"
)

// object is short for what tests are full of.
type object = protocol.Object

// wantRefused wants a plan that is refused, at an attribute, with these words.
func wantRefused(t *testing.T, guest *protocol.Resource, config object, at, says string) {
	t.Helper()
	plan, diagnostics := guest.Plan(t, config)
	if plan != nil {
		t.Errorf("it is planned, not refused with %q", says)
		return
	}
	for _, each := range diagnostics.Errors() {
		if protocol.Path(each) == at && strings.Contains(protocol.Diagnostics{each}.String(), says) {
			return
		}
	}
	t.Errorf("%s does not say %q", at, says)
	for _, each := range diagnostics {
		t.Errorf("at %q: %s: %s", protocol.Path(each), each.Summary, each.Detail)
	}
}

// data is a data volume on local-lvm, about whose backup somebody decided.
func data(extra object) object {
	mount := object{"storage": "local-lvm", "size_gib": 1.0, "path": "/data", "backup": true}
	maps.Copy(mount, extra)
	return mount
}

func mounted(extra object) object { return object{"mount_points": object{"mp0": data(extra)}} }

// TestRefusedAtPlan: what cannot be is refused in the plan, where it is configured,
// with its reason, and nothing is called that would change anything.
func TestRefusedAtPlan(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	before := lab.Counters().Snapshot()
	for name, test := range map[string]struct {
		config   object
		at, says string
	}{
		"a boot order":            {object{"boot_order": "net0"}, "boot_order", "Containers never have boot_order"},
		"firmware":                {object{"bios": "ovmf"}, "bios", "it shares the node's kernel"},
		"cloud-init":              {object{"cloud_init": "x"}, "cloud_init", "Containers never have cloud_init"},
		"a clone":                 {object{"clone_from": "100"}, "clone_from", "Not yet supported: clone_from"},
		"a pause":                 {object{"power": "paused"}, "power", "Not yet supported: a paused container"},
		"no power":                {object{"power": "on"}, "power", "running"},
		"a bind mount":            {object{"mount_points": object{"mp0": object{"volume": "/srv", "path": "/srv"}}}, "mount_points.mp0.volume", "Only root@pam can set mount_points"},
		"a bind mount's backup":   {object{"mount_points": object{"mp0": object{"volume": "/srv", "path": "/srv", "backup": true}}}, "mount_points.mp0.backup", "mp0 is never in a backup"},
		"a device":                {object{"passthrough": object{"dev0": object{"path": "/dev/null"}}}, "passthrough.dev0.path", "Only root@pam can set passthrough"},
		"a feature":               {object{"features": object{"keyctl": true}}, "features.keyctl", "Only root@pam can set features.keyctl"},
		"a hook script":           {object{"hook_script": "local:snippets/x.pl"}, "hook_script", "Only root@pam can set hook_script"},
		"no template":             {object{"template": nil}, "template", "No template is configured"},
		"an unknown template":     {object{"template": "local:vztmpl/none.tar.zst"}, "template", "There is no template local:vztmpl/none.tar.zst"},
		"an ISO as a template":    {object{"template": "local:iso/debian-13.1.0-amd64-netinst.iso"}, "template", "is no container template"},
		"a template of nowhere":   {object{"template": "nowhere:vztmpl/none.tar.zst"}, "template", `There is no storage "nowhere"`},
		"a storage for ISOs":      {mounted(object{"storage": "seeds"}), "mount_points.mp0", "rootdir"},
		"no such bridge":          {object{"network": object{"net0": object{"bridge": "vmbr99"}}}, "network.net0.bridge", `There is no bridge "vmbr99"`},
		"a gateway by itself":     {object{"network": object{"net0": object{"bridge": "vmbr0", "ipv4": object{"gateway": "10.0.0.1"}}}}, "network.net0.ipv4.gateway", "A gateway needs an address"},
		"quota in unprivileged":   {mounted(object{"quota": true}), "mount_points.mp0.quota", "has no quotas"},
		"a volume without size":   {mounted(object{"size_gib": nil}), "mount_points.mp0.size_gib", "needs a size"},
		"a volume of no storage":  {mounted(object{"storage": nil}), "mount_points.mp0.storage", "needs a storage"},
		"no storage for the root": {object{"root_volume": nil}, "root_volume", "No storage is configured for the root volume"},
		"no node":                 {object{"node": nil}, "node", "No node is configured"},
		"no such node":            {object{"node": "pve9"}, "node", "There is no node pve9"},
		"a vmid out of the range": {object{"vmid": 100}, "vmid", "vmid 100 is outside the range"},
	} {
		t.Run(name, func(t *testing.T) {
			config := placed(object{"node": "pve1"})
			maps.Copy(config, test.config)
			wantRefused(t, lab.Manage(t, "proxmox_container"), config, test.at, test.says)
		})
	}
	for call, count := range lab.Counters().Snapshot().Sub(before).Requests {
		if !strings.HasPrefix(call, "GET ") && count > 0 {
			t.Errorf("a plan called %s", call)
		}
	}
}

// TestTemplateUnseen: a template that cannot be looked for is no template that is
// there.
func TestTemplateUnseen(t *testing.T) {
	t.Parallel()
	for path, says := range map[string]string{
		"/nodes/pve1/storage/local/content.*": "look for the template",
		"/nodes/pve1/storage":                 "no answer",
	} {
		lab := place(t, "9.2")
		lab.Spoil(t, pvelab.Fault{Method: http.MethodGet, Path: path, Status: http.StatusInternalServerError, Text: "no answer", Times: -1})
		plan, diagnostics := lab.Manage(t, "proxmox_container").Plan(t, placed(object{"node": "pve1"}))
		if plan != nil {
			t.Error("it is planned")
		}
		diagnostics.Says(t, says, "no answer")
	}
}

// TestAllowedNodeIsPlanned: of the allowed nodes the first one is taken where none is
// named.
func TestAllowedNodeIsPlanned(t *testing.T) {
	t.Parallel()
	plan, diagnostics := place(t, "9.2").Manage(t, "proxmox_container").Plan(t, placed(object{"allowed_nodes": []any{"pve3", "pve2"}}))
	if plan == nil || plan.After["node"] != "pve2" {
		t.Errorf("it is not planned on pve2: %v, %s", plan, diagnostics)
	}
}

// keeping is a stopped container that keeps mp0 when it is reinstalled.
func keeping(extra object) object {
	config := placed(object{
		"node": "pve1", "power": "stopped", "reinstall": object{"keep": []any{"mp0"}},
		"mount_points": object{"mp0": data(nil), "mp1": data(object{"path": "/cache", "backup": false})},
	})
	maps.Copy(config, extra)
	return config
}

// TestReinstallRefusedAtPlan: nothing is touched that could not be brought back.
func TestReinstallRefusedAtPlan(t *testing.T) {
	t.Parallel()
	const config = "/nodes/pve1/lxc/20000/config"
	for name, test := range map[string]struct {
		byRoot   bool
		changes  byhand.Params
		rest     object
		at, says string
	}{
		"an unlisted volume":  {false, byhand.Params{"mp7": "local-lvm:1,mp=/by-hand"}, nil, "reinstall", "mp7=local-lvm:vm-20000-disk-3"},
		"protection":          {false, byhand.Params{"protection": 1}, nil, "protection", "A protected container is not reinstalled"},
		"a bind mount":        {true, byhand.Params{"mp8": "/srv,mp=/srv"}, nil, "reinstall", "mp8 (bind mount or device)"},
		"features":            {true, byhand.Params{"features": "nesting=1,keyctl=1"}, nil, "reinstall", "would lack them: features"},
		"the root volume":     {false, nil, object{"reinstall": object{"keep": []any{"rootfs"}}}, "reinstall.keep", "The root volume is not kept"},
		"no mount point":      {false, nil, object{"reinstall": object{"keep": []any{"net0"}}}, "reinstall.keep", "net0 is no mount point"},
		"one not configured":  {false, nil, object{"reinstall": object{"keep": []any{"mp5"}}}, "reinstall.keep", "mp5 is not in mount_points"},
		"one not there":       {false, nil, object{"reinstall": object{"keep": []any{"mp4"}}, "mount_points": object{"mp4": data(nil)}}, "reinstall.keep", "mp4 does not exist"},
		"one known by its id": {false, nil, mounted(object{"volume": "local-lvm:vm-20000-disk-1", "storage": nil, "size_gib": nil}), "reinstall.keep", "mp0 is configured by its volume's id"},
		"a kept one smaller":  {false, nil, mounted(object{"size_gib": 0.5}), "mount_points.mp0.size_gib", "mp0 would shrink"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := place(t, "9.2")
			guest := lab.Manage(t, "proxmox_container")
			apply(t, guest, keeping(nil))
			before := lab.Contents(20000)
			hand := lab.Hand
			if test.byRoot {
				var err error
				hand, err = byhand.Login(t.Context(), lab.URL(), "root@pam", lab.RootPassword(), lab.CAPEM())
				protocol.Must(t, err)
			}
			if test.changes != nil {
				protocol.Must(t, hand.Call(t.Context(), http.MethodPut, config, test.changes, nil))
			}
			lab.NextRun(t)
			if diagnostics := guest.Refresh(t); len(diagnostics.Errors()) != 0 {
				t.Fatal(diagnostics)
			}
			changed := keeping(object{"template": newTemplate})
			maps.Copy(changed, test.rest)
			wantRefused(t, guest, changed, test.at, test.says)
			for slot, content := range before {
				if lab.Contents(20000)[slot] != content {
					t.Errorf("%s was touched", slot)
				}
			}
		})
	}
}

// TestSettledInPlace: what a change of a container that is there does not do is told
// or refused: volumes do not shrink nor come back empty, keys stay, and another
// template replaces where no reinstallation is configured.
func TestSettledInPlace(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	guest := lab.Manage(t, "proxmox_container")
	config := keeping(object{"reinstall": nil})
	apply(t, guest, config)
	wantRefused(t, guest, keeping(object{"reinstall": nil, "root_volume": object{"storage": "local-lvm", "size_gib": 0.5}}), "root_volume.size_gib", "rootfs would shrink")

	plan, diagnostics := guest.Plan(t, keeping(object{"reinstall": nil, "ssh_keys": []any{"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEGhmjZRhwJ4XvXtEJ4HZmBHsyr6gvz6Yx4xYtK7sEzk me"}}))
	if plan == nil {
		t.Fatal(diagnostics)
	}
	diagnostics.Warnings().Says(t, "The keys inside the container stay as they are")
	plan, diagnostics = guest.Plan(t, keeping(object{"reinstall": nil, "template": newTemplate}))
	if plan == nil || len(plan.Replace) != 1 || !strings.Contains(plan.Replace[0], "template") {
		t.Errorf("it is not replaced: %v, %s", plan, diagnostics)
	}
	plan, diagnostics = guest.Plan(t, keeping(object{"reinstall": nil, "mount_points": object{"mp0": data(nil), "mp2": data(object{"path": "/x", "backup": nil})}}))
	if plan == nil {
		t.Fatal(diagnostics)
	}
	diagnostics.Warnings().Says(t, "No backup will include mp2")

	protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodPut, "/nodes/pve1/lxc/20000/config", byhand.Params{"delete": "mp0"}, nil))
	lab.NextRun(t)
	if diagnostics := guest.Refresh(t); len(diagnostics.Errors()) != 0 {
		t.Fatal(diagnostics)
	}
	wantRefused(t, guest, config, "mount_points.mp0", "mp0 is gone from the container")
}

// TestMoveRefused: a container does not go where its volumes cannot.
func TestMoveRefused(t *testing.T) {
	t.Parallel()
	lab := place(t, "9.2")
	guest := lab.Manage(t, "proxmox_container")
	apply(t, guest, placed(object{"node": "pve1", "power": "stopped"}))
	protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodPut, "/storage/local-lvm", byhand.Params{"nodes": "pve1"}, nil))
	lab.NextRun(t)
	plan, diagnostics := guest.Plan(t, placed(object{"node": "pve2", "power": "stopped"}))
	if plan != nil {
		t.Error("it is planned to move")
	}
	diagnostics.Says(t, "that node has no storage local-lvm for container volumes")
	plan, diagnostics = guest.Plan(t, placed(object{"node": "pve1", "power": "stopped"}))
	if plan == nil || !plan.Empty() {
		t.Errorf("staying is no empty plan: %s", diagnostics)
	}
}
