package framework

import (
	"context"

	"github.com/hashicorp/terraform-plugin-log/tflog"
)

// Log passes the client's events on to Terraform's log, at debug level. The
// client has taken the secrets out.
func Log(ctx context.Context, msg string, fields map[string]any) {
	tflog.Debug(ctx, msg, fields)
}
