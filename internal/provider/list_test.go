package provider

import (
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/pvelab"
)

// listUID is the uid of the guest of an id.
func listUID(vmid int) string { return fmt.Sprintf("5f0c1f3e-6a7b-4c8d-9e0f-%012d", vmid) }

func mark(vmid int) string { return fmt.Sprintf("terraform-proxmox-uid=%s/%d", listUID(vmid), vmid) }

const containerImage = "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst"

// newListLab has guests of ours, guests of others, a copy of a marker, and one of
// ours that the range does not cover.
func newListLab(t *testing.T) *protocol.Lab {
	t.Helper()

	lab := protocol.NewLab(t, New("test")(), "full", protocol.Object{
		"vmid_range": protocol.Object{"first": 20000, "last": 20099},
		"defaults":   protocol.Object{"node": "pve1", "storage": "local-lvm", "pool": "terraform"},
	})
	for vmid, params := range map[int]byhand.Params{
		20001: {"name": "web", "description": "The front\n\n" + mark(20001), "tags": "web;prod", "pool": "terraform"},
		20002: {"name": "half", "description": mark(20002) + " creating"},
		20003: {"name": "foreign"},
		20004: {"name": "copy", "description": mark(20001)},
		20005: {"name": "db", "description": mark(20005), "tags": "prod"},
		30001: {"name": "outside", "description": mark(30001)},
	} {
		check(t, lab.Hand.CreateVM(t.Context(), "pve2", vmid, params))
	}
	for vmid, description := range map[int]string{20011: mark(20011), 20012: ""} {
		check(t, lab.Hand.Task(t.Context(), http.MethodPost, "/nodes/pve1/lxc", byhand.Params{
			"vmid": vmid, "hostname": fmt.Sprintf("ct-%d", vmid), "description": description, "ostemplate": containerImage, "rootfs": "local-lvm:1",
		}))
	}
	return lab
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// names lists and gives the names of what was found.
func names(t *testing.T, lab *protocol.Lab, kind string, block protocol.Object, limit int64) []string {
	t.Helper()

	found, diagnostics := lab.List(t, kind, block, limit, false)
	if len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	all := []string{}
	for _, each := range found {
		if each.Resource != nil {
			t.Errorf("%s comes with a resource that nobody asked for", each.Name)
		}
		all = append(all, each.Name)
	}
	return all
}

// TestListGuests holds that only guests of ours are listed, as many as are asked
// for, and that no more are read than that takes.
func TestListGuests(t *testing.T) {
	t.Parallel()

	lab := newListLab(t)
	web, half, db := "web (20001)", "half (20002, unfinished)", "db (20005)"
	for name, tc := range map[string]struct {
		kind  string
		block protocol.Object
		limit int64
		want  []string
	}{
		"VMs":              {"proxmox_vm", nil, 0, []string{web, half, db}},
		"two of them":      {"proxmox_vm", nil, 2, []string{web, half}},
		"as many as are":   {"proxmox_vm", nil, 3, []string{web, half, db}},
		"a name":           {"proxmox_vm", protocol.Object{"name": "web"}, 0, []string{web}},
		"some names":       {"proxmox_vm", protocol.Object{"name": "*b"}, 0, []string{web, db}},
		"a name of others": {"proxmox_vm", protocol.Object{"name": "foreign"}, 0, []string{}},
		"a node":           {"proxmox_vm", protocol.Object{"node": "pve1"}, 0, []string{}},
		"a pool":           {"proxmox_vm", protocol.Object{"pool": "terraform"}, 0, []string{web}},
		"a tag":            {"proxmox_vm", protocol.Object{"tags": []any{"prod"}}, 0, []string{web, db}},
		"two tags":         {"proxmox_vm", protocol.Object{"tags": []any{"prod", "web"}}, 0, []string{web}},
		"containers":       {"proxmox_container", nil, 0, []string{"ct-20011 (20011)"}},
		"no such tag here": {"proxmox_container", protocol.Object{"tags": []any{"web"}}, 0, []string{}},
	} {
		if got := names(t, lab, tc.kind, tc.block, tc.limit); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	before := lab.Counters().Snapshot()
	names(t, lab, "proxmox_vm", nil, 1)
	calls := lab.Counters().Snapshot().Sub(before).Requests
	if n := calls["GET /nodes/{node}/qemu/{vmid}/pending"]; n != 1 {
		t.Errorf("one VM is wanted, and %d are read: %v", n, calls)
	}
	for call := range calls {
		if !strings.HasPrefix(call, "GET ") {
			t.Errorf("listing calls %s", call)
		}
	}
}

// TestListedImports holds that what is listed is imported by the identity that it
// is listed with, and is what the list said.
func TestListedImports(t *testing.T) {
	t.Parallel()

	lab := newListLab(t)
	writeFirewalls(t, lab)
	seed := uploadSeed(t, lab)
	for kind, want := range map[string]protocol.Object{
		"proxmox_vm":        {"vmid": 20001.0, "uid": listUID(20001)},
		"proxmox_container": {"vmid": 20011.0, "uid": listUID(20011)},
		"proxmox_firewall":  {"id": "vm/20001", "uid": listUID(20001)},
		"proxmox_seed_iso":  {"volume_id": seed, "node": "pve1"},
	} {
		found, diagnostics := lab.List(t, kind, nil, 0, true)
		if len(diagnostics) != 0 || len(found) == 0 {
			t.Fatalf("%s: %d found, %s", kind, len(found), diagnostics)
		}
		first := found[0]
		if !reflect.DeepEqual(first.Identity, want) || first.Resource == nil {
			t.Errorf("%s: %v, want %v; resource %v", kind, first.Identity, want, first.Resource)
		}
		imported, diagnostics := lab.Import(t, kind, "", first.Identity)
		if len(diagnostics) != 0 {
			t.Fatalf("%s: %s", kind, diagnostics)
		}
		if got := imported.Identity(t); !reflect.DeepEqual(got, first.Identity) {
			t.Errorf("%s: the identity is %v after the import, and was %v", kind, got, first.Identity)
		}
		for name, value := range first.Resource {
			if !reflect.DeepEqual(imported.State[name], value) {
				t.Errorf("%s: %s was listed as %v and imported as %v", kind, name, value, imported.State[name])
			}
		}
	}
	vm, diagnostics := lab.Import(t, "proxmox_vm", "", protocol.Object{"vmid": 20001, "uid": listUID(20005)})
	if vm != nil || !strings.Contains(diagnostics.String(), "another guest") {
		t.Errorf("a VM is imported by another's uid: %s", diagnostics)
	}
	wall, diagnostics := lab.Import(t, "proxmox_firewall", "", protocol.Object{"id": "vm/20001", "uid": listUID(20005)})
	if wall != nil || !strings.Contains(diagnostics.String(), "another guest") {
		t.Errorf("a firewall is imported by another's uid: %s", diagnostics)
	}
}

func writeFirewalls(t *testing.T, lab *protocol.Lab) {
	t.Helper()

	for _, vmid := range []int{20001, 20003} {
		check(t, lab.Hand.Call(t.Context(), http.MethodPost, fmt.Sprintf("/nodes/pve2/qemu/%d/firewall/rules", vmid),
			byhand.Params{"type": "in", "action": "ACCEPT", "enable": 1}, nil))
	}
	check(t, lab.Hand.Call(t.Context(), http.MethodPut, "/nodes/pve1/lxc/20011/firewall/options", byhand.Params{"enable": 1}, nil))
	check(t, lab.Hand.Call(t.Context(), http.MethodPost, "/cluster/firewall/groups", byhand.Params{"group": "web"}, nil))
}

// TestListFirewalls holds that firewalls of others are listed on request only, and
// those that hold nothing never.
func TestListFirewalls(t *testing.T) {
	t.Parallel()

	lab := newListLab(t)
	writeFirewalls(t, lab)
	if got, want := names(t, lab, "proxmox_firewall", nil, 0), []string{"web (20001)", "ct-20011 (20011)"}; !reflect.DeepEqual(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	got := names(t, lab, "proxmox_firewall", protocol.Object{"foreign": true, "tags": []any{"web"}}, 0)
	if want := []string{"web (20001)", "security_group/web"}; !reflect.DeepEqual(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	found, _ := lab.List(t, "proxmox_firewall", protocol.Object{"foreign": true}, 0, true)
	last := found[len(found)-1]
	last.Resource.Want(t, protocol.Object{"id": "security_group/web", "foreign": true})
	last.Identity.Want(t, protocol.Object{"id": "security_group/web", "uid": nil})
}

// uploadSeed makes a seed of ours, and beside it images of others: a VM's own
// seed, and an ISO image of another name.
func uploadSeed(t *testing.T, lab *protocol.Lab) (volumeID string) {
	t.Helper()

	seed := lab.Manage(t, "proxmox_seed_iso")
	plan, diagnostics := seed.Plan(t, protocol.Object{"storage": "seeds", "user_data": "#!/bin/sh\n"})
	if plan == nil {
		t.Fatal(diagnostics)
	}
	if diagnostics := plan.Apply(t); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	identity := seed.Identity(t)
	identity.Want(t, protocol.Object{"volume_id": seed.State["volume_id"], "node": "pve1"})
	for _, name := range []string{listUID(20005) + "-" + strings.Repeat("a", 64), "debian"} {
		check(t, lab.Hand.UploadImage(t.Context(), "pve1", "seeds:iso/"+name+".iso", []byte("an image")))
	}
	return seed.State["volume_id"].(string)
}

// TestListSeeds holds that a VM's own seed is not listed, nor any other image.
func TestListSeeds(t *testing.T) {
	t.Parallel()

	lab := newListLab(t)
	volumeID := uploadSeed(t, lab)
	for name, tc := range map[string]struct {
		block protocol.Object
		want  int
	}{
		"all": {nil, 1}, "the storage": {protocol.Object{"storage": "seeds"}, 1},
		"another storage": {protocol.Object{"storage": "local"}, 0}, "another node": {protocol.Object{"node": "pve3"}, 0},
	} {
		found, diagnostics := lab.List(t, "proxmox_seed_iso", tc.block, 0, false)
		if len(diagnostics) != 0 || len(found) != tc.want {
			t.Errorf("%s: found %v (%s)", name, found, diagnostics)
			continue
		}
		if tc.want == 1 && found[0].Identity["volume_id"] != volumeID {
			t.Errorf("%s: found %v", name, found[0].Identity)
		}
	}
}

// TestListSeedsBesideGaps holds that what cannot be read is named, and the rest is
// listed, but for seeds that may be those of VMs.
func TestListSeedsBesideGaps(t *testing.T) {
	t.Parallel()

	lab := newListLab(t)
	uploadSeed(t, lab)
	check(t, lab.Hand.CreateVM(t.Context(), "pve1", 20006, byhand.Params{"name": "near", "description": mark(20006)}))
	fail := func(path string, status int, text string) {
		t.Helper()
		_, err := lab.Faults().Add(pvelab.Fault{Path: path, Status: status, Text: text, Times: 100})
		check(t, err)
	}
	for _, step := range []struct {
		breaks func()
		block  protocol.Object
		found  int
		says   []string
	}{
		{func() {
			check(t, lab.Faults().NodeOffline("pve3"))
			fail("/nodes/pve1/storage/local/content", 500, "no such file")
		}, nil, 1, []string{"pve3 alone sees", "storage local on node pve1"}},
		{func() {}, protocol.Object{"storage": "seeds", "node": "pve1"}, 1, nil},
		// From now on nobody asks pve2, where the VM of the other seed is.
		{func() { fail("/nodes/pve2/qemu/20002/pending", 595, "No route to host") }, protocol.Object{"storage": "seeds", "node": "pve1"}, 1, nil},
		{func() { fail("/nodes/pve1/qemu/20006/pending", 595, "No route to host") }, protocol.Object{"storage": "seeds", "node": "pve1"}, 0, []string{"cannot be read: VM 20006 on pve1"}},
	} {
		step.breaks()
		found, diagnostics := lab.List(t, "proxmox_seed_iso", step.block, 0, false)
		if len(found) != step.found || len(diagnostics.Errors()) != 0 || len(diagnostics) != len(step.says) {
			t.Errorf("found %v (%s), want %d beside %q", found, diagnostics, step.found, step.says)
		}
		for _, words := range step.says {
			if !strings.Contains(diagnostics.String(), words) {
				t.Errorf("%s does not say %q", diagnostics, words)
			}
		}
	}
}

// TestListBesideSilentNode holds that a guest whose owner cannot be told is named,
// and the others are listed.
func TestListBesideSilentNode(t *testing.T) {
	t.Parallel()

	lab := newListLab(t)
	_, err := lab.Faults().Add(pvelab.Fault{Path: "/nodes/pve2/qemu/20002/pending", Status: 595, Text: "No route to host", Times: 100})
	check(t, err)
	found, diagnostics := lab.List(t, "proxmox_vm", nil, 0, false)
	if len(diagnostics.Errors()) != 0 || len(diagnostics) != 1 || !strings.Contains(diagnostics.String(), "20002") || len(found) != 2 {
		t.Errorf("found %v (%s)", found, diagnostics)
	}
}

// TestListBesideManyOnASilentNode holds that a node that does not answer is not
// asked for each of its guests: each time PVE's proxy waits for half a minute.
func TestListBesideManyOnASilentNode(t *testing.T) {
	t.Parallel()

	lab := newListLab(t)
	const guests = 40
	for vmid := 20020; vmid < 20020+guests; vmid++ {
		check(t, lab.Hand.CreateVM(t.Context(), "pve3", vmid, byhand.Params{"description": mark(vmid)}))
	}
	check(t, lab.Faults().NodeOffline("pve3"))
	before := lab.Counters().Snapshot()
	found, diagnostics := lab.List(t, "proxmox_vm", nil, 0, false)
	if len(diagnostics.Errors()) != 0 || len(diagnostics.Warnings()) != guests || len(found) != 3 {
		t.Errorf("found %v (%s)", found, diagnostics)
	}
	calls := lab.Counters().Snapshot().Sub(before).Requests
	if n := calls["GET /nodes/{node}/qemu/{vmid}/pending"]; n >= guests {
		t.Errorf("%d calls for %d guests, most of which nobody answers for", n, guests)
	}
}

// TestListLeavesOutWhatCannotBeRead holds that no resource is listed as null or
// half filled in where the whole of it is asked for: it is named in a warning.
func TestListLeavesOutWhatCannotBeRead(t *testing.T) {
	t.Parallel()

	for _, status := range []int{http.StatusForbidden, 595} {
		for skip := 1; skip <= 2; skip++ { // The marker is read first, then an import reads, then a refresh.
			lab := newListLab(t)
			_, err := lab.Faults().Add(pvelab.Fault{
				Path: "/nodes/pve2/qemu/20001/pending", Skip: skip, Times: -1, Status: status, Text: "Permission check failed (/vms/20001, VM.Audit)",
			})
			check(t, err)
			found, diagnostics := lab.List(t, "proxmox_vm", nil, 0, true)
			if len(diagnostics) != 1 || !strings.Contains(diagnostics.Warnings().String(), "Cannot read web (20001), which is left out") {
				t.Errorf("%d after %d: %s", status, skip, diagnostics)
			}
			if len(found) != 2 || found[0].Resource["name"] != "half" || found[1].Resource["name"] != "db" {
				t.Errorf("%d after %d: found %v", status, skip, found)
			}
		}
	}
}

// TestListNeedsARange holds that nothing is listed as ours where no range says
// what may be.
func TestListNeedsARange(t *testing.T) {
	t.Parallel()

	lab := protocol.NewLab(t, New("test")(), "full", nil)
	for _, kind := range []string{"proxmox_vm", "proxmox_container", "proxmox_firewall"} {
		found, diagnostics := lab.List(t, kind, nil, 0, false)
		if len(found) != 0 || !strings.Contains(diagnostics.Errors().String(), "No VMID range is configured") {
			t.Errorf("%s: found %v (%s)", kind, found, diagnostics)
		}
	}
}

// TestIdentities holds that whatever can be listed has an identity, and which.
func TestIdentities(t *testing.T) {
	t.Parallel()

	server := protocol.New(t, New("test")())
	want := map[string][]string{
		"proxmox_vm": {"uid", "vmid"}, "proxmox_container": {"uid", "vmid"}, "proxmox_seed_iso": {"node", "volume_id"}, "proxmox_firewall": {"id", "uid"},
	}
	for name := range server.Schemas.ListResourceSchemas {
		if want[name] == nil {
			t.Errorf("%s can be listed, and this test does not know its identity", name)
		}
	}
	for name, attributes := range want {
		if got := slices.Sorted(maps.Keys(server.IdentityAttributes(t, name))); !slices.Equal(got, attributes) {
			t.Errorf("%s is identified by %v, want %v", name, got, attributes)
		}
	}
}

// TestIdentityFollowsTheImage holds that a seed is identified by the image that it
// is now, and keeps its identity where nothing changes.
func TestIdentityFollowsTheImage(t *testing.T) {
	t.Parallel()

	lab := newListLab(t)
	seed := lab.Manage(t, "proxmox_seed_iso")
	var seen []any
	for _, userData := range []string{"#!/bin/sh\ntrue\n", "#!/bin/sh\nfalse\n"} {
		plan, diagnostics := seed.Plan(t, protocol.Object{"storage": "seeds", "user_data": userData})
		if plan == nil {
			t.Fatal(diagnostics)
		}
		if diagnostics := plan.Apply(t); len(diagnostics.Errors()) != 0 {
			t.Fatal(diagnostics)
		}
		if diagnostics := seed.Refresh(t); len(diagnostics) != 0 {
			t.Fatal(diagnostics)
		}
		seed.Identity(t).Want(t, protocol.Object{"volume_id": seed.State["volume_id"], "node": "pve1"})
		seen = append(seen, seed.State["volume_id"])
	}
	if seen[0] == seen[1] {
		t.Errorf("both images are %v", seen[0])
	}
}

// TestIdentityWithoutOne holds that a state which an older CLI wrote, without
// identities, is read, also where what it speaks of is gone.
func TestIdentityWithoutOne(t *testing.T) {
	t.Parallel()

	lab := newListLab(t)
	writeFirewalls(t, lab)
	volumeID := uploadSeed(t, lab)
	resources := map[string]*protocol.Resource{}
	for kind, id := range map[string]string{
		"proxmox_vm": "20001", "proxmox_container": "20011", "proxmox_firewall": "vm/20001", "proxmox_seed_iso": "pve1/" + volumeID,
	} {
		r, diagnostics := lab.Import(t, kind, id, nil)
		if r == nil {
			t.Fatalf("%s: %s", kind, diagnostics)
		}
		r.ForgetIdentity()
		if diagnostics := r.Refresh(t); len(diagnostics) != 0 || r.Identity(t) == nil {
			t.Errorf("%s: %v (%s)", kind, r.Identity(t), diagnostics)
		}
		r.ForgetIdentity()
		resources[kind] = r
	}
	check(t, lab.Hand.Task(t.Context(), http.MethodDelete, "/nodes/pve2/qemu/20001", nil))
	check(t, lab.Hand.Task(t.Context(), http.MethodDelete, "/nodes/pve1/lxc/20011", nil))
	for kind, r := range resources {
		diagnostics := r.Refresh(t)
		if gone := r.State == nil; len(diagnostics.Errors()) != 0 || gone != (kind != "proxmox_seed_iso") {
			t.Errorf("%s, with its guest destroyed: %v (%s)", kind, r.State, diagnostics)
		}
	}
}
