package framework_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"terraform-provider-proxmox/internal/framework"
)

var (
	diskType = tftypes.Object{AttributeTypes: map[string]tftypes.Type{"cache": tftypes.String}}
	vmType   = tftypes.Object{AttributeTypes: map[string]tftypes.Type{
		"bios":  tftypes.String,
		"disks": tftypes.Map{ElementType: diskType},
	}}
	vmSchema = schema.Schema{Attributes: map[string]schema.Attribute{
		"bios": schema.StringAttribute{Optional: true, Computed: true},
		"disks": schema.MapNestedAttribute{
			Optional: true,
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"cache": schema.StringAttribute{Optional: true, Computed: true},
			}},
		},
	}}
)

// vmState is a VM whose one disk, scsi0, has no cache mode of its own.
func vmState() tfsdk.State {
	return tfsdk.State{Schema: vmSchema, Raw: tftypes.NewValue(vmType, map[string]tftypes.Value{
		"bios": tftypes.NewValue(tftypes.String, "ovmf"),
		"disks": tftypes.NewValue(vmType.AttributeTypes["disks"], map[string]tftypes.Value{
			"scsi0": tftypes.NewValue(diskType, map[string]tftypes.Value{"cache": tftypes.NewValue(tftypes.String, nil)}),
		}),
	})}
}

func TestInherit(t *testing.T) {
	t.Parallel()

	cache := func(slot string) path.Path { return path.Root("disks").AtMapKey(slot).AtName("cache") }
	for name, test := range map[string]struct {
		at                  path.Path
		state               tfsdk.State
		config, plan, prior types.String
		want                types.String
	}{
		"keeps a value": {
			at: path.Root("bios"), state: vmState(),
			config: types.StringNull(), plan: types.StringUnknown(), prior: types.StringValue("ovmf"), want: types.StringValue("ovmf"),
		},
		"keeps the absence of a value": {
			at: path.Root("bios"), state: vmState(),
			config: types.StringNull(), plan: types.StringUnknown(), prior: types.StringNull(), want: types.StringNull(),
		},
		"leaves a new resource unknown": {
			at: path.Root("bios"), state: tfsdk.State{Schema: vmSchema, Raw: tftypes.NewValue(vmType, nil)},
			config: types.StringNull(), plan: types.StringUnknown(), prior: types.StringNull(), want: types.StringUnknown(),
		},
		"keeps a null of a slot that was there": {
			at: cache("scsi0"), state: vmState(),
			config: types.StringNull(), plan: types.StringUnknown(), prior: types.StringNull(), want: types.StringNull(),
		},
		"leaves a new slot unknown": {
			at: cache("scsi1"), state: vmState(),
			config: types.StringNull(), plan: types.StringUnknown(), prior: types.StringNull(), want: types.StringUnknown(),
		},
		"lets the configuration decide": {
			at: path.Root("bios"), state: vmState(),
			config: types.StringValue("seabios"), plan: types.StringValue("seabios"), prior: types.StringValue("ovmf"), want: types.StringValue("seabios"),
		},
		"waits for an unknown configuration": {
			at: path.Root("bios"), state: vmState(),
			config: types.StringUnknown(), plan: types.StringUnknown(), prior: types.StringValue("ovmf"), want: types.StringUnknown(),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp := planmodifier.StringResponse{PlanValue: test.plan}
			framework.Inherit().PlanModifyString(t.Context(), planmodifier.StringRequest{
				Path: test.at, State: test.state, ConfigValue: test.config, PlanValue: test.plan, StateValue: test.prior,
			}, &resp)
			if resp.Diagnostics.HasError() {
				t.Fatal(resp.Diagnostics)
			}
			if !resp.PlanValue.Equal(test.want) {
				t.Errorf("planned %s, want %s", resp.PlanValue, test.want)
			}
		})
	}
}

// TestInheritOfEveryType holds that no type's method was forgotten or mixed up.
func TestInheritOfEveryType(t *testing.T) {
	t.Parallel()

	ctx, at, state, inherit := t.Context(), path.Root("bios"), vmState(), framework.Inherit()

	boolean := planmodifier.BoolResponse{PlanValue: types.BoolUnknown()}
	inherit.PlanModifyBool(ctx, planmodifier.BoolRequest{Path: at, State: state, ConfigValue: types.BoolNull(), PlanValue: types.BoolUnknown(), StateValue: types.BoolValue(true)}, &boolean)
	integer := planmodifier.Int64Response{PlanValue: types.Int64Unknown()}
	inherit.PlanModifyInt64(ctx, planmodifier.Int64Request{Path: at, State: state, ConfigValue: types.Int64Null(), PlanValue: types.Int64Unknown(), StateValue: types.Int64Value(7)}, &integer)
	float := planmodifier.Float64Response{PlanValue: types.Float64Unknown()}
	inherit.PlanModifyFloat64(ctx, planmodifier.Float64Request{Path: at, State: state, ConfigValue: types.Float64Null(), PlanValue: types.Float64Unknown(), StateValue: types.Float64Value(0.5)}, &float)
	text := types.StringType
	list := planmodifier.ListResponse{PlanValue: types.ListUnknown(text)}
	inherit.PlanModifyList(ctx, planmodifier.ListRequest{Path: at, State: state, ConfigValue: types.ListNull(text), PlanValue: types.ListUnknown(text), StateValue: types.ListNull(text)}, &list)
	set := planmodifier.SetResponse{PlanValue: types.SetUnknown(text)}
	inherit.PlanModifySet(ctx, planmodifier.SetRequest{Path: at, State: state, ConfigValue: types.SetNull(text), PlanValue: types.SetUnknown(text), StateValue: types.SetNull(text)}, &set)
	dictionary := planmodifier.MapResponse{PlanValue: types.MapUnknown(text)}
	inherit.PlanModifyMap(ctx, planmodifier.MapRequest{Path: at, State: state, ConfigValue: types.MapNull(text), PlanValue: types.MapUnknown(text), StateValue: types.MapNull(text)}, &dictionary)
	object := planmodifier.ObjectResponse{PlanValue: types.ObjectUnknown(nil)}
	inherit.PlanModifyObject(ctx, planmodifier.ObjectRequest{Path: at, State: state, ConfigValue: types.ObjectNull(nil), PlanValue: types.ObjectUnknown(nil), StateValue: types.ObjectNull(nil)}, &object)

	if !boolean.PlanValue.ValueBool() || integer.PlanValue.ValueInt64() != 7 || float.PlanValue.ValueFloat64() != 0.5 {
		t.Errorf("bool %s, int64 %s, float64 %s: not what is in state", boolean.PlanValue, integer.PlanValue, float.PlanValue)
	}
	if !list.PlanValue.IsNull() || !set.PlanValue.IsNull() || !dictionary.PlanValue.IsNull() || !object.PlanValue.IsNull() {
		t.Errorf("list %s, set %s, map %s, object %s: not what is in state", list.PlanValue, set.PlanValue, dictionary.PlanValue, object.PlanValue)
	}
}
