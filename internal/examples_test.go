package internal_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// TestAccExamplesAreValid holds every example that users are shown against the
// schema.
func TestAccExamplesAreValid(t *testing.T) {
	t.Parallel()

	target := acctest.NewLab(t, pvelab.Options{})
	files, err := filepath.Glob("../examples/*/*/*.tf")
	acctest.Must(t, err)
	more, err := filepath.Glob("../examples/*/*.tf")
	acctest.Must(t, err)

	for _, file := range append(files, more...) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()

			example, err := os.ReadFile(file)
			acctest.Must(t, err)
			configuration := string(example)
			if !strings.Contains(configuration, "required_providers") {
				configuration = target.Provider() + configuration
			}

			workspace := target.Workspace(t)
			acctest.Must(t, workspace.Write(configuration))
			acctest.MustRun(t, workspace, "validate", "-no-color")
			acctest.MustRun(t, workspace, "fmt", "-check", "-diff", mustAbs(t, file))
		})
	}
}

func mustAbs(t *testing.T, file string) string {
	t.Helper()

	absolute, err := filepath.Abs(file)
	acctest.Must(t, err)
	return absolute
}
