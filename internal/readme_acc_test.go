package internal_test

import (
	"path/filepath"
	"regexp"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestAccReadme applies the first configuration that the README shows, with what
// the lab prints, and holds the second one against the schema.
func TestAccReadme(t *testing.T) {
	t.Parallel()

	shown := regexp.MustCompile("(?s)```hcl\n(.*?)```").FindAllStringSubmatch(string(read(t, "README.md")), -1)
	if len(shown) != 2 {
		t.Fatalf("the README shows %d configurations, not 2", len(shown))
	}
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	for name, value := range environment(t, target, "readme") {
		workspace.Setenv(name, value)
	}
	home := t.TempDir()
	write(t, filepath.Join(home, ".ssh"), "id_ed25519.pub",
		[]byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me@here\n"))
	workspace.Setenv("HOME", home)

	acctest.Must(t, workspace.Write(shown[1][1]))
	acctest.MustRun(t, workspace, "validate", "-no-color")
	acctest.Must(t, workspace.Write(shown[0][1]))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	if vm := acctest.Resource(t, workspace, "proxmox_vm.first"); vm.Values["status"] != "running" {
		t.Errorf("the VM is %v", vm.Values["status"])
	}
	unchanged(t, workspace)
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}
