package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestMain(m *testing.M) {
	standIn()
	acctest.Main(m)
}

// TestAccExamplesAreValid holds every example that users are shown against the
// schema.
func TestAccExamplesAreValid(t *testing.T) {
	t.Parallel()

	target := acctest.NewLab(t, pvelab.Options{})
	for _, file := range filesMatching(t, regexp.MustCompile(`\.tf$`)) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()

			configuration := string(read(t, file))
			if !strings.Contains(configuration, "required_providers") {
				configuration = target.Provider() + configuration
			}
			workspace := target.Workspace(t)
			if strings.Contains(file, "/actions/") && !workspace.HasActions(t.Context()) {
				t.Skip("this CLI has no actions: Terraform has them from 1.14 on")
			}
			acctest.Must(t, workspace.Write(configuration))
			acctest.MustRun(t, workspace, "validate", "-no-color")

			// Formatting is judged on the file as it is shown.
			example := filepath.Join(workspace.Dir(), "example.tf")
			acctest.Must(t, os.WriteFile(example, read(t, file), 0o600))
			acctest.MustRun(t, workspace, "fmt", "-check", "-diff", "example.tf")
		})
	}
}
