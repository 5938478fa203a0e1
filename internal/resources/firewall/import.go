package firewall

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// ImportState takes a firewall into the state by its id. The read that follows
// fills in all that it has.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	id, uid := req.ID, ""
	if id == "" {
		id = framework.IdentityText(ctx, req.Identity, "id", &resp.Diagnostics)
		uid = framework.IdentityText(ctx, req.Identity, "uid", &resp.Diagnostics)
	}
	scope, tag, err := parseID(id)
	if err != nil {
		resp.Diagnostics.AddError("Cannot import "+strconv.Quote(id), err.Error())
		return
	}
	j := &job{client: r.Client(&resp.Diagnostics), scope: scope, diags: &resp.Diagnostics}
	if j.client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.Data.Timeouts.Read)
	defer cancel()
	err = j.exists(ctx)
	if err == nil && uid != "" && uid != j.guest.UID {
		err = fmt.Errorf("%s carries the marker of another guest than the one wanted: its uid is %s", j.guest, j.guest.UID)
	}
	if err != nil {
		framework.AddError(&resp.Diagnostics, fmt.Sprintf("import %q", id), err)
		return
	}
	ownership := ownsAll
	if tag != "" {
		ownership = ownsTagged
	}
	for name, value := range map[string]any{
		"scope": scopeObject(scope), "ownership": types.StringValue(ownership), "tag": optional(tag),
	} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
	}
	if !scope.OfGuest() {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root("foreign"), types.BoolValue(true))...)
	}
	j.save(ctx, resp.Private)
	j.setIdentity(ctx, id, resp.Identity)
	framework.SetPrivate(ctx, resp.Private, privateImported, true, &resp.Diagnostics)
}

// exists fails where there is no such thing, or a guest that is not ours.
func (j *job) exists(ctx context.Context) error {
	switch j.scope.Kind {
	case proxmox.FirewallVM, proxmox.FirewallContainer:
		return j.identify(ctx)
	case proxmox.FirewallGroup:
		groups, err := j.client.Firewall.Groups(ctx)
		if err != nil {
			return err
		}
		if _, exists := groups[j.scope.Group]; !exists {
			return fmt.Errorf("there is no security group %q", j.scope.Group)
		}
	case proxmox.FirewallNode, proxmox.FirewallCluster:
		_, err := j.client.Firewall.Options(ctx, j.scope)
		return err
	}
	return nil
}

// parseID reads an id such as vm/20001, security_group/web or cluster:tag.
func parseID(id string) (scope proxmox.FirewallScope, tag string, err error) {
	place, tag, tagged := strings.Cut(id, ":")
	if tagged && !lowerName.MatchString(tag) {
		return scope, "", fmt.Errorf("%q is no tag", tag)
	}
	kind, name, named := strings.Cut(place, "/")
	scope.Kind = proxmox.FirewallKind(kind)
	switch scope.Kind {
	case proxmox.FirewallVM, proxmox.FirewallContainer:
		scope.VMID, err = strconv.Atoi(name)
	case proxmox.FirewallNode:
		scope.Node = name
	case proxmox.FirewallGroup:
		scope.Group = name
	case proxmox.FirewallCluster:
		if !named {
			return scope, tag, nil
		}
		name = ""
	default:
		name = ""
	}
	if name == "" || err != nil {
		return scope, "", fmt.Errorf("an id is vm/<id>, container/<id>, node/<name>, cluster or security_group/<name>, with :<tag> behind it where only tagged rules are owned")
	}
	return scope, tag, nil
}
