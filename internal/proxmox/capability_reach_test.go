package proxmox

import (
	"context"
	"net/http"
	"time"

	"terraform-provider-proxmox/internal/acctest/byhand"
)

// Exercises of what reaches guests in the fence scope, and of firewalls.

func (s *subject) probe(ctx context.Context) (*ProbeTarget, error) {
	return s.Gate.Probe(ctx, s.bench.talking)
}

func exercisePing(ctx context.Context, s *subject) error {
	target, err := s.probe(ctx)
	if err != nil {
		return err
	}
	_, err = s.VMs.AgentAnswers(ctx, target)
	return err
}

func exerciseService(ctx context.Context, s *subject) error {
	target, err := s.probe(ctx)
	if err != nil {
		return err
	}
	_, err = s.VMs.ServiceState(ctx, target, "ssh.service")
	return err
}

// fenced is a fence of a VM of others.
func (s *subject) fenced(action FenceAction) Fence {
	return Fence{Action: action, Node: "pve1", VMID: s.vmid, Foreign: true, NICs: []string{"net0"}}
}

// exerciseStop stops a VM that HA manages.
func exerciseStop(ctx context.Context, s *subject) error {
	if _, err := s.made(ctx, nil); err != nil {
		return err
	}
	sid := HASID(KindVM, s.vmid)
	if err := s.bench.admin.Call(ctx, http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": sid, "state": "started"}, nil); err != nil {
		return err
	}
	if err := s.bench.settles(ctx, sid, HAStarted); err != nil {
		return err
	}
	stop := s.fenced(FenceStop)
	stop.RequireDurable = true
	_, _, err := s.Fence(ctx, stop)
	return err
}

// settles waits until the HA manager has a guest in a state.
func (b *bench) settles(ctx context.Context, sid, state string) error {
	for {
		var status HAStatus
		if err := b.admin.Call(ctx, http.MethodGet, "/cluster/ha/status/current", nil, &status); err != nil {
			return err
		}
		if status.Services[sid].State == state {
			return nil
		}
		if err := (systemClock{}).Sleep(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
}

func exerciseStart(ctx context.Context, s *subject) error {
	if _, err := s.made(ctx, nil); err != nil {
		return err
	}
	_, err := s.Unfence(ctx, s.fenced(FenceStop), FenceBefore{Guests: []FencedGuest{{Kind: KindVM, VMID: s.vmid}}})
	return err
}

const (
	benchNIC     = "virtio=BC:24:11:00:00:01,bridge=vmbr0"
	benchNICDown = benchNIC + ",link_down=1"
)

func exerciseLinkDown(ctx context.Context, s *subject) error {
	if _, err := s.made(ctx, byhand.Params{"net0": benchNIC}); err != nil {
		return err
	}
	_, _, err := s.Fence(ctx, s.fenced(FenceLinkDown))
	return err
}

func exerciseLinkUp(ctx context.Context, s *subject) error {
	if _, err := s.made(ctx, byhand.Params{"net0": benchNICDown}); err != nil {
		return err
	}
	_, err := s.Unfence(ctx, s.fenced(FenceLinkDown), FenceBefore{LinksUp: []string{"net0"}})
	return err
}

// exerciseFenceNode fences pve2, on which a VM runs.
func exerciseFenceNode(action FenceAction) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		if err := s.bench.admin.CreateVM(ctx, "pve2", s.vmid, byhand.Params{"name": "running"}); err != nil {
			return err
		}
		if err := s.bench.admin.Power(ctx, s.vmid, "start"); err != nil {
			return err
		}
		_, _, err := s.Fence(ctx, Fence{Action: action, Node: "pve2", Foreign: true, GuestTimeout: time.Minute})
		return err
	}
}

func exerciseGuestFirewall(ctx context.Context, s *subject) error {
	guest, err := s.made(ctx, nil)
	if err != nil {
		return err
	}
	if _, err := s.Gate.Marked(ctx, KindVM, guest.VMID); err != nil {
		return err
	}
	return exerciseFirewall(ctx, s, FirewallScope{Kind: FirewallVM, Node: "pve1", VMID: guest.VMID})
}

// permitFirewall asks the gate for one change.
func (s *subject) permitFirewall(ctx context.Context, scope FirewallScope) (FirewallPermission, error) {
	if !scope.OfGuest() {
		return s.Gate.SharedFirewall(scope, true)
	}
	guest, err := s.Gate.Marked(ctx, KindVM, scope.VMID)
	if err != nil {
		return nil, err
	}
	return s.Gate.Own(ctx, guest)
}

// exerciseFirewall sets rules and options and reads them; beyond a node's also
// IP sets and aliases.
func exerciseFirewall(ctx context.Context, s *subject, scope FirewallScope) error {
	fw := s.Firewall
	changes := []func(FirewallPermission) error{
		func(p FirewallPermission) error {
			return fw.Insert(ctx, p, scope, FirewallRule{Type: "in", Action: "ACCEPT", Enabled: true})
		},
		func(p FirewallPermission) error {
			return fw.SetOptions(ctx, p, scope, map[string]string{"enable": "0"}, nil, "")
		},
	}
	if scope.Kind != FirewallNode {
		changes = append(changes,
			func(p FirewallPermission) error { return fw.CreateSet(ctx, p, scope, "trusted") },
			func(p FirewallPermission) error {
				return fw.AddMember(ctx, p, scope, "trusted", FirewallMember{CIDR: "10.0.0.0/24"})
			},
			func(p FirewallPermission) error {
				return fw.CreateAlias(ctx, p, scope, FirewallAlias{Name: "office", CIDR: "10.0.1.0/24"})
			},
		)
	}
	for _, change := range changes {
		permission, err := s.permitFirewall(ctx, scope)
		if err != nil {
			return err
		}
		if err := change(permission); err != nil {
			return err
		}
	}
	if _, err := fw.Rules(ctx, scope); err != nil {
		return err
	}
	if _, err := fw.Options(ctx, scope); err != nil || scope.Kind == FirewallNode {
		return err
	}
	if _, _, err := fw.Members(ctx, scope, "trusted"); err != nil {
		return err
	}
	_, _, err := fw.Aliases(ctx, scope)
	return err
}

// exerciseClusterFirewall has security groups, too.
func exerciseClusterFirewall(ctx context.Context, s *subject) error {
	group := FirewallScope{Kind: FirewallGroup, Group: "web"}
	permission, err := s.permitFirewall(ctx, group)
	if err != nil {
		return err
	}
	if err := s.Firewall.CreateGroup(ctx, permission, group, "Web"); err != nil {
		return err
	}
	if _, err := s.Firewall.Rules(ctx, group); err != nil {
		return err
	}
	return exerciseFirewall(ctx, s, FirewallScope{Kind: FirewallCluster})
}

func exerciseFirewallLog(ctx context.Context, s *subject) error {
	if _, err := s.made(ctx, nil); err != nil {
		return err
	}
	guest, listed, err := s.View.Guest(ctx, s.vmid)
	if err != nil {
		return err
	}
	if !listed {
		return hidden("the VM", "VM.Audit")
	}
	_, _, err = s.Firewall.Log(ctx, FirewallScope{Kind: FirewallVM, VMID: s.vmid, Node: guest.Node}, FirewallLogQuery{})
	return err
}

func exerciseNodeLog(ctx context.Context, s *subject) error {
	_, _, err := s.Firewall.Log(ctx, FirewallScope{Kind: FirewallNode, Node: "pve1"}, FirewallLogQuery{})
	return err
}
