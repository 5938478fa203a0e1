package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestAccModuleGuide follows the guide on testing modules: its module and its test,
// as they are shown, with the variables that the lab prints.
func TestAccModuleGuide(t *testing.T) {
	t.Parallel()

	guide := string(read(t, "templates/guides/testing-modules.md"))
	modules := terraformBlock.FindAllStringSubmatch(guide, -1)
	tests := regexp.MustCompile("(?s)```hcl\n(.*?)```").FindAllStringSubmatch(guide, -1)
	if len(modules) != 2 || len(tests) != 1 {
		t.Fatalf("the guide shows %d configurations and %d tests", len(modules), len(tests))
	}
	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	ca := filepath.Join(workspace.Dir(), "ca.pem")
	write(t, workspace.Dir(), "ca.pem", target.Lab.CAPEM())
	id, secret := target.Lab.Token("full")
	for name, value := range map[string]string{
		"PROXMOX_ENDPOINT": target.Lab.URL(), "PROXMOX_TOKEN_ID": id, "PROXMOX_TOKEN_SECRET": secret, "PROXMOX_CA_FILE": ca,
		"PROXMOX_NODE": "pve1", "PROXMOX_VMID_RANGE": "20000-20999", "PROXMOX_POOL": "terraform",
	} {
		workspace.Setenv(name, value)
	}
	acctest.Must(t, workspace.Write(modules[0][1]))
	write(t, workspace.Dir(), "versions.tf", []byte(modules[1][1]))
	acctest.Must(t, os.Mkdir(filepath.Join(workspace.Dir(), "tests"), 0o700))
	write(t, filepath.Join(workspace.Dir(), "tests"), "nodes.tftest.hcl", []byte(tests[0][1]))

	output, err := workspace.Run(t.Context(), "test", "-no-color")
	runs := strings.Count(tests[0][1], "run \"")
	if err != nil || !strings.Contains(output, strconv.Itoa(runs)+" passed, 0 failed") {
		t.Errorf("terraform test: %v\n%s", err, output)
	}
	guests, err := target.Hand.Guests(t.Context())
	acctest.Must(t, err)
	for _, guest := range guests {
		if guest.VMID >= 20000 {
			t.Errorf("guest %d is left", guest.VMID)
		}
	}
}
