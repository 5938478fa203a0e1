package proxmox

import (
	"context"
	"time"
)

// rebootTasks are the types of the tasks that reboot a guest.
var rebootTasks = map[Kind]string{KindVM: "qmreboot", KindContainer: "vzreboot"}

// Reboot shuts a guest down and starts it, which brings pending changes into
// force. When the answer to the call is lost, what it has begun is waited for: a
// guest is not restarted twice. It returns what the gate read before.
func (c *Client) Reboot(ctx context.Context, guest Guest, own *Owned, o PowerOptions) (*GuestConfig, error) {
	var lost time.Time
	return c.perform(ctx, guest, own, func(own *Owned) error {
		if !lost.IsZero() {
			if done, err := c.rebooted(ctx, own, lost, o); done || err != nil {
				return err
			}
		}
		called := c.clock.Now()
		upid, err := c.of(guest.kind()).Reboot(ctx, own)
		if IsLostAnswer(err) {
			lost = called
		}
		if err != nil {
			return err
		}
		_, err = c.Tasks.Wait(ctx, upid, WaitOptions{Progress: o.Progress})
		return err
	})
}

// rebooted reports whether a reboot that was called for at that time has come
// about: it waits for one that runs, and believes a guest that has been up for
// no longer than that. PVE tells both in its own time, so that no clocks are
// compared.
func (c *Client) rebooted(ctx context.Context, own *Owned, called time.Time, o PowerOptions) (bool, error) {
	kind := own.Config().Kind
	tasks, err := c.Tasks.List(ctx, own.Node(), TaskFilter{VMID: own.VMID(), TypeFilter: rebootTasks[kind], Source: TasksActive})
	if err != nil {
		return false, err
	}
	for _, task := range tasks {
		if task.Running {
			_, err := c.Tasks.Wait(ctx, task.UPID, WaitOptions{Progress: o.Progress})
			return true, err
		}
	}
	status, err := c.of(kind).Status(ctx, own.Node(), own.VMID())
	if err != nil {
		return false, err
	}
	elapsed := c.clock.Now().Sub(called)
	return status.Running() && time.Duration(status.Uptime)*time.Second <= elapsed, nil
}
