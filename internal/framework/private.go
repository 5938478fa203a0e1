package framework

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// PrivateReader is the private state of a request.
type PrivateReader interface {
	GetKey(ctx context.Context, key string) ([]byte, diag.Diagnostics)
}

// PrivateWriter is the private state of a response.
type PrivateWriter interface {
	SetKey(ctx context.Context, key string, value []byte) diag.Diagnostics
}

// GetPrivate reads a key of private state into a value of its own type. A key
// that was never set gives the type's zero value and false.
func GetPrivate[T any](ctx context.Context, from PrivateReader, key string, diags *diag.Diagnostics) (T, bool) {
	var value T
	raw, problems := from.GetKey(ctx, key)
	diags.Append(problems...)
	if problems.HasError() || len(raw) == 0 {
		return value, false
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		diags.AddError("Unreadable private state",
			"What the provider keeps under \""+key+"\" beside the state cannot be read: "+err.Error()+".\n\n"+
				"It was written by another version of the provider, or edited.")
		return value, false
	}
	return value, true
}

// SetPrivate writes a value under a key of private state. Private state is
// stored unencrypted beside the state: no secret may go there.
func SetPrivate(ctx context.Context, to PrivateWriter, key string, value any, diags *diag.Diagnostics) {
	raw, err := json.Marshal(value)
	if err != nil {
		diags.AddError("Private state cannot be written", "Key \""+key+"\": "+err.Error())
		return
	}
	diags.Append(to.SetKey(ctx, key, raw)...)
}

// DropPrivate removes a key of private state.
func DropPrivate(ctx context.Context, from PrivateWriter, key string, diags *diag.Diagnostics) {
	diags.Append(from.SetKey(ctx, key, nil)...)
}
