package proxmox

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ProbeTarget permits to ask a guest of ours, or one in the fence scope, through
// its agent.
type ProbeTarget struct {
	node   string
	vmid   int
	config *GuestConfig
}

// Config is the configuration that the gate read.
func (p *ProbeTarget) Config() *GuestConfig { return p.config }

// Probe permits to ask a VM through its agent: one of ours, or one in the fence
// scope. Every other is refused.
func (g *Gate) Probe(ctx context.Context, vmid int) (*ProbeTarget, error) {
	guest := Guest{Kind: KindVM, VMID: vmid}
	if !slices.Contains(g.c.options.FenceScope.VMIDs, vmid) {
		own, err := g.ownMarked(ctx, guest)
		if err != nil {
			return nil, err
		}
		return &ProbeTarget{own.Node(), vmid, own.Config()}, nil
	}
	target, err := g.FenceTarget(ctx, guest)
	if err != nil {
		return nil, err
	}
	return &ProbeTarget{target.config.Node, vmid, target.config}, nil
}

// unitName are the names of systemd's units; none begins with a hyphen, which
// would make it an option.
var unitName = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_.:@\\-]*$`)

// IsUnitName reports whether a text can be the name of one of systemd's units.
func IsUnitName(name string) bool { return len(name) <= 255 && unitName.MatchString(name) }

// AgentAnswers asks a VM's agent for a sign of life.
func (s *VMService) AgentAnswers(ctx context.Context, p *ProbeTarget) (bool, error) {
	err := s.AgentPing(ctx, p.node, p.vmid)
	if IsAgentUnavailable(err) {
		return false, nil
	}
	return err == nil, err
}

// ServiceState asks a VM's agent for the state of one of systemd's units, as
// `systemctl is-active` tells it: "active", "inactive", "failed", "activating" …
// The command is fixed, its arguments are a list and no shell reads them.
func (s *VMService) ServiceState(ctx context.Context, p *ProbeTarget, unit string) (string, error) {
	if !IsUnitName(unit) {
		return "", fmt.Errorf("%q is not the name of a unit of systemd", unit)
	}
	var began struct {
		PID Int `json:"pid"`
	}
	command := url.Values{"command": {"systemctl", "is-active", "--", unit}}
	if err := s.c.call(guarded(ctx), http.MethodPost, s.path(p.node, p.vmid, "agent", "exec"), command, &began); err != nil {
		return "", err
	}
	query := url.Values{"pid": {strconv.FormatInt(int64(began.PID), 10)}}
	for {
		var status struct {
			Exited   Bool `json:"exited"`
			ExitCode Int  `json:"exitcode"`
			Out      Text `json:"out-data"`
			Err      Text `json:"err-data"`
		}
		if err := s.c.get(ctx, s.path(p.node, p.vmid, "agent", "exec-status"), query, &status); err != nil {
			return "", err
		}
		state := strings.TrimSpace(string(status.Out))
		switch {
		case bool(status.Exited) && state != "":
			return state, nil
		case bool(status.Exited):
			return "", fmt.Errorf("systemctl in VM %d ended with %d and told no state: %s", p.vmid, status.ExitCode, strings.TrimSpace(string(status.Err)))
		}
		if err := s.c.clock.Sleep(ctx, firstPoll); err != nil {
			return "", err
		}
	}
}
