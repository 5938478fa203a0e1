package guests_test

import (
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

const uid = "5f0c1f3e-6a7b-4c8d-9e0f-112233445566"

func bothVersions(t *testing.T, test func(t *testing.T, lab *protocol.Lab)) {
	t.Helper()
	protocol.EachVersion(t, func(t *testing.T, version string) { test(t, newLab(t, version)) })
}

func newLab(t *testing.T, version string) *protocol.Lab {
	t.Helper()

	lab := protocol.NewLabOf(t, pvelab.Options{Version: version, Speed: 200}, provider.New("test")(), "full", nil)
	protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve1", 101, byhand.Params{
		"tags": "erp;prod", "pool": "terraform", "onboot": 1, "description": "terraform-proxmox-uid=" + uid + "/101",
		"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,link_down=1", "net1": "e1000=BC:24:11:00:00:02,bridge=vmbr1",
	}))
	protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve2", 102, byhand.Params{"tags": "erp", "description": "terraform-proxmox-uid=" + uid + "/101"}))
	protocol.Must(t, lab.Hand.Task(t.Context(), http.MethodPost, "/nodes/pve2/lxc", byhand.Params{
		"vmid": 103, "ostemplate": "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst", "rootfs": "local-lvm:1",
		"net0": "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:03",
	}))
	awaitStatus(t, lab)
	return lab
}

// awaitStatus waits until pvestatd has told of every guest.
func awaitStatus(t *testing.T, lab *protocol.Lab) {
	t.Helper()

	for range 1000 {
		all, err := lab.Hand.Guests(t.Context())
		protocol.Must(t, err)
		if !slices.ContainsFunc(all, func(g byhand.Guest) bool { return g.Status == "unknown" }) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("pvestatd does not tell of every guest")
}

func ids(t *testing.T, lab *protocol.Lab, config protocol.Object) (vmids []int, all []protocol.Object) {
	t.Helper()

	state, diagnostics := lab.ReadDataSource(t, "proxmox_guests", config)
	if len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	vmids = []int{}
	for _, each := range state["guests"].([]any) {
		guest := each.(protocol.Object)
		vmids = append(vmids, int(guest["vmid"].(float64)))
		all = append(all, guest)
	}
	return vmids, all
}

func TestGuestsFilters(t *testing.T) {
	t.Parallel()

	bothVersions(t, filters)
}

func filters(t *testing.T, lab *protocol.Lab) {
	for name, tc := range map[string]struct {
		config protocol.Object
		want   []int
	}{
		"all but templates": {protocol.Object{}, []int{101, 102, 103}},
		"VMs":               {protocol.Object{"kind": "vm"}, []int{101, 102}},
		"containers":        {protocol.Object{"kind": "container"}, []int{103}},
		"several at once":   {protocol.Object{"kind": "vm", "node": "pve2", "marked": false, "tags": []any{"erp"}}, []int{102}},
		"a node":            {protocol.Object{"node": "pve2"}, []int{102, 103}},
		"a pool":            {protocol.Object{"pool": "terraform"}, []int{101}},
		"a tag":             {protocol.Object{"tags": []any{"erp"}}, []int{101, 102}},
		"two tags":          {protocol.Object{"tags": []any{"erp", "prod"}}, []int{101}},
		"marked":            {protocol.Object{"marked": true}, []int{101}},
		"not marked":        {protocol.Object{"marked": false}, []int{102, 103}},
		"none":              {protocol.Object{"node": "pve3"}, []int{}},
	} {
		if got, _ := ids(t, lab, tc.config); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestGuestsDetails(t *testing.T) {
	t.Parallel()

	bothVersions(t, details)
}

func details(t *testing.T, lab *protocol.Lab) {
	_, plain := ids(t, lab, protocol.Object{"kind": "vm"})
	plain[0].Want(t, protocol.Object{"kind": "vm", "node": "pve1", "status": "stopped", "pool": "terraform", "marked": nil, "uid": nil, "onboot": nil, "nics": nil})
	before := lab.Counters().Snapshot()
	_, all := ids(t, lab, protocol.Object{"details": true})
	if calls := lab.Counters().Snapshot().Sub(before).Requests; calls["GET /nodes/{node}/qemu/{vmid}/pending"] != 2 || calls["GET /nodes/{node}/lxc/{vmid}/pending"] != 1 {
		t.Errorf("calls are %v", calls)
	}
	all[0].Want(t, protocol.Object{"marked": true, "uid": uid, "onboot": true})
	all[0].At(t, "nics", "net0").Want(t, protocol.Object{"mac": "BC:24:11:00:00:01", "bridge": "vmbr0", "link_up": false})
	all[0].At(t, "nics", "net1").Want(t, protocol.Object{"mac": "BC:24:11:00:00:02", "bridge": "vmbr1", "link_up": true})
	all[1].Want(t, protocol.Object{"marked": false, "uid": nil, "onboot": false})
	all[2].Want(t, protocol.Object{"kind": "container"})
	all[2].At(t, "nics", "net0").Want(t, protocol.Object{"mac": "BC:24:11:00:00:03", "bridge": "vmbr0", "link_up": true})
}

// TestGuestsHA holds which state HA is asked for, which its own state does not
// tell, and that a token which may not know that learns all else.
func TestGuestsHA(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, lab *protocol.Lab) {
		lab.Faults().HangHA(true)
		for sid, state := range map[string]string{"vm:101": "started", "ct:103": "ignored"} {
			protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": sid, "state": state}, nil))
		}
		before := lab.Counters().Snapshot()
		_, all := ids(t, lab, protocol.Object{})
		all[0].Want(t, protocol.Object{"ha_requested": "started"})
		all[1].Want(t, protocol.Object{"ha_requested": "", "ha_state": ""})
		all[2].Want(t, protocol.Object{"ha_requested": "ignored"})
		if calls := lab.Counters().Snapshot().Sub(before).Requests; calls["GET /cluster/ha/status/current"] != 1 {
			t.Errorf("calls are %v", calls)
		}

		lab.Restrict(t, map[string]string{"/vms": "VM.Audit"})
		if vmids, all := ids(t, lab, protocol.Object{}); len(vmids) != 3 || all[0]["ha_requested"] != nil {
			t.Errorf("with few rights: %v", all)
		}
	})
}
