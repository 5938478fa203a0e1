package guests

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// save writes the state after a job: what was planned, and what was found out.
// Every value is known, whatever the job came to.
func (j *Job) save(ctx context.Context, own Working, provisioned bool, to *tfsdk.State, identity *tfsdk.ResourceIdentity, private framework.PrivateWriter) {
	state := j.Plan.Clone()
	r := &settings.Reader{Purpose: settings.Settling}
	if j.Latest != nil {
		r.Values = Wanted(j.Latest)
	}
	state.Put(r.Object(j.Kind.Table, "", j.Plan.Object()))
	if j.Latest != nil {
		j.Kind.report(state, j.Latest, true)
		j.saveAddresses(ctx, own, state)
	}
	state.Values["vmid"] = types.Int64Value(int64(j.Guest.VMID))
	state.Values["uid"] = types.StringValue(j.Guest.UID)
	state.Values["provisioned"], state.Values["marked"] = types.BoolValue(provisioned), types.BoolValue(true)
	Settle(state, "node", j.Guest.Node)
	own.Save(ctx, state)
	Settle(state, "status", j.Status())
	state.SetNull()
	framework.AddWarning(j.Diags, "read all of "+j.Kind.Describe(state), r.Err())
	state.Save(ctx, to, j.Diags)
	j.savePrivate(ctx, own, private)
	saveIdentity(ctx, identity, state, j.Diags)
}

func (j *Job) saveAddresses(ctx context.Context, own Working, state settings.Document) {
	found := j.found
	if found == nil {
		found = new(j.findAddresses(ctx, own))
	}
	if state.Values["addresses_stale"].IsUnknown() {
		state.Values["addresses_stale"] = types.BoolValue(found.Stale)
	}
	state.Values["network"] = found.complete(j.Kind.Network, state.Values["network"], j.Plan.Values["network"])
}

func (j *Job) findAddresses(ctx context.Context, own Working) Found {
	return j.Kind.Addresses(ctx, j.Client, j.Latest, own.Waited() && j.Status() == PowerRunning)
}

// saveFailed keeps the state of before an update that failed, but for what has
// certainly changed: where the guest is, and whose.
func (j *Job) saveFailed(ctx context.Context, own Working, to *tfsdk.State, private framework.PrivateWriter) {
	state := j.State.Clone()
	if j.Guest.Node != "" {
		state.Values["node"] = types.StringValue(j.Guest.Node)
	}
	if j.marked {
		state.Values["uid"], state.Values["marked"] = types.StringValue(j.Guest.UID), types.BoolValue(true)
	}
	state.Save(ctx, to, j.Diags)
	j.savePrivate(ctx, own, private)
}

// Settle gives a text that was to be known after apply.
func Settle(d settings.Document, name, value string) {
	if d.Values[name].IsUnknown() && value != "" {
		d.Values[name] = types.StringValue(value)
	}
}

// savePrivate writes what the next run has to know beside the state.
func (j *Job) savePrivate(ctx context.Context, own Working, private framework.PrivateWriter) {
	if j.marked {
		framework.DropPrivate(ctx, private, privateAdopting, j.Diags)
	}
	if j.configured {
		given := settings.Applied{}
		j.Kind.Table.Walk(path.Empty(), j.Config.Object(), func(at path.Path) { given[at.String()] = true })
		given.Save(ctx, private, j.Diags)
		framework.DropPrivate(ctx, private, privateImported, j.Diags)
		framework.SetPrivate(ctx, private, privateDisks, j.knownDisks(), j.Diags)
	}
	if j.task.IsZero() {
		framework.DropPrivate(ctx, private, privateTask, j.Diags)
	} else {
		framework.SetPrivate(ctx, private, privateTask, j.task.String(), j.Diags)
	}
	own.SavePrivate(ctx, private)
	saveBirth(ctx, private, j.Guest, j.Diags)
}

// knownDisks are the slots of the volumes that go with the guest: of a new one all
// that it has.
func (j *Job) knownDisks() []string {
	known := slices.Clone(j.Known)
	for _, name := range j.Kind.VolumeGroups {
		known = slices.AppendSeq(known, maps.Keys(settings.Entries(j.Config.Values[name])))
	}
	if j.First && j.Latest != nil {
		known = append(known, j.Kind.volumeSlots(Everything(j.Latest))...)
	}
	slices.Sort(known)
	return slices.Compact(known)
}

// saveIdentity writes the identity, which Terraform 1.12 and newer know.
func saveIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, state settings.Document, diags *diag.Diagnostics) {
	framework.SetIdentity(ctx, identity, map[string]attr.Value{"vmid": state.Values["vmid"], "uid": state.Values["uid"]}, diags)
}

// report fills the attributes that show the guest's configuration. With settle
// only those that were to be known after apply.
func (k *Kind) report(state settings.Document, config *proxmox.GuestConfig, settle bool) {
	set := func(name string, value attr.Value) {
		if !settle || state.Values[name].IsUnknown() {
			state.Values[name] = value
		}
	}
	devices, macs := map[string]attr.Value{}, map[string]attr.Value{}
	for key, value := range Wanted(config) {
		if k.IsDevice(key) {
			devices[key] = types.StringValue(value)
		}
		if _, isNIC := k.Network.Slots.Real(key, value); !isNIC {
			continue
		}
		if mac, ok := k.MAC(value); ok {
			macs[key] = types.StringValue(mac)
		}
	}
	pending := config.PendingKeys()
	slices.Sort(pending)
	set("devices", types.MapValueMust(types.StringType, devices))
	set("mac_addresses", types.MapValueMust(types.StringType, macs))
	set("reboot_required", types.SetValueMust(types.StringType, settings.Texts(pending)))
}
