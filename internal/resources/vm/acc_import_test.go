package vm_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
)

var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// TestAccVM_import imports by each form of id into an empty state: the plan is
// empty, so nothing is replaced or restarted.
func TestAccVM_import(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	facts := target.Facts(t)
	ctx := context.Background()
	config := lifecycleConfig(target, facts, "acc-import", settings{
		cores: 1, memory: 128, size: facts.SizeGiB + 1, tags: `"a", "b"`, description: "imported", bridge: facts.Bridges[0],
	})

	first := target.Workspace(t)
	acctest.Must(t, first.Write(config))
	acctest.MustRun(t, first, "apply", "-auto-approve")
	vm := acctest.Resource(t, first, address)
	vmid, uid := fmt.Sprint(vm.Values["vmid"]), fmt.Sprint(vm.Values["uid"])

	for _, id := range []string{uid, vmid, target.Node + "/" + vmid} {
		second := target.Workspace(t)
		acctest.Must(t, second.Write(config))
		acctest.MustRun(t, second, "import", address, id)
		changes, output, err := second.Plan(ctx)
		acctest.Must(t, err)
		if changes {
			t.Errorf("import by %q: the plan is not empty:\n%s", id, output)
		}
	}

	acctest.MustRun(t, first, "destroy", "-auto-approve")
}

// TestAccVM_importRefused names what cannot be imported, and why.
func TestAccVM_importRefused(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	stranger := target.Foreign(0)
	acctest.Must(t, target.Hand.CreateVM(ctx, target.Node, stranger, nil))
	t.Cleanup(func() { acctest.Must(t, target.Hand.Destroy(ctx, stranger)) })

	for id, want := range map[string]string{
		fmt.Sprint(target.Foreign(1)):             "no VM",
		fmt.Sprint(stranger):                      "marker",
		fmt.Sprint(target.Template):               "range",
		"f81d4fae-7dec-11d0-a765-00a0c91e6bf6":    "no VM",
		"no/such/form":                            "vmid",
		fmt.Sprintf("nowhere/%d", stranger):       "nowhere",
		fmt.Sprintf("%s/%d", target.Node, 100000): "range",
	} {
		workspace := target.Workspace(t)
		acctest.Must(t, workspace.Write(target.Provider()+`
resource "proxmox_vm" "test" {
  name = "acc-import-refused"
}
`))
		output, err := workspace.Run(ctx, "import", address, id)
		if err == nil {
			t.Errorf("import of %q succeeded", id)
			continue
		}
		if !strings.Contains(strings.ToLower(acctest.Unwrap(output)), strings.ToLower(want)) {
			t.Errorf("import of %q: the message does not say %q:\n%s", id, want, output)
		}
	}
}
