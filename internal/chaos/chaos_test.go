package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const (
	// fast makes the lab's tasks so short that much happens in the time that there is.
	fast = 500
	// logFile is where the provider logs to, in the workspace.
	logFile = "provider.log"
)

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
	seed      uint64
	version   string
	random    *rand.Rand
	target    *acctest.Target
	workspace *cli.Workspace
	// hand is another user than the provider's.
	hand   *byhand.Hand
	wanted wanted
	// kept is what the container's data volume holds, once it was there.
	kept string
	// imagesBefore are those that are not ours.
	imagesBefore []string
	// gone are the uids of guests of ours that others have destroyed: nobody is left
	// to delete their seeds.
	gone []string
	// output is what the last command has printed.
	output string

	mu        sync.Mutex
	strangers map[int]stranger
	// tally counts what has happened.
	tally   map[string]int
	history []string
	// rough says that in this round volumes may be left: PVE does not free what a lost
	// or failed task has made, or what is on a storage that does not answer. loose are
	// those that were.
	rough bool
	loose map[string]bool
	// begun is when the last round did.
	begun time.Time
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
			newTrial(t, version, seed).run(time.Duration(number(t, "CHAOS_SECONDS", 15)) * time.Second)
		})
	}
}

func newTrial(t *testing.T, version string, seed uint64) *trial {
	t.Helper()
	target := acctest.NewLab(t, pvelab.Options{Version: version, Speed: fast})
	random := rand.New(rand.NewPCG(seed, 0))
	c := &trial{
		t: t, seed: seed, version: version, random: random, target: target, workspace: target.Workspace(t), wanted: firstWanted(random),
		tally: map[string]int{}, strangers: map[int]stranger{}, loose: map[string]bool{}, hand: otherHand(t, target),
	}
	c.workspace.Setenv("TF_LOG_PROVIDER", "TRACE")
	c.workspace.Setenv("TF_LOG_PATH", filepath.Join(c.workspace.Dir(), logFile))
	t.Cleanup(c.report)
	c.makeStrangers()
	c.imagesBefore = c.images()
	if c.wanted.pool != "" {
		acctest.Must(t, c.hand.Call(t.Context(), "POST", "/pools", byhand.Params{"poolid": c.wanted.pool}, nil))
	}
	return c
}

// otherHand is an operator with a token of his own, at the node that is never lost.
func otherHand(t *testing.T, target *acctest.Target) *byhand.Hand {
	t.Helper()
	var token struct {
		Value string `json:"value"`
	}
	acctest.Must(t, target.Hand.Call(t.Context(), "POST", "/access/users/root@pam/token/hand", byhand.Params{"privsep": 0}, &token))
	hand, err := byhand.New(target.Lab.NodeURL(nodes[2]), "root@pam!hand", token.Value, target.Lab.CAPEM())
	acctest.Must(t, err)
	return hand
}

func (c *trial) run(length time.Duration) {
	for end := time.Now().Add(length); time.Now().Before(end) && !c.t.Failed(); {
		c.wanted.change(c.random)
		r := draw(c.random)
		c.begin(r.String())
		c.rough = r.rough()
		acctest.Must(c.t, c.workspace.Write(c.wanted.configuration(c.target)))
		c.takeIn()
		outcome := c.inTrouble(r)
		c.tally[outcome]++
		c.settle()
		c.check(outcome)
	}
	if c.t.Failed() {
		return
	}
	c.heal()
	c.end()
	c.t.Logf("%d rounds: %v", len(c.history), c.tally)
}

// heal applies without trouble, as a user does who reads what the last run has said.
func (c *trial) heal() {
	c.begin("heal")
	output, err := "", error(nil)
	for range 4 {
		c.takeIn()
		if output, err = c.apply(); err == nil {
			break
		}
		c.note("%s", output)
	}
	if err != nil {
		c.t.Fatalf("it does not heal: %v\n%s", err, output)
	}
	c.check("heal")
	if changes, output, err := c.workspace.Plan(context.Background()); err != nil || changes {
		c.t.Errorf("the plan is not empty: %v\n%s", err, output)
	}
	c.complete()
}

func (c *trial) apply() (string, error) {
	var err error
	c.output, err = c.workspace.Apply(context.Background())
	c.settle()
	return c.output, err
}

// end destroys everything: nothing of ours is left, and the strangers are.
func (c *trial) end() {
	c.begin("end")
	c.wanted.protection = false
	acctest.Must(c.t, c.workspace.Write(c.wanted.configuration(c.target)))
	if output, err := c.apply(); err != nil {
		c.t.Fatalf("the protection does not go: %v\n%s", err, output)
	}
	acctest.MustRun(c.t, c.workspace, "destroy", "-auto-approve")
	c.settle()
	for _, left := range c.ours() {
		c.t.Errorf("%s %d %q is left", left.Type, left.VMID, left.Name)
	}
	c.checkImages(cli.State{})
	c.check("end")
}

// takeIn does what the messages of a failed run tell: it lifts the locks that nobody
// lifts any more, gives up data that are gone, lets go of what is gone, and imports the guests of ours that a killed
// run has left in no state, or destroys those that nobody wants any more.
func (c *trial) takeIn() {
	c.unlock()
	state, err := c.workspace.State(context.Background())
	acctest.Must(c.t, err)
	c.keep(state)
	c.giveUp()
	c.disown(state)
	there := map[int]bool{}
	for _, each := range c.ours() {
		there[each.VMID] = true
	}
	for _, each := range c.ours() {
		address := addressOf(each.Name)
		if address == "" {
			continue // It holds the volumes of a container that is being rebuilt.
		}
		held, saved := state.Resource(address)
		vmid, _ := held.Values["vmid"].(float64)
		switch {
		case saved && int(vmid) == each.VMID:
			continue
		case saved && there[int(vmid)]:
			c.t.Errorf("%s is %v in the state, and there is %d, too", address, vmid, each.VMID)
			continue
		case saved:
			acctest.MustRun(c.t, c.workspace, "destroy", "-auto-approve", "-target", address) // It deletes the seed.
		}
		if !slices.Contains(c.wanted.names(), each.Name) {
			acctest.Must(c.t, c.destroy(each))
			continue
		}
		acctest.MustRun(c.t, c.workspace, "import", address, strconv.Itoa(each.VMID))
		c.tally["taken in"]++
	}
}

// keep remembers what the data volume of a container holds that was made to its end:
// only then there is something to lose.
func (c *trial) keep(state cli.State) {
	held, saved := state.Resource(addressOf(hostname))
	if !saved || held.Tainted {
		c.kept = ""
		return
	}
	vmid, _ := held.Values["vmid"].(float64)
	if data := c.target.Lab.Contents(int(vmid))["mp0"]; data != "" && held.Values["provisioned"] == true {
		c.kept, c.wanted.givenUp = data, false
	}
}

// giveUp takes the data volume out of what is kept, once it was destroyed with its
// container and the provider says so.
func (c *trial) giveUp() {
	if !strings.Contains(c.output, "a volume that is to be kept is gone") {
		return
	}
	if c.kept != "" {
		c.t.Errorf("the provider says that the kept volume is gone, which nobody has destroyed:\n%s", c.output)
	}
	c.wanted.givenUp = true
	acctest.Must(c.t, c.workspace.Write(c.wanted.configuration(c.target)))
	c.tally["data given up"]++
}

// disown takes an image for nobody's that the resource had uploaded when it was killed
// before it was in a state: nothing but its list tells of it.
func (c *trial) disown(state cli.State) {
	if _, saved := state.Resource("proxmox_seed_iso.it"); saved {
		return
	}
	ours := c.ours()
	for _, image := range c.images() {
		if !slices.ContainsFunc(ours, func(g guest) bool { return strings.Contains(image, g.uid) }) {
			c.imagesBefore = append(c.imagesBefore, image)
		}
	}
}

// unlock is an operator who finds what lost tasks have left: half a guest is destroyed,
// and another lock is lifted.
func (c *trial) unlock() {
	ctx := context.Background()
	guests, err := c.hand.Guests(ctx)
	acctest.Must(c.t, err)
	for _, each := range guests {
		g := guest{Guest: each, config: c.config(each)}
		lock := g.config["lock"]
		if lock == "" || c.isStranger(each.VMID) {
			continue
		}
		c.note("%s %d is left with its lock %q", each.Type, each.VMID, lock)
		c.tally["lock lifted"]++
		c.target.Lab.Faults().Unlock(each.VMID)
		if lock == "clone" || lock == "create" || lock == "destroyed" {
			acctest.Must(c.t, c.hand.Task(ctx, "DELETE", g.path(), byhand.Params{"destroy-unreferenced-disks": 1}))
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
		err := c.hand.Call(context.Background(), "GET", fmt.Sprintf("/nodes/%s/tasks", node), byhand.Params{"source": "active"}, &tasks)
		acctest.Must(c.t, err)
		if len(tasks) > 0 {
			return false
		}
	}
	return true
}
