package container_test

import (
	"context"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

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
