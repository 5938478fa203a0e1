package proxmox

import (
	"context"
	"net/http"
	"net/netip"
)

// AgentInterface is a network interface as the guest's agent reports it.
type AgentInterface struct {
	Name string
	// MAC is in the guest's spelling, mostly lower case; it may be empty.
	MAC string
	// IPs are the addresses with the length of their networks' prefixes.
	IPs []netip.Prefix
}

// AgentPing reports nil when the guest's agent answers. PVE waits three seconds
// for an agent that does not ([IsAgentUnavailable]).
func (s *VMService) AgentPing(ctx context.Context, node string, vmid int) error {
	return s.c.call(ctx, http.MethodPost, s.path(node, vmid, "agent", "ping"), nil, nil)
}

// AgentInterfaces asks the guest's agent for its network interfaces, the
// loopback one too.
func (s *VMService) AgentInterfaces(ctx context.Context, node string, vmid int) ([]AgentInterface, error) {
	var answer struct {
		Result []struct {
			Name      string `json:"name"`
			MAC       string `json:"hardware-address"`
			Addresses []struct {
				Address string `json:"ip-address"`
				Prefix  Int    `json:"prefix"`
			} `json:"ip-addresses"`
		} `json:"result"`
	}
	if err := s.c.get(ctx, s.path(node, vmid, "agent", "network-get-interfaces"), nil, &answer); err != nil {
		return nil, err
	}
	interfaces := make([]AgentInterface, len(answer.Result))
	for i, entry := range answer.Result {
		interfaces[i] = AgentInterface{Name: entry.Name, MAC: entry.MAC}
		for _, a := range entry.Addresses {
			address, err := netip.ParseAddr(a.Address)
			if err != nil {
				// An agent's answer is the guest's word: what is no address is
				// left out.
				continue
			}
			prefix := netip.PrefixFrom(address.WithZone(""), int(a.Prefix))
			interfaces[i].IPs = append(interfaces[i].IPs, prefix)
		}
	}
	return interfaces, nil
}
