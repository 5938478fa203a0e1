package protocol

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/provider"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/privileges"
	"terraform-provider-proxmox/internal/pvelab"
)

// labSpeed makes what takes seconds on Proxmox VE take milliseconds.
const labSpeed = 100

// Lab is a lab with a provider that is configured to use it.
type Lab struct {
	*Server
	*pvelab.Lab

	// Hand makes bare calls with all privileges.
	Hand *byhand.Hand

	config Object
	users  int
}

// NewLab starts a lab, and configures a provider with one of its tokens and
// what the block has beside.
func NewLab(t testing.TB, p provider.Provider, token string, block Object) *Lab {
	t.Helper()

	return NewLabOf(t, pvelab.Options{Speed: labSpeed}, p, token, block)
}

// NewLabOf is [NewLab] with another lab than the default one.
func NewLabOf(t testing.TB, options pvelab.Options, p provider.Provider, token string, block Object) *Lab {
	t.Helper()

	lab, err := pvelab.New(options)
	must(t, err)
	must(t, lab.Start())
	t.Cleanup(func() {
		privileges.Check(t, lab)
		must(t, lab.Close())
	})
	id, secret := lab.Token("full")
	hand, err := byhand.New(lab.URL(), id, secret, lab.CAPEM())
	must(t, err)

	id, secret = lab.Token(token)
	config := Object{"endpoint": lab.URL(), "ca_pem": string(lab.CAPEM()), "token_id": id, "token_secret": secret}
	maps.Copy(config, block)
	server := New(t, p)
	if diagnostics := server.Configure(t, config); len(diagnostics) != 0 {
		t.Fatalf("the provider is not configured: %s", diagnostics)
	}
	return &Lab{Server: server, Lab: lab, Hand: hand, config: config}
}

// NextRun has the provider begin anew, as the CLI does for each plan and apply: it
// knows nothing of what it has read.
func (l *Lab) NextRun(t testing.TB) {
	t.Helper()

	if diagnostics := l.Configure(t, l.config); len(diagnostics) != 0 {
		t.Fatalf("the provider is not configured: %s", diagnostics)
	}
}

// Restrict has the provider go on with the token of a new user who holds nothing
// but privileges on paths, such as "VM.Audit VM.PowerMgmt" on "/vms".
func (l *Lab) Restrict(t *testing.T, rights map[string]string) {
	t.Helper()

	post := func(path string, params byhand.Params, out any) {
		t.Helper()
		must(t, l.Hand.Call(t.Context(), http.MethodPost, path, params, out))
	}
	l.users++
	name := "few" + strconv.Itoa(l.users)
	post("/access/users", byhand.Params{"userid": name + "@pve"}, nil)
	for i, path := range slices.Sorted(maps.Keys(rights)) {
		role := name + "-" + strconv.Itoa(i)
		post("/access/roles", byhand.Params{"roleid": role, "privs": strings.Join(strings.Fields(rights[path]), ",")}, nil)
		must(t, l.Hand.Call(t.Context(), http.MethodPut, "/access/acl", byhand.Params{"path": path, "roles": role, "users": name + "@pve"}, nil))
	}
	var token struct {
		Secret string `json:"value"`
	}
	post("/access/users/"+name+"@pve/token/test", byhand.Params{"privsep": 0}, &token)
	config := maps.Clone(l.config)
	config["token_id"], config["token_secret"] = name+"@pve!test", token.Secret
	if diagnostics := l.Configure(t, config); len(diagnostics) != 0 {
		t.Fatalf("the provider is not configured: %s", diagnostics)
	}
}
