package connection

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// model is the resource's configuration, plan or state.
type model struct {
	Cluster        types.String   `tfsdk:"cluster"`
	Pool           types.String   `tfsdk:"pool"`
	Capabilities   types.Set      `tfsdk:"capabilities"`
	StorageClasses types.Map      `tfsdk:"storage_classes"`
	NetworkClasses types.Map      `tfsdk:"network_classes"`
	Templates      types.Set      `tfsdk:"templates"`
	RequireReady   types.Bool     `tfsdk:"require_ready"`
	Timeouts       timeouts.Value `tfsdk:"timeouts"`

	Identity       types.String `tfsdk:"identity"`
	Version        types.String `tfsdk:"version"`
	AnsweringNode  types.String `tfsdk:"answering_node"`
	Nodes          types.Map    `tfsdk:"nodes"`
	FailureDomains types.List   `tfsdk:"failure_domains"`
	Privileges     types.Map    `tfsdk:"privileges"`
	Ready          types.Bool   `tfsdk:"ready"`
	Conditions     types.List   `tfsdk:"conditions"`
}

// storageClass is a declared storage.
type storageClass struct {
	Storage string   `tfsdk:"storage"`
	Content []string `tfsdk:"content"`
}

// networkClass is a declared bridge.
type networkClass struct {
	Bridge string `tfsdk:"bridge"`
}

// nodeModel is what is found of a node.
type nodeModel struct {
	Online    types.Bool   `tfsdk:"online"`
	Version   types.String `tfsdk:"version"`
	ClockSkew types.Int64  `tfsdk:"clock_skew_seconds"`
}

// privilegeModel is what is found of a capability's privileges.
type privilegeModel struct {
	State    string   `tfsdk:"state"`
	Missing  []string `tfsdk:"missing"`
	Inferred []string `tfsdk:"inferred"`
}

// condition is one thing that was checked.
type condition struct {
	Type    string `tfsdk:"type"`
	Subject string `tfsdk:"subject"`
	Status  string `tfsdk:"status"`
	Reason  string `tfsdk:"reason"`
}

// The status of a condition.
const (
	unmet   = "unmet"
	unknown = "unknown"
	met     = "met"
)

var (
	nodeType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"online": types.BoolType, "version": types.StringType, "clock_skew_seconds": types.Int64Type,
	}}
	privilegeType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"state": types.StringType, "missing": types.ListType{ElemType: types.StringType}, "inferred": types.ListType{ElemType: types.StringType},
	}}
	conditionType = types.ObjectType{AttrTypes: map[string]attr.Type{
		"type": types.StringType, "subject": types.StringType, "status": types.StringType, "reason": types.StringType,
	}}
)

// forget makes unknown what the next look finds.
func (m *model) forget() {
	m.Identity, m.Version, m.AnsweringNode = types.StringUnknown(), types.StringUnknown(), types.StringUnknown()
	m.Nodes, m.Privileges = types.MapUnknown(nodeType), types.MapUnknown(privilegeType)
	m.FailureDomains, m.Conditions = types.ListUnknown(types.StringType), types.ListUnknown(conditionType)
	m.Ready = types.BoolUnknown()
}

// into writes what was found.
func (a *assessment) into(ctx context.Context, m *model) {
	order := []string{unmet, unknown, met}
	slices.SortStableFunc(a.conditions, func(x, y condition) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, x.Status), slices.Index(order, y.Status)),
			cmp.Compare(x.Type, y.Type), cmp.Compare(x.Subject, y.Subject),
		)
	})
	m.Identity, m.AnsweringNode = orNull(a.identity), orNull(a.answering)
	m.Version = orNull(a.version.String())
	m.Ready = types.BoolValue(len(a.unmet()) == 0)
	m.Nodes = value(types.MapValueFrom(ctx, nodeType, a.nodes))(a)
	m.Privileges = value(types.MapValueFrom(ctx, privilegeType, a.privileges))(a)
	m.FailureDomains = value(types.ListValueFrom(ctx, types.StringType, a.online))(a)
	m.Conditions = value(types.ListValueFrom(ctx, conditionType, a.conditions))(a)
}

// unmet are the conditions that are not met.
func (a *assessment) unmet() []condition {
	return slices.DeleteFunc(slices.Clone(a.conditions), func(c condition) bool { return c.Status != unmet })
}

// reasons tells all that is not as declared.
func (a *assessment) reasons() string {
	var lines []string
	for _, c := range a.unmet() {
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("- %s %s", c.Type, c.Subject))+": "+c.Reason)
	}
	return strings.Join(lines, "\n") + "\n\nEverything else is as declared. With require_ready = false this only shows in conditions."
}

func orNull(text string) types.String {
	if text == "" {
		return types.StringNull()
	}
	return types.StringValue(text)
}
