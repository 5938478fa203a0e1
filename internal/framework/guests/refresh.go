package guests

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// Refreshing is a kind's part in a refresh.
type Refreshing interface {
	// Import fills what PVE does not say of an imported guest.
	Import(state settings.Document)
	// Read fills the attributes of a state that only this kind has.
	Read(ctx context.Context, state settings.Document)
	// Lost reports whether a guest that is gone leaves the state, and says what
	// stays behind. It changes a state that is kept.
	Lost(ctx context.Context, state settings.Document, problem error) bool
}

// Refresh brings a state up to what was found.
type Refresh struct {
	Kind    *Kind
	Client  *proxmox.Client
	State   settings.Document
	Guest   proxmox.Guest
	Look    proxmox.Look
	Private PrivateState
	Diags   *diag.Diagnostics
	// Importing is set where an imported guest is read for the first time.
	Importing bool
}

func (f *Refresh) into(ctx context.Context, resp *resource.ReadResponse) {
	own := f.Kind.Refreshes(f)
	problem := f.Look.Err(f.Guest)
	framework.SetPrivate(ctx, f.Private, privateStanding, f.Look.Standing.String(), f.Diags)
	saveIdentity(ctx, resp.Identity, f.State, f.Diags)
	who := f.Kind.Describe(f.State)
	switch f.Look.Standing {
	case proxmox.Ours, proxmox.Unfinished:
		if !f.beingMade() {
			f.read(ctx, own, resp)
		}
	case proxmox.Damaged:
		if settings.IsNull(f.State.Values["uid"]) {
			f.read(ctx, own, resp) // It is being adopted, and has no marker yet.
			return
		}
		f.State.Values["marked"] = types.BoolValue(false)
		f.State.Save(ctx, &resp.State, f.Diags)
		f.Diags.AddWarning(who+" has lost its marker", problem.Error())
	case proxmox.Stub:
		// It is being made: what is planned stays in the state until then.
	case proxmox.Unreachable:
		f.Diags.AddWarning(who+" cannot be reached", problem.Error()+"\n\nIts last known state is kept.")
	case proxmox.Stranger, proxmox.Gone:
		state := f.State.Clone()
		if own.Lost(ctx, state, problem) {
			resp.State.RemoveResource(ctx)
			return
		}
		state.Save(ctx, &resp.State, f.Diags)
	default:
		framework.AddError(f.Diags, "read "+who, problem)
	}
}

// beingMade reports whether PVE still copies or unpacks volumes: until it is done
// the configuration lacks some, so that what is planned stays in the state.
func (f *Refresh) beingMade() bool {
	if f.Look.Standing != proxmox.Unfinished || settings.IsNull(f.State.Values["provisioned"]) {
		return false
	}
	lock := f.Look.Config.Lock()
	return lock == "clone" || lock == "create"
}

func (f *Refresh) read(ctx context.Context, own Refreshing, resp *resource.ReadResponse) {
	state, config := f.State.Clone(), f.Look.Config
	r := &settings.Reader{Values: Wanted(config), Purpose: settings.Refreshing}
	f.Importing = settings.IsNull(state.Values["provisioned"])
	if f.Importing {
		r.Purpose = settings.Importing
		state.Values["provisioned"] = types.BoolValue(f.Look.Standing != proxmox.Unfinished)
		own.Import(state)
		f.findPool(ctx, state)
	}
	state.Put(r.Object(f.Kind.Table, "", f.State.Object()))
	f.Kind.report(state, config, false)
	state.Values["node"] = types.StringValue(f.Look.Node)
	status := f.power(ctx)
	state.Values["status"] = types.StringValue(status)
	f.readMarker(ctx, state, resp)
	if f.Importing {
		state.Values["power"] = types.StringValue(status)
		framework.SetPrivate(ctx, f.Private, privateDisks, f.attached(), f.Diags)
	}
	found := f.Kind.Addresses(ctx, f.Client, config, f.Look.Status.Running())
	state.Values["addresses_stale"] = types.BoolValue(found.Stale)
	state.Values["network"] = found.into(f.Kind.Network, state.Values["network"])
	own.Read(ctx, state)

	framework.AddWarning(f.Diags, "read all of "+f.Kind.Describe(state), r.Err())
	state.Save(ctx, &resp.State, f.Diags)
	saveBirth(ctx, f.Private, proxmox.Guest{SMBIOSUUID: config.SMBIOSUUID(), CTime: config.CTime(), MACs: config.MACs()}, f.Diags)
}

func (f *Refresh) readMarker(ctx context.Context, state settings.Document, resp *resource.ReadResponse) {
	marked := f.Look.Standing != proxmox.Damaged
	state.Values["marked"] = types.BoolValue(marked)
	if marked && settings.IsNull(state.Values["uid"]) {
		// The adoption was killed right after it had written the marker.
		state.Values["uid"] = types.StringValue(f.Guest.UID)
		framework.DropPrivate(ctx, f.Private, privateAdopting, f.Diags)
		saveIdentity(ctx, resp.Identity, state, f.Diags)
	}
}

// power is what the guest's node says. Whether it is paused only a call of its
// own tells, which is spent where that was asked for.
func (f *Refresh) power(ctx context.Context) string {
	if !f.Look.Status.Running() {
		return PowerStopped
	}
	if f.State.Text("power") != PowerPaused {
		return PowerRunning
	}
	status, err := f.Client.Status(ctx, f.Kind.Kind, f.Look.Node, f.Guest.VMID)
	if err == nil && !status.Paused() {
		return PowerRunning
	}
	return PowerPaused
}

// attached are the slots of the volumes that an imported guest has: it was handed
// over with them. Detached volumes were not.
func (f *Refresh) attached() []string {
	return slices.DeleteFunc(f.Kind.volumeSlots(f.Look.Config.Current), isDetached)
}

// findPool finds the pool that an imported guest is in.
func (f *Refresh) findPool(ctx context.Context, state settings.Document) {
	listed, ok, err := f.Client.View.Guest(ctx, f.Guest.VMID)
	if err == nil && ok && listed.Pool != "" {
		state.Values["pool"] = types.StringValue(listed.Pool)
	}
}
