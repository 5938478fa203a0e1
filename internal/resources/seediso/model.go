package seediso

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/seeds"
)

// model is the resource's configuration, plan or state.
type model struct {
	seeds.Model
	UID      types.String   `tfsdk:"uid"`
	Node     types.String   `tfsdk:"node"`
	Timeouts timeouts.Value `tfsdk:"timeouts"`
}

// Keys of private state.
const (
	// privateOutdated holds the images that were replaced and may still be in
	// use.
	privateOutdated = "outdated"
	// privateGiven says that the instance id in state was configured, so that
	// it changes when it no longer is.
	privateGiven = "instance_id_given"
)

// image is an uploaded image.
type image struct {
	Node  string `json:"node"`
	VolID string `json:"volid"`
}

func loadOutdated(ctx context.Context, from framework.PrivateReader, diags *diag.Diagnostics) []image {
	outdated, _ := framework.GetPrivate[[]image](ctx, from, privateOutdated, diags)
	return outdated
}

// current is the image that the state names; there is none after a drift.
func (m model) current() (image, bool) {
	return image{m.Node.ValueString(), m.VolumeID.ValueString()}, m.VolumeID.ValueString() != ""
}

// identify writes the identity: the image that is current, with no volume where
// it was lost.
func (m model) identify(ctx context.Context, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics) {
	framework.SetIdentity(ctx, identity, map[string]attr.Value{"volume_id": m.VolumeID, "node": m.Node}, diags)
}

// identity is that of an image.
func (i image) identity() map[string]attr.Value {
	return map[string]attr.Value{"volume_id": types.StringValue(i.VolID), "node": types.StringValue(i.Node)}
}
