// Package fences is what the resource and the actions that fence have in common.
package fences

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"terraform-provider-proxmox/internal/proxmox"
)

// Request is what to fence and on which conditions, as configurations write it.
type Request struct {
	Action         types.String `tfsdk:"action"`
	Node           types.String `tfsdk:"node"`
	VMID           types.Int64  `tfsdk:"vmid"`
	UID            types.String `tfsdk:"uid"`
	NICs           types.Set    `tfsdk:"nics"`
	Foreign        types.Bool   `tfsdk:"foreign"`
	Timeout        types.String `tfsdk:"timeout"`
	GuestTimeout   types.String `tfsdk:"guest_timeout"`
	RequireDurable types.Bool   `tfsdk:"require_durable"`
	Precondition   types.Object `tfsdk:"precondition"`
}

type precondition struct {
	Replication *replication `tfsdk:"replication"`
	Quorum      types.Bool   `tfsdk:"quorum"`
}

type replication struct {
	Job    types.String `tfsdk:"job"`
	MaxLag types.String `tfsdk:"max_lag"`
}

// The timeouts where a configuration names none.
const (
	DefaultTimeout      = "10m"
	DefaultGuestTimeout = "3m"
)

// Docs describe the attributes, by name.
var Docs = map[string]string{
	"action": "What to do: `vm.stop` stops a VM at once; `vm.link-down` takes network devices of a VM down while it keeps running; " +
		"`node.stop-guests` stops all VMs and containers of a node; `node.shutdown` does that and shuts the node down.",
	"node": "The node that the VM has to be on, or the node to fence. A node is never fenced through itself: name another one as `endpoint`.",
	"vmid": "The VM, for the actions on VMs.",
	"uid": "The `uid` of the `proxmox_vm`, where the VM is one of the provider's own: a VM of another uid is refused. " +
		"Left out, any marker that the VM carries will do.",
	"nics": "The network devices to take down, such as `net0`.",
	"foreign": "Whether guests that the provider does not own may be reached: a VM whose id, or a node whose name, is listed in the provider's `fence_scope`. " +
		"Fencing a node always takes it.",
	"timeout": "How long it may take in all until it is proven, or brought back (`" + DefaultTimeout + "` unless given).",
	"guest_timeout": "How long each guest of a node may take to shut down before the plug is pulled, and HA the same (`" + DefaultGuestTimeout +
		"` unless given).",
	"require_durable": "Refuse a fence that would not outlast a restart: a guest with `onboot`, or one of which it cannot be read what HA wants. HA is asked to stop what it manages.",
	"precondition":    "What has to hold before anything is stopped. What cannot be told does not hold.",
	"replication":     "A replica that has to be recent.",
	"job":             "The replication job, such as `101-0`. One that has failed since its last success is not ready, whatever its lag.",
	"max_lag":         "How old the replica may be, such as `5m`.",
	"quorum":          "Whether the cluster has to be quorate.",
}

// ActionNames validates the name of an action.
func ActionNames() validator.String {
	return stringvalidator.OneOf(string(proxmox.FenceStop), string(proxmox.FenceLinkDown),
		string(proxmox.FenceStopGuests), string(proxmox.FenceShutdown))
}

// Check refuses attributes that do not fit the action, before any call.
func (r Request) Check(diags *diag.Diagnostics) {
	if r.Action.IsUnknown() || r.Action.IsNull() {
		return
	}
	action := proxmox.FenceAction(r.Action.ValueString())
	wants := func(name string, value interface{ IsNull() bool }, wanted bool) {
		if value.IsNull() == wanted {
			verb := "needs"
			if !wanted {
				verb = "never takes"
			}
			diags.AddAttributeError(path.Root(name), "Attribute does not fit the action", fmt.Sprintf("%s %s %s.", action, verb, name))
		}
	}
	wants("vmid", r.VMID, !action.OfNode())
	wants("nics", r.NICs, action == proxmox.FenceLinkDown)
	if action.OfNode() {
		wants("uid", r.UID, false)
	}
}

// CheckScope refuses at plan what the provider's fence scope does not allow.
func (r Request) CheckScope(scope proxmox.FenceScope, diags *diag.Diagnostics) {
	action := proxmox.FenceAction(r.Action.ValueString())
	if r.Action.IsUnknown() || r.Foreign.IsUnknown() || r.Node.IsUnknown() || r.VMID.IsUnknown() {
		return
	}
	switch {
	case action.OfNode() && !r.Foreign.ValueBool():
		diags.AddAttributeError(path.Root("foreign"), "A node is fenced with foreign = true alone",
			"Fencing a node stops guests of others. Nothing was stopped.")
	case action.OfNode() && !slices.Contains(scope.Nodes, r.Node.ValueString()):
		diags.AddAttributeError(path.Root("node"), "The node is not in the fence scope", fmt.Sprintf(
			"List it in the provider block: fence_scope = { nodes = [%q] }. Nothing was stopped.", r.Node.ValueString()))
	case !action.OfNode() && r.Foreign.ValueBool() && !slices.Contains(scope.VMIDs, int(r.VMID.ValueInt64())):
		diags.AddAttributeError(path.Root("vmid"), "The VM is not in the fence scope", fmt.Sprintf(
			"List it in the provider block: fence_scope = { vmids = [%d] }, or leave foreign out for a VM of the provider's own. Nothing was stopped.", r.VMID.ValueInt64()))
	}
}

// Fence is the request for the client. All values have to be known.
func (r Request) Fence(ctx context.Context, diags *diag.Diagnostics) proxmox.Fence {
	f := proxmox.Fence{
		Action: proxmox.FenceAction(r.Action.ValueString()), Node: r.Node.ValueString(), VMID: int(r.VMID.ValueInt64()), UID: r.UID.ValueString(),
		Foreign: r.Foreign.ValueBool(), GuestTimeout: Duration(r.GuestTimeout, DefaultGuestTimeout), RequireDurable: r.RequireDurable.ValueBool(),
	}
	if !r.NICs.IsNull() {
		diags.Append(r.NICs.ElementsAs(ctx, &f.NICs, false)...)
		slices.Sort(f.NICs)
	}
	if r.Precondition.IsNull() {
		return f
	}
	var p precondition
	diags.Append(r.Precondition.As(ctx, &p, basetypes.ObjectAsOptions{})...)
	f.Precondition.Quorum = p.Quorum.ValueBool()
	if p.Replication != nil {
		f.Precondition.Job, f.Precondition.MaxLag = p.Replication.Job.ValueString(), Duration(p.Replication.MaxLag, "0s")
	}
	return f
}

// Within bounds a context by the request's timeout.
func (r Request) Within(ctx context.Context) (bounded context.Context, cancel context.CancelFunc) {
	return context.WithTimeout(ctx, Duration(r.Timeout, DefaultTimeout))
}

// Duration reads a duration that has passed its validator, or the one to take
// where it is null.
func Duration(value types.String, otherwise string) time.Duration {
	text := value.ValueString()
	if value.IsNull() {
		text = otherwise
	}
	duration, _ := time.ParseDuration(text)
	return duration
}

// Doing says what a fence does, in the infinitive.
func Doing(f proxmox.Fence) string {
	switch f.Action {
	case proxmox.FenceStop:
		return fmt.Sprintf("stop VM %d on node %s", f.VMID, f.Node)
	case proxmox.FenceLinkDown:
		return fmt.Sprintf("take %v of VM %d down", f.NICs, f.VMID)
	case proxmox.FenceStopGuests:
		return "stop the guests of node " + f.Node
	case proxmox.FenceShutdown:
		return "shut node " + f.Node + " down"
	}
	return string(f.Action)
}
