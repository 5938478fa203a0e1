package protocol

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// InvokeAction validates, plans and invokes an action, as the CLI does, and
// returns its progress.
func (s *Server) InvokeAction(t testing.TB, name string, block Object) (progress []string, diagnostics Diagnostics) {
	t.Helper()

	server, ok := s.server.(tfprotov6.ActionServer)
	schema := s.Schemas.ActionSchemas[name]
	if !ok || schema == nil {
		t.Fatalf("the provider has no action %s", name)
	}
	config := encode(t, schema.Schema.ValueType(), block)
	validated, err := server.ValidateActionConfig(t.Context(), &tfprotov6.ValidateActionConfigRequest{ActionType: name, Config: config})
	must(t, err)
	if len(Diagnostics(validated.Diagnostics).Errors()) != 0 {
		return nil, validated.Diagnostics
	}
	planned, err := server.PlanAction(t.Context(), &tfprotov6.PlanActionRequest{ActionType: name, Config: config})
	must(t, err)
	if len(Diagnostics(planned.Diagnostics).Errors()) != 0 {
		return nil, planned.Diagnostics
	}
	stream, err := server.InvokeAction(t.Context(), &tfprotov6.InvokeActionRequest{ActionType: name, Config: config})
	must(t, err)
	for event := range stream.Events {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, e.Message)
		case tfprotov6.CompletedInvokeActionEventType:
			diagnostics = append(diagnostics, e.Diagnostics...)
		}
	}
	return progress, diagnostics
}
