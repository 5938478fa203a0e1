package guests

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

// ImportState takes a guest that carries this provider's marker into the state:
// by its uid, its vmid, or node/vmid; or one without a marker, by adopt:vmid. It
// finds the guest and its uid; the read that follows fills the rest.
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
	search := search{kind: r.Kind, client: client, bounds: r.Data.VMIDRange}
	guest, err := search.find(ctx, id)
	if err == nil && uid.ValueString() != "" && uid.ValueString() != guest.UID {
		err = fmt.Errorf("%s %d carries the marker of another guest than the one wanted: its uid is %s", r.Kind, guest.VMID, guest.UID)
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
	if search.adopts {
		framework.SetPrivate(ctx, resp.Private, privateAdopting, guest.UID, &resp.Diagnostics)
		saveBirth(ctx, resp.Private, guest, &resp.Diagnostics)
	} else {
		state.Values["uid"] = types.StringValue(guest.UID)
	}
	state.Values["node"] = types.StringValue(guest.Node)
	state.Save(ctx, &resp.State, &resp.Diagnostics)
	framework.SetPrivate(ctx, resp.Private, privateImported, true, &resp.Diagnostics)
	saveIdentity(ctx, resp.Identity, state, &resp.Diagnostics)
}

// search finds the guest that an import names.
type search struct {
	kind   *Kind
	client *proxmox.Client
	bounds proxmox.VMIDRange
	// adopts is set for a guest that is to be without a marker.
	adopts bool
}

const adopt = "adopt:"

func (s *search) find(ctx context.Context, id string) (proxmox.Guest, error) {
	id, s.adopts = strings.CutPrefix(id, adopt)
	if uidForm.MatchString(id) && !s.adopts {
		return s.byUID(ctx, strings.ToLower(id))
	}
	match := vmidForm.FindStringSubmatch(id)
	if match == nil {
		return proxmox.Guest{}, fmt.Errorf("%q is no import id: give the %[2]s's uid, its vmid, node/vmid such as pve1/20007, or adopt:vmid for a %[2]s that has no marker yet", id, s.kind)
	}
	vmid, err := strconv.Atoi(match[2])
	if err != nil {
		return proxmox.Guest{}, err
	}
	return s.byVMID(ctx, match[1], vmid)
}

func (s *search) byUID(ctx context.Context, uid string) (proxmox.Guest, error) {
	guests, err := s.client.FindByUID(ctx, s.kind.Kind, uid)
	if err != nil {
		return proxmox.Guest{}, err
	}
	switch len(guests) {
	case 0:
		return proxmox.Guest{}, fmt.Errorf("there is no %s with the uid %s in the range %s", s.kind, uid, s.bounds)
	case 1:
		return s.byVMID(ctx, "", guests[0].VMID)
	}
	return proxmox.Guest{}, fmt.Errorf("%ss %d and %d both carry the uid %s: remove the marker's line from the notes of the wrong one",
		s.kind, guests[0].VMID, guests[1].VMID, uid)
}

func (s *search) byVMID(ctx context.Context, node string, vmid int) (proxmox.Guest, error) {
	if !s.bounds.Contains(vmid) {
		return proxmox.Guest{}, fmt.Errorf("guest %d is outside the provider's vmid_range, %s, where nothing is changed or destroyed", vmid, s.bounds)
	}
	listed, ok, err := s.client.View.Guest(ctx, vmid)
	switch {
	case err != nil:
		return proxmox.Guest{}, err
	case !ok:
		return proxmox.Guest{}, s.absent(ctx, vmid)
	case listed.Type != string(s.kind.Kind):
		return proxmox.Guest{}, fmt.Errorf("guest %d is a %s, not a %s", vmid, proxmox.Kind(listed.Type), s.kind)
	case node != "" && node != listed.Node:
		return proxmox.Guest{}, fmt.Errorf("%s %d is on node %s, not on %s", s.kind, vmid, listed.Node, node)
	}
	config, err := s.client.Pending(ctx, s.kind.Kind, listed.Node, vmid)
	if err != nil {
		return proxmox.Guest{}, err
	}
	if config.Template() {
		return proxmox.Guest{}, fmt.Errorf("%s %d is a template, not a machine", s.kind, vmid)
	}
	return s.claim(config)
}

// claim decides by the marker whether the guest may be imported as is wanted.
func (s *search) claim(config *proxmox.GuestConfig) (proxmox.Guest, error) {
	guest := proxmox.Guest{
		Kind: s.kind.Kind, VMID: config.VMID, Node: config.Node,
		SMBIOSUUID: config.SMBIOSUUID(), CTime: config.CTime(), MACs: config.MACs(),
	}
	who := fmt.Sprintf("%s %d %q", s.kind, config.VMID, config.Name())
	marker, marked := config.Marker()
	heldFor, holds := config.HeldFor()
	switch {
	case holds:
		return guest, fmt.Errorf("%s holds volumes of container %d, whose reinstallation was not finished: apply that one, which then destroys this one", who, heldFor)
	case !marked && !s.adopts:
		return guest, fmt.Errorf("%s carries no marker of this provider, so that it is somebody else's. To hand it over, import %q: "+
			"the next apply writes the marker, and until then nothing is changed", who, adopt+strconv.Itoa(config.VMID))
	case marked && s.adopts:
		return guest, fmt.Errorf("%s carries a marker already, uid %s: import it as %d", who, marker.UID, config.VMID)
	case s.adopts && !guest.Known():
		return guest, fmt.Errorf("%s lacks what it could be known by until its marker is written (its %s): give it that first", who, s.kind.Birthmark)
	case s.adopts:
		marker.UID = proxmox.NewUID()
	}
	guest.UID = marker.UID
	return guest, nil
}

func (s *search) absent(ctx context.Context, vmid int) error {
	free, err := s.client.Cluster.VMIDFree(ctx, vmid)
	if err != nil {
		return err
	}
	if free {
		return fmt.Errorf("there is no %s %d in the cluster", s.kind, vmid)
	}
	return fmt.Errorf("guest %d exists, but the token may not see it: the privilege VM.Audit on /vms/%d is missing", vmid, vmid)
}
