package framework

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/proxmox"
)

// ProviderData is what the provider's Configure hands every resource and data
// source.
type ProviderData struct {
	// Client talks to the cluster. It is nil while parts of the provider's
	// configuration are unknown, which can be so in a plan.
	Client *proxmox.Client
	// Unknown names the provider's attributes whose values are not known yet.
	Unknown []string
	// VMIDRange bounds the guests that may be made or changed.
	VMIDRange proxmox.VMIDRange
	// Defaults stand in for what a resource leaves out.
	Defaults Defaults
	// Timeouts apply where a resource sets none.
	Timeouts Timeouts
	// Fences are those that this run has read and performed.
	Fences FenceRun

	reuse reuse
}

// Defaults are the provider's defaults; an empty text means none.
type Defaults struct {
	Node    string
	Storage string
	Bridge  string
	Pool    string
}

// Timeouts bound a resource's operations.
type Timeouts struct {
	Create time.Duration
	Read   time.Duration
	Update time.Duration
	Delete time.Duration
}

// DefaultTimeouts bound the operations where neither the resource nor the
// provider says anything. A clone on slow storage takes many minutes; a read
// is a few calls.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Create: 30 * time.Minute,
		Read:   5 * time.Minute,
		Update: 30 * time.Minute,
		Delete: 15 * time.Minute,
	}
}

// RequireVMIDRange reports whether a VMID range is configured, which whatever
// makes guests needs, and adds the error when none is.
func (d *ProviderData) RequireVMIDRange(diags *diag.Diagnostics) bool {
	if d.VMIDRange.Configured() {
		return true
	}
	diags.AddError("No VMID range is configured", rangeRemedy)
	return false
}

const rangeRemedy = "Guests are only made, changed and destroyed inside a range of ids that is the provider's own. Set it in the provider block, " +
	"for example vmid_range = { first = 20000, last = 20999 }, or in the environment: PROXMOX_VMID_RANGE=20000-20999."

// RequireNode returns the node that a resource names, else the provider's
// default, and adds an error at the attribute when there is neither.
func (d *ProviderData) RequireNode(configured string, at path.Path, diags *diag.Diagnostics) string {
	if configured != "" {
		return configured
	}
	if d.Defaults.Node == "" {
		diags.AddAttributeError(at, "No node is configured", "Set it here, or for the whole provider as defaults.node or PROXMOX_NODE.")
	}
	return d.Defaults.Node
}

// client returns the client, or adds an error that says why there is none.
func (d *ProviderData) client(diags *diag.Diagnostics) *proxmox.Client {
	if d != nil && d.Client != nil {
		return d.Client
	}
	if d == nil || len(d.Unknown) == 0 {
		diags.AddError("The provider is not configured", "Its Configure did not run. This is a bug in the provider or the CLI.")
		return nil
	}
	diags.AddError("The provider's configuration is not known yet",
		fmt.Sprintf("%s of the provider block %s on something that does not exist yet, so Proxmox VE cannot be asked. "+
			"Apply what it depends on first, for example with -target, or give a fixed value.",
			strings.Join(d.Unknown, ", "), plural(len(d.Unknown), "depends", "depend")))
	return nil
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Bounded bounds an operation by the resource's own timeout, where it has one, and
// otherwise by the provider's. Call cancel when it has ended.
func Bounded(
	ctx context.Context, own func(context.Context, time.Duration) (time.Duration, diag.Diagnostics), otherwise time.Duration, diags *diag.Diagnostics,
) (bounded context.Context, cancel context.CancelFunc) {
	timeout, problems := own(ctx, otherwise)
	diags.Append(problems...)
	return context.WithTimeout(ctx, timeout)
}
