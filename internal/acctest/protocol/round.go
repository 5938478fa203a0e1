package protocol

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// Round is what the CLI asks of a provider for one resource in a plan, as bare
// calls: for measurements, without the checks of [Resource].
type Round struct {
	server    tfprotov6.ProviderServer
	upgraded  *tfprotov6.UpgradeResourceStateRequest
	read      *tfprotov6.ReadResourceRequest
	validated *tfprotov6.ValidateResourceConfigRequest
	planned   *tfprotov6.PlanResourceChangeRequest
}

// Round is that of a resource with a configuration that changes nothing.
func (r *Resource) Round(t testing.TB, config Object) Round {
	t.Helper()

	given, state := value(t, r.schema.ValueType(), config), dynamic(t, r.state)
	kept, err := json.Marshal(r.State)
	must(t, err)
	return Round{
		server:    r.server.server,
		upgraded:  &tfprotov6.UpgradeResourceStateRequest{TypeName: r.name, Version: r.schema.Version, RawState: &tfprotov6.RawState{JSON: kept}},
		read:      &tfprotov6.ReadResourceRequest{TypeName: r.name, CurrentState: state, Private: r.private, CurrentIdentity: r.identity},
		validated: &tfprotov6.ValidateResourceConfigRequest{TypeName: r.name, Config: dynamic(t, given)},
		planned: &tfprotov6.PlanResourceChangeRequest{
			TypeName: r.name, Config: dynamic(t, given), PriorState: state, ProposedNewState: dynamic(t, propose(t, r.schema.Block.Attributes, given, r.state)),
			PriorPrivate: r.private, PriorIdentity: r.identity,
		},
	}
}

// Validate validates the configuration.
func (r Round) Validate(ctx context.Context) error {
	answer, err := r.server.ValidateResourceConfig(ctx, r.validated)
	if err != nil {
		return err
	}
	return failed(answer.Diagnostics)
}

// Upgrade reads the state as it is kept.
func (r Round) Upgrade(ctx context.Context) error {
	answer, err := r.server.UpgradeResourceState(ctx, r.upgraded)
	if err != nil {
		return err
	}
	return failed(answer.Diagnostics)
}

// Read refreshes the state.
func (r Round) Read(ctx context.Context) error {
	answer, err := r.server.ReadResource(ctx, r.read)
	if err != nil {
		return err
	}
	return failed(answer.Diagnostics)
}

// Plan plans.
func (r Round) Plan(ctx context.Context) error {
	answer, err := r.server.PlanResourceChange(ctx, r.planned)
	if err != nil {
		return err
	}
	return failed(answer.Diagnostics)
}

func failed(diagnostics Diagnostics) error {
	if len(diagnostics) == 0 {
		return nil
	}
	return errors.New(diagnostics.String())
}
