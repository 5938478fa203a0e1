package framework

import (
	"errors"
	"fmt"
	"strings"

	"terraform-provider-proxmox/internal/proxmox"
)

// ownership explains why a guest is left alone.
func ownership(err error) (explanation, bool) {
	var (
		abandoned *proxmox.AbandonedError
		refusal   *proxmox.OwnershipError
	)
	if errors.As(err, &abandoned) {
		return explanation{
			cause: "a task that is no more left it locked",
			said:  sentence(abandoned.Error()),
			remedy: fmt.Sprintf("No API token may lift that lock. As root on node %s: `qm unlock %d`, and, if it is a half-made clone that nobody misses, `qm destroy %d`. Then apply again.",
				abandoned.Node, abandoned.VMID, abandoned.VMID),
		}, true
	}
	if !errors.As(err, &refusal) {
		return explanation{}, false
	}
	return explanation{
		cause:  standingCause(refusal.Standing),
		said:   sentence(refusal.Error()),
		remedy: standingRemedy(refusal),
	}, true
}

// creation explains why a guest is not made.
func creation(err error) (explanation, bool) {
	var (
		unfinished *proxmox.UnfinishedError
		taken      *proxmox.TakenError
		exhausted  *proxmox.ExhaustedError
		ledger     *proxmox.NoLedgerError
	)
	switch {
	case errors.As(err, &ledger):
		return explanation{
			cause: "its id cannot be reserved",
			said:  sentence(ledger.Error()),
			remedy: fmt.Sprintf("Have proxmox_connection create the pool that defaults.pool names (pool = %q, and let the guests depend on it), "+
				"and grant Pool.Allocate and Pool.Audit on /pool/%s, propagating.", ledger.Pool, ledger.Pool),
		}, true
	case errors.As(err, &unfinished):
		return explanation{
			cause: "an earlier run left it unfinished",
			said:  sentence(unfinished.Error()),
			remedy: fmt.Sprintf("To finish it: `terraform import <address> %d`, then apply. To begin anew: destroy VM %d in Proxmox VE, then apply.",
				unfinished.VMID, unfinished.VMID),
		}, true
	case errors.As(err, &taken):
		return explanation{
			cause:  "the id is taken",
			said:   sentence(taken.Error()),
			remedy: "Choose another vmid, or leave it out: then a free one is taken.",
		}, true
	case errors.As(err, &exhausted):
		return explanation{
			cause:  "vmid_range is exhausted",
			said:   sentence(exhausted.Error()),
			remedy: "Raise vmid_range.last, or PROXMOX_VMID_RANGE where it comes from there.",
		}, true
	case errors.Is(err, proxmox.ErrNoRange):
		return explanation{cause: "no VMID range is configured", remedy: rangeRemedy}, true
	default:
		return explanation{}, false
	}
}

// boundary explains what is refused without asking Proxmox VE.
func boundary(err error) (explanation, bool) {
	var outside *proxmox.OutOfRangeError
	switch {
	case errors.As(err, &outside):
		return explanation{
			cause:  "the id lies outside vmid_range",
			said:   sentence(outside.Error()),
			remedy: "Nothing outside vmid_range is ever made, changed or destroyed.",
		}, true
	case errors.Is(err, proxmox.ErrProtected):
		return explanation{
			cause:  "it is protected",
			remedy: "Nothing was stopped or destroyed. Turn Protection off among its options in Proxmox VE, and destroy it then.",
		}, true
	default:
		return explanation{}, false
	}
}

func standingCause(standing proxmox.Standing) string {
	switch standing {
	case proxmox.Damaged:
		return "the guest's marker is gone"
	case proxmox.Stub:
		return "the guest is being cloned or destroyed"
	case proxmox.Stranger:
		return "the guest is not the provider's own"
	case proxmox.Gone:
		return "the guest does not exist any more"
	case proxmox.Unreadable:
		return "the API token may not read the guest"
	case proxmox.Unreachable:
		return "the guest's node cannot be reached"
	case proxmox.OutOfRange:
		return "the guest lies outside vmid_range"
	case proxmox.Ours, proxmox.Unfinished:
	}
	return "the guest may not be changed"
}

func standingRemedy(refusal *proxmox.OwnershipError) string {
	switch refusal.Standing {
	case proxmox.Damaged:
		return "Somebody edited the description and deleted the line by which the provider knows its guests. " +
			"Put the line back into the guest's description (Notes), alone on a line, and apply again."
	case proxmox.Stub:
		return "Apply again when that has ended."
	case proxmox.Stranger:
		return "Another guest has taken the id, or the marker in its description is another's. Nothing was done to it. " +
			"The next plan shows the guest that was made here as gone."
	case proxmox.Gone:
		return "The next plan shows it as gone."
	case proxmox.Unreadable:
		return fmt.Sprintf("Give the token VM.Audit on /vms/%d or on the guest's pool, then apply again. "+
			"Rights that come from a pool end when the guest leaves the pool.", refusal.VMID)
	case proxmox.Unreachable:
		return "Nothing is known about it until the node is back, so its state is kept as it was. Apply again then."
	case proxmox.OutOfRange:
		return "Nothing outside vmid_range is ever changed. If the range was made smaller, widen it again, " +
			"or forget the guest with `terraform state rm` or a `removed` block."
	case proxmox.Ours, proxmox.Unfinished:
	}
	return ""
}

// sentence begins a text with a capital and ends it with a full stop.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if !strings.ContainsAny(text[len(text)-1:], ".!?") {
		text += "."
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
