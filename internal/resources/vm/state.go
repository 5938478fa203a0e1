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
	"terraform-provider-proxmox/internal/proxmox"
)

// save writes the state after a job: what was planned, and what was found out.
// Every value is known, whatever the job came to.
func (j *job) save(ctx context.Context, provisioned bool, to *tfsdk.State, identity *tfsdk.ResourceIdentity, private framework.PrivateWriter) {
	state := j.plan.clone()
	r := &reader{purpose: settling}
	if j.latest != nil {
		r.values = wanted(j.latest)
	}
	state.put(r.object(table, "", j.plan.object()))
	report(state, j.latest, true)
	if j.latest != nil {
		found := j.found
		if found == nil {
			found = new(j.findAddresses(ctx))
		}
		if state.values["addresses_stale"].IsUnknown() {
			state.values["addresses_stale"] = types.BoolValue(found.silent)
		}
		state.values["network"] = found.complete(state.values["network"], j.plan.values["network"])
	}
	state.values["vmid"] = types.Int64Value(int64(j.guest.VMID))
	state.values["uid"] = types.StringValue(j.guest.UID)
	state.values["provisioned"] = types.BoolValue(provisioned)
	settle(state, "node", j.guest.Node)
	j.saveSeed(ctx, state)
	state.values["marked"] = types.BoolValue(true)
	settle(state, "status", shownStatus(j.status(), state))
	if j.latest != nil {
		settle(state, "storage", j.storage(j.latest))
	}
	for name, value := range state.values {
		if value.IsUnknown() {
			state.values[name] = state.nulls[name]
		}
	}
	framework.AddWarning(j.diags, "read all of "+describe(state), r.err())
	state.save(ctx, to, j.diags)
	j.savePrivate(ctx, private)
	saveIdentity(ctx, identity, state, j.diags)
}

// saveFailed keeps the state of before an update that failed, but for what has
// certainly changed: where the guest is, and whose.
func (j *job) saveFailed(ctx context.Context, to *tfsdk.State, private framework.PrivateWriter) {
	state := j.state.clone()
	state.values["node"] = types.StringValue(j.guest.Node)
	if j.marked {
		state.values["uid"], state.values["marked"] = types.StringValue(j.guest.UID), types.BoolValue(true)
	}
	state.save(ctx, to, j.diags)
	j.savePrivate(ctx, private)
}

// settle gives a text that was to be known after apply.
func settle(d document, name, value string) {
	if d.values[name].IsUnknown() && value != "" {
		d.values[name] = types.StringValue(value)
	}
}

// status is the power that the guest has as far as the job knows.
func (j *job) status() string {
	if j.reached != "" {
		return j.reached
	}
	return j.state.text("status")
}

// shownStatus tells a guest that cloud-init is still working in from one that
// runs.
func shownStatus(status string, d document) string {
	if status == powerRunning && !d.provisioned() && d.text("wait_for") == waitCloudInit {
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
		given := applied{}
		table.walk(path.Empty(), j.config.object(), func(at path.Path) { given[at.String()] = true })
		given.save(ctx, private, j.diags)
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
	known := slices.AppendSeq(slices.Clone(j.known), maps.Keys(entries(j.config.values["disks"])))
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
func saveIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, state document, diags *diag.Diagnostics) {
	if identity == nil {
		return
	}
	diags.Append(identity.SetAttribute(ctx, path.Root("vmid"), state.values["vmid"])...)
	diags.Append(identity.SetAttribute(ctx, path.Root("uid"), state.values["uid"])...)
}

// report fills the attributes that show the guest's configuration. With settle
// only those that were to be known after apply.
func report(state document, config *proxmox.GuestConfig, settle bool) {
	if config == nil {
		return
	}
	values := wanted(config)
	set := func(name string, value attr.Value) {
		if !settle || state.values[name].IsUnknown() {
			state.values[name] = value
		}
	}
	devices, macs := map[string]attr.Value{}, map[string]attr.Value{}
	for key, value := range values {
		if diskSlot.MatchString(key) || networkSlot.MatchString(key) || otherDevice.MatchString(key) {
			devices[key] = types.StringValue(value)
		}
		if mac, ok := (nicMAC{}).get(value); ok && networkSlot.MatchString(key) {
			macs[key] = types.StringValue(mac)
		}
	}
	pending := config.PendingKeys()
	slices.Sort(pending)
	set("devices", types.MapValueMust(types.StringType, devices))
	set("mac_addresses", types.MapValueMust(types.StringType, macs))
	set("reboot_required", types.SetValueMust(types.StringType, texts(pending)))
	r := &reader{values: values, purpose: importing}
	set(effectiveGroup.name, r.group(effectiveGroup, "", nil))
}

// refresh brings a state up to what was found.
type refresh struct {
	client *proxmox.Client
	state  document
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
		if isNull(f.state.values["uid"]) {
			f.read(ctx, resp) // It is being adopted, and has no marker yet.
			return
		}
		f.state.values["marked"] = types.BoolValue(false)
		f.state.save(ctx, &resp.State, diags)
		diags.AddWarning(describe(f.state)+" has lost its marker", problem.Error())
	case proxmox.Stub:
		// It is being made: what is planned stays in the state until then.
	case proxmox.Unreachable:
		diags.AddWarning(describe(f.state)+" cannot be reached", problem.Error()+"\n\nIts last known state is kept.")
	case proxmox.Stranger, proxmox.Gone:
		diags.AddWarning(describe(f.state)+" is gone", problem.Error())
		f.warnOfSeed(ctx, resp.Private, diags)
		resp.State.RemoveResource(ctx)
	default:
		framework.AddError(diags, "read "+describe(f.state), problem)
	}
}

// beingCloned reports whether PVE still copies disks: until it is done the
// configuration lacks some, so that what is planned stays in the state.
func (f refresh) beingCloned() bool {
	return f.look.Standing == proxmox.Unfinished && f.look.Config.Lock() == "clone" && !isNull(f.state.values["provisioned"])
}

func (f refresh) read(ctx context.Context, resp *resource.ReadResponse) {
	state, config, diags := f.state.clone(), f.look.Config, &resp.Diagnostics
	r := &reader{values: wanted(config), purpose: refreshing}
	if isNull(state.values["provisioned"]) {
		r.purpose = importing
		state.values["provisioned"] = types.BoolValue(f.look.Standing != proxmox.Unfinished)
		f.placeImported(ctx, state)
	}
	state.put(r.object(table, "", f.state.object()))
	report(state, config, false)
	state.values["node"] = types.StringValue(f.look.Node)
	status := f.power(ctx)
	state.values["status"] = types.StringValue(shownStatus(status, state))
	marked := f.look.Standing != proxmox.Damaged
	state.values["marked"] = types.BoolValue(marked)
	if marked && isNull(state.values["uid"]) {
		// The adoption was killed right after it had written the marker.
		state.values["uid"] = types.StringValue(f.guest.UID)
		framework.DropPrivate(ctx, resp.Private, privateAdopting, diags)
		saveIdentity(ctx, resp.Identity, state, diags)
	}
	if r.purpose == importing {
		state.values["power"] = types.StringValue(status)
		framework.SetPrivate(ctx, resp.Private, privateDisks, attached(config), diags)
	}
	found := findAddresses(ctx, f.client, f.look.Node, config, f.look.Status.Running())
	state.values["addresses_stale"] = types.BoolValue(found.silent)
	state.values["network"] = found.into(state.values["network"])

	f.readSeed(ctx, state, r.purpose == importing, resp.Private, diags)
	f.checkDrives(ctx, state, diags)

	framework.AddWarning(diags, "read all of "+describe(state), r.err())
	state.save(ctx, &resp.State, diags)
	saveBirth(ctx, resp.Private, config.SMBIOSUUID(), config.CTime(), diags)
}

// power is what the guest's node says. Whether it is paused only a call of its
// own tells, which is spent where that was asked for.
func (f refresh) power(ctx context.Context) string {
	if !f.look.Status.Running() {
		return powerStopped
	}
	if f.state.text("power") != powerPaused {
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
func (f refresh) placeImported(ctx context.Context, state document) {
	// 0 stands for the template that PVE does not name.
	state.values["template"] = types.Int64Value(0)
	if storage := bootStorage(f.look.Config); storage != "" {
		state.values["storage"] = types.StringValue(storage)
	}
	listed, ok, err := f.client.View.Guest(ctx, f.guest.VMID)
	if err == nil && ok && listed.Pool != "" {
		state.values["pool"] = types.StringValue(listed.Pool)
	}
}
