package proxmox

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// benchGuests is how many guests the benchmarks refresh, on one node.
const benchGuests = 1000

// stillPVE answers a refresh with texts that are ready beforehand, so that what
// is measured is the client.
func stillPVE(b *testing.B) *httptest.Server {
	b.Helper()
	var list, live []string
	pending := map[string][]byte{}
	for i := range benchGuests {
		vmid := 10000 + i
		list = append(list, fmt.Sprintf(`{"id":"qemu/%[1]d","type":"qemu","vmid":%[1]d,"node":"pve1","name":"web-%[1]d","status":"running","maxcpu":1,"maxmem":1073741824,"maxdisk":5368709120,"mem":0,"cpu":0,"disk":0,"diskread":0,"diskwrite":0,"netin":0,"netout":0,"uptime":100,"template":0}`, vmid))
		live = append(live, fmt.Sprintf(`{"vmid":%[1]d,"name":"web-%[1]d","status":"running","pid":%[1]d,"uptime":100,"cpus":1,"maxmem":1073741824,"maxdisk":5368709120,"mem":0,"cpu":0}`, vmid))
		pending[vmPath("pve1", vmid, "pending")] = pendingText(b, vmid)
	}
	answers := map[string]string{
		"/cluster/resources": `{"data":[` + strings.Join(list, ",") + `]}`, "/nodes/pve1/qemu": `{"data":[` + strings.Join(live, ",") + `]}`,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := apiPath(r)
		if answer, ok := answers[path]; ok {
			_, _ = io.WriteString(w, answer)
			return
		}
		_, _ = w.Write(pending[path])
	}))
	b.Cleanup(server.Close)
	return server
}

func pendingText(b *testing.B, vmid int) []byte {
	b.Helper()
	var items []map[string]any
	for key, value := range map[string]any{
		"agent": "1", "boot": "order=scsi0", "cores": 1, "cpu": "x86-64-v2-AES", "description": Marker{UID: uidA, VMID: vmid}.String() + "\n",
		"ide2": "shared-nfs:10000/vm-10000-cloudinit.qcow2,media=cdrom", "ipconfig0": "ip=dhcp", "memory": "1024", "meta": "creation-qemu=10.0.2,ctime=1795996800",
		"name": "web", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1", "ostype": "l26", "scsi0": "shared-nfs:10000/vm-10000-disk-0.qcow2,size=5G",
		"scsihw": "virtio-scsi-single", "smbios1": "uuid=11111111-2222-3333-4444-555555555555", "tags": "bench", "vmgenid": "11111111-2222-3333-4444-555555555555", "digest": testDigest,
	} {
		items = append(items, map[string]any{"key": key, "value": value})
	}
	text, err := json.Marshal(map[string]any{"data": items})
	if err != nil {
		b.Fatal(err)
	}
	return text
}

// tenAtOnce does work for each guest, as many at a time as Terraform would.
func tenAtOnce(work func(vmid int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range 10 {
		group.Go(func() {
			for vmid := range next {
				work(vmid)
			}
		})
	}
	for i := range benchGuests {
		next <- 10000 + i
	}
	close(next)
	group.Wait()
}

// BenchmarkRefresh refreshes a thousand guests.
func BenchmarkRefresh(b *testing.B) {
	server := stillPVE(b)
	b.ReportAllocs()
	for b.Loop() {
		pve := &recordedPVE{Server: server}
		o := pve.options()
		o.clock = nil
		c, err := New(o)
		if err != nil {
			b.Fatal(err)
		}
		tenAtOnce(func(vmid int) {
			look, err := c.Inspect(b.Context(), Guest{VMID: vmid, Node: "pve1", UID: uidA})
			if err != nil || look.Standing != Ours || !look.Status.Running() {
				b.Errorf("guest %d: %+v, %v", vmid, look, err)
			}
		})
	}
}

// BenchmarkBareRefresh makes the same calls and nothing else.
func BenchmarkBareRefresh(b *testing.B) {
	server := stillPVE(b)
	b.ReportAllocs()
	for b.Loop() {
		transport := server.Client().Transport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 10
		client := &http.Client{Transport: transport}
		get := func(path string) {
			resp, err := client.Get(server.URL + apiPrefix + path)
			if err != nil {
				b.Error(err)
				return
			}
			raw, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			var answer struct {
				Data any `json:"data"`
			}
			if err == nil {
				err = json.Unmarshal(raw, &answer)
			}
			if err != nil {
				b.Error(err)
			}
		}
		get("/cluster/resources")
		get("/nodes/pve1/qemu")
		tenAtOnce(func(vmid int) { get(vmPath("pve1", vmid, "pending")) })
		transport.CloseIdleConnections()
	}
}
