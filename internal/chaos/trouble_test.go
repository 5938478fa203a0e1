package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

// faults are what a call of the provider may meet, each once.
var faults = []pvelab.Fault{
	{Drop: pvelab.DropBefore},
	{Drop: pvelab.DropAfter},
	{Drop: pvelab.DropBody},
	{Status: 595, Text: "No route to host"},
	{Status: 596, Text: "Connection timed out"},
	{Status: 596, Text: "Connection timed out", After: true},
	{Status: http.StatusInternalServerError, Text: "can't lock file '/var/lock/qemu-server/lock-20000.conf' - got timeout"},
	{Status: http.StatusInternalServerError, Text: "got no worker upid - start worker failed"},
	{Status: http.StatusInternalServerError, Text: "unable to open file"},
	{Status: http.StatusBadGateway, Text: "Bad Gateway", After: true},
	{Status: http.StatusServiceUnavailable, Text: "Service Unavailable"},
	{Delay: time.Minute},
	// A node that is busy answers nothing about its tasks for a while.
	{Path: "/nodes/.*/tasks.*", Status: http.StatusInternalServerError, Text: "unable to open file", Times: 3},
}

// taskFaults are what a task may end with.
var taskFaults = []pvelab.TaskFault{
	{Exit: "can't lock file '/var/lock/qemu-server/lock-20000.conf' - got timeout"},
	{Exit: "storage is full"},
	{Exit: "worker was stopped", After: true},
	{Exit: "unexpected status", After: true},
	{Warnings: []string{"something is odd"}},
}

// kills are what may become of a run before it ends by itself.
var kills = []struct {
	name string
	do   func(*cli.Workspace, *cli.Process) error
}{
	{"left alone", func(*cli.Workspace, *cli.Process) error { return nil }},
	{"provider killed", func(w *cli.Workspace, _ *cli.Process) error { return w.KillProvider() }},
	{"all killed", func(_ *cli.Workspace, p *cli.Process) error { return p.Kill() }},
	{"interrupted", func(_ *cli.Workspace, p *cli.Process) error { return p.Interrupt() }},
}

// round is one run and all that happens to it. It is drawn before it begins, so that
// one seed draws the same rounds again.
type round struct {
	faults []pvelab.Fault
	tasks  []pvelab.TaskFault
	deeds  []deed
	kill   int
	after  time.Duration
}

func draw(random *rand.Rand) round {
	r := round{kill: random.IntN(len(kills)), after: time.Duration(random.IntN(2500)) * time.Millisecond}
	for range random.IntN(4) {
		fault := faults[random.IntN(len(faults))]
		fault.Agent, fault.Skip = "^terraform-provider-proxmox", random.IntN(100)
		if fault.Path == "" {
			fault.Path = ".*"
		}
		r.faults = append(r.faults, fault)
	}
	if random.IntN(3) == 0 {
		fault := taskFaults[random.IntN(len(taskFaults))]
		fault.Skip = random.IntN(6)
		r.tasks = append(r.tasks, fault)
	}
	for range random.IntN(5) {
		each := deeds[random.IntN(len(deeds))]
		each.random = rand.New(rand.NewPCG(random.Uint64(), 0))
		each.after = time.Duration(random.IntN(1500)) * time.Millisecond
		r.deeds = append(r.deeds, each)
	}
	return r
}

func (r round) String() string {
	text := fmt.Sprintf("%s after %s, deeds:", kills[r.kill].name, r.after)
	for _, each := range r.deeds {
		text += fmt.Sprintf(" %s (%s)", each.name, each.after)
	}
	for _, fault := range r.faults {
		text += "\n    fault " + words(fault)
	}
	for _, fault := range r.tasks {
		text += "\n    task " + words(fault)
	}
	return text
}

// rough reports whether PVE may leave volumes behind.
func (r round) rough() bool {
	return len(r.tasks) > 0 || slices.ContainsFunc(r.deeds, func(d deed) bool {
		return slices.Contains([]string{"lose a node", "take a storage away", "fill a storage"}, d.name)
	})
}

// words are what the lab's admin endpoint takes.
func words(fault any) string {
	text, err := json.Marshal(fault)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// inTrouble applies the configuration, while the lab misbehaves, others do as they
// like and somebody may kill what runs, and tells what became of the run.
func (c *trial) inTrouble(r round) string {
	lab := c.target.Lab.Faults()
	defer lab.Clear()
	for _, fault := range r.faults {
		_, err := lab.Add(fault)
		acctest.Must(c.t, err)
	}
	for _, fault := range r.tasks {
		_, err := lab.AddTask(fault)
		acctest.Must(c.t, err)
	}
	undo := c.doEarly(r.deeds)

	process, err := c.workspace.Start(context.Background(), "apply", "-auto-approve")
	acctest.Must(c.t, err)
	ended := make(chan struct{})
	go func() {
		c.output, _ = process.Wait() // It may well fail.
		close(ended)
	}()
	others := make(chan func())
	go func() { others <- c.doLate(r.deeds, ended) }()
	outcome := "ended by itself"
	select {
	case <-ended:
	case <-time.After(r.after):
		_ = kills[r.kill].do(c.workspace, process) // What is to be killed may have ended.
		outcome = kills[r.kill].name
		<-ended
	}
	(<-others)()
	undo()
	return outcome
}
