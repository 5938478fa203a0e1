package proxmox

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"sync"
	"testing"
)

// The answers below are shortened from recordings of PVE 9.2 and 8.4.

func TestCluster(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).
		on("GET /cluster/resources", data(`[{"type":"qemu","id":"qemu/9000","vmid":9000,"node":"pve1","name":"tmpl-empty","status":"stopped","template":1,"maxcpu":1,"maxmem":134217728,"maxdisk":1073741824,"cpu":0,"uptime":0},
			{"id":"qemu/120","type":"qemu","vmid":120,"node":"pve1","status":"unknown","pool":"tfpool","hastate":"started","tags":"a;b"}]`)).
		on("GET /cluster/nextid", data(`"150"`)).
		on("GET /cluster/status", data(`[{"online":1,"name":"pve1","level":"","local":1,"type":"node","ip":"10.99.0.1","nodeid":0,"id":"node/pve1"}]`))
	c := pve.client(t)
	resources, err := c.Cluster.Resources(t.Context(), "vm")
	if err != nil || len(resources) != 2 || !bool(resources[0].Template) || resources[0].MaxMem != 134217728 ||
		resources[1].Pool != "tfpool" || resources[1].HAState != "started" || resources[1].Name != "" {
		t.Errorf("resources %+v (%v)", resources, err)
	}
	if got := pve.last(t, "GET /cluster/resources").params.Encode(); got != "type=vm" {
		t.Errorf("asked %s", got)
	}
	if free, err := c.Cluster.VMIDFree(t.Context(), 150); !free || err != nil {
		t.Errorf("free: %v (%v)", free, err)
	}
	status, err := c.Cluster.Status(t.Context())
	if err != nil || !status.Quorate || status.Name != "" || len(status.Nodes) != 1 || !status.Nodes[0].Online || status.Nodes[0].IP != "10.99.0.1" {
		t.Errorf("status %+v (%v)", status, err)
	}
	if identity, err := c.Cluster.Identity(t.Context()); identity != "standalone:pve1" || err != nil {
		t.Errorf("identity %q (%v)", identity, err)
	}
}

func TestVMIDFreeProvesOnlyWhatWasAnswered(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on("GET /cluster/nextid",
		reply{status: 400, text: "Parameter verification failed.", params: map[string]string{"vmid": "invalid format - value does not look like a valid VM ID\n"}})
	if free, err := pve.client(t).Cluster.VMIDFree(t.Context(), 5); free || err == nil {
		t.Errorf("an invalid id is free: %v (%v)", free, err)
	}
}

// TestVersionIsReadOnce: a caller that waits for another's read gives up with its
// own context.
func TestVersionIsReadOnce(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	answer := data(versionData)
	answer.before = func() { close(asked); <-release }
	pve := newRecordedPVE(t).on("GET /version", answer)
	c := pve.client(t)
	var wg sync.WaitGroup
	wg.Go(func() {
		if v, err := c.Cluster.Version(t.Context()); err != nil || !v.AtLeast(9, 2) {
			t.Errorf("version %v (%v)", v, err)
		}
	})
	<-asked
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Cluster.Version(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("whoever waits got %v", err)
	}
	close(release)
	wg.Wait()
	if v, err := c.Cluster.Version(t.Context()); err != nil || !v.AtLeast(9, 2) || pve.count("GET /version") != 1 {
		t.Errorf("version %v (%v), calls %q", v, err, pve.calls())
	}
}

func TestNodes(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).
		on("GET /nodes", data(`[{"node":"pve1","ssl_fingerprint":"89:94:62","type":"node","id":"node/pve1","level":"","status":"online"},{"node":"pve2","status":"offline","type":"node"}]`)).
		on("GET /nodes/pve1/version", data(versionData)).
		on("GET /nodes/pve1/status", data(`{"pveversion":"pve-manager/9.2.11/14a22df35955d97d","uptime":2658,"memory":{"total":25276059648,"used":1272999936},"rootfs":{"total":270553174016,"used":1},"cpuinfo":{"cpus":2,"model":"AMD EPYC"},"current-kernel":{"release":"6.18.44"}}`)).
		on("GET /nodes/pve1/network", data(`[{"autostart":1,"active":1,"type":"bridge","cidr":"10.99.0.1/24","bridge_ports":"eth0","iface":"vmbr0","families":["inet"]},
			{"type":"eth","active":1,"iface":"eth0"},{"iface":"vmbr1","type":"bridge","bridge_vlan_aware":1,"comments":"lab bridge\n"}]`))
	c := pve.client(t)
	nodes, err := c.Nodes.List(t.Context())
	if err != nil || len(nodes) != 2 || !nodes[0].Online() || nodes[1].Online() || nodes[0].SSLFingerprint != "89:94:62" {
		t.Errorf("nodes %+v (%v)", nodes, err)
	}
	if v, err := c.Nodes.Version(t.Context(), "pve1"); err != nil || !v.AtLeast(9, 2) {
		t.Errorf("version %v (%v)", v, err)
	}
	status, err := c.Nodes.Status(t.Context(), "pve1")
	if err != nil || status.Memory.Total != 25276059648 || status.CPU.CPUs != 2 || status.Kernel.Release != "6.18.44" || status.Uptime != 2658 {
		t.Errorf("status %+v (%v)", status, err)
	}
	interfaces, err := c.Nodes.Network(t.Context(), "pve1")
	if err != nil || len(interfaces) != 3 || interfaces[0].Type != "bridge" || interfaces[1].Type == "bridge" || !interfaces[0].Active ||
		interfaces[2].Active || !interfaces[2].VLANAware || interfaces[2].Comments != "lab bridge" {
		t.Errorf("interfaces %+v (%v)", interfaces, err)
	}
	if _, err := c.Nodes.Bridges(t.Context(), "pve1"); err != nil || pve.last(t, "GET /nodes/pve1/network").params.Get("type") != "any_bridge" {
		t.Errorf("bridges: %v", err)
	}
}

func TestStorages(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).
		on("GET /nodes/pve1/storage", data(`[{"total":270553174016,"enabled":1,"used":19314819072,"storage":"local","shared":0,"content":"snippets,iso,rootdir,vztmpl,images","active":1,"avail":78478475264,"type":"dir"}]`)).
		on("GET /nodes/pve1/storage/local/status", data(`{"used":1,"enabled":1,"total":2,"shared":0,"content":"images,import","active":1,"avail":1,"type":"dir"}`)).
		on("GET /nodes/pve1/storage/local/content", data(`[{"ctime":1795997230,"used":331776,"format":"qcow2","parent":null,"vmid":9000,"size":1073741824,"volid":"local:9000/base-9000-disk-0.qcow2","content":"images"},
			{"volid":"local:iso/lab-guest.iso","format":"iso","ctime":1795996656,"size":16979968,"content":"iso"}]`))
	c := pve.client(t)
	storages, err := c.Storage.List(t.Context(), "pve1")
	if err != nil || len(storages) != 1 || !slices.Equal(storages[0].Content, []string{"images", "iso", "rootdir", "snippets", "vztmpl"}) ||
		!storages[0].Allows("iso") || storages[0].Allows("backup") || !bool(storages[0].Active) || bool(storages[0].Shared) {
		t.Errorf("storages %+v (%v)", storages, err)
	}
	status, err := c.Storage.Status(t.Context(), "pve1", "local")
	if err != nil || status.Storage != "local" || !status.Allows("import") {
		t.Errorf("status %+v (%v)", status, err)
	}
	volumes, err := c.Storage.Content(t.Context(), "pve1", "local", "")
	if err != nil || len(volumes) != 2 || volumes[0].VMID != 9000 || volumes[1].VMID != 0 || volumes[1].VolID != "local:iso/lab-guest.iso" {
		t.Errorf("volumes %+v (%v)", volumes, err)
	}
}

func TestAccessAndPools(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).
		on("GET /access/permissions", data(`{"/vms/123":{"VM.Audit":0,"VM.PowerMgmt":1}}`)).
		on("GET /pools", data(`[{"poolid":"tfpool/sub","comment":"a"}]`)).
		on("POST /pools", failure(500, "create pool failed: pool 'tfpool' already exists")).
		on("DELETE /pools", data("null"))
	c := pve.client(t)
	permissions, err := c.Access.Permissions(t.Context(), "/vms/123")
	if err != nil || permissions["/vms/123"]["VM.Audit"] || !permissions["/vms/123"]["VM.PowerMgmt"] ||
		!permissions.Has("/vms/123", "VM.Audit") || permissions.Has("/vms/123", "VM.Clone") || permissions.Has("/", "VM.Audit") {
		t.Errorf("permissions %v (%v)", permissions, err)
	}
	pools, err := c.Pools.List(t.Context())
	if err != nil || len(pools) != 1 || pools[0] != (Pool{ID: "tfpool/sub", Comment: "a"}) {
		t.Errorf("pools %+v (%v)", pools, err)
	}
	if err := c.Pools.Create(t.Context(), "tfpool", ""); !IsExists(err) {
		t.Errorf("an existing pool: %v", err)
	}
	if err := c.Pools.Delete(t.Context(), "tfpool/sub"); err != nil || pve.last(t, "DELETE /pools").params.Get("poolid") != "tfpool/sub" {
		t.Errorf("deleting a nested pool: %v", err)
	}
}

func TestAgent(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).
		on("GET /nodes/pve1/qemu/110/agent/network-get-interfaces", data(`{"result":[{"hardware-address":"00:00:00:00:00:00","name":"lo","ip-addresses":[{"prefix":8,"ip-address":"127.0.0.1","ip-address-type":"ipv4"}]},
			{"name":"eth0","hardware-address":"bc:24:11:a9:e4:52","ip-addresses":[{"ip-address-type":"ipv4","ip-address":"10.99.0.110","prefix":24},{"ip-address-type":"ipv6","ip-address":"fe80::be24:11ff:fea9:e452","prefix":"64"},{"ip-address":"nonsense","prefix":0}]},{"name":"dummy0"}]}`)).
		on("POST /nodes/pve1/qemu/110/agent/ping", failure(500, "QEMU guest agent is not running"))
	c := pve.client(t)
	interfaces, err := c.VMs.AgentInterfaces(t.Context(), "pve1", 110)
	if err != nil || len(interfaces) != 3 || interfaces[1].MAC != "bc:24:11:a9:e4:52" || !slices.Equal(interfaces[1].IPs,
		[]netip.Prefix{netip.MustParsePrefix("10.99.0.110/24"), netip.MustParsePrefix("fe80::be24:11ff:fea9:e452/64")}) {
		t.Errorf("interfaces %+v (%v)", interfaces, err)
	}
	if err := c.VMs.AgentPing(t.Context(), "pve1", 110); !IsAgentUnavailable(err) {
		t.Errorf("ping: %v", err)
	}
}
