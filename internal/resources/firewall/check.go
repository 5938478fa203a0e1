package firewall

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// ModifyPlan checks what can be known before anything is changed. A plan that
// changes nothing makes no call.
func (r *Resource) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if req.Plan.Raw.IsNull() || req.Plan.Raw.Equal(req.State.Raw) {
		return
	}
	var planned, state model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &planned)...)
	creates := req.State.Raw.IsNull()
	if !creates {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	}
	if resp.Diagnostics.HasError() || !r.Ready() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.Data.Timeouts.Read)
	defer cancel()
	c := check{client: r.Data.Client, planned: planned, state: state, diags: &resp.Diagnostics}
	c.macros(ctx)
	if scope, ok := planned.scope(ctx, c.diags); ok {
		c.scope = scope
		c.want = planned.ruleset(ctx, c.diags)
		c.inRange(r.Data)
		c.guest(ctx)
		c.privileges(ctx)
		c.lockout(ctx)
		c.nodeLockout(ctx)
		if creates {
			c.takeover(ctx)
		}
	}
}

// check is a plan being checked.
type check struct {
	client         *proxmox.Client
	planned, state model
	scope          proxmox.FirewallScope
	want           ruleset
	diags          *diag.Diagnostics
}

// macros refuses macros that the node does not know, and other spellings of
// those that it does.
func (c *check) macros(ctx context.Context) {
	for i, each := range c.planned.ruleModels(ctx, c.diags) {
		name := each.Macro.ValueString()
		if name == "" {
			continue
		}
		known, err := c.client.View.FirewallMacros(ctx)
		if err != nil {
			framework.AddWarning(c.diags, "check the macros of the rules", err)
			return
		}
		if slices.Contains(known, name) {
			continue
		}
		text := fmt.Sprintf("The node knows no macro %q.", name)
		if at := slices.IndexFunc(known, func(k string) bool { return strings.EqualFold(k, name) }); at >= 0 {
			text = fmt.Sprintf("The macro is written %q.", known[at])
		}
		c.diags.AddAttributeError(path.Root("rules").AtListIndex(i).AtName("macro"), "Unknown macro", text)
	}
}

// inRange refuses guests outside the provider's range.
func (c *check) inRange(data *framework.ProviderData) {
	if !c.scope.OfGuest() || !data.RequireVMIDRange(c.diags) || data.VMIDRange.Contains(c.scope.VMID) {
		return
	}
	c.diags.AddAttributeError(path.Root("scope"), "The guest lies outside vmid_range",
		fmt.Sprintf("Guest %d is not in %s: nothing outside it is ever changed.", c.scope.VMID, data.VMIDRange))
}

// guest looks at the network devices of a guest that exists, and remembers its
// node for further questions.
func (c *check) guest(ctx context.Context) {
	if !c.scope.OfGuest() {
		return
	}
	listed, ok, err := c.client.View.Guest(ctx, c.scope.VMID)
	if err != nil || !ok {
		return
	}
	c.scope.Node = listed.Node
	if c.want.options[keyEnable] != "1" {
		return
	}
	var config *proxmox.GuestConfig
	if c.scope.GuestKind() == proxmox.KindContainer {
		config, err = c.client.Containers.Config(ctx, listed.Node, c.scope.VMID)
	} else {
		config, err = c.client.VMs.Config(ctx, listed.Node, c.scope.VMID)
	}
	if err == nil {
		warnOfNICs(c.scope, config, c.diags)
	}
}

// capabilities are what each kind of firewall takes.
var capabilities = map[proxmox.FirewallKind]string{
	proxmox.FirewallVM: "firewall", proxmox.FirewallContainer: "firewall", proxmox.FirewallNode: "firewall.node",
	proxmox.FirewallCluster: "firewall.cluster", proxmox.FirewallGroup: "firewall.cluster",
}

// privileges refuses a plan that the token certainly may not carry out. A guest
// that is not listed may be one that is yet to be made.
func (c *check) privileges(ctx context.Context) {
	use := framework.Use{Capability: capabilities[c.scope.Kind], Action: "write the firewall of " + c.scope.String(), Scope: proxmox.Scope{}}
	switch {
	case c.scope.Kind == proxmox.FirewallNode:
		use.Scope["node"] = []string{c.scope.Node}
	case c.scope.OfGuest() && c.scope.Node != "":
		use.Scope["vmid"] = []string{strconv.Itoa(c.scope.VMID)}
	}
	use.Check(ctx, c.client, c.diags)
}

// takeover warns of rules that a new resource removes.
func (c *check) takeover(ctx context.Context) {
	if !c.want.managed || c.planned.marker() != "" || c.scope.OfGuest() && c.scope.Node == "" {
		return
	}
	has, err := c.client.Firewall.Rules(ctx, c.scope)
	if err != nil {
		return
	}
	var foreign int
	for _, rule := range has.Rules {
		if !slices.Contains(c.want.rules, rule) {
			foreign++
		}
	}
	if foreign > 0 {
		c.diags.AddAttributeWarning(path.Root("rules"), fmt.Sprintf("%d rules of %s are removed", foreign, c.scope),
			`The list of rules is owned whole, and those are not configured. With ownership = "tagged" they stay; an import shows them.`)
	}
}

// nodeLockout warns of a node's rules that may refuse the provider: they come
// before the cluster's. Whether the node's firewall is in force is the cluster's
// to say.
func (c *check) nodeLockout(ctx context.Context) {
	if c.scope.Kind != proxmox.FirewallNode || !c.want.managed || c.planned.AcceptRisk.ValueBool() || !c.complete() {
		return
	}
	from, err := c.client.LocalAddress(ctx)
	if err != nil {
		return
	}
	a := approach{from: from}
	for _, entrance := range entrances {
		a.port, a.macro, a.service = entrance.port, entrance.macro, entrance.service
		if !a.open(c.want.rules, accepts) {
			c.diags.AddAttributeWarning(path.Root("rules"), "The node's rules may lock the provider out",
				fmt.Sprintf("They are seen to refuse TCP port %d to %s, where the provider runs, or to leave it to a security group.", a.port, from))
			return
		}
	}
}

// lockout refuses to have the cluster's firewall in force where it is not seen
// to let the provider, and SSH, in.
func (c *check) lockout(ctx context.Context) {
	if c.scope.Kind != proxmox.FirewallCluster || c.want.options[keyEnable] != "1" || c.planned.AcceptRisk.ValueBool() || !c.complete() {
		return
	}
	why := "the provider's own address is not known"
	from, err := c.client.LocalAddress(ctx)
	if err == nil {
		why, err = c.closed(ctx, from)
	}
	if err != nil {
		framework.AddError(c.diags, "see whether the cluster's firewall locks the provider out", err)
		return
	}
	if why == "" {
		return
	}
	c.diags.AddAttributeError(path.Root("options").AtName("enabled"), "The cluster's firewall would lock the provider out",
		fmt.Sprintf("It is switched on for all nodes at once, and %s.\n\n"+
			"Add a rule that accepts TCP ports 8006 and 22 from there, before any that refuses them, or put the address into the set `management`, which PVE lets in where no rule refuses it. "+
			"If something else keeps the nodes reachable, say accept_lockout_risk = true.", why))
}

// complete reports whether all is known that decides about the nodes.
func (c *check) complete() bool {
	values := []attr.Value{c.planned.Rules, c.planned.IPSets, c.planned.Aliases, c.planned.Options}
	for _, value := range values {
		if value.IsUnknown() {
			return false
		}
	}
	for _, rule := range c.planned.Rules.Elements() {
		if object, ok := rule.(types.Object); ok && !wholly(object) {
			return false
		}
	}
	return true
}

func wholly(object types.Object) bool {
	for _, value := range object.Attributes() {
		if value.IsUnknown() {
			return false
		}
	}
	return !object.IsUnknown()
}
