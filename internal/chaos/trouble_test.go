package chaos

import (
	"context"
	"net/http"
	"time"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

// faults are what a call may meet, each once.
var faults = []pvelab.Fault{
	{Drop: pvelab.DropBefore},
	{Drop: pvelab.DropAfter},
	{Drop: pvelab.DropBody},
	{Status: 596, Text: "Connection timed out"},
	{Status: 596, Text: "Connection timed out", After: true},
	{Status: http.StatusInternalServerError, Text: "can't lock file '/var/lock/qemu-server/lock-20000.conf' - got timeout"},
	{Status: http.StatusInternalServerError, Text: "unable to open file"},
	{Status: http.StatusServiceUnavailable, Text: "Service Unavailable"},
	{Delay: time.Minute},
}

// taskFaults are what a task may end with.
var taskFaults = []pvelab.TaskFault{
	{Exit: "can't lock file '/var/lock/qemu-server/lock-20000.conf' - got timeout"},
	{Exit: "storage is full"},
	{Exit: "worker was stopped", After: true},
	{Warnings: []string{"something is odd"}},
}

// inTrouble applies the configuration, while the lab misbehaves and somebody may kill
// what runs, and names what was done.
func (c *trial) inTrouble() string {
	c.misbehave()
	defer c.target.Lab.Faults().Clear()
	c.takeIn()

	ctx := context.Background()
	process, err := c.workspace.Start(ctx, "apply", "-auto-approve")
	acctest.Must(c.t, err)
	ended := make(chan struct{})
	go func() {
		_, _ = process.Wait() // It may well fail.
		close(ended)
	}()
	select {
	case <-ended:
		return "faults"
	case <-time.After(time.Duration(c.random.IntN(4000)) * time.Millisecond):
	}
	kinds := []struct {
		name string
		do   func() error
	}{
		{"faults, slow", func() error { return nil }},
		{"provider killed", c.workspace.KillProvider},
		{"all killed", process.Kill},
		{"interrupted", process.Interrupt},
	}
	kind := kinds[c.random.IntN(len(kinds))]
	_ = kind.do() // What is to be killed may have ended.
	<-ended
	return kind.name
}

// misbehave asks the lab for up to three faults of calls and one of a task.
func (c *trial) misbehave() {
	lab := c.target.Lab.Faults()
	for range c.random.IntN(4) {
		fault := faults[c.random.IntN(len(faults))]
		fault.Path, fault.Skip = ".*", c.random.IntN(60)
		_, err := lab.Add(fault)
		acctest.Must(c.t, err)
	}
	if c.random.IntN(3) == 0 {
		fault := taskFaults[c.random.IntN(len(taskFaults))]
		fault.Skip = c.random.IntN(6)
		_, err := lab.AddTask(fault)
		acctest.Must(c.t, err)
	}
}
