package proxmox

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestCapabilities holds each row of the table against the lab, of both
// versions: with exactly the privileges that the table names a capability
// works; without any one of them it does not, and that one is named.
func TestCapabilities(t *testing.T) {
	t.Parallel()

	for name := range exercises {
		if _, known := CapabilityOf(name); !known {
			t.Errorf("the table has no %s", name)
		}
	}
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, version)
			b.talk(t)
			for _, capability := range Capabilities() {
				t.Run(capability.Name, func(t *testing.T) {
					t.Parallel()
					b.test(t, capability)
				})
			}
		})
	}
}

// bench is a lab with an administrator.
type bench struct {
	*pvelab.Lab

	version Version
	admin   *byhand.Hand
	// talking is a VM that runs, with an agent.
	talking int
	last    atomic.Int32
}

const (
	benchTemplate = 9000
	benchFile     = "/tmp/bench"
)

func newBench(t *testing.T, version string) *bench {
	t.Helper()

	lab, err := pvelab.New(pvelab.Options{Version: version, Speed: 500})
	noError(t, err)
	noError(t, lab.Start())
	t.Cleanup(func() { noError(t, lab.Close()) })
	parsed, err := ParseVersion(version)
	noError(t, err)
	b := &bench{Lab: lab, version: parsed}
	id, secret := lab.Token("full")
	b.admin, err = byhand.New(lab.URL(), id, secret, lab.CAPEM())
	noError(t, err)
	b.last.Store(20000)
	t.Cleanup(func() { everyNeedIsNamed(t, lab) })
	return b
}

// talk makes the VM that answers through its agent.
func (b *bench) talk(t *testing.T) {
	t.Helper()

	b.talking = 100
	noError(t, b.admin.Clone(t.Context(), benchTemplate, b.talking, "talking", byhand.Params{"full": 1}))
	noError(t, b.admin.Power(t.Context(), b.talking, "start"))
	path := vmPath("pve1", b.talking, "agent", "file-write")
	for {
		err := b.admin.Call(t.Context(), http.MethodPost, path, byhand.Params{"file": benchFile, "content": "x"}, nil)
		if err == nil {
			return
		}
		if !strings.Contains(err.Error(), "agent is not running") {
			t.Fatal(err)
		}
	}
}

func (b *bench) test(t *testing.T, capability Capability) {
	exercise, known := exercises[capability.Name]
	if !known {
		t.Fatal("the table has a capability that no test exercises")
	}
	full := b.subject(t, capability, nil)
	if proof, lacks := full.check(t, capability); proof != Proven {
		t.Errorf("with exactly its privileges it is %s: %v", proof, lacks)
	}
	if err := exercise(t.Context(), full); err != nil {
		t.Errorf("with exactly its privileges: %v", err)
	}
	for i, need := range capability.Needs {
		t.Run("without "+need.Privilege+" on "+strings.ReplaceAll(need.Path, "/", "|"), func(t *testing.T) {
			t.Parallel()
			s := b.subject(t, capability, &capability.Needs[i])
			s.lacks(t, capability, need)
			if got := exercise(t.Context(), s); got == nil {
				t.Error("it works without")
			} else if !strings.Contains(got.Error(), need.In(b.version)) {
				t.Errorf("the refusal does not name it: %v", got)
			}
		})
	}
}

// subject is a user with some privileges, and a VM of the administrator's.
type subject struct {
	*Client

	bench *bench
	hand  *byhand.Hand
	vmid  int
	scope Scope
}

// subject makes a user with a capability's privileges but one.
func (b *bench) subject(t *testing.T, capability Capability, without *Need) *subject {
	t.Helper()

	// Fencing a node stops what other subjects have there; the firewall's objects
	// of a node and of the cluster would meet each other.
	if strings.HasPrefix(capability.Name, "node.") || strings.HasPrefix(capability.Name, "firewall.") {
		b = newBench(t, b.version.Release)
	}
	// A container is reinstalled through a second one.
	vmid := int(b.last.Add(2))
	s := &subject{bench: b, vmid: vmid, scope: Scope{
		"vmid": {strconv.Itoa(vmid), strconv.Itoa(vmid + 1)}, "template": {strconv.Itoa(benchTemplate)}, "pool": {"terraform"}, "bridge": {"vmbr0"},
		"node": {"pve1"}, "images": {"shared-nfs"}, "rootdir": {"local-lvm"}, "vztmpl": {"local"}, "iso": {"seeds"}, "storage": {"shared-nfs"},
		"usb": {"dongle"}, "pci": {"gpu"}, "dir": {"share"},
	}}
	if talks(capability.Name) {
		s.scope["vmid"] = []string{strconv.Itoa(b.talking)}
	}
	if capability.Name == "node.shutdown" {
		s.scope["node"] = []string{"pve2"}
	}
	pooled := strings.HasPrefix(capability.Name, "container.")
	if !pooled && capability.Name != "id-ledger" {
		delete(s.scope, "pool")
	}
	granted := map[string][]string{}
	for i, need := range capability.Needs {
		if without == &capability.Needs[i] {
			continue
		}
		paths := need.paths(s.scope)
		if pooled && need.Path == guestPath {
			paths = []string{"/pool/terraform"}
		}
		for _, path := range paths {
			granted[path] = append(granted[path], need.In(b.version))
		}
	}
	id, secret := b.user(t, vmid, granted)
	var err error
	s.hand, err = byhand.New(b.URL(), id, secret, b.CAPEM())
	noError(t, err)
	s.Client, err = New(Options{
		Endpoint: b.URL(), TokenID: id, TokenSecret: secret, CAPEM: b.CAPEM(), VMIDRange: VMIDRange{First: vmid, Last: vmid + 1},
		FenceScope: FenceScope{VMIDs: []int{vmid, b.talking}, Nodes: []string{"pve2"}}, clock: hurry{},
	})
	noError(t, err)
	return s
}

// user makes a user with privileges by path, and a token of his.
func (b *bench) user(t *testing.T, number int, granted map[string][]string) (id, secret string) {
	t.Helper()

	user := fmt.Sprintf("subject%d@pve", number)
	noError(t, b.admin.Call(t.Context(), http.MethodPost, "/access/users", byhand.Params{"userid": user}, nil))
	for i, path := range slices.Sorted(maps.Keys(granted)) {
		role := fmt.Sprintf("Subject%d-%d", number, i)
		noError(t, b.admin.Call(t.Context(), http.MethodPost, "/access/roles",
			byhand.Params{"roleid": role, "privs": strings.Join(granted[path], ",")}, nil))
		noError(t, b.admin.Call(t.Context(), http.MethodPut, "/access/acl", byhand.Params{"path": path, "roles": role, "users": user}, nil))
	}
	var answer struct {
		ID    string `json:"full-tokenid"`
		Value string `json:"value"`
	}
	noError(t, b.admin.Call(t.Context(), http.MethodPost, "/access/users/"+user+"/token/test", byhand.Params{"privsep": 0}, &answer))
	return answer.ID, answer.Value
}

func (s *subject) check(t *testing.T, capability Capability) (Proof, []Lack) {
	t.Helper()

	held, err := s.Access.Permissions(t.Context(), "")
	noError(t, err)
	return held.Check(capability, s.scope, s.bench.version)
}

// lacks wants the check to name just one privilege.
func (s *subject) lacks(t *testing.T, capability Capability, need Need) {
	t.Helper()

	proof, lacks := s.check(t, capability)
	paths := need.paths(s.scope)
	if proof != Missing || len(lacks) != len(paths) {
		t.Errorf("the check says %s, %v", proof, lacks)
	}
	for i, lack := range lacks {
		if lack.Privilege != need.In(s.bench.version) || lack.Path != paths[i] {
			t.Errorf("the check says %s, %v", proof, lacks)
		}
	}
}

func talks(capability string) bool {
	return slices.Contains([]string{"vm.addresses", "vm.cloud-init-status", "probe.agent-ping", "probe.service", "vms.list", "vm.nics"}, capability)
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hidden is what a list without an entry means: PVE filters its lists.
func hidden(what, privilege string) error {
	return fmt.Errorf("%s is not listed, which takes %s", what, privilege)
}

// made has the administrator make a VM of ours.
func (s *subject) made(ctx context.Context, extra byhand.Params) (Guest, error) {
	guest := Guest{Kind: KindVM, Node: "pve1", VMID: s.vmid, UID: NewUID()}
	params := byhand.Params{"name": "made", "description": Marker{UID: guest.UID, VMID: guest.VMID}.String()}
	maps.Copy(params, extra)
	return guest, s.bench.admin.CreateVM(ctx, "pve1", s.vmid, params)
}

// configure changes a guest as the provider does.
func (s *subject) configure(ctx context.Context, guest Guest, set map[string]string) error {
	_, err := s.Configure(ctx, guest, nil, func(*GuestConfig) (ConfigUpdate, error) { return ConfigUpdate{Set: set}, nil })
	return err
}

// everyNeedIsNamed holds what the client was asked for against the table: no
// call of the client needs a privilege that the table does not name.
func everyNeedIsNamed(t *testing.T, lab *pvelab.Lab) {
	t.Helper()

	for _, q := range lab.Questions() {
		if !strings.HasPrefix(q.Agent, defaultUserAgent) {
			continue
		}
		if !slices.ContainsFunc(strings.Split(q.Privileges, "|"), func(p string) bool { return len(Purposes(q.Path, p)) > 0 }) {
			t.Errorf("a call of the client needs %s on %s, which no capability names", q.Privileges, q.Path)
		}
	}
}
