package proxmox

import (
	"slices"
	"strings"
	"testing"
)

var (
	pve8 = Version{Major: 8, Minor: 4}
	pve9 = Version{Major: 9, Minor: 2}
)

// TestCapabilityTable holds the table against PVE's spelling, and against its
// own rules: what is needed is named once, and says why.
func TestCapabilityTable(t *testing.T) {
	t.Parallel()

	seen := map[string]bool{}
	for _, c := range Capabilities() {
		if seen[c.Name] || c.Doc == "" || len(c.Needs) == 0 {
			t.Errorf("%q: named twice, not described, or needs nothing", c.Name)
		}
		seen[c.Name] = true
		held := map[string]bool{}
		for _, n := range c.Needs {
			key := n.Path + " " + n.Privilege
			if held[key] || n.Why == "" {
				t.Errorf("%s: %s: named twice, or without a reason", c.Name, key)
			}
			held[key] = true
			if strings.HasPrefix(n.Privilege, "VM.GuestAgent.") != (n.Privilege8 == "VM.Monitor") {
				t.Errorf("%s: %s is %q in PVE 8", c.Name, n.Privilege, n.Privilege8)
			}
		}
	}
}

func TestNeedIn(t *testing.T) {
	t.Parallel()

	for need, want := range map[Need][2]string{
		needAgent: {"VM.Monitor", "VM.GuestAgent.Audit"},
		needAudit: {"VM.Audit", "VM.Audit"},
	} {
		if got := [2]string{need.In(pve8), need.In(pve9)}; got != want {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

func TestPurposes(t *testing.T) {
	t.Parallel()

	for _, test := range []struct{ path, privilege, want string }{
		{"/vms/9000", "VM.Clone", "clone the template (vm.create)"},
		{"/pool/terraform", "VM.Allocate", "make and destroy guests (vm.create, container.create, "},
		{"/pool/terraform/id-20000", "Pool.Allocate", "reserve ids as pools within the pool (id-ledger)"},
		{"/sdn/zones/localnetwork/vmbr0/20", "SDN.Use", "attach a guest to the bridge (vm.create, container.create, "},
		{"/", "Sys.Audit", "see the cluster's members and which node answers (cluster.identity, "},
		{"/vms/100", "VM.Monitor", "ask the guest's agent (vm.addresses, "},
		{"/vms/100", "VM.Audit", "read the guest and the marker that tells whose it is (vm.create, vm.cloud-init, vm.cloud-init-regenerate, "},
		{"/vms/100", "VM.Snapshot", ""},
		{"/nodes/pve1", "VM.Clone", ""},
	} {
		got := Purposes(test.path, test.privilege)
		if test.want == "" && len(got) != 0 || test.want != "" && !slices.ContainsFunc(got, func(each string) bool { return strings.HasPrefix(each, test.want) }) {
			t.Errorf("%s on %s is for %q, want %q", test.privilege, test.path, got, test.want)
		}
	}
}

// TestPurposesAreFew holds that an explanation names no two dozen capabilities.
func TestPurposesAreFew(t *testing.T) {
	t.Parallel()

	all := strings.Join(Purposes("/vms/100", "VM.Audit"), "\n")
	if strings.Count(all, "the marker") != 1 || !strings.Contains(all, " more)") || strings.Contains(all, "vm.nics") {
		t.Errorf("VM.Audit is for:\n%s", all)
	}
}

// TestPermissionsCheck tells proven from inferred from missing, per object.
func TestPermissionsCheck(t *testing.T) {
	t.Parallel()

	vmCreate := func(path, privilege string) []Need { return []Need{{Path: path, Privilege: privilege}} }
	tests := map[string]struct {
		held  Permissions
		needs []Need
		scope Scope
		want  Proof
		lacks string
	}{
		"on everything":                {Permissions{"/": {"VM.Audit": true}}, vmCreate(guestPath, "VM.Audit"), nil, Proven, ""},
		"on everything, for an object": {Permissions{"/": {"VM.Audit": true}}, vmCreate(guestPath, "VM.Audit"), Scope{"vmid": {"100"}}, Proven, ""},
		"on the root alone":            {Permissions{"/": {"VM.Audit": false}}, vmCreate(guestPath, "VM.Audit"), nil, Missing, "VM.Audit on /vms/{vmid}"},
		"the root's own need":          {Permissions{"/": {"Sys.Audit": false}}, vmCreate(rootPath, "Sys.Audit"), nil, Proven, ""},
		"on all guests":                {Permissions{"/vms": {"VM.Audit": true}}, vmCreate(guestPath, "VM.Audit"), nil, Proven, ""},
		"on one guest":                 {Permissions{"/vms/100": {"VM.Audit": true}}, vmCreate(guestPath, "VM.Audit"), nil, Inferred, "VM.Audit on /vms/{vmid}"},
		"on that guest":                {Permissions{"/vms/100": {"VM.Audit": false}}, vmCreate(guestPath, "VM.Audit"), Scope{"vmid": {"100"}}, Proven, ""},
		"on another guest":             {Permissions{"/vms/100": {"VM.Audit": true}}, vmCreate(guestPath, "VM.Audit"), Scope{"vmid": {"101"}}, Missing, "VM.Audit on /vms/101"},
		"taken away below":             {Permissions{"/": {"VM.Audit": true}, "/vms/100": {"VM.Clone": true}}, vmCreate(guestPath, "VM.Audit"), Scope{"vmid": {"100"}}, Missing, "VM.Audit on /vms/100"},
		"on some pool":                 {Permissions{"/pool/a": {"VM.Audit": true}}, vmCreate(guestPath, "VM.Audit"), nil, Inferred, "VM.Audit on /vms/{vmid}"},
		"on the pool":                  {Permissions{"/pool/a": {"VM.Audit": false}}, vmCreate(guestPath, "VM.Audit"), Scope{"pool": {"a"}}, Proven, ""},
		"on the pool above":            {Permissions{"/pool/a": {"VM.Audit": true}}, vmCreate(guestPath, "VM.Audit"), Scope{"pool": {"a/b"}}, Proven, ""},
		"a template is in no pool":     {Permissions{"/pool/a": {"VM.Clone": true}}, vmCreate(templatePath, "VM.Clone"), Scope{"pool": {"a"}, "template": {"9000"}}, Missing, "VM.Clone on /vms/9000"},
		"one storage of two":           {Permissions{"/storage/a": {"Datastore.Audit": true}}, vmCreate(isoPath, "Datastore.Audit"), Scope{"iso": {"a", "b"}}, Missing, "Datastore.Audit on /storage/b"},
		"some storage":                 {Permissions{"/storage/a": {"Datastore.Audit": true}}, vmCreate(isoPath, "Datastore.Audit"), nil, Inferred, "Datastore.Audit on /storage/{iso}"},
		"a zone for its bridges":       {Permissions{"/sdn/zones/localnetwork": {"SDN.Use": true}}, vmCreate(bridgePath, "SDN.Use"), Scope{"bridge": {"vmbr0"}}, Proven, ""},
		"nothing":                      {Permissions{}, vmCreate(nodePath, "Sys.Audit"), nil, Missing, "Sys.Audit on /nodes/{node}"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			proof, lacks := test.held.CheckNeeds(test.needs, test.scope, pve9)
			if proof != test.want {
				t.Errorf("%s, want %s", proof, test.want)
			}
			text := ""
			if len(lacks) > 0 {
				text = lacks[0].String()
			}
			if text != test.lacks {
				t.Errorf("lacks %q, want %q", text, test.lacks)
			}
		})
	}
}
