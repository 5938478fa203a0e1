package seediso_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestAccSeedISO_examples plans what users are shown, and applies one that has
// both resources.
func TestAccSeedISO_examples(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	folder := "../../../examples/resources/proxmox_seed_iso/"
	for name, want := range map[string]string{
		"one-vm.tf": "1 to add", "twenty.tf": "20 to add", "static.tf": "2 to add", "resource.tf": "2 to add",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			example, err := os.ReadFile(folder + name)
			acctest.Must(t, err)
			workspace := target.Workspace(t)
			workspace.Setenv("TF_VAR_join_token", "abc")
			acctest.Must(t, workspace.Write(target.Provider()+string(example)))
			_, output, err := workspace.Plan(context.Background())
			if err != nil || !strings.Contains(output, want) {
				t.Errorf("the plan is not %q: %v\n%s", want, err, output)
			}
			if name != "resource.tf" {
				return
			}
			acctest.MustRun(t, workspace, "apply", "-auto-approve")
			if changes, output, err := workspace.Plan(context.Background()); err != nil || changes {
				t.Errorf("the plan after the apply is not empty: %v\n%s", err, output)
			}
			acctest.MustRun(t, workspace, "destroy", "-auto-approve")
			if left := target.Images(t, "seeds"); len(left) != 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
}
