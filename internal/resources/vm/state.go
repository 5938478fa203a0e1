package vm

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
		state.values["network"] = found.complete(state.values["network"], j.plan.values["network"])
	}
	state.values["vmid"] = types.Int64Value(int64(j.guest.VMID))
	state.values["uid"] = types.StringValue(j.guest.UID)
	state.values["provisioned"] = types.BoolValue(provisioned)
	settle(state, "node", j.guest.Node)
	j.saveSeed(ctx, state)
	settle(state, "status", j.status())
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

// settle gives a text that was to be known after apply.
func settle(d document, name, value string) {
	if d.values[name].IsUnknown() && value != "" {
		d.values[name] = types.StringValue(value)
	}
}

func (j *job) status() string {
	switch {
	case j.running == nil:
		return j.state.text("status")
	case *j.running:
		return powerRunning
	}
	return powerStopped
}

// findAddresses asks only where the guest was waited for: one that has just been
// started has none yet.
func (j *job) findAddresses(ctx context.Context) found {
	waited := j.plan.text("wait_for") == waitAgent && j.status() == powerRunning
	return findAddresses(ctx, j.client, j.guest.Node, j.latest, waited)
}

// savePrivate writes what the next run has to know beside the state.
func (j *job) savePrivate(ctx context.Context, private framework.PrivateWriter) {
	if j.configured {
		given := applied{}
		table.walk(path.Empty(), j.config.object(), func(at path.Path) { given[at.String()] = true })
		given.save(ctx, private, j.diags)
		framework.DropPrivate(ctx, private, privateImported, j.diags)
	}
	if j.task.IsZero() {
		framework.DropPrivate(ctx, private, privateTask, j.diags)
	} else {
		framework.SetPrivate(ctx, private, privateTask, j.task.String(), j.diags)
	}
	framework.SetPrivate(ctx, private, privateSeed, j.seed.note, j.diags)
	saveBirth(ctx, private, j.guest.SMBIOSUUID, j.guest.CTime, j.diags)
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
		state.values["provisioned"] = types.BoolValue(f.look.Standing == proxmox.Ours)
		f.placeImported(ctx, state)
	}
	state.put(r.object(table, "", f.state.object()))
	report(state, config, false)
	state.values["node"] = types.StringValue(f.look.Node)
	status := powerStopped
	if f.look.Status.Running() {
		status = powerRunning
	}
	state.values["status"] = types.StringValue(status)
	if r.purpose == importing {
		state.values["power"] = types.StringValue(status)
	}
	found := findAddresses(ctx, f.client, f.look.Node, config, f.look.Status.Running())
	state.values["network"] = found.into(state.values["network"])

	f.readSeed(ctx, state, r.purpose == importing, resp.Private, diags)
	f.checkDrives(ctx, state, diags)

	framework.AddWarning(diags, "read all of "+describe(state), r.err())
	state.save(ctx, &resp.State, diags)
	saveBirth(ctx, resp.Private, config.SMBIOSUUID(), config.CTime(), diags)
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
