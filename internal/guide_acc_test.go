package internal_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

const firstVMGuide = "../templates/guides/first-vm.md"

var terraformBlock = regexp.MustCompile("(?s)```terraform\n(.*?)```")

// TestAccFirstVM follows the guide: the script on a bare node, its files, the
// configuration as it is shown, and apply.
func TestAccFirstVM(t *testing.T) {
	t.Parallel()

	target := acctest.NewLab(t, pvelab.Options{})
	blocks := terraformBlock.FindAllStringSubmatch(string(content(t, firstVMGuide)), -1)
	if len(blocks) != 2 {
		t.Fatalf("the guide shows %d configurations, not 2", len(blocks))
	}
	shown, seed := blocks[0][1], blocks[1][1]
	cloudInit := regexp.MustCompile(`(?s)  cloud_init = \{.*?\n  \}\n`)

	n := newNode(t, "9.2")
	n.run(t, nil, "all")
	workspace := target.Workspace(t)
	for name, file := range map[string][]byte{
		"proxmox.auto.tfvars": []byte(n.file(t, "proxmox.auto.tfvars")),
		// The lab's certificate is not the one that the script made.
		"proxmox-ca.pem": n.lab.CAPEM(),
	} {
		acctest.Must(t, os.WriteFile(filepath.Join(workspace.Dir(), name), file, 0o600))
	}
	home := t.TempDir()
	write(t, filepath.Join(home, ".ssh"), "id_ed25519.pub",
		[]byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f me@here\n"))
	workspace.Setenv("HOME", home)

	acctest.Must(t, workspace.Write(shown))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	if vm := acctest.Resource(t, workspace, "proxmox_vm.first"); vm.Values["status"] != "running" || vm.Values["pool"] != "bootstrapped" {
		t.Errorf("the VM is %v, in pool %v", vm.Values["status"], vm.Values["pool"])
	}
	unchanged(t, workspace)

	acctest.Must(t, workspace.Write(cloudInit.ReplaceAllString(shown, strings.ReplaceAll(seed, "$", "$$"))))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	unchanged(t, workspace)
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}

// unchanged wants a plan that does nothing: an address that shows later is no
// change.
func unchanged(t *testing.T, workspace *cli.Workspace) {
	t.Helper()

	_, output, err := workspace.Plan(context.Background())
	if err != nil || strings.Contains(output, "Plan: ") {
		t.Errorf("the plan is not empty: %v\n%s", err, output)
	}
}
