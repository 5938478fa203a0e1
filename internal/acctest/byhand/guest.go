package byhand

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Guest is one line of the cluster's list of guests.
type Guest struct {
	VMID     int    `json:"vmid"`
	Node     string `json:"node"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Template int    `json:"template"`
	Lock     string `json:"lock"`
	// Status is "unknown" until pvestatd has told of the guest.
	Status string `json:"status"`
}

// Guests lists the guests that the token sees.
func (h *Hand) Guests(ctx context.Context) ([]Guest, error) {
	var guests []Guest
	err := h.Call(ctx, http.MethodGet, "/cluster/resources", Params{"type": "vm"}, &guests)

	return guests, err
}

// Node tells on which node a guest is; "" means that it is nowhere to be seen.
func (h *Hand) Node(ctx context.Context, vmid int) (string, error) {
	guests, err := h.Guests(ctx)
	if err != nil {
		return "", err
	}
	for _, guest := range guests {
		if guest.VMID == vmid {
			return guest.Node, nil
		}
	}

	return "", nil
}

// Config reads a VM's configuration; numbers come as text.
func (h *Hand) Config(ctx context.Context, vmid int) (map[string]string, error) {
	path, err := h.vmPath(ctx, vmid)
	if err != nil {
		return nil, err
	}
	var raw map[string]any
	if err := h.Call(ctx, http.MethodGet, path+"/config", nil, &raw); err != nil {
		return nil, err
	}

	config := make(map[string]string, len(raw))
	for key, value := range raw {
		config[key] = text(value)
	}

	return config, nil
}

// text prints numbers without an exponent: JSON numbers decode to float64.
func text(value any) string {
	if number, ok := value.(float64); ok {
		return strconv.FormatFloat(number, 'f', -1, 64)
	}

	return fmt.Sprint(value)
}

// Configure changes a VM's configuration; a nil value deletes the key.
func (h *Hand) Configure(ctx context.Context, vmid int, changes Params) error {
	path, err := h.vmPath(ctx, vmid)
	if err != nil {
		return err
	}

	params := Params{}
	var deletions []string
	for key, value := range changes {
		if value == nil {
			deletions = append(deletions, key)
			continue
		}
		params[key] = value
	}
	if len(deletions) > 0 {
		params["delete"] = strings.Join(deletions, ",")
	}

	return h.Call(ctx, http.MethodPut, path+"/config", params, nil)
}

// Status reads whether a VM is running or stopped.
func (h *Hand) Status(ctx context.Context, vmid int) (string, error) {
	path, err := h.vmPath(ctx, vmid)
	if err != nil {
		return "", err
	}
	var status struct {
		Status string `json:"status"`
	}
	err = h.Call(ctx, http.MethodGet, path+"/status/current", nil, &status)

	return status.Status, err
}

// Power sends a power command (start, stop, suspend, resume) and waits for it.
func (h *Hand) Power(ctx context.Context, vmid int, command string) error {
	path, err := h.vmPath(ctx, vmid)
	if err != nil {
		return err
	}

	return h.Task(ctx, http.MethodPost, path+"/status/"+command, nil)
}

// Clone copies a VM or a template in full to the id and waits for it.
func (h *Hand) Clone(ctx context.Context, source, vmid int, name string, extra Params) error {
	path, err := h.vmPath(ctx, source)
	if err != nil {
		return err
	}
	params := Params{"newid": vmid, "name": name, "full": 1}
	for key, value := range extra {
		params[key] = value
	}

	return h.Task(ctx, http.MethodPost, path+"/clone", params)
}

// CreateVM makes an empty VM without disks and waits for it.
func (h *Hand) CreateVM(ctx context.Context, node string, vmid int, params Params) error {
	all := Params{"vmid": vmid, "memory": 64}
	for key, value := range params {
		all[key] = value
	}

	return h.Task(ctx, http.MethodPost, "/nodes/"+node+"/qemu", all)
}

// Destroy stops and deletes a VM, whoever it belongs to. A VM that is not
// there is no error.
func (h *Hand) Destroy(ctx context.Context, vmid int) error {
	path, err := h.vmPath(ctx, vmid)
	if errors.Is(err, errNoGuest) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := h.Task(ctx, http.MethodPost, path+"/status/stop", nil); err != nil {
		return err
	}

	return h.Task(ctx, http.MethodDelete, path, nil)
}

var errNoGuest = errors.New("no such guest")

func (h *Hand) vmPath(ctx context.Context, vmid int) (string, error) {
	node, err := h.Node(ctx, vmid)
	if err != nil {
		return "", err
	}
	if node == "" {
		return "", fmt.Errorf("VM %d: %w", vmid, errNoGuest)
	}

	return fmt.Sprintf("/nodes/%s/qemu/%d", node, vmid), nil
}

// LiveVMs lists the VMs of every node as they are now. The cluster's own list
// may be ten seconds old and lack the names of new guests.
func (h *Hand) LiveVMs(ctx context.Context) ([]Guest, error) {
	var nodes []struct {
		Node   string `json:"node"`
		Status string `json:"status"`
	}
	if err := h.Call(ctx, http.MethodGet, "/nodes", nil, &nodes); err != nil {
		return nil, err
	}

	var all []Guest
	for _, node := range nodes {
		if node.Status == "offline" {
			continue
		}
		var guests []Guest
		if err := h.Call(ctx, http.MethodGet, "/nodes/"+node.Node+"/qemu", nil, &guests); err != nil {
			return nil, err
		}
		for i := range guests {
			guests[i].Node = node.Node
		}
		all = append(all, guests...)
	}

	return all, nil
}
