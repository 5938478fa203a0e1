package fenceaction_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const (
	address = "proxmox_fence_action.test"
	// stranger is a VM that the provider does not own, on another node than the one
	// that answers.
	stranger = 101
	node     = "pve2"
)

// newTarget is a lab with the stranger running.
func newTarget(t *testing.T, version string) *acctest.Target {
	t.Helper()

	target := acctest.NewLab(t, pvelab.Options{Version: version, Speed: 200})
	makeVM(t, target, stranger, nil)
	return target
}

func makeVM(t *testing.T, target *acctest.Target, vmid int, params byhand.Params) {
	t.Helper()

	ctx := context.Background()
	acctest.Must(t, target.Hand.CreateVM(ctx, node, vmid, params))
	acctest.Must(t, target.Hand.Power(ctx, vmid, "start"))
}

func fence(target *acctest.Target, body string) string {
	return target.Provider(`fence_scope = { vmids = [101], nodes = ["pve1", "pve2"] }`) + fmt.Sprintf(`
resource "proxmox_fence_action" "test" {
  node    = %q
  foreign = true
  %s
}
`, node, body)
}

const stop = "action = \"vm.stop\"\nvmid = 101\n"

func is(attribute, value string) statecheck.StateCheck {
	return statecheck.ExpectKnownValue(address, tfjsonpath.New(attribute), knownvalue.StringExact(value))
}

// power waits for a VM's power: HA takes its time.
func power(t *testing.T, hand *byhand.Hand, want string) {
	t.Helper()

	for range 500 {
		status, err := hand.Status(context.Background(), stranger)
		acctest.Must(t, err)
		if status == want {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("VM %d does not become %s", stranger, want)
}

func awaits(t *testing.T, target *acctest.Target, want string) func() {
	t.Helper()
	return func() { power(t, target.Hand, want) }
}

func empty() resource.ConfigPlanChecks {
	return resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
}

// TestAccFence_stop goes through the life of a fence: performed, proven again,
// lapsed and shown, performed again, brought back.
func TestAccFence_stop(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		target := newTarget(t, version)
		start := func() { acctest.Must(t, target.Hand.Power(context.Background(), stranger, "start")) }
		updated := resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
			plancheck.ExpectResourceAction(address, plancheck.ResourceActionUpdate),
		}}
		resource.Test(t, resource.TestCase{
			ProtoV6ProviderFactories: acctest.Factories(),
			Steps: []resource.TestStep{
				{Config: fence(target, stop), ConfigStateChecks: []statecheck.StateCheck{is("state", "fenced")}},
				{PreConfig: awaits(t, target, "stopped"), Config: fence(target, stop), ConfigPlanChecks: empty()},
				{PreConfig: start, Config: fence(target, stop), ConfigPlanChecks: empty(), ConfigStateChecks: []statecheck.StateCheck{is("state", "lapsed")}},
				{
					PreConfig: awaits(t, target, "running"), Config: fence(target, stop+"triggers = { reason = \"second\" }"),
					ConfigPlanChecks: updated, ConfigStateChecks: []statecheck.StateCheck{is("state", "fenced")},
				},
				{
					PreConfig: start, Config: fence(target, stop+"triggers = { reason = \"second\" }\nrefence = true\nunfence_on_destroy = true"),
					ConfigPlanChecks: updated, ConfigStateChecks: []statecheck.StateCheck{is("state", "fenced")},
				},
			},
		})
		power(t, target.Hand, "running")
	})
}

// TestAccFence_ha holds that a VM which HA starts again makes the fence lapse,
// and that the plan shows it.
func TestAccFence_ha(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		target := newTarget(t, version)
		request := func(method, path, state string) func() {
			params := byhand.Params{"state": state}
			if method == http.MethodPost {
				params["sid"] = "vm:101"
			}
			return func() { acctest.Must(t, target.Hand.Call(context.Background(), method, path, params, nil)) }
		}
		request(http.MethodPost, "/cluster/ha/resources", "started")()
		resource.Test(t, resource.TestCase{
			ProtoV6ProviderFactories: acctest.Factories(),
			Steps: []resource.TestStep{
				{Config: fence(target, stop), ConfigStateChecks: []statecheck.StateCheck{is("state", "fenced")}},
				{
					PreConfig: func() {
						request(http.MethodPut, "/cluster/ha/resources/vm:101", "started")()
						power(t, target.Hand, "running")
					},
					Config: fence(target, stop), ConfigPlanChecks: empty(), ConfigStateChecks: []statecheck.StateCheck{is("state", "lapsed")},
				},
			},
		})
	})
}

// TestAccFence_links cuts a running VM off and takes its link up again.
func TestAccFence_links(t *testing.T) {
	t.Parallel()

	target := newTarget(t, "9.2")
	const net0 = "virtio=BC:24:11:00:00:01,bridge=vmbr0,firewall=1"
	acctest.Must(t, target.Hand.Configure(context.Background(), stranger, byhand.Params{"net0": net0}))
	device := func(want string) {
		t.Helper()
		config, err := target.Hand.Config(context.Background(), stranger)
		acctest.Must(t, err)
		if config["net0"] != want {
			t.Errorf("net0 is %s", config["net0"])
		}
	}
	config := fence(target, "action = \"vm.link-down\"\nvmid = 101\nnics = [\"net0\"]\nunfence_on_destroy = true")
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(),
		Steps: []resource.TestStep{
			{Config: config, ConfigStateChecks: []statecheck.StateCheck{is("state", "fenced")}},
			{PreConfig: func() { device(net0 + ",link_down=1") }, Config: config, ConfigPlanChecks: empty()},
		},
	})
	device(net0)
	power(t, target.Hand, "running")
}

// TestAccFence_node shuts a node down: it is unknown then, never fenced.
func TestAccFence_node(t *testing.T) {
	t.Parallel()

	protocol.EachVersion(t, func(t *testing.T, version string) {
		target := newTarget(t, version)
		makeVM(t, target, 102, byhand.Params{"onboot": 1})
		resource.Test(t, resource.TestCase{
			ProtoV6ProviderFactories: acctest.Factories(),
			Steps: []resource.TestStep{
				{Config: fence(target, `action = "node.stop-guests"`), ConfigStateChecks: []statecheck.StateCheck{is("state", "transient")}},
				{Config: fence(target, `action = "node.shutdown"`), ConfigStateChecks: []statecheck.StateCheck{is("state", "unknown")}},
				{Config: fence(target, `action = "node.shutdown"`), ConfigPlanChecks: empty()},
			},
		})
	})
}

// TestAccFence_refused holds that a refusal says why and leaves the VM running.
func TestAccFence_refused(t *testing.T) {
	t.Parallel()

	target := newTarget(t, "9.2")
	step := func(config, says string) resource.TestStep {
		return resource.TestStep{Config: config, ExpectError: regexp.MustCompile(says)}
	}
	other := func(body string) string {
		return target.Provider() + "resource \"proxmox_fence_action\" \"test\" {\n" + body + "\n}\n"
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(),
		Steps: []resource.TestStep{
			step(fence(target, `action = "vm.stop"`), `vm.stop needs\s+vmid`),
			step(fence(target, "action = \"node.stop-guests\"\nvmid = 101"), `never takes\s+vmid`),
			step(other("action = \"vm.stop\"\nvmid = 101\nnode = \"pve2\"\nforeign = true"), `fence_scope`),
			step(other("action = \"vm.stop\"\nvmid = 101\nnode = \"pve2\""), `outside the\s+range`),
			step(other("action = \"node.stop-guests\"\nnode = \"pve2\""), `foreign = true`),
			step(target.Provider(`fence_scope = { nodes = ["pve1"] }`)+
				"resource \"proxmox_fence_action\" \"test\" {\naction = \"node.stop-guests\"\nnode = \"pve1\"\nforeign = true\n}", `endpoint-not-on-node`),
			step(fence(target, stop+"precondition = { replication = { job = \"101-0\" } }"), `no\s+replication\s+job`),
		},
	})
	power(t, target.Hand, "running")
}

// TestAccFence_halfway has a fence run out of time when it has begun: it is in
// state, tainted, the next apply replaces it without starting the VM, and the VM
// comes back in the end. A lapse is in every plan meanwhile.
func TestAccFence_halfway(t *testing.T) {
	t.Parallel()

	target := newTarget(t, "8.4")
	ctx := context.Background()
	workspace := target.Workspace(t)
	const unfence = stop + "unfence_on_destroy = true\ntimeout = %q"
	acctest.Must(t, workspace.Write(fence(target, fmt.Sprintf(unfence, "2s"))))
	held, err := target.Lab.Faults().AddTask(pvelab.TaskFault{Type: "qmstop", Hold: true})
	acctest.Must(t, err)
	output, err := workspace.Apply(ctx)
	if err == nil || !strings.Contains(acctest.Unwrap(output), "Nothing is stopped by now") {
		t.Fatalf("it does not fail, or not say what is stopped: %v\n%s", err, output)
	}
	if !acctest.Resource(t, workspace, address).Tainted {
		t.Error("a fence that failed is relied on")
	}
	target.Lab.Faults().Release(held)
	power(t, target.Hand, "stopped")

	acctest.Must(t, workspace.Write(fence(target, fmt.Sprintf(unfence, "1m"))))
	before := target.Lab.Counters().Snapshot()
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	if starts := target.Lab.Counters().Snapshot().Sub(before).Requests["POST /nodes/{node}/qemu/{vmid}/status/start"]; starts != 0 {
		t.Errorf("the VM was started %d times in between", starts)
	}

	acctest.Must(t, target.Hand.Power(ctx, stranger, "start"))
	for range 2 {
		changes, output, err := workspace.Plan(ctx)
		if err != nil || changes || !strings.Contains(acctest.Unwrap(output), "The fence has lapsed") {
			t.Errorf("the plan does not show the lapse alone: %v\n%s", err, output)
		}
	}
	acctest.Must(t, target.Hand.Power(ctx, stranger, "stop"))
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	power(t, target.Hand, "running")
}
