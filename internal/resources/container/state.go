package container

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// save writes the state after a job: what was planned, and what was found out.
// Every value is known, whatever the job came to.
func (j *job) save(ctx context.Context, provisioned bool, to *tfsdk.State, identity *tfsdk.ResourceIdentity, private framework.PrivateWriter) {
	state := j.plan.Clone()
	r := &settings.Reader{Purpose: settings.Settling}
	if j.latest != nil {
		r.Values = wanted(j.latest)
	}
	state.Put(r.Object(table, "", j.plan.Object()))
	report(state, j.latest, true)
	if j.latest != nil {
		// A container that has just been started has no leased address yet.
		found := findAddresses(ctx, j.client, j.guest.Node, j.latest, false)
		state.Values["network"] = found.complete(state.Values["network"], j.plan.Values["network"])
	}
	state.Values["vmid"] = types.Int64Value(int64(j.guest.VMID))
	state.Values["uid"] = types.StringValue(j.guest.UID)
	state.Values["provisioned"] = types.BoolValue(provisioned)
	settle(state, "node", j.guest.Node)
	settle(state, "status", j.status())
	state.SetNull()
	framework.AddWarning(j.diags, "read all of "+describe(state), r.Err())
	state.Save(ctx, to, j.diags)
	j.savePrivate(ctx, private)
	saveIdentity(ctx, identity, state, j.diags)
}

// settle gives a text that was to be known after apply.
func settle(d settings.Document, name, value string) {
	if d.Values[name].IsUnknown() && value != "" {
		d.Values[name] = types.StringValue(value)
	}
}

func (j *job) status() string {
	switch {
	case j.running == nil:
		return j.state.Text("status")
	case *j.running:
		return powerRunning
	}
	return powerStopped
}

// savePrivate writes what the next run has to know beside the state.
func (j *job) savePrivate(ctx context.Context, private framework.PrivateWriter) {
	if j.configured {
		given := settings.Applied{}
		table.Walk(path.Empty(), j.config.Object(), func(at path.Path) { given[at.String()] = true })
		given.Save(ctx, private, j.diags)
		framework.DropPrivate(ctx, private, privateImported, j.diags)
	}
	if j.task.IsZero() {
		framework.DropPrivate(ctx, private, privateTask, j.diags)
	} else {
		framework.SetPrivate(ctx, private, privateTask, j.task.String(), j.diags)
	}
	saveMACs(ctx, private, j.guest.MACs, j.diags)
}

func saveMACs(ctx context.Context, private framework.PrivateWriter, macs string, diags *diag.Diagnostics) {
	if macs != "" {
		framework.SetPrivate(ctx, private, privateMACs, macs, diags)
	}
}

// saveIdentity writes the identity, which Terraform 1.12 and newer know.
func saveIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, state settings.Document, diags *diag.Diagnostics) {
	if identity == nil {
		return
	}
	diags.Append(identity.SetAttribute(ctx, path.Root("vmid"), state.Values["vmid"])...)
	diags.Append(identity.SetAttribute(ctx, path.Root("uid"), state.Values["uid"])...)
}

// report fills the attributes that show the container's configuration. With
// settle only those that were to be known after apply.
func report(state settings.Document, config *proxmox.GuestConfig, settle bool) {
	if config == nil {
		return
	}
	set := func(name string, value attr.Value) {
		if !settle || state.Values[name].IsUnknown() {
			state.Values[name] = value
		}
	}
	devices, macs := map[string]attr.Value{}, map[string]attr.Value{}
	for key, value := range wanted(config) {
		if volumeSlot.MatchString(key) || networkSlot.MatchString(key) || deviceSlot.MatchString(key) {
			devices[key] = types.StringValue(value)
		}
		if mac, ok := (settings.Prop{Name: "hwaddr"}).Get(value); ok && networkSlot.MatchString(key) {
			macs[key] = types.StringValue(mac)
		}
	}
	pending := config.PendingKeys()
	slices.Sort(pending)
	set("devices", types.MapValueMust(types.StringType, devices))
	set("mac_addresses", types.MapValueMust(types.StringType, macs))
	set("reboot_required", types.SetValueMust(types.StringType, settings.Texts(pending)))
}

// refresh brings a state up to what was found.
type refresh struct {
	client *proxmox.Client
	state  settings.Document
	guest  proxmox.Guest
	look   proxmox.Look
}

func (f refresh) into(ctx context.Context, resp *resource.ReadResponse) {
	diags := &resp.Diagnostics
	problem := f.look.Err(f.guest)
	framework.SetPrivate(ctx, resp.Private, privateStanding, f.look.Standing.String(), diags)
	saveIdentity(ctx, resp.Identity, f.state, diags)
	switch f.look.Standing {
	case proxmox.Ours, proxmox.Unfinished:
		f.read(ctx, resp)
	case proxmox.Damaged:
		diags.AddWarning(describe(f.state)+" has lost its marker", problem.Error())
	case proxmox.Stub:
		// It is being made or destroyed: what is planned stays in the state until then.
	case proxmox.Unreachable:
		diags.AddWarning(describe(f.state)+" cannot be reached", problem.Error()+"\n\nIts last known state is kept.")
	case proxmox.Stranger, proxmox.Gone:
		f.lost(ctx, resp, problem)
	default:
		framework.AddError(diags, "read "+describe(f.state), problem)
	}
}

// lost drops a container that is gone from the state, unless another one holds
// volumes of it: then a reinstallation was not finished.
func (f refresh) lost(ctx context.Context, resp *resource.ReadResponse, problem error) {
	diags := &resp.Diagnostics
	holders, err := f.client.Holders(ctx, f.guest)
	if err != nil {
		framework.AddError(diags, "find out whether volumes of "+describe(f.state)+" are kept elsewhere", err)
		return
	}
	if len(holders) == 0 {
		diags.AddWarning(describe(f.state)+" is gone", problem.Error())
		resp.State.RemoveResource(ctx)
		return
	}
	diags.AddWarning(describe(f.state)+" is being reinstalled", problem.Error()+"\n\nAn earlier run did not finish its reinstallation. "+
		holders[0].Guest.String()+" holds its volumes. The next apply goes on.")
	state := f.state.Clone()
	state.Values["provisioned"] = types.BoolValue(false)
	state.Save(ctx, &resp.State, diags)
}

func (f refresh) read(ctx context.Context, resp *resource.ReadResponse) {
	state, config, diags := f.state.Clone(), f.look.Config, &resp.Diagnostics
	r := &settings.Reader{Values: wanted(config), Purpose: settings.Refreshing}
	switch {
	case settings.IsNull(state.Values["provisioned"]):
		r.Purpose = settings.Importing
		f.placeImported(ctx, state)
		state.Values["provisioned"] = types.BoolValue(f.look.Standing == proxmox.Ours)
	case f.look.Standing == proxmox.Unfinished || f.held(ctx):
		state.Values["provisioned"] = types.BoolValue(false)
	}
	state.Put(r.Object(table, "", f.state.Object()))
	report(state, config, false)
	state.Values["node"] = types.StringValue(f.look.Node)
	state.Values["unprivileged"] = types.BoolValue(config.Get("unprivileged") == "1")
	status := powerStopped
	if f.look.Status.Running() {
		status = powerRunning
	}
	state.Values["status"] = types.StringValue(status)
	if r.Purpose == settings.Importing {
		state.Values["power"] = types.StringValue(status)
	}
	found := findAddresses(ctx, f.client, f.look.Node, config, f.look.Status.Running())
	state.Values["network"] = found.into(state.Values["network"])

	framework.AddWarning(diags, "read all of "+describe(state), r.Err())
	state.Save(ctx, &resp.State, diags)
	saveMACs(ctx, resp.Private, config.MACs(), diags)
}

// held reports whether another container seems to hold volumes of this one, so that
// its reinstallation is to be finished.
func (f refresh) held(ctx context.Context) bool {
	named, err := f.client.HeldFor(ctx, f.guest)
	if err != nil || !named {
		return false
	}
	holders, err := f.client.Holders(ctx, f.guest)
	return err == nil && len(holders) > 0
}

// placeImported fills what a container is given when it is made.
func (f refresh) placeImported(ctx context.Context, state settings.Document) {
	// The empty text stands for the template that PVE does not name.
	state.Values["template"] = types.StringValue("")
	listed, ok, err := f.client.View.Guest(ctx, f.guest.VMID)
	if err == nil && ok && listed.Pool != "" {
		state.Values["pool"] = types.StringValue(listed.Pool)
	}
}
