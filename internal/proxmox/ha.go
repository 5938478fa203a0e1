package proxmox

import (
	"context"
	"encoding/json"
	"strconv"
)

// HAService reads the HA manager.
type HAService struct{ c *Client }

// HAManaged is what a guest's status says of HA. It takes no more than VM.Audit,
// but does not tell what the manager is asked for.
type HAManaged struct {
	// Managed is false for a resource that HA ignores, as for a guest that HA does
	// not know.
	Managed Bool `json:"managed"`
	// State is the manager's state, empty before it has looked.
	State string `json:"state"`
}

// HAStatus is the manager's view of its resources, by id ("vm:101").
type HAStatus struct {
	// Quorate tells whether the node that answers is in touch with most nodes.
	Quorate  bool
	Services map[string]HAResource
}

// The states that a resource can be asked to have.
const (
	HAStarted  = "started"
	HAStopped  = "stopped"
	HADisabled = "disabled"
	HAIgnored  = "ignored"
	HAError    = "error"
)

// HAResource is a guest under HA.
type HAResource struct {
	SID  string `json:"sid"`
	Node string `json:"node"`
	// Requested is what the manager is asked for: "started", "stopped",
	// "disabled" or "ignored".
	Requested string `json:"request_state"`
	// State is the manager's, empty before it has looked: "started", "stopped",
	// "request_stop", "error", "fence" …
	State string `json:"crm_state"`
}

// HASID is the id of a guest's HA resource.
func HASID(kind Kind, vmid int) string {
	prefix := "vm:"
	if kind == KindContainer {
		prefix = "ct:"
	}
	return prefix + strconv.Itoa(vmid)
}

// UnmarshalJSON reads PVE's list, in which quorum, master, agents and services
// stand side by side.
func (s *HAStatus) UnmarshalJSON(data []byte) error {
	var entries []struct {
		HAResource
		Type    string `json:"type"`
		Quorate Bool   `json:"quorate"`
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		return err
	}
	s.Services = map[string]HAResource{}
	for _, e := range entries {
		switch e.Type {
		case "quorum":
			s.Quorate = bool(e.Quorate)
		case "service":
			s.Services[e.SID] = e.HAResource
		}
	}
	return nil
}

// HA is the manager's view of its resources, shared by all who read it within the
// view's life; it needs Sys.Audit on /.
func (v *View) HA(ctx context.Context) (HAStatus, error) {
	return shared(ctx, v, viewKey{what: "ha"}, v.c.HA.Status)
}

// Status reads requested and actual states of all resources; it needs Sys.Audit
// on /.
func (s *HAService) Status(ctx context.Context) (HAStatus, error) {
	var status HAStatus
	err := s.c.get(ctx, at("cluster", "ha", "status", "current"), nil, &status)
	return status, err
}

// wantsUp reports whether the manager is asked to have the guest running.
func (r HAResource) wantsUp() bool { return r.Requested == HAStarted || r.Requested == "enabled" }

// ran reports whether a guest is to be started again after a fence: what HA
// manages is as HA wants it, whether it was just on its way there or not.
func (r HAResource) ran(running bool) bool {
	if r.Requested == "" || r.Requested == HAIgnored {
		return running
	}
	return r.wantsUp()
}

// isDown reports whether manager and request agree that the guest stays stopped.
func (r HAResource) isDown() bool { return !r.wantsUp() && r.State == HAStopped }
