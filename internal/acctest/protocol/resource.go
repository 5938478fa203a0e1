package protocol

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Resource is a resource as the CLI manages it: planned, applied and refreshed
// with the state that it keeps. What the CLI holds against a provider's answers
// fails the test.
type Resource struct {
	// State is what the last answer left; nil for a resource that is not there.
	State Object

	server  *Server
	name    string
	schema  *tfprotov6.Schema
	state   tftypes.Value
	private []byte
	// identity is kept with the state.
	identity *tfprotov6.ResourceIdentityData
}

// Plan is a plan that can be applied.
type Plan struct {
	// After is what is planned, nil for a destruction. Replace names the
	// attributes that replace the resource.
	After   Object
	Replace []string

	resource        *Resource
	config, planned tftypes.Value
	private         []byte
	identity        *tfprotov6.ResourceIdentityData
}

// Manage begins with a resource that is not there.
func (s *Server) Manage(t testing.TB, name string) *Resource {
	t.Helper()

	schema := s.Schemas.ResourceSchemas[name]
	if schema == nil {
		t.Fatalf("the provider has no resource %s", name)
	}
	return &Resource{server: s, name: name, schema: schema, state: tftypes.NewValue(schema.ValueType(), nil)}
}

// HandTo lets another provider server, of another sign-in say, manage the
// resource from now on.
func (r *Resource) HandTo(s *Server) { r.server = s }

// Forget takes attributes of the first level out of the state, and has the
// provider read what is left as a state that an earlier release wrote.
func (r *Resource) Forget(t *testing.T, names ...string) {
	t.Helper()

	earlier := maps.Clone(r.State)
	for _, name := range names {
		delete(earlier, name)
	}
	raw, err := json.Marshal(earlier)
	must(t, err)
	upgraded, err := r.server.server.UpgradeResourceState(t.Context(), &tfprotov6.UpgradeResourceStateRequest{
		TypeName: r.name, Version: r.schema.Version, RawState: &tfprotov6.RawState{JSON: raw},
	})
	must(t, err)
	if len(upgraded.Diagnostics) != 0 {
		t.Fatal(Diagnostics(upgraded.Diagnostics))
	}
	r.keep(t, upgraded.UpgradedState, r.private, r.identity)
}

// Plan validates a configuration and plans it; nil plans the destruction. The
// plan is nil when there are errors.
func (r *Resource) Plan(t testing.TB, config Object) (*Plan, Diagnostics) {
	t.Helper()

	given := tftypes.NewValue(r.schema.ValueType(), nil)
	proposed := given
	if config != nil {
		given = value(t, r.schema.ValueType(), config)
		if diagnostics := r.validate(t, given); len(diagnostics.Errors()) != 0 {
			return nil, diagnostics
		}
		proposed = propose(t, r.schema.Block.Attributes, given, r.state)
	}
	planned, err := r.server.server.PlanResourceChange(t.Context(), &tfprotov6.PlanResourceChangeRequest{
		TypeName: r.name, Config: dynamic(t, given), PriorState: dynamic(t, r.state), ProposedNewState: dynamic(t, proposed),
		PriorPrivate: r.private, PriorIdentity: r.identity,
	})
	must(t, err)
	if len(Diagnostics(planned.Diagnostics).Errors()) != 0 {
		return nil, planned.Diagnostics
	}
	plan := &Plan{
		resource: r, config: given, planned: r.decode(t, planned.PlannedState), private: planned.PlannedPrivate, identity: planned.PlannedIdentity,
	}
	r.checkHidden(t, "plan", plan.planned)
	plan.After = objectOf(t, plan.planned)
	for _, each := range planned.RequiresReplace {
		plan.Replace = append(plan.Replace, each.String())
	}
	checkPlan(t, "", hideSecrets(t, r.schema.Block.Attributes, given), plan.planned, r.state)
	return plan, planned.Diagnostics
}

func (r *Resource) validate(t testing.TB, config tftypes.Value) Diagnostics {
	t.Helper()

	validated, err := r.server.server.ValidateResourceConfig(t.Context(), &tfprotov6.ValidateResourceConfigRequest{
		TypeName: r.name, Config: dynamic(t, config),
		ClientCapabilities: &tfprotov6.ValidateResourceConfigClientCapabilities{WriteOnlyAttributesAllowed: true},
	})
	must(t, err)
	return validated.Diagnostics
}

// Empty reports whether the plan changes nothing.
func (p *Plan) Empty() bool { return p.planned.Equal(p.resource.state) }

// Changes names the attributes of the first level that the plan changes.
func (p *Plan) Changes(t testing.TB) []string {
	t.Helper()

	var names []string
	before := members(t, p.resource.state)
	for name, after := range members(t, p.planned) {
		if !after.Equal(before[name]) {
			names = append(names, name)
		}
	}
	return names
}

// Apply applies the plan. The resource keeps what comes of it, also where there
// are errors.
func (p *Plan) Apply(t testing.TB) Diagnostics {
	t.Helper()

	r := p.resource
	applied, err := r.server.server.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
		TypeName: r.name, Config: dynamic(t, p.config), PriorState: dynamic(t, r.state), PlannedState: dynamic(t, p.planned),
		PlannedPrivate: p.private, PlannedIdentity: p.identity,
	})
	must(t, err)
	r.keep(t, applied.NewState, applied.Private, applied.NewIdentity)
	if len(Diagnostics(applied.Diagnostics).Errors()) == 0 {
		checkApplied(t, "", p.planned, r.state)
	}
	return applied.Diagnostics
}

// In goes on in another run of the provider.
func (r *Resource) In(server *Server) { r.server = server }

// Replace does what the CLI does with a resource whose creation failed: it plans
// it as a new one, and in the next run plans that again, destroys the resource and
// makes it anew, or the other way round, with create_before_destroy.
func (r *Resource) Replace(t testing.TB, config Object, createFirst bool, next *Server) Diagnostics {
	t.Helper()

	none := tftypes.NewValue(r.schema.ValueType(), nil)
	successor := &Resource{server: r.server, name: r.name, schema: r.schema, state: none}
	planned, diagnostics := successor.Plan(t, config)
	if planned == nil {
		return diagnostics
	}
	r.In(next)
	successor.In(next)
	if !createFirst {
		gone := &Plan{resource: r, config: none, planned: none, private: planned.private}
		diagnostics = append(diagnostics, gone.Apply(t)...)
	}
	again, _ := successor.Plan(t, config)
	if !again.planned.Equal(planned.planned) {
		t.Errorf("planned again it is %s, first it was %s", again.planned, planned.planned)
	}
	diagnostics = append(diagnostics, again.Apply(t)...)
	if createFirst {
		deposed, _ := r.Plan(t, nil)
		diagnostics = append(diagnostics, deposed.Apply(t)...)
	}
	*r = *successor
	return diagnostics
}

// Refresh reads the resource.
func (r *Resource) Refresh(t testing.TB) Diagnostics {
	t.Helper()

	read, err := r.server.server.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{
		TypeName: r.name, CurrentState: dynamic(t, r.state), Private: r.private, CurrentIdentity: r.identity,
	})
	must(t, err)
	r.keep(t, read.NewState, read.Private, read.NewIdentity)
	return read.Diagnostics
}

func (r *Resource) keep(t testing.TB, state *tfprotov6.DynamicValue, private []byte, identity *tfprotov6.ResourceIdentityData) {
	t.Helper()

	r.state, r.private, r.identity = r.decode(t, state), private, identity
	r.checkHidden(t, "state", r.state)
	r.State = objectOf(t, r.state)
}

func (r *Resource) decode(t testing.TB, from *tfprotov6.DynamicValue) tftypes.Value {
	t.Helper()

	if from == nil {
		return tftypes.NewValue(r.schema.ValueType(), nil)
	}
	decoded, err := from.Unmarshal(r.schema.ValueType())
	must(t, err)
	return decoded
}

func dynamic(t testing.TB, from tftypes.Value) *tfprotov6.DynamicValue {
	t.Helper()

	encoded, err := tfprotov6.NewDynamicValue(from.Type(), from)
	must(t, err)
	return &encoded
}
