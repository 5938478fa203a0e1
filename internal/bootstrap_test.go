package internal_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/proxmox"
	"terraform-provider-proxmox/internal/pvelab"
)

const bootstrapScript = "../scripts/bootstrap-proxmox-host.sh"

// TestShellcheck runs where shellcheck is installed.
func TestShellcheck(t *testing.T) {
	t.Parallel()

	shellcheck, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	output, err := exec.CommandContext(t.Context(), shellcheck, "--shell=sh", bootstrapScript).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}

// node is a lab's node with the commands of a Proxmox VE node, which act on the
// lab and record what they change.
type node struct {
	lab *pvelab.Lab
	dir string
	env []string
}

func newNode(t *testing.T, version string) *node {
	t.Helper()

	lab, err := pvelab.New(pvelab.Options{Version: version, Speed: 500, NoTemplates: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lab.Close() })
	n := &node{lab: lab, dir: t.TempDir()}
	bin := filepath.Join(n.dir, "bin")
	for _, folder := range []string{bin, n.path("work"), n.path("pve/nodes/pve1"), n.path("pve/priv")} {
		write(t, folder, "", nil)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range standInCommands {
		if err := os.Symlink(self, filepath.Join(bin, command)); err != nil {
			t.Fatal(err)
		}
	}
	write(t, bin, "hostname", []byte("#!/bin/sh\ncase $1 in -s) echo pve1;; -f) echo pve1.example.com;; -I) echo '127.0.0.1 ';; esac\n"))
	n.certificateAuthority(t)
	write(t, n.dir, "lab-ca.pem", lab.CAPEM())
	n.env = append(os.Environ(),
		"PATH="+bin+":"+os.Getenv("PATH"), "PVE_DIR="+n.path("pve"), "IMAGE=local:import/debian-13-genericcloud-amd64.qcow2",
		"PVE_USER=bootstrap@pve", "POOL=bootstrapped", "ROLE_PREFIX=Bootstrap", "ENDPOINT="+lab.URL(), standInLab+"="+lab.URL(), standInCA+"="+n.path("lab-ca.pem"), standInPassword+"="+lab.RootPassword(),
		standInLog+"="+n.path("log"), standInVersion+"="+version)
	return n
}

func (n *node) path(name string) string { return filepath.Join(n.dir, name) }

// write makes a folder, and a file in it unless the name is empty.
func write(t *testing.T, dir, name string, content []byte) {
	t.Helper()

	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if name == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(dir, name), content, 0o700); err != nil {
		t.Fatal(err)
	}
}

// certificateAuthority is the node's own, as PVE makes one.
func (n *node) certificateAuthority(t *testing.T) {
	t.Helper()

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Proxmox Virtual Environment"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	write(t, n.path("pve"), "pve-root-ca.pem", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	write(t, n.path("pve/priv"), "pve-root-ca.key", pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))
}

// run runs the script and returns what it printed, and the changes it made.
func (n *node) run(t *testing.T, env []string, args ...string) (output string, changes []string) {
	t.Helper()

	output, changes, err := n.try(t, env, args...)
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, output)
	}
	return output, changes
}

// try is run where the script may fail.
func (n *node) try(t *testing.T, env []string, args ...string) (output string, changes []string, failure error) {
	t.Helper()

	_ = os.Remove(n.path("log"))
	script, err := filepath.Abs(bootstrapScript)
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "sh", append([]string{script}, args...)...)
	command.Dir = n.path("work")
	command.Env = append(slices.Clone(n.env), env...)
	printed, failure := command.CombinedOutput()
	recorded, _ := os.ReadFile(n.path("log"))
	return string(printed), strings.FieldsFunc(string(recorded), func(r rune) bool { return r == '\n' }), failure
}

func (n *node) file(t *testing.T, name string) string {
	t.Helper()

	return string(content(t, filepath.Join(n.path("work"), name)))
}

func TestBootstrap(t *testing.T) {
	t.Parallel()

	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not installed")
	}
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, version)
			n.dryRun(t)
			n.firstRun(t)
			n.secondRun(t)
			n.tokenWorks(t, version)
			n.reissue(t)
			n.uninstall(t)
		})
	}
}

// dryRun prints and changes nothing.
func (n *node) dryRun(t *testing.T) {
	t.Helper()

	output, changes := n.run(t, nil, "--dry-run", "all")
	if len(changes) != 0 {
		t.Errorf("a dry run made changes: %v", changes)
	}
	for _, wanted := range []string{"+ pveum role add BootstrapGuests", "+ pvesm add dir terraform-seeds", "+ pveum user token add", "+ qm create 9000", "+ sign a certificate"} {
		if !strings.Contains(output, wanted) {
			t.Errorf("a dry run does not print %q:\n%s", wanted, output)
		}
	}
	if left, _ := os.ReadDir(n.path("work")); len(left) != 0 {
		t.Errorf("a dry run wrote %v", left)
	}
}

func (n *node) firstRun(t *testing.T) {
	t.Helper()

	output, changes := n.run(t, []string{"EXTRA_SAN_DNS=pve.example.org, proxmox.example.org"}, "all")
	for _, change := range changes {
		first, _, _ := strings.Cut(change, " --")
		if !strings.Contains(output, "+ "+first) {
			t.Errorf("%q was not printed:\n%s", change, output)
		}
	}
	info, err := os.Stat(filepath.Join(n.path("work"), "proxmox.auto.tfvars"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file with the token: %v, %v", info, err)
	}
	secret := secretPattern.FindStringSubmatch(n.file(t, "proxmox.auto.tfvars"))
	if secret == nil || strings.Contains(output, secret[1]) {
		t.Errorf("the secret is not in the file, or was printed:\n%s", output)
	}
	block, _ := pem.Decode(content(t, n.path("pve/nodes/pve1/pveproxy-ssl.pem")))
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(n.file(t, "proxmox-ca.pem")))
	for _, name := range []string{"pve1", "pve1.example.com", "pve.example.org", "proxmox.example.org", "127.0.0.1"} {
		if _, err := certificate.Verify(x509.VerifyOptions{DNSName: name, Roots: roots}); err != nil {
			t.Errorf("the certificate is not good for %s: %v", name, err)
		}
	}
}

var secretPattern = regexp.MustCompile(`token_secret = "([0-9a-f-]{36})"`)

func content(t *testing.T, file string) []byte {
	t.Helper()

	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// secondRun finds everything as it should be.
func (n *node) secondRun(t *testing.T) {
	t.Helper()

	before := n.file(t, "proxmox.auto.tfvars")
	output, changes := n.run(t, []string{"EXTRA_SAN_DNS=pve.example.org, proxmox.example.org"}, "all")
	if len(changes) != 0 || strings.Contains(output, "+ ") || n.file(t, "proxmox.auto.tfvars") != before {
		t.Errorf("the second run changed something: %v\n%s", changes, output)
	}
}

// tokenWorks: the token can do what the table says the provider needs, and no
// more than that on what is not the pool's.
func (n *node) tokenWorks(t *testing.T, version string) {
	t.Helper()

	client := n.client(t)
	held, err := client.Access.Permissions(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := proxmox.ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	scope := proxmox.Scope{
		"pool": {"bootstrapped"}, "template": {"9000"}, "images": {"local-lvm"}, "iso": {"terraform-seeds"}, "bridge": {"vmbr0"}, "node": {"pve1"},
	}
	for _, name := range []string{
		"cluster.identity", "vm.create", "vm.cloud-init", "vm.hardware", "vm.addresses", "id-ledger", "seed_iso", "vm.stop", "vm.start", "firewall",
	} {
		capability, _ := proxmox.CapabilityOf(name)
		if proof, lacks := held.Check(capability, scope, parsed); proof != proxmox.Proven {
			t.Errorf("%s is %s: %v", name, proof, lacks)
		}
	}
	n.neededOnly(t, held, parsed)
	for _, path := range []string{"/storage/local", "/vms", "/access"} {
		if len(held[path]) != 0 {
			t.Errorf("the token holds %v on %s", held[path], path)
		}
	}
	_, err = client.CreateClone(t.Context(), proxmox.CloneSpec{
		TemplateNode: "pve1", Template: 9000, Name: "web", UID: proxmox.NewUID(), Storage: "local-lvm", Pool: "bootstrapped",
	})
	if err != nil {
		t.Errorf("the token cannot make a VM: %v", err)
	}
}

// neededOnly: what the token holds on the pool is in the table.
func (n *node) neededOnly(t *testing.T, held proxmox.Permissions, version proxmox.Version) {
	t.Helper()

	needed := map[string]bool{}
	for _, capability := range proxmox.Capabilities() {
		for _, need := range capability.Needs {
			if need.Path == "/vms/{vmid}" || need.Path == "/pool/{pool}" {
				needed[need.In(version)] = true
			}
		}
	}
	for privilege := range held["/pool/bootstrapped"] {
		if !needed[privilege] || privilege == "VM.GuestAgent.Unrestricted" || privilege == "VM.Console" {
			t.Errorf("the token holds %s on the pool, which nothing needs that the script is for", privilege)
		}
	}
}

// client uses the token that was written.
func (n *node) client(t *testing.T) *proxmox.Client {
	t.Helper()

	secret := secretPattern.FindStringSubmatch(n.file(t, "proxmox.auto.tfvars"))
	client, err := proxmox.New(proxmox.Options{
		Endpoint: n.lab.URL(), TokenID: "bootstrap@pve!provider", TokenSecret: secret[1], CAPEM: n.lab.CAPEM(),
		VMIDRange: proxmox.VMIDRange{First: 20000, Last: 20999}, LedgerPool: "bootstrapped",
	})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// reissue gives the token another secret, as a file to source.
func (n *node) reissue(t *testing.T) {
	t.Helper()

	old := n.client(t)
	_, changes := n.run(t, []string{"FORCE_TOKEN=true"}, "--env", "token")
	if !slices.ContainsFunc(changes, func(c string) bool { return strings.HasPrefix(c, "pveum user token add") }) {
		t.Errorf("changes %v", changes)
	}
	if !strings.Contains(n.file(t, "proxmox.env"), "PROXMOX_TOKEN_SECRET='") {
		t.Error("the new secret was not written")
	}
	if _, err := old.Pools.List(t.Context()); !proxmox.IsUnauthorized(err) {
		t.Errorf("the old secret: %v", err)
	}
	if _, changes := n.run(t, nil, "token"); len(changes) != 0 {
		t.Errorf("the rights went with the token: %v", changes)
	}
}

// uninstall leaves what is not the script's, and guests.
func (n *node) uninstall(t *testing.T) {
	t.Helper()

	output, _ := n.run(t, nil, "uninstall")
	if !strings.Contains(output, "the pool bootstrapped is not empty") {
		t.Errorf("the pool with a guest:\n%s", output)
	}
	if err := n.hand(t).Destroy(context.Background(), 20000); err != nil {
		t.Fatal(err)
	}
	n.run(t, nil, "uninstall")
	if output, changes := n.run(t, nil, "uninstall"); len(changes) != 0 {
		t.Errorf("a second time there is nothing to do: %v\n%s", changes, output)
	}
	if left, _ := os.ReadDir(n.path("work")); len(left) != 0 {
		t.Errorf("uninstall left %v", left)
	}
	for path, gone := range map[string]string{"/access/roles": "Bootstrap[A-Z]", "/access/acl": "bootstrap@pve!provider", "/pools": `"bootstrapped`, "/storage": "terraform-seeds"} {
		var out any
		if err := n.hand(t).Call(context.Background(), "GET", path, nil, &out); err != nil {
			t.Fatal(err)
		}
		if left := asJSON(t, out); regexp.MustCompile(gone).Match(left) {
			t.Errorf("%s: %s is left: %s", path, gone, bytes.TrimSpace(left))
		}
	}
}
