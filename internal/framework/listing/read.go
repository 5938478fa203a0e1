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
// gives. Resource is nil for one that went meanwhile.
func read(ctx context.Context, kind Importer, result *list.ListResult) {
	identity := result.Identity
	state := tfsdk.State{Raw: result.Resource.Raw, Schema: result.Resource.Schema}
	imported := resource.ImportStateResponse{State: state, Identity: clone(identity)}
	imported.Private = empty(imported.Private)
	kind.ImportState(ctx, resource.ImportStateRequest{Identity: clone(identity)}, &imported)
	if imported.Diagnostics.HasError() {
		result.Diagnostics = unread(result, imported.Diagnostics)
		return
	}
	found := resource.ReadResponse{State: imported.State, Identity: clone(identity), Private: imported.Private}
	kind.Read(ctx, resource.ReadRequest{State: imported.State, Identity: clone(identity), Private: imported.Private}, &found)
	switch {
	case found.Diagnostics.HasError():
		result.Diagnostics = unread(result, found.Diagnostics)
	case found.State.Raw.IsNull():
		result.Resource = nil
	default:
		result.Diagnostics.Append(found.Diagnostics...)
		result.Resource.Raw = found.State.Raw
	}
}

// unread turns the errors about one resource into warnings: the others can still
// be listed, and this one by its identity.
func unread(result *list.ListResult, problems diag.Diagnostics) diag.Diagnostics {
	diags := result.Diagnostics
	for _, each := range problems {
		diags.AddWarning("Cannot read "+result.DisplayName+": "+each.Summary(), each.Detail())
	}
	return diags
}

// empty is private state with nothing in it. The framework does not export its
// type.
func empty[T any](*T) *T { return new(T) }

func clone(identity *tfsdk.ResourceIdentity) *tfsdk.ResourceIdentity {
	return &tfsdk.ResourceIdentity{Raw: identity.Raw.Copy(), Schema: identity.Schema}
}
