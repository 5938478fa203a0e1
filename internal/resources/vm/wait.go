package vm

import (
	"context"
	"time"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// waitPause is the time between two questions to a guest that is waited for.
const waitPause = time.Second

// waits reports whether a document asks to wait for the guest's agent, or for
// what only that tells.
func waits(d settings.Document) bool {
	return d.Text("wait_for") == waitAgent || d.Text("wait_for") == waitCloudInit
}

// Waited reports whether the agent was waited for.
func (j *job) Waited() bool { return waits(j.Plan) }

// Wait waits for what wait_for names, in a guest that runs.
func (j *job) Wait(ctx context.Context) error {
	if j.Status() != guests.PowerRunning {
		return nil
	}
	switch j.Plan.Text("wait_for") {
	case waitAgent:
		return poll(ctx, "the guest agent", func() (bool, error) {
			err := j.Client.VMs.AgentPing(ctx, j.Guest.Node, j.Guest.VMID)
			return err == nil, err
		})
	case waitCloudInit:
		return poll(ctx, "cloud-init in the guest", func() (bool, error) {
			return j.Client.VMs.CloudInitDone(ctx, j.Guest.Node, j.Guest.VMID)
		})
	}
	return nil
}

// poll asks until the answer is yes. An agent that does not answer yet is waited
// for; a question that the token may not put, or the agent does not take, ends the
// wait, not the guest.
func poll(ctx context.Context, what string, ask func() (bool, error)) error {
	for {
		done, err := ask()
		switch {
		case err == nil && done:
			return nil
		case err != nil && (ctx.Err() != nil || proxmox.IsPermission(err) || proxmox.IsAgentRefusal(err)):
			return &guests.WaitError{What: what, Err: err}
		case err != nil && !proxmox.IsAgentUnavailable(err) && !proxmox.IsUnavailable(err):
			return err
		}
		select {
		case <-ctx.Done():
			return &guests.WaitError{What: what, Err: ctx.Err()}
		case <-time.After(waitPause):
		}
	}
}
