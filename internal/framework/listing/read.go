package listing

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
)

// Importer is a resource that can be imported by its identity.
type Importer interface {
	ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse)
	Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse)
}

// read fills in the resource of a result: exactly what an import by its identity
// gives. One that cannot be read is a warning and no result: of a resource that is
// null, or filled in half, the CLI generates no valid configuration, and Terraform
// 1.14 and 1.15 even crash. It returns nil for one that went meanwhile.
func read(ctx context.Context, kind Importer, result list.ListResult) *list.ListResult {
	identity := result.Identity
	state := tfsdk.State{Raw: result.Resource.Raw, Schema: result.Resource.Schema}
	imported := resource.ImportStateResponse{State: state, Identity: clone(identity)}
	imported.Private = empty(imported.Private)
	kind.ImportState(ctx, resource.ImportStateRequest{Identity: clone(identity)}, &imported)
	if imported.Diagnostics.HasError() {
		return unread(result, imported.Diagnostics)
	}
	found := resource.ReadResponse{State: imported.State, Identity: clone(identity), Private: imported.Private}
	kind.Read(ctx, resource.ReadRequest{State: imported.State, Identity: clone(identity), Private: imported.Private}, &found)
	switch {
	case found.State.Raw.IsNull() && !found.Diagnostics.HasError():
		return nil
	case found.Diagnostics.HasError(), len(found.Diagnostics) > 0 && found.State.Raw.Equal(imported.State.Raw):
		return unread(result, found.Diagnostics)
	}
	result.Diagnostics.Append(found.Diagnostics...)
	result.Resource.Raw = found.State.Raw
	return &result
}

// unread is what becomes of a result whose resource cannot be read: the others can
// still be listed, and this one without its resource.
func unread(result list.ListResult, problems diag.Diagnostics) *list.ListResult {
	diags := result.Diagnostics
	for _, each := range problems {
		diags.AddWarning("Cannot read "+result.DisplayName+", which is left out: "+each.Summary(), each.Detail())
	}
	return &list.ListResult{Diagnostics: diags}
}

// empty is private state with nothing in it. The framework does not export its
// type.
func empty[T any](*T) *T { return new(T) }

func clone(identity *tfsdk.ResourceIdentity) *tfsdk.ResourceIdentity {
	return &tfsdk.ResourceIdentity{Raw: identity.Raw.Copy(), Schema: identity.Schema}
}
