package seeds

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// Draft is a seed whose plan is being made.
type Draft struct {
	Config, State Model
	// There is set where the state names an image that is in its place.
	There bool
	// Moved is set where the image has to go to another place, whatever is in
	// it.
	Moved bool
	// WasGiven is set where the instance id in state was configured, so that it
	// changes when it no longer is.
	WasGiven bool
	// Context is what else the image depends on; nil where it is not known yet.
	Context *Context
	// SameContext is set where it is what the image in state was made with.
	SameContext bool
}

// Plan is the seed after apply. An image that is the one wanted stays; of
// another one nothing is known until it is in its place.
func (d Draft) Plan(ctx context.Context) (Model, error) {
	planned := d.Config
	planned.hideSecrets()
	planned.VolumeID, planned.SHA256, planned.Size = d.State.VolumeID, d.State.SHA256, d.State.Size
	if d.There && d.same() {
		planned.InstanceID = d.State.InstanceID
		if d.Moved {
			planned.forget()
		}
		return planned, nil
	}
	if err := d.Config.CheckSize(); err != nil {
		return planned, err
	}
	id, digest, err := d.digest(ctx)
	if err != nil {
		return planned, err
	}
	stays := d.There && !d.Moved && digest != "" && digest == d.State.SHA256.ValueString()
	if !stays {
		planned.forget()
	}
	switch {
	case !d.Config.InstanceID.IsNull():
	case digest == "" || !stays && d.Config.UsesSecrets():
		// Write-only parts may be others at apply.
		planned.InstanceID = types.StringUnknown()
	default:
		planned.InstanceID = optional(id)
	}
	return planned, nil
}

// same reports whether nothing of what the image is made of differs.
func (d Draft) same() bool {
	given := !d.Config.InstanceID.IsNull()
	if given && !d.Config.InstanceID.Equal(d.State.InstanceID) || !given && d.WasGiven {
		return false
	}
	return (d.SameContext || d.unread()) && d.Config.SameInputs(d.State)
}

// unread reports whether nobody said what is in the image: an import cannot read
// it, and a configuration that is generated from one says nothing. Such an image is
// kept.
func (d Draft) unread() bool {
	silent := !slices.ContainsFunc(d.Config.content(), func(value attr.Value) bool { return !value.IsNull() })
	return silent && d.State.InstanceID.IsNull()
}

// digest is the digest of the image that is configured, "" while it is not
// known, and its instance id.
func (d Draft) digest(ctx context.Context) (instanceID, sha256 string, err error) {
	if d.Context == nil || !d.Config.Known(ctx) {
		return "", "", nil
	}
	image, id, err := d.Config.Image(*d.Context)
	if err != nil {
		return "", "", err
	}
	digest, err := image.SHA256()
	return id, digest, err
}

// Settle completes a planned seed with what is known once its image is made.
func (m *Model) Settle(name Name, instanceID string, size int64) {
	m.VolumeID, m.SHA256, m.Size = types.StringValue(name.String()), types.StringValue(name.SHA256), types.Int64Value(size)
	if m.InstanceID.IsUnknown() {
		m.InstanceID = optional(instanceID)
	}
}

// Lose says that there is no image.
func (m *Model) Lose() {
	m.VolumeID, m.SHA256, m.Size = types.StringNull(), types.StringNull(), types.Int64Null()
}

// forget makes what depends on the image known after apply.
func (m *Model) forget() {
	m.VolumeID, m.SHA256, m.Size = types.StringUnknown(), types.StringUnknown(), types.Int64Unknown()
}

func optional(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}
