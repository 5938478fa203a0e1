package firewall

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// Read refreshes the state: one call for the rules, one for the options, and one
// for each set and for the aliases where there are any. That a guest is gone is
// looked into only where its firewall is not as it was.
func (r *Resource) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	j := r.job(ctx, state, &resp.Diagnostics)
	if j == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.Data.Timeouts.Read)
	defer cancel()

	j.recall(ctx, req.Private)
	// Also where it turns out to be gone: a CLI that keeps no identity gave none.
	j.setIdentity(ctx, state.identifier(j.scope), resp.Identity)
	imported, _ := framework.GetPrivate[bool](ctx, req.Private, privateImported, &resp.Diagnostics)
	if imported {
		state.all()
	}
	j.want = state.ruleset(ctx, &resp.Diagnostics)
	has, err := j.has(ctx, imported)
	gone, stranger := lost(err)
	switch {
	case gone && stranger:
		resp.Diagnostics.AddWarning("The firewall of "+j.scope.String()+" is another guest's now", err.Error())
		fallthrough
	case gone:
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		framework.AddError(&resp.Diagnostics, "read the firewall of "+j.scope.String(), err)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	state.take(ctx, has, &resp.Diagnostics)
	if imported {
		state.trim()
	}
	state.ID = types.StringValue(state.identifier(j.scope))
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
	j.save(ctx, resp.Private)
	framework.SetPrivate(ctx, resp.Private, privateImported, false, &resp.Diagnostics)
}

// errNoGroup says that a security group is gone.
var errNoGroup = errors.New("the security group does not exist any more")

// lost reports whether an error means that there is nothing left to care for,
// and whether what is there now is a stranger's.
func lost(err error) (gone, stranger bool) {
	var refusal *proxmox.OwnershipError
	switch {
	case err == nil:
		return false, false
	case errors.Is(err, errNoGroup):
		return true, false
	case errors.As(err, &refusal):
		return refusal.Standing.Lost(), refusal.Standing == proxmox.Stranger
	}
	return false, false
}

func isLost(err error) bool {
	gone, _ := lost(err)
	return gone
}

// has is what the firewall has of what the state speaks of, or with an import
// all of it.
func (j *job) has(ctx context.Context, all bool) (ruleset, error) {
	if err := j.whereabouts(ctx, all); err != nil {
		return ruleset{}, err
	}
	if all {
		if err := j.wantAll(ctx); err != nil {
			return ruleset{}, err
		}
	}
	err := j.read(ctx)
	if proxmox.IsUnavailable(err) && j.scope.OfGuest() {
		// The node is away, but the file is the cluster's.
		err = sequence(ctx, j.elsewhere, j.read)
	}
	if err != nil {
		return ruleset{}, err
	}
	if !j.cur.group {
		return ruleset{}, errNoGroup
	}
	has := j.found()
	if j.scope.OfGuest() && !all && !has.equal(j.want) {
		// It may be another guest's. What cannot be told now is left to the gate.
		if err := j.known(ctx); isLost(err) {
			return has, err
		}
	}
	return has, nil
}

// whereabouts finds a node to ask about a guest's firewall.
func (j *job) whereabouts(ctx context.Context, anew bool) error {
	if !j.scope.OfGuest() || j.scope.Node != "" && !anew {
		return nil
	}
	guest, listed, err := j.client.View.Guest(ctx, j.scope.VMID)
	if err != nil {
		return err
	}
	if listed {
		j.scope.Node = guest.Node
		return nil
	}
	return j.known(ctx)
}

// elsewhere finds a node that is online: any can tell of a guest's firewall.
func (j *job) elsewhere(ctx context.Context) error {
	nodes, err := j.client.View.Nodes(ctx)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		if node.Online() && node.Node != j.scope.Node {
			j.scope.Node = node.Node
			return nil
		}
	}
	return errors.New("no other node is online")
}

// wantAll makes the job one about all that the firewall has.
func (j *job) wantAll(ctx context.Context) error {
	j.want.managed = true
	if j.scope.Kind == proxmox.FirewallGroup || j.scope.Kind == proxmox.FirewallNode {
		return nil
	}
	sets, err := j.client.Firewall.Sets(ctx, j.scope)
	if err != nil {
		return err
	}
	for _, name := range sets {
		j.want.sets[name] = members{}
	}
	if _, err := j.aliasDigest(ctx); err != nil {
		return err
	}
	for name := range j.cur.aliases {
		j.want.aliases[name] = ""
	}
	return nil
}

// found is what was read, of what the job is about.
func (j *job) found() ruleset {
	has := ruleset{
		managed: j.want.managed, rules: j.owned(j.cur.rules.Rules), options: map[string]string{},
		sets: map[string]members{}, aliases: map[string]string{}, comment: j.cur.comment,
	}
	for name, set := range j.cur.sets {
		has.sets[name] = members{}
		for cidr, member := range set {
			has.sets[name][cidr] = bool(member.NoMatch)
		}
	}
	for name, alias := range j.cur.aliases {
		if _, ours := j.want.aliases[name]; ours {
			has.aliases[name] = alias.CIDR
		}
	}
	has.options = j.cur.options.Values
	return has
}
