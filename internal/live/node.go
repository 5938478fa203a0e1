package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"terraform-provider-proxmox/internal/acctest/byhand"
)

// node is the Proxmox VE that is tried.
type node struct {
	endpoint, tokenID, tokenSecret, caFile string
	name                                   string
	template                               int
	first, last                            int
	// hand makes bare API calls with the same token.
	hand *byhand.Hand
}

// connect reads the environment and names all that is missing at once.
func connect(getenv func(string) string) (*node, error) {
	var missing []string
	required := func(name string) string {
		value := getenv(name)
		if value == "" {
			missing = append(missing, name)
		}
		return value
	}
	n := &node{
		endpoint: required("PROXMOX_ENDPOINT"), tokenID: required("PROXMOX_TOKEN_ID"), tokenSecret: required("PROXMOX_TOKEN_SECRET"),
		name: required("PROXMOX_NODE"), caFile: getenv("PROXMOX_CA_FILE"),
	}
	template, vmids := required("PROXMOX_TEMPLATE_VMID"), required("PROXMOX_VMID_RANGE")
	if len(missing) > 0 {
		return nil, fmt.Errorf("set %s", strings.Join(missing, ", "))
	}

	var err error
	if n.template, err = strconv.Atoi(template); err != nil {
		return nil, fmt.Errorf("PROXMOX_TEMPLATE_VMID is no number: %q", template)
	}
	if _, err = fmt.Sscanf(vmids, "%d-%d", &n.first, &n.last); err != nil || n.last-n.first < 9 {
		return nil, fmt.Errorf("PROXMOX_VMID_RANGE has to be first-last with ten ids at least: %q", vmids)
	}
	var ca []byte
	if n.caFile != "" {
		if n.caFile, err = filepath.Abs(n.caFile); err != nil {
			return nil, err
		}
		if ca, err = os.ReadFile(n.caFile); err != nil {
			return nil, fmt.Errorf("PROXMOX_CA_FILE: %w", err)
		}
	}
	n.hand, err = byhand.New(n.endpoint, n.tokenID, n.tokenSecret, ca)
	return n, err
}

// env is what the provider is told.
func (n *node) env() map[string]string {
	return map[string]string{
		"PROXMOX_ENDPOINT": n.endpoint, "PROXMOX_TOKEN_ID": n.tokenID, "PROXMOX_TOKEN_SECRET": n.tokenSecret,
		"PROXMOX_CA_FILE": n.caFile, "PROXMOX_NODE": n.name, "PROXMOX_VMID_RANGE": fmt.Sprintf("%d-%d", n.first, n.last),
	}
}

// inRange lists the guests whose ids are in the range.
func (n *node) inRange(ctx context.Context) ([]byhand.Guest, error) {
	guests, err := n.hand.Guests(ctx)
	if err != nil {
		return nil, err
	}
	var found []byhand.Guest
	for _, guest := range guests {
		if guest.VMID >= n.first && guest.VMID <= n.last {
			found = append(found, guest)
		}
	}
	return found, nil
}
