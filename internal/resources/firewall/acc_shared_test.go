package firewall_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
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
	wantRules(t, target.Hand, at, "in ACCEPT HTTPS", "in ACCEPT tcp 8000:8006 +operators", "in ACCEPT SSH 127.0.0.0/8")
	wantOptions(t, target.Hand, at, map[string]string{"enable": "1", "policy_in": "DROP", "log_ratelimit": "enable=1,rate=2/second,burst=5"})
	noChanges(t, workspace)

	refused(t, target, workspace, shared(target, "cluster = true", on+sets+"rules = ["+ssh+"]"), lockout)
	acctest.Must(t, workspace.Write(shared(target, "cluster = true", on+sets+"accept_lockout_risk = true\nrules = ["+ssh+web+"]")))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	wantRules(t, target.Hand, at, "in ACCEPT SSH 127.0.0.0/8", "in ACCEPT HTTPS")

	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	wantRules(t, target.Hand, at)
	wantOptions(t, target.Hand, at, map[string]string{})
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
	wantRules(t, target.Hand, place(target, vmid), "group web net0 # all of it")
	noChanges(t, workspace)

	acctest.Must(t, workspace.Write(config("two", smtp+http80)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	group("out REJECT SMTP", "in ACCEPT HTTP")
	if got := namesOf(t, target.Hand, "/cluster/firewall/groups", "comment"); fmt.Sprint(got) != "[two]" {
		t.Errorf("the comment is %v", got)
	}
	noChanges(t, workspace)

	acctest.MustRun(t, workspace, "state", "rm", address)
	acctest.MustRun(t, workspace, "import", address, "security_group/web")
	noChanges(t, workspace)

	// Gone behind its back, it is made again.
	for range 2 {
		byHand(t, target.Hand, http.MethodDelete, "/cluster/firewall/groups/web/0", nil)
	}
	byHand(t, target.Hand, http.MethodDelete, "/cluster/firewall/groups/web", nil)
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	group("out REJECT SMTP", "in ACCEPT HTTP")
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	if left := namesOf(t, target.Hand, "/cluster/firewall/groups", "group"); len(left) > 0 {
		t.Errorf("groups are left: %v", left)
	}
}
