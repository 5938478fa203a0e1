package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestMain(m *testing.M) { acctest.Main(m) }

// fast makes the lab's tasks so short that much happens in the time that there is.
const fast = 500

// number reads a variable of the environment.
func number(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	value, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return value
}

// trial is one run of the test.
type trial struct {
	t         *testing.T
	random    *rand.Rand
	target    *acctest.Target
	workspace *cli.Workspace
	wanted    wanted
	strangers []stranger
	// kept is what the container's data volume holds, once it was there.
	kept string
	// tally counts the kinds of trouble.
	tally map[string]int
}

func TestAccChaos(t *testing.T) {
	if os.Getenv("CHAOS_SECONDS") == "" {
		t.Skip("goes on for as long as CHAOS_SECONDS says: see make chaos")
	}
	t.Parallel()
	seed := number(t, "CHAOS_SEED", uint64(time.Now().UnixNano()))
	t.Logf("CHAOS_SEED=%d", seed)
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			target := acctest.NewLab(t, pvelab.Options{Version: version, Speed: fast})
			c := &trial{
				t: t, random: rand.New(rand.NewPCG(seed, 0)), target: target, workspace: target.Workspace(t),
				wanted: firstWanted(), tally: map[string]int{},
			}
			c.run(time.Duration(number(t, "CHAOS_SECONDS", 15)) * time.Second)
		})
	}
}

func (c *trial) run(length time.Duration) {
	c.makeStrangers()
	rounds := 0
	for end := time.Now().Add(length); time.Now().Before(end) && !c.t.Failed(); rounds++ {
		c.wanted.change(c.random)
		acctest.Must(c.t, c.workspace.Write(c.wanted.configuration(c.target)))
		trouble := c.inTrouble()
		c.tally[trouble]++
		c.settle()
		c.check(trouble)
	}
	c.t.Logf("%d rounds: %v", rounds, c.tally)
	c.heal()
	c.end()
}

// heal applies without trouble, as a user does who reads what the last run has said.
func (c *trial) heal() {
	ctx := context.Background()
	output, err := "", error(nil)
	for range 3 {
		c.takeIn()
		if output, err = c.workspace.Apply(ctx); err == nil {
			break
		}
	}
	if err != nil {
		c.t.Fatalf("it does not heal: %v\n%s", err, output)
	}
	c.check("heal")
	if changes, output, err := c.workspace.Plan(ctx); err != nil || changes {
		c.t.Errorf("the plan is not empty: %v\n%s", err, output)
	}
	c.complete()
}

// end destroys everything: nothing of ours is left, and the strangers are.
func (c *trial) end() {
	acctest.MustRun(c.t, c.workspace, "destroy", "-auto-approve")
	c.settle()
	if left := c.ours(); len(left) > 0 {
		c.t.Errorf("guests are left: %v", left)
	}
	for _, image := range c.target.Images(c.t, seeds) {
		c.t.Errorf("the seed %s is left", image.VolID)
	}
	c.check("end")
}

// takeIn imports the guests of ours that a killed run has left in no state.
func (c *trial) takeIn() {
	state, err := c.workspace.State(context.Background())
	acctest.Must(c.t, err)
	for _, guest := range c.ours() {
		address := addressOf(guest.Name)
		if address == "" {
			continue // It holds the volumes of a container that is being rebuilt.
		}
		held, saved := state.Resource(address)
		if !saved {
			acctest.MustRun(c.t, c.workspace, "import", address, strconv.Itoa(guest.VMID))
			c.tally["taken in"]++
			continue
		}
		if vmid, _ := held.Values["vmid"].(float64); int(vmid) != guest.VMID {
			c.t.Errorf("%s is VM %v in the state, and there is %d, too", address, vmid, guest.VMID)
		}
	}
}

// settle waits until PVE has ended what was begun.
func (c *trial) settle() {
	for range 600 {
		if c.idle() {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.t.Fatal("the lab's tasks do not end")
}

func (c *trial) idle() bool {
	for _, node := range nodes {
		var tasks []struct{}
		err := c.target.Hand.Call(context.Background(), "GET", fmt.Sprintf("/nodes/%s/tasks", node), map[string]any{"source": "active"}, &tasks)
		acctest.Must(c.t, err)
		if len(tasks) > 0 {
			return false
		}
	}
	return true
}
