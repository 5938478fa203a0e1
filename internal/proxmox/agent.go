package proxmox

import (
	"context"
	"net/netip"
)

// AgentInterface is a network interface as the guest's agent reports it.
type AgentInterface struct {
	Name string
	// MAC is in the guest's spelling.
	MAC string
	IPs []netip.Prefix
}

// AgentPing reports nil when the guest's agent answers. PVE waits three seconds
// for an agent that does not.
func (s *VMService) AgentPing(ctx context.Context, node string, vmid int) error { return nil }

// AgentInterfaces asks the guest's agent for its network interfaces.
func (s *VMService) AgentInterfaces(ctx context.Context, node string, vmid int) ([]AgentInterface, error) {
	return nil, nil
}

// IsAgentUnavailable reports whether the guest's agent gave no answer: it is not
// configured, not running, or the guest is off.
func IsAgentUnavailable(err error) bool { return false }
