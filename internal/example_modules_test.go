package internal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

// TestAccExampleModules runs the tests that example modules bring, on the lab.
func TestAccExampleModules(t *testing.T) {
	t.Parallel()

	tests := filesMatching(t, regexp.MustCompile(`\.tftest\.hcl$`))
	if len(tests) == 0 {
		t.Fatal("no example has tests")
	}
	for _, file := range tests {
		module := filepath.Dir(filepath.Dir(file))
		t.Run(filepath.Base(module), func(t *testing.T) {
			t.Parallel()

			target := acctest.NewLab(t, pvelab.Options{Speed: 200})
			workspace := target.Workspace(t)
			for name, value := range environment(t, target, filepath.Base(module)) {
				workspace.Setenv(name, value)
			}
			acctest.Must(t, workspace.Write(string(read(t, filepath.Join(module, "main.tf")))))
			folder := filepath.Join(workspace.Dir(), "tests")
			acctest.Must(t, os.MkdirAll(folder, 0o750))
			acctest.Must(t, os.WriteFile(filepath.Join(folder, filepath.Base(file)), read(t, file), 0o600))
			acctest.MustRun(t, workspace, "fmt", "-check", "-diff", "-recursive", "tests")

			output := acctest.MustRun(t, workspace, "test")
			runs := strings.Count(string(read(t, file)), "\nrun \"")
			if !strings.Contains(output, fmt.Sprintf("%d passed, 0 failed", runs)) {
				t.Errorf("not all %d runs passed:\n%s", runs, output)
			}
			left, err := target.Hand.Guests(t.Context())
			acctest.Must(t, err)
			for _, guest := range left {
				if guest.VMID >= target.First && guest.VMID <= target.Last {
					t.Errorf("%d %q is left", guest.VMID, guest.Name)
				}
			}
		})
	}
}

// environment is what a module's tests take the lab from.
func environment(t *testing.T, target *acctest.Target, module string) map[string]string {
	t.Helper()
	env := map[string]string{
		"PROXMOX_ENDPOINT": target.Endpoint, "PROXMOX_CA_FILE": target.CAFile, "PROXMOX_NODE": target.Node, "PROXMOX_STORAGE": "local-lvm",
		"PROXMOX_TOKEN_ID": target.TokenID, "PROXMOX_TOKEN_SECRET": target.TokenSecret, "PROXMOX_VMID_RANGE": "20000-20999",
	}
	switch module {
	case "least-privilege":
		env["PROXMOX_TOKEN_ID"], env["PROXMOX_TOKEN_SECRET"] = target.Lab.Token("least")
		env["PROXMOX_POOL"] = "terraform"
	case "two-sites":
		other := acctest.NewLab(t, pvelab.Options{Version: "8.4", Speed: 200})
		acctest.Must(t, other.Hand.CreateVM(t.Context(), "pve2", 101, byhand.Params{"name": "erp"}))
		acctest.Must(t, other.Hand.Power(t.Context(), 101, "start"))
		env = map[string]string{"TF_VAR_sites": acctest.Sites(map[string]*acctest.Target{"dc1": other, "dc2": target})}
	}

	return env
}
