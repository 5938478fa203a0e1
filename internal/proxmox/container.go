package proxmox

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// ContainerService reads and changes containers.
type ContainerService struct{ guestService }

// CreateRequest asks for a new container, unpacked from a template.
type CreateRequest struct {
	Node string
	VMID int
	// Template is a volume of the content "vztmpl".
	Template string
	// Settings are configuration keys, among them "rootfs" and the description.
	Settings map[string]string
	// Password is root's inside the container, SSHKeys are public keys for it; both
	// may be empty, and PVE keeps neither in the configuration.
	Password string
	SSHKeys  []string
	// Privileged containers need the privilege Sys.Modify on "/".
	Privileged bool
	Pool       string
}

// Create starts the making of a container. No guest of that id may exist, so it
// needs no permission of the gate; an id outside the client's range is refused
// before any call. The task carries the new container's id.
func (s *ContainerService) Create(ctx context.Context, r CreateRequest) (UPID, error) {
	if allowed := s.c.VMIDRange(); !allowed.Contains(r.VMID) {
		return UPID{}, &OutOfRangeError{VMID: r.VMID, Range: allowed}
	}
	params := url.Values{
		"vmid": {strconv.Itoa(r.VMID)}, "ostemplate": {r.Template}, "unprivileged": {formatBool(!r.Privileged)},
	}
	for key, value := range r.Settings {
		params.Set(key, value)
	}
	for name, value := range map[string]string{
		"pool": r.Pool, "password": r.Password, "ssh-public-keys": strings.Join(r.SSHKeys, "\n"),
	} {
		if value != "" {
			params.Set(name, value)
		}
	}
	defer s.c.View.Drop(r.Node)
	return s.c.startTask(ctx, http.MethodPost, at("nodes", r.Node, string(KindContainer)), params)
}

// Move hands a volume of a stopped container to another one of the same node,
// under a slot that is free there. It spends both permissions, whose digests PVE
// checks. The volume keeps its data and its options, and gets another name.
func (s *ContainerService) Move(ctx context.Context, from *Owned, slot string, to *Owned, target string) (UPID, error) {
	source, err := s.grantOf(from)
	if err != nil {
		return UPID{}, err
	}
	into, err := s.grantOf(to)
	if err != nil {
		return UPID{}, err
	}
	defer s.c.View.Drop(source.node)
	params := url.Values{
		"volume": {slot}, "target-vmid": {strconv.Itoa(into.vmid)}, "target-volume": {target},
		"digest": {source.digest}, "target-digest": {into.digest},
	}
	return s.c.startTask(guarded(ctx), http.MethodPost, s.path(source.node, source.vmid, "move_volume"), params)
}

// Interfaces lists the network interfaces that a running container has, the
// loopback one too; none where it does not run.
func (s *ContainerService) Interfaces(ctx context.Context, node string, vmid int) ([]AgentInterface, error) {
	var answer []struct {
		Name   string `json:"name"`
		MAC    string `json:"hwaddr"`
		Listed []struct {
			Address string `json:"ip-address"`
			Prefix  Int    `json:"prefix"`
		} `json:"ip-addresses"`
	}
	if err := s.c.get(ctx, s.path(node, vmid, "interfaces"), nil, &answer); err != nil {
		return nil, err
	}
	interfaces := make([]AgentInterface, len(answer))
	for i, found := range answer {
		interfaces[i] = AgentInterface{Name: found.Name, MAC: found.MAC}
		for _, listed := range found.Listed {
			if address, err := netip.ParseAddr(listed.Address); err == nil {
				interfaces[i].IPs = append(interfaces[i].IPs, netip.PrefixFrom(address, int(listed.Prefix)))
			}
		}
	}
	return interfaces, nil
}

// Snapshots names a container's snapshots.
func (s *ContainerService) Snapshots(ctx context.Context, node string, vmid int) ([]string, error) {
	var answer []struct {
		Name string `json:"name"`
	}
	if err := s.c.get(ctx, s.path(node, vmid, "snapshot"), nil, &answer); err != nil {
		return nil, err
	}
	var names []string
	for _, snapshot := range answer {
		if snapshot.Name != "current" { // PVE's name for the state of now.
			names = append(names, snapshot.Name)
		}
	}
	return names, nil
}
