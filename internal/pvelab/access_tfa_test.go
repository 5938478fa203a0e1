package pvelab

import (
	"strings"
	"testing"
)

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	l := seeded(t, Options{Speed: 500})
	l.SetPassword("terraform@pve", "secret")
	signIn := func() map[string]any {
		t.Helper()
		answer, _ := do(t, newClient(t, l, ""), "POST", "/access/ticket", "username=terraform@pve&password=secret").(map[string]any)
		return answer
	}
	if whole := signIn(); whole["NeedTFA"] != nil || !strings.HasPrefix(text(whole["ticket"]), "PVE:terraform@pve:") {
		t.Errorf("without a second factor: %v", whole)
	}
	l.Faults().SecondFactor("terraform@pve", true)
	half := signIn()
	if text(half["NeedTFA"]) != "1" || l.ticketUser(text(half["ticket"])) != "" {
		t.Errorf("with a second factor: %v", half)
	}
	l.Faults().SecondFactor("terraform@pve", false)
	if whole := signIn(); whole["NeedTFA"] != nil {
		t.Errorf("without it again: %v", whole)
	}
}
