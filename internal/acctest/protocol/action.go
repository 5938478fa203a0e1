package protocol

import (
	"context"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
)

// InvokeAction validates, plans and invokes an action, as the CLI does, and
// returns its progress.
func (s *Server) InvokeAction(t testing.TB, name string, block Object) (progress []string, diagnostics Diagnostics) {
	t.Helper()
	return s.InterruptAction(t, name, block, func(string) bool { return false })
}

// InterruptAction is [Server.InvokeAction] with a user who interrupts it at a line
// of progress.
func (s *Server) InterruptAction(t testing.TB, name string, block Object, at func(line string) bool) (progress []string, diagnostics Diagnostics) {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server, config, diagnostics := s.planAction(t, name, block)
	if len(diagnostics.Errors()) != 0 {
		return nil, diagnostics
	}
	stream, err := server.InvokeAction(ctx, &tfprotov6.InvokeActionRequest{ActionType: name, Config: config})
	must(t, err)
	for event := range stream.Events {
		switch e := event.Type.(type) {
		case tfprotov6.ProgressInvokeActionEventType:
			progress = append(progress, e.Message)
			if at(e.Message) {
				cancel()
			}
		case tfprotov6.CompletedInvokeActionEventType:
			diagnostics = append(diagnostics, e.Diagnostics...)
		}
	}
	return progress, diagnostics
}

// PlanAction validates and plans an action.
func (s *Server) PlanAction(t testing.TB, name string, block Object) Diagnostics {
	t.Helper()

	_, _, diagnostics := s.planAction(t, name, block)
	return diagnostics
}

func (s *Server) planAction(t testing.TB, name string, block Object) (tfprotov6.ActionServer, *tfprotov6.DynamicValue, Diagnostics) {
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
		return server, config, validated.Diagnostics
	}
	planned, err := server.PlanAction(t.Context(), &tfprotov6.PlanActionRequest{ActionType: name, Config: config})
	must(t, err)
	return server, config, planned.Diagnostics
}
