package framework_test

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"

	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/framework"
)

// TestInheritInAPlan holds what a plan shows of a VM whose name and slots
// change: nothing but that, and what a new slot will get.
func TestInheritInAPlan(t *testing.T) {
	t.Parallel()

	server := protocol.New(t, inheritProvider{})
	prior := protocol.Object{
		"name": "old",
		"cpu":  protocol.Object{"cores": float64(2), "flags": nil},
		"disks": protocol.Object{
			"scsi0": protocol.Object{"size": float64(10), "cache": nil, "format": "raw"},
		},
	}
	config := protocol.Object{
		"name": "new",
		"disks": protocol.Object{
			"scsi0": protocol.Object{"size": float64(10)},
			"scsi1": protocol.Object{"size": float64(20)},
		},
	}
	proposed := protocol.Object{
		"name": "new", "cpu": prior["cpu"],
		"disks": protocol.Object{
			"scsi0": prior["disks"].(protocol.Object)["scsi0"],
			"scsi1": protocol.Object{"size": float64(20)},
		},
	}
	planned, diagnostics := server.PlanResource(t, "inherit_vm", prior, config, proposed)
	if len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}

	cpu := planned["cpu"].(protocol.Object)
	if cpu["cores"] != float64(2) || cpu["flags"] != nil {
		t.Errorf("cpu is planned %v, want what is in state", cpu)
	}
	disks := planned["disks"].(protocol.Object)
	if disk := disks["scsi0"].(protocol.Object); disk["cache"] != nil || disk["format"] != "raw" {
		t.Errorf("scsi0 is planned %v, want what is in state", disk)
	}
	if disk := disks["scsi1"].(protocol.Object); disk["cache"] != protocol.Unknown || disk["format"] != protocol.Unknown {
		t.Errorf("scsi1 is planned %v, want unknown values", disk)
	}
}

// inheritProvider has one resource, inherit_vm.
type inheritProvider struct{}

func (inheritProvider) Metadata(_ context.Context, _ provider.MetadataRequest, resp *provider.MetadataResponse) {
	resp.TypeName = "inherit"
}

func (inheritProvider) Schema(context.Context, provider.SchemaRequest, *provider.SchemaResponse) {}

func (inheritProvider) Configure(context.Context, provider.ConfigureRequest, *provider.ConfigureResponse) {
}

func (inheritProvider) DataSources(context.Context) []func() datasource.DataSource { return nil }

func (inheritProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return inheritVM{} }}
}

type inheritVM struct{ resource.Resource }

func (inheritVM) Metadata(_ context.Context, _ resource.MetadataRequest, resp *resource.MetadataResponse) {
	resp.TypeName = "inherit_vm"
}

func (inheritVM) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	inherited := func() schema.StringAttribute {
		return schema.StringAttribute{Optional: true, Computed: true, PlanModifiers: []planmodifier.String{framework.Inherit()}}
	}
	resp.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"name": schema.StringAttribute{Required: true},
		"cpu": schema.SingleNestedAttribute{
			Optional: true, Computed: true, PlanModifiers: []planmodifier.Object{framework.Inherit()},
			Attributes: map[string]schema.Attribute{
				"cores": schema.Int64Attribute{Optional: true, Computed: true, PlanModifiers: []planmodifier.Int64{framework.Inherit()}},
				"flags": inherited(),
			},
		},
		"disks": schema.MapNestedAttribute{
			Optional: true,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"size":   schema.Int64Attribute{Required: true},
				"cache":  inherited(),
				"format": inherited(),
			}},
		},
	}}
}
