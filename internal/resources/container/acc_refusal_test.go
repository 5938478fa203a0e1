package container_test

import (
	"context"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestAccContainer_refused: what cannot be is refused in the plan, with its reason,
// and nothing is called that would change anything.
func TestAccContainer_refused(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	tests := map[string]struct{ template, rest, want string }{
		"a boot order":            {oldTemplate, `boot_order = "net0"`, "Containers never have boot_order"},
		"firmware":                {oldTemplate, `bios = "ovmf"`, "it shares the node's kernel"},
		"cloud-init":              {oldTemplate, `cloud_init = "x"`, "Containers never have cloud_init"},
		"a clone":                 {oldTemplate, `clone_from = "100"`, "Not yet supported: clone_from"},
		"a pause":                 {oldTemplate, `power = "paused"`, "Not yet supported: a paused container"},
		"a bind mount":            {oldTemplate, `mount_points = { mp0 = { volume = "/srv", path = "/srv" } }`, "Only root@pam can set mount_points"},
		"a device":                {oldTemplate, `passthrough = { dev0 = { path = "/dev/null" } }`, "Only root@pam can set passthrough"},
		"a feature":               {oldTemplate, `features = { keyctl = true }`, "Only root@pam can set features.keyctl"},
		"a hook script":           {oldTemplate, `hook_script = "local:snippets/x.pl"`, "Only root@pam can set hook_script"},
		"an unknown template":     {"local:vztmpl/none.tar.zst", "", "There is no template local:vztmpl/none.tar.zst"},
		"an ISO as a template":    {"local:iso/debian-13.1.0-amd64-netinst.iso", "", "is no container template"},
		"a storage for ISOs":      {oldTemplate, `mount_points = { mp0 = { storage = "seeds", size_gib = 1, path = "/x" } }`, "rootdir"},
		"no such bridge":          {oldTemplate, `network = { net0 = { bridge = "vmbr99" } }`, `There is no bridge "vmbr99"`},
		"quota in unprivileged":   {oldTemplate, `mount_points = { mp0 = { storage = "local-lvm", size_gib = 1, path = "/x", quota = true } }`, "has no quotas"},
		"a volume without size":   {oldTemplate, `mount_points = { mp0 = { storage = "local-lvm", path = "/x" } }`, "needs a size"},
		"a gateway by itself":     {oldTemplate, `network = { net0 = { bridge = "vmbr0", ipv4 = { gateway = "10.0.0.1" } } }`, "A gateway needs an address"},
		"a vmid out of the range": {oldTemplate, `vmid = 100`, "vmid 100 is outside the range"},
	}
	before := target.Lab.Counters().Snapshot()
	for name, test := range tests {
		acctest.Must(t, workspace.Write(block(target, test.template, test.rest)))
		output, err := workspace.Run(context.Background(), "plan")
		if err == nil || !strings.Contains(acctest.Unwrap(output+err.Error()), test.want) {
			t.Errorf("%s: the plan does not refuse it with %q: %v", name, test.want, err)
		}
	}
	for call, count := range target.Lab.Counters().Snapshot().Sub(before).Requests {
		if !strings.HasPrefix(call, "GET ") && count > 0 {
			t.Errorf("a plan called %s", call)
		}
	}
}

// TestAccContainer_warned: a data volume about whose backup nobody decided.
func TestAccContainer_warned(t *testing.T) {
	t.Parallel()
	target := onNode(t)
	workspace := target.Workspace(t)
	const warning = "No backup will include mp0"
	for backup, warned := range map[string]bool{"": true, "backup = false": false, "backup = true": false} {
		acctest.Must(t, workspace.Write(block(target, oldTemplate,
			`mount_points = { mp0 = { storage = "local-lvm", size_gib = 1, path = "/x", `+backup+` } }`)))
		output := acctest.Unwrap(acctest.MustRun(t, workspace, "plan"))
		if strings.Contains(output, warning) != warned {
			t.Errorf("%q: warned is not %v:\n%s", backup, warned, output)
		}
	}
}

// TestAccContainer_privileged: only who may make privileged containers plans one.
func TestAccContainer_privileged(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(block(target, oldTemplate, `unprivileged = false`)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	if _, present := config(t, target, only(t, target))["unprivileged"]; present {
		t.Error("it is unprivileged")
	}
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")

	target.TokenID, target.TokenSecret = target.Lab.Token("least")
	least := target.Workspace(t)
	acctest.Must(t, least.Write(block(target, oldTemplate, "unprivileged = false\n  pool = \"terraform\"")))
	output, err := least.Run(context.Background(), "plan")
	if err == nil || !strings.Contains(acctest.Unwrap(output+err.Error()), "Sys.Modify") {
		t.Errorf("the plan does not ask for Sys.Modify: %v\n%s", err, output)
	}
	acctest.Must(t, least.Write(block(target, oldTemplate, `pool = "terraform"`)))
	acctest.MustRun(t, least, "apply", "-auto-approve")
	acctest.MustRun(t, least, "destroy", "-auto-approve")
}

// TestAccContainer_version: what PVE 8 does not know is refused in the plan.
func TestAccContainer_version(t *testing.T) {
	t.Parallel()
	for version, refused := range map[string]bool{"8.4": true, "9.2": false} {
		target := acctest.NewLab(t, pvelab.Options{Version: version})
		workspace := target.Workspace(t)
		acctest.Must(t, workspace.Write(block(target, oldTemplate, "entrypoint = \"/sbin/init\"\n  environment = [\"A=1\", \"B=two words\"]")))
		output, err := workspace.Run(context.Background(), "apply", "-auto-approve")
		if (err != nil) != refused {
			t.Errorf("%s: %v\n%s", version, err, output)
		}
		if refused && !strings.Contains(acctest.Unwrap(output+err.Error()), "PVE 8 does not know") {
			t.Errorf("%s: %v", version, err)
		}
		if !refused {
			empty(t, workspace)
			acctest.MustRun(t, workspace, "destroy", "-auto-approve")
		}
	}
}
