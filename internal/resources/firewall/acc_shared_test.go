package firewall_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// What belongs to no guest is tried on labs only: on a real node it would be in
// force for others.

func shared(target *acctest.Target, scope, body string) string {
	return target.Provider() + fmt.Sprintf(`
resource "proxmox_firewall" "test" {
  scope   = { %s }
  foreign = true
  %s
}
`, scope, body)
}

func noChanges(t *testing.T, workspace *cli.Workspace) {
	t.Helper()
	if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
		t.Errorf("the plan is not empty: %v\n%s", err, output)
	}
}

// said wants parts of an output, whatever the CLI's line breaks.
func said(t *testing.T, output string, want ...string) {
	t.Helper()
	flat := acctest.Unwrap(output)
	for _, part := range want {
		if !strings.Contains(flat, part) {
			t.Errorf("%q is not said:\n%s", part, output)
		}
	}
}

// refused wants an apply to fail with a text, and nothing to change.
func refused(t *testing.T, target *acctest.Target, workspace *cli.Workspace, config string, want ...string) {
	t.Helper()
	acctest.Must(t, workspace.Write(config))
	before := target.Lab.Counters().Snapshot()
	output, err := workspace.Apply(context.Background())
	if err == nil {
		t.Errorf("it is applied:\n%s", output)
	}
	said(t, output, want...)
	if n := mutations(target.Lab.Counters().Snapshot().Sub(before)); n > 0 {
		t.Errorf("%d calls changed a firewall", n)
	}
}

func TestAccFirewall_cluster(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	const at, on = "/cluster/firewall", "options = { enabled = true, policy_in = \"DROP\", log_rate_limit = \"enable=1,rate=2/second,burst=5\" }\n"
	const web = `{ direction = "in", action = "ACCEPT", macro = "HTTPS" },`
	const ssh = `{ direction = "in", action = "ACCEPT", macro = "SSH", source = "127.0.0.0/8" },`
	const api = `{ direction = "in", action = "ACCEPT", protocol = "tcp", destination_port = "8000:8006", source = "+operators" },`
	const sets = "ip_sets = { operators = [\"127.0.0.1\", \"10.0.9.0/24\"] }\n"
	workspace := target.Workspace(t)
	const lockout = "would lock the provider out"
	refused(t, target, workspace, shared(target, "cluster = true", on+"rules = ["+web+ssh+"]"), lockout, "8006 from 127.0.0.1")
	refused(t, target, workspace, shared(target, "cluster = true", on+"rules = []"), lockout)
	refused(t, target, workspace, shared(target, "cluster = true", on+sets+
		"rules = [{ direction = \"in\", action = \"DROP\", source = \"127.0.0.1\" },"+api+ssh+"]"), lockout)
	refused(t, target, workspace, strings.Replace(shared(target, "cluster = true", sets), "foreign = true", "", 1), "foreign must be true")

	acctest.Must(t, workspace.Write(shared(target, "cluster = true", on+sets+"rules = ["+web+api+ssh+"]")))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	wantRules(t, target, at, "in ACCEPT HTTPS", "in ACCEPT tcp 8000:8006 +operators", "in ACCEPT SSH 127.0.0.0/8")
	wantOptions(t, target, at, map[string]string{"enable": "1", "policy_in": "DROP", "log_ratelimit": "enable=1,rate=2/second,burst=5"})
	noChanges(t, workspace)

	refused(t, target, workspace, shared(target, "cluster = true", on+sets+"rules = ["+ssh+"]"), lockout)
	acctest.Must(t, workspace.Write(shared(target, "cluster = true", on+sets+"accept_lockout_risk = true\nrules = ["+ssh+web+"]")))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	wantRules(t, target, at, "in ACCEPT SSH 127.0.0.0/8", "in ACCEPT HTTPS")

	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	wantRules(t, target, at)
	wantOptions(t, target, at, map[string]string{})
}

// TestAccFirewall_clusterTagged: beside rules made by hand, what the plan makes
// of the list counts.
func TestAccFirewall_clusterTagged(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	const at, lockout = "/cluster/firewall", "would lock the provider out"
	const on = "ownership = \"tagged\"\ntag = \"mine\"\noptions = { enabled = true, policy_in = \"DROP\" }\n"
	const api = `{ direction = "in", action = "ACCEPT", protocol = "tcp", destination_port = "8006" },`
	const refusal = `{ direction = "in", action = "DROP", protocol = "tcp", destination_port = "22" },`
	acctest.Must(t, target.Hand.Call(context.Background(), http.MethodPost, at+"/rules", byhand.Params{
		"type": "in", "action": "ACCEPT", "macro": "SSH", "enable": "1",
	}, nil))
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(shared(target, "cluster = true", on+"rules = ["+api+"]")))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	wantRules(t, target, at, "in ACCEPT tcp 8006 # [terraform:mine]", "in ACCEPT SSH")

	refused(t, target, workspace, shared(target, "cluster = true", on+"rules = []"), lockout, "8006 from 127.0.0.1")
	refused(t, target, workspace, shared(target, "cluster = true", on+"rules = ["+api+refusal+"]"), lockout, "22 from 127.0.0.1")
	acctest.Must(t, workspace.Write(shared(target, "cluster = true", on+"rules = ["+api+"]")))
	noChanges(t, workspace)
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	wantRules(t, target, at, "in ACCEPT SSH")
}

func TestAccFirewall_node(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	const at = "/nodes/pve2/firewall"
	config := func(conntrack int) string {
		return shared(target, `node = "pve2"`, fmt.Sprintf(`
  options = { enabled = true, conntrack_max = %d, conntrack_tcp_timeout_syn_recv_seconds = 45, tcp_flags = true, log_level_in = "warning" }
  rules = [
    { direction = "in", action = "ACCEPT", protocol = "tcp", destination_port = "22,8006", interface = "vmbr0" },
    { direction = "forward", action = "DROP", source = "192.0.2.0/24" },
  ]`, conntrack))
	}
	workspace := target.Workspace(t)
	for _, size := range []int{40000, 50000} {
		acctest.Must(t, workspace.Write(config(size)))
		acctest.MustRun(t, workspace, "apply", "-auto-approve")
		wantRules(t, target, at, "in ACCEPT tcp 22,8006 vmbr0", "forward DROP 192.0.2.0/24")
		wantOptions(t, target, at, map[string]string{
			"enable": "1", "nf_conntrack_max": fmt.Sprint(size), "nf_conntrack_tcp_timeout_syn_recv": "45", "tcpflags": "1", "log_level_in": "warning",
		})
		noChanges(t, workspace)
	}
	acctest.Must(t, workspace.Write(shared(target, `node = "pve2"`, "rules = [{ direction = \"in\", action = \"DROP\", protocol = \"tcp\" }]")))
	said(t, acctest.MustRun(t, workspace, "plan"), "may lock the provider out", "port 8006 to 127.0.0.1")
	acctest.Must(t, workspace.Write(config(50000)))
	acctest.MustRun(t, workspace, "state", "rm", address)
	acctest.MustRun(t, workspace, "import", address, "node/pve2")
	noChanges(t, workspace)
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	wantRules(t, target, at)
	wantOptions(t, target, at, map[string]string{})
}

func TestAccFirewall_securityGroup(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	vmid := guest(t, target, filtered)
	config := func(comment, rules string) string {
		return shared(target, `security_group = "web"`, fmt.Sprintf("comment = %q\nrules = [%s]", comment, rules)) + fmt.Sprintf(`
resource "proxmox_firewall" "guest" {
  scope = { vm = %d }
  rules = [{ direction = "group", action = proxmox_firewall.test.scope.security_group, interface = "net0", comment = "all of it" }]
}
`, vmid)
	}
	const http80 = `{ direction = "in", action = "ACCEPT", macro = "HTTP" },`
	const smtp = `{ direction = "out", action = "REJECT", macro = "SMTP", log_level = "info" },`
	group := func(want ...string) {
		t.Helper()
		var list []handRule
		acctest.Must(t, target.Hand.Call(context.Background(), http.MethodGet, "/cluster/firewall/groups/web", nil, &list))
		var got []string
		for _, rule := range list {
			got = append(got, rule.String())
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the group's rules are %v, not %v", got, want)
		}
	}
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(config("one", http80)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	group("in ACCEPT HTTP")
	wantRules(t, target, place(target, vmid), "group web net0 # all of it")
	noChanges(t, workspace)

	acctest.Must(t, workspace.Write(config("two", smtp+http80)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	group("out REJECT SMTP", "in ACCEPT HTTP")
	if got := namesOf(t, target, "/cluster/firewall/groups", "comment"); fmt.Sprint(got) != "[two]" {
		t.Errorf("the comment is %v", got)
	}
	noChanges(t, workspace)

	acctest.MustRun(t, workspace, "state", "rm", address)
	acctest.MustRun(t, workspace, "import", address, "security_group/web")
	noChanges(t, workspace)

	// Gone behind its back, it is made again.
	for range 2 {
		byHand(t, target, http.MethodDelete, "/cluster/firewall/groups/web/0", nil)
	}
	byHand(t, target, http.MethodDelete, "/cluster/firewall/groups/web", nil)
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	group("out REJECT SMTP", "in ACCEPT HTTP")
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	if left := namesOf(t, target, "/cluster/firewall/groups", "group"); len(left) > 0 {
		t.Errorf("groups are left: %v", left)
	}
}

// TestAccFirewall_strangers leaves guests alone that are not the provider's own.
func TestAccFirewall_strangers(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	ctx := context.Background()
	workspace := target.Workspace(t)
	stranger := target.First + 1
	acctest.Must(t, target.Hand.CreateVM(ctx, target.Node, stranger, byhand.Params{"name": "somebody"}))
	refused(t, target, workspace, firewall(target, stranger, "rules = []"), "not the provider's own")
	refused(t, target, workspace, firewall(target, target.First+2, "rules = []"), "does not exist")
	refused(t, target, workspace, firewall(target, 9000, "rules = []"), "outside vmid_range")

	// Our guest is gone, and somebody has taken its id.
	vmid := guest(t, target, filtered)
	acctest.Must(t, workspace.Write(firewall(target, vmid, inForce+"rules = []")))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	acctest.Must(t, target.Hand.Destroy(ctx, vmid))
	acctest.Must(t, target.Hand.CreateVM(ctx, target.Node, vmid, byhand.Params{"name": "somebody-else"}))
	byHand(t, target, http.MethodPut, place(target, vmid)+"/options", byhand.Params{"enable": 1, "policy_in": "REJECT"})
	output, err := workspace.Run(ctx, "plan", "-no-color")
	if err != nil {
		t.Fatal(err)
	}
	said(t, output, "another guest's now", "1 to add")
	refused(t, target, workspace, firewall(target, vmid, inForce+"rules = []"), "not the provider's own")
	wantOptions(t, target, place(target, vmid), map[string]string{"enable": "1", "policy_in": "REJECT"})
}

// TestAccFirewall_plans shows what a plan tells beforehand.
func TestAccFirewall_plans(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	vmid := guest(t, target, "virtio,bridge=vmbr0")
	byHand(t, target, http.MethodPost, place(target, vmid)+"/rules", byhand.Params{"type": "in", "action": "ACCEPT"})
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(firewall(target, vmid, inForce+"rules = []")))
	output, err := workspace.Run(context.Background(), "plan", "-no-color")
	acctest.Must(t, err)
	said(t, output, "does not see net0", fmt.Sprintf("1 rules of vm/%d are removed", vmid))

	rule := func(text string) string {
		return firewall(target, vmid, "rules = [{ direction = \"in\", action = \"ACCEPT\", "+text+" }]")
	}
	for text, want := range map[string]string{
		`macro = "Nope"`:                               `knows no macro "Nope"`,
		`macro = "https"`:                              `is written "HTTPS"`,
		`destination_port = "22"`:                      "needs a protocol that has ports",
		`protocol = "tcp", destination_port = "70000"`: `"70000" is neither a port`,
		`source = "10.0.0.5/8"`:                        "the network is 10.0.0.0/8",
		`source = "+Admins"`:                           "lower case",
		`interface = "eth0"`:                           "such as net0",
		`protocol = "tcp", icmp_type = "echo-request"`: "needs protocol icmp",
		`source = "10.0.0.1,fd00::1"`:                  "mixes IPv4 and IPv6",
		`protocol = "tcp", destination_port = "9:1"`:   "backwards",
		`comment = "two\nlines"`:                       "one line",
	} {
		refused(t, target, workspace, rule(text), want)
	}
	for _, tc := range [][2]string{
		{"options = { conntrack_max = 40000 }", "is for nodes"},
		{"ownership = \"tagged\"\nrules = []", "is needed with"},
		{"aliases = { a1 = \"10.0.0.1/32\" }", "keeps as 10.0.0.1"},
		{"ip_sets = { Big = [] }", "is not a set's name"},
		{"spoof_protection = { net0 = [\"10.0.0.1\"] }\noptions = { mac_filter = false }", "needs the MAC filter"},
		{"comment = \"x\"", "is for security groups"},
	} {
		refused(t, target, workspace, firewall(target, vmid, tc[0]), tc[1])
	}
}

// TestAccFirewall_container is about a container, which has its marker in its
// description, too.
func TestAccFirewall_container(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	vmid := target.First + 5
	acctest.Must(t, target.Hand.Task(context.Background(), http.MethodPost, "/nodes/pve1/lxc", byhand.Params{
		"vmid": vmid, "ostemplate": "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst", "rootfs": "local-lvm:1", "unprivileged": 1,
		"net0": "name=eth0,bridge=vmbr0", "description": fmt.Sprintf("terraform-proxmox-uid=4b0f2c9a-5f5e-4f55-9a9b-000000000001/%d", vmid),
	}))
	at := fmt.Sprintf("/nodes/pve1/lxc/%d/firewall", vmid)
	config := func(rules string) string {
		return strings.Replace(firewall(target, vmid, inForce+"rules = ["+rules+"]"), "vm =", "container =", 1)
	}
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(config(`{ direction = "in", action = "ACCEPT", macro = "HTTPS", interface = "net0" }`)))
	output := acctest.MustRun(t, workspace, "apply", "-auto-approve")
	said(t, output, "does not see net0")
	wantRules(t, target, at, "in ACCEPT HTTPS net0")
	noChanges(t, workspace)
	acctest.Must(t, workspace.Write(config("")))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	wantRules(t, target, at)
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	wantOptions(t, target, at, map[string]string{})
}
