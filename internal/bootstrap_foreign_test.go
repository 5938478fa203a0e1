package internal_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
)

// byHand makes what has the names that the script uses, without its mark.
func (n *node) byHand(t *testing.T) {
	t.Helper()

	for _, made := range []struct {
		path   string
		params byhand.Params
	}{
		{"/access/roles", byhand.Params{"roleid": "BootstrapSeeds", "privs": "Datastore.Allocate,Datastore.AllocateTemplate,Datastore.Audit"}},
		{"/storage", byhand.Params{"storage": "terraform-seeds", "type": "dir", "path": "/srv/seeds", "content": "iso"}},
		{"/pools", byhand.Params{"poolid": "bootstrapped", "comment": "of others, not of terraform-bootstrap"}},
		{"/pools", byhand.Params{"poolid": "bootstrapped/id-20001"}},
		{"/access/users", byhand.Params{"userid": "bootstrap@pve", "comment": "of others"}},
		{"/access/users/bootstrap@pve/token/provider", byhand.Params{"comment": "of others"}},
		{"/nodes/pve1/qemu", byhand.Params{"vmid": "9000", "name": "others"}},
	} {
		if err := n.hand(t).Call(context.Background(), http.MethodPost, made.path, made.params, nil); err != nil {
			t.Fatalf("%s: %v", made.path, err)
		}
	}
}

// names lists what there is at a path.
func (n *node) names(t *testing.T, path, key string) []string {
	t.Helper()

	var list []map[string]any
	if err := n.hand(t).Call(context.Background(), http.MethodGet, path, nil, &list); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, each := range list {
		if name, ok := each[key].(string); ok {
			found = append(found, name)
		}
	}
	return found
}

// TestBootstrapLeavesOthers: uninstall removes what the script made and names
// what it leaves.
func TestBootstrapLeavesOthers(t *testing.T) {
	t.Parallel()

	n := newNode(t, "9.2")
	n.byHand(t)
	n.run(t, nil, "role", "seed", "token")
	for _, arguments := range [][]string{{"--dry-run", "uninstall"}, {"uninstall"}} {
		output, changes := n.run(t, nil, arguments...)
		for _, left := range []string{
			"the role BootstrapSeeds", "the storage terraform-seeds", "the pool bootstrapped", "the user bootstrap@pve, with its permissions,",
			"the token bootstrap@pve!provider", "guest 9000",
		} {
			if !strings.Contains(output, left+" is left alone") {
				t.Errorf("%v does not say that %s is left alone:\n%s", arguments, left, output)
			}
		}
		wanted := []string{"pveum role delete BootstrapGuests", "pveum role delete BootstrapView"}
		for _, change := range wanted {
			if !strings.Contains(output, "+ "+change) {
				t.Errorf("%v does not print %q:\n%s", arguments, change, output)
			}
		}
		if arguments[0] != "--dry-run" && !slices.Equal(changes, wanted) {
			t.Errorf("changes %v", changes)
		}
	}
	for _, there := range []struct{ path, key, name string }{
		{"/access/roles", "roleid", "BootstrapSeeds"},
		{"/storage", "storage", "terraform-seeds"},
		{"/pools", "poolid", "bootstrapped"},
		{"/pools", "poolid", "bootstrapped/id-20001"},
		{"/access/users", "userid", "bootstrap@pve"},
		{"/access/users/bootstrap@pve/token", "tokenid", "provider"},
	} {
		if found := n.names(t, there.path, there.key); !slices.Contains(found, there.name) {
			t.Errorf("%s is gone from %s: %v", there.name, there.path, found)
		}
	}
}

// TestBootstrapChangesNothingOfOthers: a role, a token and a file that have the
// names which the script uses stop it.
func TestBootstrapChangesNothingOfOthers(t *testing.T) {
	t.Parallel()

	n := newNode(t, "9.2")
	ctx := context.Background()
	role := byhand.Params{"roleid": "BootstrapView", "privs": "VM.Audit"}
	if err := n.hand(t).Call(ctx, http.MethodPost, "/access/roles", role, nil); err != nil {
		t.Fatal(err)
	}
	if output, _, err := n.try(t, nil, "role"); err == nil || !strings.Contains(output, "choose another ROLE_PREFIX") {
		t.Errorf("a role of others: %v\n%s", err, output)
	}
	var held map[string]any
	if err := n.hand(t).Call(ctx, http.MethodGet, "/access/roles/BootstrapView", nil, &held); err != nil || len(held) != 1 {
		t.Errorf("the role of others holds %v (%v)", held, err)
	}
	if err := n.hand(t).Call(ctx, http.MethodDelete, "/access/roles/BootstrapView", nil, nil); err != nil {
		t.Fatal(err)
	}

	write(t, n.path("work"), "proxmox.auto.tfvars", []byte("mine = true\n"))
	if output, _, err := n.try(t, nil, "role", "seed", "token"); err == nil || !strings.Contains(output, "./proxmox.auto.tfvars is not of this script") {
		t.Errorf("a file of others: %v\n%s", err, output)
	}
	if n.file(t, "proxmox.auto.tfvars") != "mine = true\n" {
		t.Error("the file of others was overwritten")
	}

	token := byhand.Params{"comment": "of others"}
	if err := n.hand(t).Call(ctx, http.MethodPost, "/access/users/bootstrap@pve/token/provider", token, nil); err != nil {
		t.Fatal(err)
	}
	output, changes, err := n.try(t, []string{"FORCE_TOKEN=true"}, "token")
	if err == nil || len(changes) != 0 || !strings.Contains(output, "the token bootstrap@pve!provider is not of this script") {
		t.Errorf("a token of others: %v, changes %v\n%s", err, changes, output)
	}
}

// TestBootstrapForgets: what was removed and made again by hand is no longer the
// script's, nor is a user that got a token by hand.
func TestBootstrapForgets(t *testing.T) {
	t.Parallel()

	n := newNode(t, "9.2")
	n.run(t, nil, "role", "seed", "token")
	other := byhand.Params{"comment": "of others"}
	if err := n.hand(t).Call(context.Background(), http.MethodPost, "/access/users/bootstrap@pve/token/other", other, nil); err != nil {
		t.Fatal(err)
	}
	if output, _ := n.run(t, nil, "uninstall"); !strings.Contains(output, "has other tokens and stays") {
		t.Errorf("the user with another token:\n%s", output)
	}
	if found := n.names(t, "/access/users/bootstrap@pve/token", "tokenid"); !slices.Equal(found, []string{"other"}) {
		t.Errorf("the tokens are %v", found)
	}
	storage := byhand.Params{"storage": "terraform-seeds", "type": "dir", "path": "/srv/seeds", "content": "iso"}
	if err := n.hand(t).Call(context.Background(), http.MethodPost, "/storage", storage, nil); err != nil {
		t.Fatal(err)
	}
	if output, changes := n.run(t, nil, "uninstall"); len(changes) != 0 || !strings.Contains(output, "the storage terraform-seeds is left alone") {
		t.Errorf("changes %v:\n%s", changes, output)
	}
}

// TestBootstrapCertificateOfOthers is replaced on request only, and kept.
func TestBootstrapCertificateOfOthers(t *testing.T) {
	t.Parallel()

	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	n := newNode(t, "9.2")
	// The CA's own certificate is nobody's for this node: it has no names.
	others, key, own := content(t, n.path("pve/pve-root-ca.pem")), []byte("the key of others"), n.path("pve/nodes/pve1")
	write(t, own, "pveproxy-ssl.pem", others)
	write(t, own, "pveproxy-ssl.key", key)
	for _, arguments := range [][]string{{"cert"}, {"--dry-run", "cert"}} {
		output, changes, err := n.try(t, nil, arguments...)
		if err == nil || len(changes) != 0 || !strings.Contains(output, "FORCE_CERT=true replaces it") {
			t.Errorf("%v: %v, changes %v:\n%s", arguments, err, changes, output)
		}
	}
	if output, changes := n.run(t, nil, "uninstall"); len(changes) != 0 || !strings.Contains(output, "pveproxy-ssl.pem is left alone") {
		t.Errorf("uninstall, changes %v:\n%s", changes, output)
	}
	forced := []string{"FORCE_CERT=true"}
	if _, changes := n.run(t, forced, "--dry-run", "cert"); len(changes) != 0 || len(n.saved(t)) != 0 {
		t.Errorf("a dry run changed %v and saved %v", changes, n.saved(t))
	}
	if got := content(t, n.path("pve/nodes/pve1/pveproxy-ssl.pem")); !bytes.Equal(got, others) {
		t.Error("the certificate of others was replaced unasked")
	}

	n.run(t, forced, "cert")
	saved := n.saved(t)
	if len(saved) != 2 {
		t.Fatalf("saved is %v", saved)
	}
	for i, want := range [][]byte{key, others} {
		info, err := os.Stat(saved[i])
		if err != nil || info.Mode().Perm()&0o077 != 0 || !bytes.Equal(content(t, saved[i]), want) {
			t.Errorf("%s is not what was there, or others may read it: %v", saved[i], err)
		}
	}
	// What the script made it replaces unasked, and saves nothing.
	if _, changes := n.run(t, []string{"EXTRA_SAN_DNS=pve.example.org"}, "cert"); len(changes) != 1 || len(n.saved(t)) != 2 {
		t.Errorf("changes %v, saved %v", changes, n.saved(t))
	}
}

// saved lists the copies of certificates and keys, sorted.
func (n *node) saved(t *testing.T) []string {
	t.Helper()

	found, err := filepath.Glob(n.path("pve/priv/terraform-bootstrap/pve1-*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}
