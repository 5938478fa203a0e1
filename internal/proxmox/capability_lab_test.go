package proxmox

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
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
			s := b.subject(t, capability, &capability.Needs[i])
			if stillHeld(capability, need, b.version) {
				t.Skip("another row has the same privilege")
			}
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

	vmid := int(b.last.Add(1))
	s := &subject{bench: b, vmid: vmid, scope: Scope{
		"vmid": {strconv.Itoa(vmid)}, "template": {strconv.Itoa(benchTemplate)}, "pool": {"terraform"}, "bridge": {"vmbr0"},
		"node": {"pve1"}, "images": {"shared-nfs"}, "rootdir": {"local-lvm"}, "vztmpl": {"local"}, "iso": {"seeds"},
	}}
	if talks(capability.Name) {
		s.scope["vmid"] = []string{strconv.Itoa(b.talking)}
	}
	if capability.Name == "node.shutdown" {
		s.scope["node"] = []string{"pve3"} // where no other test has a guest
	}
	if capability.Name != "id-ledger" {
		delete(s.scope, "pool")
	}
	granted := map[string][]string{}
	for i, need := range capability.Needs {
		if without == &capability.Needs[i] {
			continue
		}
		for _, path := range need.paths(s.scope) {
			granted[path] = append(granted[path], need.In(b.version))
		}
	}
	id, secret := b.user(t, vmid, granted)
	var err error
	s.hand, err = byhand.New(b.URL(), id, secret, b.CAPEM())
	noError(t, err)
	s.Client, err = New(Options{
		Endpoint: b.URL(), TokenID: id, TokenSecret: secret, CAPEM: b.CAPEM(), VMIDRange: VMIDRange{First: 20000, Last: 29999},
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
	if proof != Missing || len(lacks) != 1 || lacks[0].Privilege != need.In(s.bench.version) || lacks[0].Path != need.paths(s.scope)[0] {
		t.Errorf("the check says %s, %v", proof, lacks)
	}
}

// stillHeld reports whether another need of the capability is the same
// privilege in this version.
func stillHeld(c Capability, need Need, v Version) bool {
	same := 0
	for _, other := range c.Needs {
		if other.Path == need.Path && other.In(v) == need.In(v) {
			same++
		}
	}
	return same > 1
}

func talks(capability string) bool {
	return slices.Contains([]string{"vm.addresses", "vm.cloud-init-status", "vm.migrate", "probe.agent-ping", "probe.service", "vms.list", "vm.nics"}, capability)
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

// read and write make bare calls as the subject.
func (s *subject) read(ctx context.Context, path string, out any) error {
	return s.get(ctx, path, nil, out)
}

func (s *subject) write(ctx context.Context, method, path string, params url.Values) error {
	return s.call(ctx, method, path, params, nil)
}

// made has the administrator make a VM.
func (s *subject) made(ctx context.Context, params byhand.Params) error {
	return s.bench.admin.CreateVM(ctx, "pve1", s.vmid, params)
}

func (s *subject) guestPath(rest ...string) string { return vmPath("pve1", s.vmid, rest...) }
