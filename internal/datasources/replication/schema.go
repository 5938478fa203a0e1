package replication

import (
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

func replicationSchema() schema.Schema {
	return schema.Schema{
		MarkdownDescription: "Storage replication jobs, which copy guests' volumes to other nodes of the cluster, and whether their replicas can be relied on. " +
			"The lag is that of the last sync, not of the data. Jobs of guests that the token may not read (VM.Audit) are left out.",
		Attributes: map[string]schema.Attribute{
			"vmid": schema.Int64Attribute{Optional: true, Validators: []validator.Int64{framework.VMID()}, MarkdownDescription: "Only jobs of the guest with this id."},
			"job":  schema.StringAttribute{Optional: true, MarkdownDescription: "Only this job, such as `101-0`."},
			"max_lag": schema.StringAttribute{
				Optional: true, Validators: []validator.String{framework.Duration()},
				MarkdownDescription: "How old a replica may be to be ready, such as `5m`. Any age will do unless set.",
			},
			"ready": schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether there are jobs and all of them are ready."},
			"jobs": schema.ListNestedAttribute{
				Computed: true, MarkdownDescription: "The jobs.",
				NestedObject: schema.NestedAttributeObject{Attributes: jobAttributes()},
			},
		},
	}
}

func jobAttributes() map[string]schema.Attribute {
	text := func(doc string) schema.Attribute {
		return schema.StringAttribute{Computed: true, MarkdownDescription: doc}
	}
	return map[string]schema.Attribute{
		"id":        text("The guest's id with a number, such as `101-0`."),
		"vmid":      schema.Int64Attribute{Computed: true, MarkdownDescription: "The guest's id."},
		"source":    text("The node that the guest is on."),
		"target":    text("The node that the volumes are copied to."),
		"schedule":  text("When it runs, as a calendar event."),
		"comment":   text("The job's comment."),
		"enabled":   schema.BoolAttribute{Computed: true, MarkdownDescription: "Whether it runs at all."},
		"last_sync": text("When the last run that succeeded began (RFC 3339, UTC)."),
		"last_try":  text("When the last run began."),
		"next_sync": text("When the next run is due."),
		"duration_seconds": schema.Float64Attribute{
			Computed: true, MarkdownDescription: "How long the last run took, in seconds.",
		},
		"fail_count": schema.Int64Attribute{Computed: true, MarkdownDescription: "How often it has failed since its last success."},
		"error":      text("What the last run failed with."),
		"lag_seconds": schema.Int64Attribute{
			Computed: true, MarkdownDescription: "How long ago the last run that succeeded began, in seconds, by the node's clock. " +
				"By this machine's clock where the token may not read the node's (Sys.Audit on the node).",
		},
		"ready": schema.BoolAttribute{
			Computed: true, MarkdownDescription: "Whether it is enabled, has not failed since its last success, and lags no more than `max_lag`.",
		},
		"problems": schema.ListAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Why it is not ready."},
	}
}
