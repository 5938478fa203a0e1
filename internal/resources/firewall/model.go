package firewall

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"terraform-provider-proxmox/internal/proxmox"
)

var asObject = basetypes.ObjectAsOptions{}

// The values of ownership.
const (
	ownsAll    = "exclusive"
	ownsTagged = "tagged"
)

// model is the resource in the configuration, the plan and the state.
type model struct {
	ID         types.String `tfsdk:"id"`
	Scope      types.Object `tfsdk:"scope"`
	Foreign    types.Bool   `tfsdk:"foreign"`
	Ownership  types.String `tfsdk:"ownership"`
	Tag        types.String `tfsdk:"tag"`
	Comment    types.String `tfsdk:"comment"`
	Options    types.Object `tfsdk:"options"`
	Rules      types.List   `tfsdk:"rules"`
	IPSets     types.Map    `tfsdk:"ip_sets"`
	Aliases    types.Map    `tfsdk:"aliases"`
	Spoofing   types.Map    `tfsdk:"spoof_protection"`
	AcceptRisk types.Bool   `tfsdk:"accept_lockout_risk"`

	// whole is set for an import, which is about everything.
	whole bool
}

type scopeModel struct {
	VM            types.Int64  `tfsdk:"vm"`
	Container     types.Int64  `tfsdk:"container"`
	Node          types.String `tfsdk:"node"`
	Cluster       types.Bool   `tfsdk:"cluster"`
	SecurityGroup types.String `tfsdk:"security_group"`
}

var (
	scopeTypes = map[string]attr.Type{
		"vm": types.Int64Type, "container": types.Int64Type, "node": types.StringType,
		"cluster": types.BoolType, "security_group": types.StringType,
	}
	ruleType    = types.ObjectType{AttrTypes: ruleTypes}
	membersType = types.SetType{ElemType: types.StringType}
)

// scope is what the firewall belongs to; not ok while that is not known, or
// nothing or too much is named.
func (m model) scope(ctx context.Context, diags *diag.Diagnostics) (scope proxmox.FirewallScope, ok bool) {
	kind, known := m.kind(ctx, diags)
	if kind == "" || !known {
		return proxmox.FirewallScope{}, false
	}
	var s scopeModel
	diags.Append(m.Scope.As(ctx, &s, asObject)...)
	scope = proxmox.FirewallScope{Kind: kind}
	switch kind {
	case proxmox.FirewallVM:
		scope.VMID = int(s.VM.ValueInt64())
	case proxmox.FirewallContainer:
		scope.VMID = int(s.Container.ValueInt64())
	case proxmox.FirewallNode:
		scope.Node = s.Node.ValueString()
	case proxmox.FirewallGroup:
		scope.Group = s.SecurityGroup.ValueString()
	case proxmox.FirewallCluster:
	}
	return scope, !diags.HasError()
}

// kind is the kind of the scope, and whether its name is known. It is "" while
// the kind itself is not, or where not exactly one is named.
func (m model) kind(ctx context.Context, diags *diag.Diagnostics) (kind proxmox.FirewallKind, known bool) {
	if m.Scope.IsNull() || m.Scope.IsUnknown() {
		return "", false
	}
	var s scopeModel
	diags.Append(m.Scope.As(ctx, &s, asObject)...)
	named := 0
	for each, value := range map[proxmox.FirewallKind]attr.Value{
		proxmox.FirewallVM: s.VM, proxmox.FirewallContainer: s.Container, proxmox.FirewallNode: s.Node,
		proxmox.FirewallCluster: s.Cluster, proxmox.FirewallGroup: s.SecurityGroup,
	} {
		if value.IsNull() || value.Equal(types.BoolValue(false)) {
			continue
		}
		named++
		kind, known = each, !value.IsUnknown()
	}
	if named != 1 {
		return "", false
	}
	return kind, known
}

// scopeObject is a scope as the state holds it.
func scopeObject(scope proxmox.FirewallScope) types.Object {
	values := map[string]attr.Value{
		"vm": types.Int64Null(), "container": types.Int64Null(), "node": types.StringNull(),
		"cluster": types.BoolNull(), "security_group": types.StringNull(),
	}
	switch scope.Kind {
	case proxmox.FirewallVM, proxmox.FirewallContainer:
		values[string(scope.Kind)] = types.Int64Value(int64(scope.VMID))
	case proxmox.FirewallNode:
		values["node"] = types.StringValue(scope.Node)
	case proxmox.FirewallGroup:
		values["security_group"] = types.StringValue(scope.Group)
	case proxmox.FirewallCluster:
		values["cluster"] = types.BoolValue(true)
	}
	return types.ObjectValueMust(scopeTypes, values)
}

// marker is what marks the resource's own rules, "" where all are its own.
func (m model) marker() marker {
	if m.Ownership.ValueString() != ownsTagged {
		return ""
	}
	return marker(m.Tag.ValueString())
}

// identifier is the resource's id, by which it is imported, too.
func (m model) identifier(scope proxmox.FirewallScope) string {
	if tag := m.marker(); tag != "" {
		return scope.String() + ":" + string(tag)
	}
	return scope.String()
}

// ruleset is what a resource wants of a firewall, or has of it.
type ruleset struct {
	// managed tells whether rules are a matter of the resource at all.
	managed bool
	rules   []proxmox.FirewallRule
	// options are by PVE's names.
	options map[string]string
	sets    map[string]members
	aliases map[string]string
	comment string
}

// members of an IP set: whether each is taken out of a larger one, by address.
type members map[string]bool

// filterSet is the set of addresses that a network device may send from.
const filterSet = "ipfilter-"

// ruleset reads the model. What is unknown is left out.
func (m model) ruleset(ctx context.Context, diags *diag.Diagnostics) ruleset {
	want := ruleset{
		managed: !m.Rules.IsNull(), options: map[string]string{},
		sets: map[string]members{}, aliases: map[string]string{}, comment: m.Comment.ValueString(),
	}
	for _, each := range m.ruleModels(ctx, diags) {
		want.rules = append(want.rules, m.marker().put(each.rule()))
	}
	for _, o := range options {
		if value := o.pve(m.Options.Attributes()[o.name]); value != "" {
			want.options[o.key] = value
		}
	}
	for name, value := range m.Aliases.Elements() {
		if text, ok := value.(types.String); ok && !text.IsUnknown() {
			want.aliases[name] = text.ValueString()
		}
	}
	for prefix, sets := range map[string]types.Map{"": m.IPSets, filterSet: m.Spoofing} {
		for name, value := range sets.Elements() {
			want.sets[prefix+name] = membersOf(ctx, value, diags)
		}
	}
	return want
}

func (m model) ruleModels(ctx context.Context, diags *diag.Diagnostics) []ruleModel {
	var found []ruleModel
	if !m.Rules.IsNull() && !m.Rules.IsUnknown() {
		diags.Append(m.Rules.ElementsAs(ctx, &found, false)...)
	}
	return found
}

// membersOf reads a set; "!" before an address takes it out of a larger one.
func membersOf(ctx context.Context, value attr.Value, diags *diag.Diagnostics) members {
	found := members{}
	set, ok := value.(types.Set)
	if !ok || set.IsNull() || set.IsUnknown() {
		return found
	}
	var texts []types.String
	diags.Append(set.ElementsAs(ctx, &texts, false)...)
	for _, text := range texts {
		if !text.IsUnknown() {
			address, except := strings.CutPrefix(text.ValueString(), "!")
			found[address] = except
		}
	}
	return found
}

// take puts into the model what a firewall has, as far as the model has such
// attributes: of the options those that are not null, and the sets and aliases
// by their names.
func (m *model) take(ctx context.Context, has ruleset, diags *diag.Diagnostics) {
	if has.managed {
		m.Rules = rulesValue(ctx, has.rules, m.marker(), diags)
	}
	if !m.Options.IsNull() {
		m.Options = types.ObjectValueMust(optionTypes, optionValues(has.options, m.spokenOf()))
	}
	if !m.Aliases.IsNull() {
		m.Aliases = textMap(ctx, has.aliases, diags)
	}
	ordinary, filters := map[string]members{}, map[string]members{}
	for name, set := range has.sets {
		if nic, ok := strings.CutPrefix(name, filterSet); ok && guestNIC.MatchString(nic) {
			filters[nic] = set
			continue
		}
		ordinary[name] = set
	}
	if !m.IPSets.IsNull() {
		m.IPSets = setMap(ctx, ordinary, diags)
	}
	if !m.Spoofing.IsNull() {
		m.Spoofing = setMap(ctx, filters, diags)
	}
	m.Comment = optional(has.comment)
}

func rulesValue(ctx context.Context, rules []proxmox.FirewallRule, own marker, diags *diag.Diagnostics) types.List {
	models := make([]ruleModel, 0, len(rules))
	for _, rule := range rules {
		models = append(models, modelOf(own.strip(rule)))
	}
	value, problems := types.ListValueFrom(ctx, ruleType, models)
	diags.Append(problems...)
	return value
}

// spokenOf tells the options that are a matter of the model, by PVE's names.
func (m *model) spokenOf() map[string]bool {
	spoken := make(map[string]bool, len(options))
	for _, o := range options {
		value := m.Options.Attributes()[o.name]
		spoken[o.key] = m.whole || value != nil && !value.IsNull()
	}
	return spoken
}

func optionValues(has map[string]string, spoken map[string]bool) map[string]attr.Value {
	values := make(map[string]attr.Value, len(options))
	for _, o := range options {
		values[o.name] = o.attribute("")
		if spoken[o.key] {
			values[o.name] = o.attribute(has[o.key])
		}
	}
	return values
}

func textMap(ctx context.Context, texts map[string]string, diags *diag.Diagnostics) types.Map {
	value, problems := types.MapValueFrom(ctx, types.StringType, texts)
	diags.Append(problems...)
	return value
}

func setMap(ctx context.Context, sets map[string]members, diags *diag.Diagnostics) types.Map {
	texts := make(map[string][]string, len(sets))
	for name, set := range sets {
		texts[name] = set.texts()
	}
	value, problems := types.MapValueFrom(ctx, membersType, texts)
	diags.Append(problems...)
	return value
}

// texts are the members as they are configured, sorted.
func (m members) texts() []string {
	found := make([]string, 0, len(m))
	for address, except := range m {
		if except {
			address = "!" + address
		}
		found = append(found, address)
	}
	slices.Sort(found)
	return found
}

// all makes the model speak of everything, for an import.
func (m *model) all() {
	m.whole = true
	m.Options = types.ObjectValueMust(optionTypes, optionValues(nil, nil))
	m.Rules = types.ListValueMust(ruleType, nil)
	m.IPSets = types.MapValueMust(membersType, nil)
	m.Aliases = types.MapValueMust(types.StringType, nil)
	m.Spoofing = types.MapValueMust(membersType, nil)
}

// trim takes out of an imported model what the firewall has not.
func (m *model) trim() {
	if none(m.Options.Attributes()) {
		m.Options = types.ObjectNull(optionTypes)
	}
	if len(m.Rules.Elements()) == 0 {
		m.Rules = types.ListNull(ruleType)
	}
	for each, element := range map[*types.Map]attr.Type{&m.IPSets: membersType, &m.Aliases: types.StringType, &m.Spoofing: membersType} {
		if len(each.Elements()) == 0 {
			*each = types.MapNull(element)
		}
	}
}

func none(values map[string]attr.Value) bool {
	for _, value := range values {
		if !value.IsNull() {
			return false
		}
	}
	return true
}

// names are the names of sets that the model has.
func (r ruleset) names() []string { return slices.Sorted(maps.Keys(r.sets)) }

// equal reports whether a firewall has what is wanted of it. Options that are
// not wanted do not count.
func (r ruleset) equal(want ruleset) bool {
	for key, value := range want.options {
		if r.options[key] != value {
			return false
		}
	}
	return (!want.managed || slices.Equal(r.rules, want.rules)) &&
		maps.EqualFunc(r.sets, want.sets, maps.Equal[members, members]) && maps.Equal(r.aliases, want.aliases)
}
