package firewall_test

import (
	"context"
	"fmt"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// fast makes what the lab waits for so short that what is left is the provider's
// own.
const fast = 1000

// counted runs a command and returns the requests that it caused.
func counted(t *testing.T, target *acctest.Target, workspace *cli.Workspace, args ...string) pvelab.Count {
	t.Helper()
	before := target.Lab.Counters().Snapshot()
	acctest.MustRun(t, workspace, args...)
	return target.Lab.Counters().Snapshot().Sub(before)
}

const inForce = "options = { enabled = true, policy_in = \"DROP\" }\n"

// TestAccFirewall_budget counts the calls for a list of 200 rules.
func TestAccFirewall_budget(t *testing.T) {
	if testing.Short() {
		t.Skip("makes 200 rules")
	}
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: fast})
	vmid := guest(t, target, filtered)
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(firewall(target, vmid, inForce+manyRules(200, -1, ""))))
	count := counted(t, target, workspace, "apply", "-auto-approve")
	// One for each rule, one for the options.
	if n := mutations(count); n != 201 {
		t.Errorf("making 200 rules took %d mutating calls: %v", n, count.Requests)
	}

	// A security group is always in force: it makes no difference where all rules
	// decide alike. One call makes the group.
	group := target.Workspace(t)
	acctest.Must(t, group.Write(target.Provider()+`resource "proxmox_firewall" "group" {
  scope   = { security_group = "many" }
  foreign = true
`+manyRules(200, -1, "")+"}\n"))
	acctest.MustRun(t, group, "plan", "-out", "group.plan")
	count = counted(t, target, group, "apply", "group.plan")
	if n := mutations(count); n != 201 || count.Total > 205 {
		t.Errorf("making a group of 200 rules took %d calls, %d of them mutating: %v", count.Total, n, count.Requests)
	}

	count = counted(t, target, workspace, "plan", "-detailed-exitcode")
	if count.Total > 2 {
		t.Errorf("the refresh took %d calls: %v", count.Total, count.Requests)
	}

	for what, extra := range map[string]string{
		"one in the middle":     `{ direction = "in", action = "DROP", protocol = "udp" }`,
		"another one instead":   `{ direction = "in", action = "ACCEPT", source = "10.0.0.0/8" }`,
		"a changed one instead": `{ direction = "in", action = "ACCEPT", source = "10.7.0.0/16" }`,
	} {
		acctest.Must(t, workspace.Write(firewall(target, vmid, inForce+manyRules(200, 100, extra))))
		acctest.MustRun(t, workspace, "plan", "-out", "change.plan")
		count = counted(t, target, workspace, "apply", "change.plan")
		if n := mutations(count); n == 0 || n > 3 {
			t.Errorf("%s took %d mutating calls: %v", what, n, count.Requests)
		}
		if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
			t.Errorf("the plan after %s is not empty: %v\n%s", what, err, output)
		}
	}
}

// TestAccFirewall_tagged shares a list with rules that were made by hand.
func TestAccFirewall_tagged(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	vmid := guest(t, target, filtered)
	at := place(target, vmid)
	for _, comment := range []string{"hand b", "hand a"} {
		byHand(t, target.Hand, "POST", at+"/rules", map[string]any{"type": "in", "action": "ACCEPT", "enable": 1, "comment": comment})
	}
	config := func(rules string) string {
		return firewall(target, vmid, fmt.Sprintf("ownership = \"tagged\"\n tag = \"web\"\n rules = [%s]", rules))
	}
	const https = `{ direction = "in", action = "ACCEPT", macro = "HTTPS", comment = "public" },`
	const ssh = `{ direction = "in", action = "ACCEPT", macro = "SSH" },`
	workspace := target.Workspace(t)
	for _, step := range []struct {
		rules string
		want  []string
	}{
		{https, []string{"in ACCEPT HTTPS # public [terraform:web]", "in ACCEPT # hand a", "in ACCEPT # hand b"}},
		{ssh + https, []string{"in ACCEPT SSH # [terraform:web]", "in ACCEPT HTTPS # public [terraform:web]", "in ACCEPT # hand a", "in ACCEPT # hand b"}},
		{ssh, []string{"in ACCEPT SSH # [terraform:web]", "in ACCEPT # hand a", "in ACCEPT # hand b"}},
	} {
		acctest.Must(t, workspace.Write(config(step.rules)))
		acctest.MustRun(t, workspace, "apply", "-auto-approve")
		wantRules(t, target.Hand, at, step.want...)
		if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
			t.Errorf("the plan is not empty: %v\n%s", err, output)
		}
	}

	// Somebody moves his rule before ours: that is his.
	byHand(t, target.Hand, "PUT", at+"/rules/2", map[string]any{"moveto": 0})
	if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
		t.Errorf("a foreign rule that moved makes a plan: %v\n%s", err, output)
	}
	acctest.Must(t, workspace.Write(config(ssh+https)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	wantRules(t, target.Hand, at, "in ACCEPT # hand b", "in ACCEPT SSH # [terraform:web]", "in ACCEPT HTTPS # public [terraform:web]", "in ACCEPT # hand a")

	acctest.MustRun(t, workspace, "state", "rm", address)
	acctest.MustRun(t, workspace, "import", address, fmt.Sprintf("vm/%d:web", vmid))
	if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
		t.Errorf("the plan after an import is not empty: %v\n%s", err, output)
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	wantRules(t, target.Hand, at, "in ACCEPT # hand b", "in ACCEPT # hand a")
}
