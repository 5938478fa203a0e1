package framework

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// SetIdentity writes the identity of a resource, which Terraform 1.12 and newer
// keep beside its state. Other CLIs have none, for which it is nil.
func SetIdentity(ctx context.Context, identity *tfsdk.ResourceIdentity, values map[string]attr.Value, diags *diag.Diagnostics) {
	if identity == nil {
		return
	}
	for name, value := range values {
		diags.Append(identity.SetAttribute(ctx, path.Root(name), value)...)
	}
}

// IdentityText is a text of an identity that an import names, "" where it names
// none.
func IdentityText(ctx context.Context, identity *tfsdk.ResourceIdentity, name string, diags *diag.Diagnostics) string {
	if identity == nil {
		return ""
	}
	var text types.String
	diags.Append(identity.GetAttribute(ctx, path.Root(name), &text)...)
	return text.ValueString()
}
