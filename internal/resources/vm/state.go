package vm

import (
	"context"
	"maps"
	"slices"
	"strings"

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
		found := j.found
		if found == nil {
			found = new(j.findAddresses(ctx))
		}
		if state.Values["addresses_stale"].IsUnknown() {
			state.Values["addresses_stale"] = types.BoolValue(found.silent)
		}
		state.Values["network"] = found.complete(state.Values["network"], j.plan.Values["network"])
	}
	state.Values["vmid"] = types.Int64Value(int64(j.guest.VMID))
	state.Values["uid"] = types.StringValue(j.guest.UID)
	state.Values["provisioned"] = types.BoolValue(provisioned)
	settle(state, "node", j.guest.Node)
	j.saveSeed(ctx, state)
	state.Values["marked"] = types.BoolValue(true)
	settle(state, "status", shownStatus(j.status(), state))
	if j.latest != nil {
		settle(state, "storage", j.storage(j.latest))
	}
	state.SetNull()
	framework.AddWarning(j.diags, "read all of "+describe(state), r.Err())
	state.Save(ctx, to, j.diags)
	j.savePrivate(ctx, private)
	saveIdentity(ctx, identity, state, j.diags)
}

// saveFailed keeps the state of before an update that failed, but for what has
// certainly changed: where the guest is, and whose.
func (j *job) saveFailed(ctx context.Context, to *tfsdk.State, private framework.PrivateWriter) {
	state := j.state.Clone()
	state.Values["node"] = types.StringValue(j.guest.Node)
	if j.marked {
		state.Values["uid"], state.Values["marked"] = types.StringValue(j.guest.UID), types.BoolValue(true)
	}
	state.Save(ctx, to, j.diags)
	j.savePrivate(ctx, private)
}

// settle gives a text that was to be known after apply.
func settle(d settings.Document, name, value string) {
	if d.Values[name].IsUnknown() && value != "" {
		d.Values[name] = types.StringValue(value)
	}
}

// status is the power that the guest has as far as the job knows.
func (j *job) status() string {
	if j.reached != "" {
		return j.reached
	}
	return j.state.Text("status")
}

// shownStatus tells a guest that cloud-init is still working in from one that
// runs.
func shownStatus(status string, d settings.Document) string {
	if status == powerRunning && !d.Provisioned() && d.Text("wait_for") == waitCloudInit {
		return statusInstalling
	}
	return status
}

// findAddresses asks only where the guest was waited for: one that has just been
// started has none yet.
func (j *job) findAddresses(ctx context.Context) found {
	waited := waits(j.plan) && j.status() == powerRunning
	return findAddresses(ctx, j.client, j.guest.Node, j.latest, waited)
}

// savePrivate writes what the next run has to know beside the state.
func (j *job) savePrivate(ctx context.Context, private framework.PrivateWriter) {
	if j.marked {
		framework.DropPrivate(ctx, private, privateAdopting, j.diags)
	}
	if j.configured {
		given := settings.Applied{}
		table.Walk(path.Empty(), j.config.Object(), func(at path.Path) { given[at.String()] = true })
		given.Save(ctx, private, j.diags)
		framework.DropPrivate(ctx, private, privateImported, j.diags)
		framework.SetPrivate(ctx, private, privateDisks, j.knownDisks(), j.diags)
	}
	if j.task.IsZero() {
		framework.DropPrivate(ctx, private, privateTask, j.diags)
	} else {
		framework.SetPrivate(ctx, private, privateTask, j.task.String(), j.diags)
	}
	framework.SetPrivate(ctx, private, privateSeed, j.seed.note, j.diags)
	saveBirth(ctx, private, j.guest.SMBIOSUUID, j.guest.CTime, j.diags)
}

// knownDisks are the slots of the disks that go with the guest: of a new one all
// that it has.
func (j *job) knownDisks() []string {
	known := slices.AppendSeq(slices.Clone(j.known), maps.Keys(settings.Entries(j.config.Values["disks"])))
	if j.first && j.latest != nil {
		known = append(known, volumeSlots(everything(j.latest))...)
	}
	slices.Sort(known)
	return slices.Compact(known)
}

func saveBirth(ctx context.Context, private framework.PrivateWriter, uuid string, ctime int64, diags *diag.Diagnostics) {
	if uuid != "" {
		framework.SetPrivate(ctx, private, privateBirth, birth{SMBIOSUUID: uuid, CTime: ctime}, diags)
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

// report fills the attributes that show the guest's configuration. With settle
// only those that were to be known after apply.
func report(state settings.Document, config *proxmox.GuestConfig, settle bool) {
	if config == nil {
		return
	}
	values := wanted(config)
	set := func(name string, value attr.Value) {
		if !settle || state.Values[name].IsUnknown() {
			state.Values[name] = value
		}
	}
	devices, macs := map[string]attr.Value{}, map[string]attr.Value{}
	for key, value := range values {
		if diskSlot.MatchString(key) || networkSlot.MatchString(key) || otherDevice.MatchString(key) {
			devices[key] = types.StringValue(value)
		}
		if mac, ok := (nicMAC{}).Get(value); ok && networkSlot.MatchString(key) {
			macs[key] = types.StringValue(mac)
		}
	}
	pending := config.PendingKeys()
	slices.Sort(pending)
	set("devices", types.MapValueMust(types.StringType, devices))
	set("mac_addresses", types.MapValueMust(types.StringType, macs))
	set("reboot_required", types.SetValueMust(types.StringType, settings.Texts(pending)))
	r := &settings.Reader{Values: values, Purpose: settings.Importing}
	set(effectiveGroup.Name, r.Group(effectiveGroup, "", nil))
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
		if !f.beingCloned() {
			f.read(ctx, resp)
		}
	case proxmox.Damaged:
		if settings.IsNull(f.state.Values["uid"]) {
			f.read(ctx, resp) // It is being adopted, and has no marker yet.
			return
		}
		f.state.Values["marked"] = types.BoolValue(false)
		f.state.Save(ctx, &resp.State, diags)
		diags.AddWarning(describe(f.state)+" has lost its marker", problem.Error())
	case proxmox.Stub:
		// It is being made: what is planned stays in the state until then.
	case proxmox.Unreachable:
		diags.AddWarning(describe(f.state)+" cannot be reached", problem.Error()+"\n\nIts last known state is kept.")
	case proxmox.Stranger, proxmox.Gone:
		diags.AddWarning(describe(f.state)+" is gone", problem.Error())
		if !f.leavesSeeds(ctx, resp.Private, diags) {
			resp.State.RemoveResource(ctx)
			return
		}
		f.state.Values["status"] = types.StringValue(statusGone)
		f.state.Save(ctx, &resp.State, diags)
	default:
		framework.AddError(diags, "read "+describe(f.state), problem)
	}
}

// beingCloned reports whether PVE still copies disks: until it is done the
// configuration lacks some, so that what is planned stays in the state.
func (f refresh) beingCloned() bool {
	return f.look.Standing == proxmox.Unfinished && f.look.Config.Lock() == "clone" && !settings.IsNull(f.state.Values["provisioned"])
}

func (f refresh) read(ctx context.Context, resp *resource.ReadResponse) {
	state, config, diags := f.state.Clone(), f.look.Config, &resp.Diagnostics
	r := &settings.Reader{Values: wanted(config), Purpose: settings.Refreshing}
	if settings.IsNull(state.Values["provisioned"]) {
		r.Purpose = settings.Importing
		state.Values["provisioned"] = types.BoolValue(f.look.Standing != proxmox.Unfinished)
		f.placeImported(ctx, state)
	}
	state.Put(r.Object(table, "", f.state.Object()))
	report(state, config, false)
	state.Values["node"] = types.StringValue(f.look.Node)
	status := f.power(ctx)
	state.Values["status"] = types.StringValue(shownStatus(status, state))
	marked := f.look.Standing != proxmox.Damaged
	state.Values["marked"] = types.BoolValue(marked)
	if marked && settings.IsNull(state.Values["uid"]) {
		// The adoption was killed right after it had written the marker.
		state.Values["uid"] = types.StringValue(f.guest.UID)
		framework.DropPrivate(ctx, resp.Private, privateAdopting, diags)
		saveIdentity(ctx, resp.Identity, state, diags)
	}
	if r.Purpose == settings.Importing {
		state.Values["power"] = types.StringValue(status)
		framework.SetPrivate(ctx, resp.Private, privateDisks, attached(config), diags)
	}
	found := findAddresses(ctx, f.client, f.look.Node, config, f.look.Status.Running())
	state.Values["addresses_stale"] = types.BoolValue(found.silent)
	state.Values["network"] = found.into(state.Values["network"])

	f.readSeed(ctx, state, r.Purpose == settings.Importing, resp.Private, diags)
	f.checkDrives(ctx, state, diags)

	framework.AddWarning(diags, "read all of "+describe(state), r.Err())
	state.Save(ctx, &resp.State, diags)
	saveBirth(ctx, resp.Private, config.SMBIOSUUID(), config.CTime(), diags)
}

// power is what the guest's node says. Whether it is paused only a call of its
// own tells, which is spent where that was asked for.
func (f refresh) power(ctx context.Context) string {
	if !f.look.Status.Running() {
		return powerStopped
	}
	if f.state.Text("power") != powerPaused {
		return powerRunning
	}
	status, err := f.client.VMs.Status(ctx, f.look.Node, f.look.Config.VMID)
	if err == nil && !status.Paused() {
		return powerRunning
	}
	return powerPaused
}

// attached are the slots of the disks that an imported guest has: it was handed
// over with them. Detached volumes were not.
func attached(config *proxmox.GuestConfig) []string {
	return slices.DeleteFunc(volumeSlots(config.Current), func(slot string) bool { return strings.HasPrefix(slot, "unused") })
}

// placeImported fills what a guest is given when it is made.
func (f refresh) placeImported(ctx context.Context, state settings.Document) {
	// 0 stands for the template that PVE does not name.
	state.Values["template"] = types.Int64Value(0)
	if storage := bootStorage(f.look.Config); storage != "" {
		state.Values["storage"] = types.StringValue(storage)
	}
	listed, ok, err := f.client.View.Guest(ctx, f.guest.VMID)
	if err == nil && ok && listed.Pool != "" {
		state.Values["pool"] = types.StringValue(listed.Pool)
	}
}
