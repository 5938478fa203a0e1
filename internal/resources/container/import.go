package container

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

var (
	uidForm  = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	vmidForm = regexp.MustCompile(`^(?:([A-Za-z0-9-]+)/)?(\d{1,9})$`)
)

// ImportState takes a container that carries this provider's marker into the state:
// by its uid, its vmid, or node/vmid. It finds the container and its uid; the read
// that follows fills the rest.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	client := r.Client(&resp.Diagnostics)
	if client == nil || !r.Data.RequireVMIDRange(&resp.Diagnostics) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.Data.Timeouts.Read)
	defer cancel()
	id := req.ID
	var uid types.String
	if id == "" && req.Identity != nil {
		var vmid types.Int64
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, settings.At("vmid"), &vmid)...)
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, settings.At("uid"), &uid)...)
		id = strconv.FormatInt(vmid.ValueInt64(), 10)
	}
	guest, err := search{client: client, bounds: r.Data.VMIDRange}.find(ctx, id)
	if err == nil && uid.ValueString() != "" && uid.ValueString() != guest.UID {
		err = fmt.Errorf("%s carries the marker of another guest than the one wanted: its uid is %s", guest, guest.UID)
	}
	if err != nil {
		framework.AddError(&resp.Diagnostics, fmt.Sprintf("import %q", id), err)
	}
	if resp.Diagnostics.HasError() {
		return
	}
	state := settings.Load(ctx, resp.State, &resp.Diagnostics)
	state.Values = state.Nulls()
	state.Values["vmid"] = types.Int64Value(int64(guest.VMID))
	state.Values["uid"] = types.StringValue(guest.UID)
	state.Values["node"] = types.StringValue(guest.Node)
	state.Save(ctx, &resp.State, &resp.Diagnostics)
	framework.SetPrivate(ctx, resp.Private, privateImported, true, &resp.Diagnostics)
	saveIdentity(ctx, resp.Identity, state, &resp.Diagnostics)
}

// search finds the container that an import names.
type search struct {
	client *proxmox.Client
	bounds proxmox.VMIDRange
}

func (s search) find(ctx context.Context, id string) (proxmox.Guest, error) {
	if strings.HasPrefix(id, "adopt:") {
		return proxmox.Guest{}, fmt.Errorf("containers without a marker cannot be adopted yet: write the marker's line into its notes first")
	}
	if uidForm.MatchString(id) {
		return s.byUID(ctx, strings.ToLower(id))
	}
	match := vmidForm.FindStringSubmatch(id)
	if match == nil {
		return proxmox.Guest{}, fmt.Errorf("%q is no import id: give the container's uid, its vmid, or node/vmid such as pve1/20007", id)
	}
	vmid, err := strconv.Atoi(match[2])
	if err != nil {
		return proxmox.Guest{}, err
	}
	return s.byVMID(ctx, match[1], vmid)
}

func (s search) byUID(ctx context.Context, uid string) (proxmox.Guest, error) {
	guests, err := s.client.FindByUID(ctx, proxmox.KindContainer, uid)
	switch {
	case err != nil:
		return proxmox.Guest{}, err
	case len(guests) == 0:
		return proxmox.Guest{}, fmt.Errorf("there is no container with the uid %s in the range %s", uid, s.bounds)
	case len(guests) > 1:
		return proxmox.Guest{}, fmt.Errorf("containers %d and %d both carry the uid %s: remove the marker's line from the notes of the wrong one",
			guests[0].VMID, guests[1].VMID, uid)
	}
	return guests[0], nil
}

func (s search) byVMID(ctx context.Context, node string, vmid int) (proxmox.Guest, error) {
	if !s.bounds.Contains(vmid) {
		return proxmox.Guest{}, fmt.Errorf("guest %d is outside the provider's vmid_range, %s, where nothing is changed or destroyed", vmid, s.bounds)
	}
	listed, ok, err := s.client.View.Guest(ctx, vmid)
	switch {
	case err != nil:
		return proxmox.Guest{}, err
	case !ok:
		return proxmox.Guest{}, s.absent(ctx, vmid)
	case listed.Type != string(proxmox.KindContainer):
		return proxmox.Guest{}, fmt.Errorf("guest %d is a VM, not a container", vmid)
	case node != "" && node != listed.Node:
		return proxmox.Guest{}, fmt.Errorf("container %d is on node %s, not on %s", vmid, listed.Node, node)
	}
	config, err := s.client.Containers.Pending(ctx, listed.Node, vmid)
	if err != nil {
		return proxmox.Guest{}, err
	}
	if config.Template() {
		return proxmox.Guest{}, fmt.Errorf("container %d is a template", vmid)
	}
	marker, marked := config.Marker()
	if !marked {
		wanted := proxmox.Marker{UID: proxmox.NewUID(), VMID: vmid}
		return proxmox.Guest{}, fmt.Errorf("container %d %q carries no marker of this provider, so that it is somebody else's. To hand it over, "+
			"put this line into its notes in Proxmox VE, and import it again: %s", vmid, config.Name(), wanted)
	}
	return proxmox.Guest{Kind: proxmox.KindContainer, VMID: vmid, Node: listed.Node, UID: marker.UID, MACs: config.MACs()}, nil
}

func (s search) absent(ctx context.Context, vmid int) error {
	free, err := s.client.Cluster.VMIDFree(ctx, vmid)
	if err != nil {
		return err
	}
	if free {
		return fmt.Errorf("there is no container %d in the cluster", vmid)
	}
	return fmt.Errorf("guest %d exists, but the token may not see it: the privilege VM.Audit on /vms/%d is missing", vmid, vmid)
}
