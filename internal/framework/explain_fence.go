package framework

import (
	"errors"

	"terraform-provider-proxmox/internal/proxmox"
)

// fencing explains what a fence was refused for, and what could not be proven of
// one that was begun.
func fencing(err error) (explanation, bool) {
	var begun *proxmox.FenceBegunError
	var refusal *proxmox.FenceRefusal
	var unproven *proxmox.FenceUnprovenError
	var unfit *proxmox.UnfitError
	switch {
	case errors.As(err, &begun):
		return explainBegun(begun), true
	case errors.Is(err, proxmox.ErrFenceScope):
		return explanation{
			cause: "it is not in the fence scope",
			said:  sentence(err.Error()) + " Nothing was stopped.",
			remedy: "Fencing is the one thing that reaches guests which the provider does not own, and only those that are listed in the provider block: " +
				"fence_scope = { vmids = [101] } for guests, fence_scope = { nodes = [\"pve2\"] } for nodes.",
		}, true
	case errors.As(err, &unfit):
		return explanation{cause: "the command does not fit the guest", said: sentence(unfit.Error()) + " Nothing was done."}, true
	case errors.As(err, &refusal):
		e := explanation{
			cause: "the check " + refusal.Check + " failed",
			said:  sentence(refusal.Error()) + " Nothing was stopped.",
		}
		if refusal.Err != nil {
			e.remedy = explain(refusal.Err).remedy
		}
		return e, true
	case errors.As(err, &unproven):
		return explanation{
			cause: "it could not be proven",
			remedy: "It was begun, and goes on in Proxmox VE. Nothing that relies on the fence should go on: apply again, which looks again, " +
				"or prove it by another path.",
		}, true
	default:
		return explanation{}, false
	}
}

// explainBegun adds to the cause what the fence has done by now.
func explainBegun(begun *proxmox.FenceBegunError) explanation {
	e := explain(begun.Err)
	if e.cause == "" {
		e.cause = "it failed when it had begun"
	}
	e.said += "\n\n" + sentence(begun.Outcome())
	return e
}
