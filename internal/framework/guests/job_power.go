package guests

import (
	"context"
	"fmt"

	"terraform-provider-proxmox/internal/proxmox"
)

// begin brings a new guest to its first power. A new one is stopped; what an
// earlier run left may be anything.
func (j *Job) begin(ctx context.Context) (*proxmox.Completion, error) {
	want := proxmox.PowerState(j.Plan.Text("power"))
	switch {
	case want == "" && j.rests, want == proxmox.PowerStopped && !j.State.Exists():
		j.reached = PowerStopped
		return nil, nil //nolint:nilnil // Nothing was started that could be completed along.
	case want == "":
		want = proxmox.PowerRunning
	}
	if want != proxmox.PowerRunning {
		return nil, j.power(ctx, want)
	}
	completion, err := j.Client.StartNew(ctx, j.Guest, nil, j.PowerOptions(ctx))
	if err != nil {
		return nil, fmt.Errorf("start it: %w", err)
	}
	j.Latest, j.reached = completion.Config(), PowerRunning
	return completion, nil
}

func (j *Job) power(ctx context.Context, want proxmox.PowerState) error {
	before, err := j.Client.Power(ctx, j.Guest, nil, want, j.PowerOptions(ctx))
	if err != nil {
		return fmt.Errorf("make it %s: %w", want, err)
	}
	j.Latest, j.reached = before, string(want)
	return nil
}

// PowerOptions is how to change the guest's power.
func (j *Job) PowerOptions(ctx context.Context) proxmox.PowerOptions {
	options := proxmox.PowerOptions{Progress: progress(ctx)}
	options.ShutdownTimeout, options.ForceStop = Stopping(j.Plan)
	return options
}

// Status is the power that the guest has as far as the job knows.
func (j *Job) Status() string {
	if j.reached != "" {
		return j.reached
	}
	return j.State.Text("status")
}
