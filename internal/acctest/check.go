package acctest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
)

// Want judges one value of a guest's configuration as PVE stores it; present
// is false for a key that is not there.
type Want func(value string, present bool) error

// Equal wants exactly this value.
func Equal(want string) Want {
	return func(value string, _ bool) error {
		if value != want {
			return fmt.Errorf("is %q, not %q", value, want)
		}

		return nil
	}
}

// Contains wants these parts.
func Contains(parts ...string) Want {
	return func(value string, _ bool) error {
		for _, part := range parts {
			if !strings.Contains(value, part) {
				return fmt.Errorf("is %q, without %q", value, part)
			}
		}

		return nil
	}
}

// HasPrefix wants a beginning.
func HasPrefix(want string) Want {
	return func(value string, _ bool) error {
		if !strings.HasPrefix(value, want) {
			return fmt.Errorf("is %q, which does not begin with %q", value, want)
		}

		return nil
	}
}

// Absent wants no such key.
func Absent(value string, present bool) error {
	if present {
		return fmt.Errorf("is %q, but should not be there", value)
	}

	return nil
}

// CheckConfig reads the guest of a resource over the API and judges it.
func (target *Target) CheckConfig(address string, wants map[string]Want) resource.TestCheckFunc {
	return func(state *terraform.State) error {
		found, ok := state.RootModule().Resources[address]
		if !ok {
			return fmt.Errorf("%s is not in the state", address)
		}
		vmid, err := strconv.Atoi(found.Primary.Attributes["vmid"])
		if err != nil {
			return err
		}
		config, err := target.Hand.Config(context.Background(), vmid)
		if err != nil {
			return err
		}
		for key, want := range wants {
			value, present := config[key]
			if err := want(value, present); err != nil {
				return fmt.Errorf("VM %d: %s %w", vmid, key, err)
			}
		}

		return nil
	}
}

// CheckGone wants no guest of this name in the test's ids.
func (target *Target) CheckGone(name string) resource.TestCheckFunc {
	return func(*terraform.State) error {
		found, err := target.named(name)
		if err != nil {
			return err
		}
		if len(found) > 0 {
			return fmt.Errorf("%s is still there: %v", name, found)
		}

		return nil
	}
}

// Named returns the guests of this name in the test's ids.
func (target *Target) Named(t *testing.T, name string) []byhand.Guest {
	t.Helper()
	found, err := target.named(name)
	must(t, err)

	return found
}

// named reads each node's live list: the cluster's list may lag by ten seconds.
func (target *Target) named(name string) ([]byhand.Guest, error) {
	guests, err := target.Hand.LiveVMs(context.Background())
	if err != nil {
		return nil, err
	}
	var found []byhand.Guest
	for _, guest := range guests {
		if guest.Name == name && guest.VMID >= target.First && guest.VMID <= target.Last {
			found = append(found, guest)
		}
	}

	return found, nil
}

// One returns the only guest of this name.
func (target *Target) One(t *testing.T, name string) byhand.Guest {
	t.Helper()
	found := target.Named(t, name)
	if len(found) != 1 {
		t.Fatalf("there are %d guests named %s, not one: %v", len(found), name, found)
	}

	return found[0]
}

// ConfigureByHand changes the only guest of this name.
func (target *Target) ConfigureByHand(t *testing.T, name string, changes byhand.Params) {
	t.Helper()
	must(t, target.Hand.Configure(context.Background(), target.One(t, name).VMID, changes))
}

// PowerByHand starts or stops the only guest of this name.
func (target *Target) PowerByHand(t *testing.T, name, command string) {
	t.Helper()
	must(t, target.Hand.Power(context.Background(), target.One(t, name).VMID, command))
}

// Must fails the test on an error.
func Must(t *testing.T, err error) {
	t.Helper()
	must(t, err)
}

// NeedActions skips the test where the CLI knows neither actions nor `query`.
func NeedActions(t *testing.T, workspace *cli.Workspace) {
	t.Helper()
	if !workspace.HasActions(t.Context()) {
		t.Skip("this CLI has no actions and no query: Terraform has them from 1.14 on")
	}
}

// MustRun runs a command of the CLI and fails the test when it fails.
func MustRun(t *testing.T, workspace *cli.Workspace, args ...string) string {
	t.Helper()
	output, err := workspace.Run(context.Background(), args...)
	must(t, err)

	return output
}

// Resource reads one resource of a workspace's state.
func Resource(t *testing.T, workspace *cli.Workspace, address string) cli.Resource {
	t.Helper()
	state, err := workspace.State(context.Background())
	must(t, err)
	found, ok := state.Resource(address)
	if !ok {
		t.Fatalf("%s is not in the state", address)
	}

	return found
}

// Unwrap joins what the CLI broke into lines and framed with bars, so that a
// sentence can be looked for in it.
func Unwrap(output string) string {
	output = strings.NewReplacer("│", " ", "╷", " ", "╵", " ").Replace(output)

	return strings.Join(strings.Fields(output), " ")
}
