package seeds

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/seed"
)

// fileValidator accepts the content of one of a seed's files.
type fileValidator struct {
	what  string
	check func(content string) error
}

func (v fileValidator) Description(context.Context) string {
	return fmt.Sprintf("must be %s that cloud-init understands", v.what)
}

func (v fileValidator) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

func (v fileValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	content := req.ConfigValue.ValueString()
	if len(content) > seed.MaxContent {
		resp.Diagnostics.AddAttributeError(req.Path, "The "+v.what+" is too large",
			fmt.Sprintf("It has %d bytes; the files of a seed may have %d together.", len(content), seed.MaxContent))
		return
	}
	v.refuse(req.Path, v.check(content), &resp.Diagnostics)
}

func (v fileValidator) refuse(at path.Path, err error, diags *diag.Diagnostics) {
	if err != nil {
		diags.AddAttributeError(at, "cloud-init would not accept the "+v.what, fmt.Sprintf("%s: %v.", at, err))
	}
}

// networkValidator accepts a network configuration, as a text or as an object.
type networkValidator struct{ fileValidator }

func (v networkValidator) ValidateDynamic(ctx context.Context, req validator.DynamicRequest, resp *validator.DynamicResponse) {
	given, isText := req.ConfigValue.UnderlyingValue().(types.String)
	if isText {
		text := validator.StringResponse{}
		v.ValidateString(ctx, validator.StringRequest{Path: req.Path, ConfigValue: given}, &text)
		resp.Diagnostics.Append(text.Diagnostics...)
		return
	}
	if raw, err := req.ConfigValue.ToTerraformValue(ctx); err != nil || raw.IsNull() || !raw.IsFullyKnown() {
		return
	}
	written, err := networkText(req.ConfigValue)
	if err == nil {
		err = v.check(written)
	}
	var problem *seed.InputError
	if errors.As(err, &problem) {
		problem.Line = 0 // An object has no lines.
	}
	v.refuse(req.Path, err, &resp.Diagnostics)
}

// method accepts a way of having an address that fits the address beside it.
type method struct{}

func (method) Description(context.Context) string { return "must fit the address" }

func (m method) MarkdownDescription(ctx context.Context) string { return m.Description(ctx) }

func (method) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	var address types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, req.Path.ParentPath().AtName("address"), &address)...)
	switch static := req.ConfigValue.ValueString() == methodStatic; {
	case static && address.IsNull():
		resp.Diagnostics.AddAttributeError(req.Path, "No address is configured", "The method is static: give the address with its prefix length.")
	case !static && !address.IsNull():
		resp.Diagnostics.AddAttributeError(req.Path, "An address is static", "The method leaves no room for a configured address.")
	}
}
