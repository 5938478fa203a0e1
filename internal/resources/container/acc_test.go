package container_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const (
	address     = "proxmox_container.test"
	oldTemplate = "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst"
	newTemplate = "local:vztmpl/debian-13-standard_13.1-2_amd64.tar.zst"
)

// onNode is the target of a test that runs on a real node too, where
// PROXMOX_CONTAINER_TEMPLATE names what its containers are made from.
func onNode(t *testing.T) *acctest.Target {
	t.Helper()
	target := acctest.New(t)
	if target.Lab == nil && os.Getenv("PROXMOX_CONTAINER_TEMPLATE") == "" {
		t.Skip("PROXMOX_CONTAINER_TEMPLATE names no template of containers, such as " + oldTemplate)
	}
	return target
}

// adapted says what a real node has in the place of the lab's: its template, the
// storage of PROXMOX_STORAGE or local, and its one bridge.
func adapted(target *acctest.Target, text string) string {
	if target.Lab != nil {
		return text
	}
	storage := cmp.Or(os.Getenv("PROXMOX_STORAGE"), "local")
	return strings.NewReplacer(oldTemplate, os.Getenv("PROXMOX_CONTAINER_TEMPLATE"), "local-lvm", storage, "vmbr1", "vmbr0").Replace(text)
}

// block is a container with a root volume on local-lvm and what else is said.
func block(target *acctest.Target, template, rest string) string {
	return adapted(target, target.Provider()+fmt.Sprintf(`
resource "proxmox_container" "test" {
  hostname    = "acc-db"
  node        = %q
  template    = %q
  root_volume = { storage = "local-lvm", size_gib = 8 }
%s
}
`, target.Node, template, rest))
}

// config reads a container's configuration by hand, numbers as text.
func config(t *testing.T, target *acctest.Target, vmid int) map[string]string {
	t.Helper()
	var values map[string]any
	path := fmt.Sprintf("/nodes/%s/lxc/%d/config", target.Node, vmid)
	acctest.Must(t, target.Hand.Call(context.Background(), http.MethodGet, path, nil, &values))
	text := map[string]string{}
	for key, value := range values {
		text[key] = fmt.Sprint(value)
	}
	return text
}

// byHand changes a container's configuration as an operator would.
func byHand(t *testing.T, target *acctest.Target, vmid int, changes byhand.Params) {
	t.Helper()
	path := fmt.Sprintf("/nodes/%s/lxc/%d/config", target.Node, vmid)
	acctest.Must(t, target.Hand.Call(context.Background(), http.MethodPut, path, changes, nil))
}

// containers are the ids of the containers on the test's node, as far as they are
// the test's.
func containers(t *testing.T, target *acctest.Target) []int {
	t.Helper()
	var listed []struct {
		VMID int `json:"vmid"`
	}
	acctest.Must(t, target.Hand.Call(context.Background(), http.MethodGet, "/nodes/"+target.Node+"/lxc", nil, &listed))
	ids := make([]int, 0, len(listed))
	for _, each := range listed {
		if each.VMID >= target.First && each.VMID <= target.Last {
			ids = append(ids, each.VMID)
		}
	}
	return ids
}

// vmidOf is the id of the test's container in the state.
func vmidOf(state *terraform.State) (int, error) {
	found, ok := state.RootModule().Resources[address]
	if !ok {
		return 0, fmt.Errorf("%s is not in the state", address)
	}
	return strconv.Atoi(found.Primary.Attributes["vmid"])
}

// wants judges the container's configuration as PVE has it.
func wants(t *testing.T, target *acctest.Target, wants map[string]acctest.Want) resource.TestCheckFunc {
	return func(state *terraform.State) error {
		vmid, err := vmidOf(state)
		if err != nil {
			return err
		}
		values := config(t, target, vmid)
		for key, want := range wants {
			value, present := values[key]
			if err := want(value, present); err != nil {
				return fmt.Errorf("container %d: %s %w", vmid, key, err)
			}
		}
		return nil
	}
}

// gone wants no container to be left.
func gone(t *testing.T, target *acctest.Target) resource.TestCheckFunc {
	return func(*terraform.State) error {
		if left := containers(t, target); len(left) > 0 {
			return fmt.Errorf("containers are left: %v", left)
		}
		return nil
	}
}
