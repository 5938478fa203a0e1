package vm

import (
	"context"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework-validators/objectvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/seeds"
	"terraform-provider-proxmox/internal/framework/settings"
)

// privateSeed holds what the state does not say of the guest's seed.
const privateSeed = "seed"

// seedNote is the private state of a seed.
type seedNote struct {
	// Node is where the image is.
	Node string `json:"node,omitempty"`
	// Given is set where the instance id was configured.
	Given bool `json:"instance_id_given,omitempty"`
	// Outdated are images that were replaced and may still be in the drive.
	Outdated []seedImage `json:"outdated,omitempty"`
}

type seedImage struct {
	Node  string `json:"node"`
	VolID string `json:"volid"`
}

func loadSeedNote(ctx context.Context, from framework.PrivateReader, diags *diag.Diagnostics) seedNote {
	note, _ := framework.GetPrivate[seedNote](ctx, from, privateSeed, diags)
	return note
}

// seedModel is the value of the attribute seed.
type seedModel struct {
	seeds.Model
	Slot types.String `tfsdk:"slot"`
}

// seedAttribute is a seed that lives and dies with the guest. It is not in the
// table: PVE's configuration holds no more of it than the drive.
func seedAttribute() schema.Attribute {
	attributes := seeds.Form{OfGuest: true, HostName: "Left out, it is the VM's name."}.Attributes()
	attributes["slot"] = schema.StringAttribute{
		Optional: true, Computed: true, Validators: []validator.String{framework.DiskSlot()},
		MarkdownDescription: "The CD-ROM drive for the image: that of the template's cloud-init drive, which it replaces, or the first free one of " +
			"`ide2`, `ide0`, `ide1` and `ide3`, unless set.",
	}
	return schema.SingleNestedAttribute{
		Optional: true, Attributes: attributes,
		Validators: []validator.Object{objectvalidator.ConflictsWith(path.MatchRoot("cloud_init"))},
		MarkdownDescription: "The VM's own cloud-init seed (NoCloud): an image that is uploaded before the VM starts, changed with it and deleted with it. " +
			"It is in place of `cloud_init`, which cannot hold user data. Changed user data run at the VM's next boot, as on a new machine: see `instance_id`. " +
			"The [guide on seeds](../guides/seeds.md) says more.",
	}
}

// seedOf reads the attribute; false where there is none.
func seedOf(ctx context.Context, value attr.Value, diags *diag.Diagnostics) (seedModel, bool) {
	object, ok := value.(types.Object)
	if !ok || object.IsNull() || object.IsUnknown() {
		return seedModel{}, false
	}
	var m seedModel
	diags.Append(object.As(ctx, &m, basetypes.ObjectAsOptions{})...)
	return m, true
}

// seedType is the types of the attribute's own attributes.
func seedType(d settings.Document) map[string]attr.Type {
	typ, _ := d.Types["seed"].(types.ObjectType)
	return typ.AttrTypes
}

// seedValue writes the attribute.
func seedValue(ctx context.Context, d settings.Document, m seedModel, diags *diag.Diagnostics) attr.Value {
	value, problems := types.ObjectValueFrom(ctx, seedType(d), m)
	diags.Append(problems...)
	return value
}

// macsOf are the addresses by slot that an attribute of texts holds.
func macsOf(value attr.Value) map[string]string {
	macs := map[string]string{}
	for slot, mac := range maps.All(settings.Entries(value)) {
		macs[slot] = settings.TextOf(mac)
	}
	return macs
}
