package replication

import (
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/proxmox"
)

// model is what is asked for and what was found.
type model struct {
	VMID   types.Int64  `tfsdk:"vmid"`
	Job    types.String `tfsdk:"job"`
	MaxLag types.String `tfsdk:"max_lag"`
	Ready  types.Bool   `tfsdk:"ready"`
	Jobs   []job        `tfsdk:"jobs"`
}

// job is a job with its state. A nil is what is not known, or never was.
type job struct {
	ID              string   `tfsdk:"id"`
	VMID            int64    `tfsdk:"vmid"`
	Source          string   `tfsdk:"source"`
	Target          string   `tfsdk:"target"`
	Schedule        string   `tfsdk:"schedule"`
	Comment         string   `tfsdk:"comment"`
	Enabled         bool     `tfsdk:"enabled"`
	LastSync        *string  `tfsdk:"last_sync"`
	LastTry         *string  `tfsdk:"last_try"`
	NextSync        *string  `tfsdk:"next_sync"`
	DurationSeconds *float64 `tfsdk:"duration_seconds"`
	FailCount       int64    `tfsdk:"fail_count"`
	Error           string   `tfsdk:"error"`
	LagSeconds      *int64   `tfsdk:"lag_seconds"`
	Ready           bool     `tfsdk:"ready"`
	Problems        []string `tfsdk:"problems"`
}

func newJob(j proxmox.ReplicationJob, lag *int64, problems ...string) job {
	one := job{
		ID: j.ID, VMID: int64(j.Guest), Source: j.Source, Target: j.Target, Schedule: j.Schedule, Comment: j.Comment,
		Enabled: !bool(j.Disabled), LastSync: stamp(j.LastSync), LastTry: stamp(j.LastTry), NextSync: stamp(j.NextSync),
		FailCount: int64(j.FailCount), Error: j.Error, LagSeconds: lag, Ready: len(problems) == 0, Problems: append([]string{}, problems...),
	}
	if j.LastTry != 0 {
		seconds := float64(j.Duration)
		one.DurationSeconds = &seconds
	}
	return one
}

// stamp is a Unix time in UTC, nil for never.
func stamp(seconds proxmox.Int) *string {
	if seconds <= 1 { // PVE writes 1 for "before everything else"
		return nil
	}
	text := time.Unix(int64(seconds), 0).UTC().Format(time.RFC3339)
	return &text
}
