package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
)

// FenceScope lists the guests and nodes that may be fenced whoever owns them.
// Its zero value lists none.
type FenceScope struct {
	VMIDs []int
	Nodes []string
}

// ErrFenceScope says that a guest or a node may not be fenced: it is not in the
// client's fence scope.
var ErrFenceScope = errors.New("not in the fence scope: this client may stop no guest that it does not own")

// FenceTarget permits to stop, to start, or to change the links of a guest in
// the fence scope once, whoever owns it.
type FenceTarget struct {
	permission permission
	config     *GuestConfig
}

func (f *FenceTarget) spend() (grant, error) {
	if f == nil {
		return grant{}, ErrNoPermission
	}
	return f.permission.spend()
}

// Config is the configuration that the gate read, nil for a guest of a node that
// is fenced.
func (f *FenceTarget) Config() *GuestConfig { return f.config }

func fenceTarget(kind Kind, node string, vmid int) *FenceTarget {
	f := &FenceTarget{}
	f.permission.grant = grant{kind: kind, node: node, vmid: vmid, fence: true}
	f.permission.granted = true
	return f
}

// FenceNode permits to shut down a node in the fence scope once.
type FenceNode struct{ permission permission }

func (f *FenceNode) spend() (grant, error) {
	if f == nil {
		return grant{}, ErrNoPermission
	}
	return f.permission.spend()
}

// fences tells the calls that a fence may make.
func fences(method string, rest []string) bool {
	return method == http.MethodPost && len(rest) == 2 && rest[0] == "status" &&
		slices.Contains([]string{"start", "stop", "shutdown"}, rest[1])
}

// FenceTarget reads a guest in the fence scope, live, and permits one operation
// on it. Every other guest is refused before any call, one that cannot be read
// with an [*OwnershipError].
func (g *Gate) FenceTarget(ctx context.Context, guest Guest) (*FenceTarget, error) {
	if !slices.Contains(g.c.options.FenceScope.VMIDs, guest.VMID) {
		return nil, fmt.Errorf("%s is %w", guest, ErrFenceScope)
	}
	s, err := g.look(ctx, guest)
	if err != nil {
		return nil, err
	}
	if s.config == nil {
		return nil, g.refuse(guest, s)
	}
	f := fenceTarget(s.config.Kind, s.config.Node, s.config.VMID)
	f.permission.grant.digest, f.permission.grant.read = s.config.Digest, g.c.clock.Now()
	f.config = s.config
	return f, nil
}

// FenceNode permits the fencing of a node in the fence scope that is online and
// is not the one that answers. A node asked to fence itself could not be asked
// afterwards whether it did.
func (g *Gate) FenceNode(ctx context.Context, node string) (*FenceNode, ClusterStatus, error) {
	if !g.inScope(node) {
		return nil, ClusterStatus{}, fmt.Errorf("node %s is %w", node, ErrFenceScope)
	}
	status, err := g.c.Cluster.Status(ctx)
	if err != nil {
		return nil, status, refusedBy(CheckEndpoint, err, "which node answers cannot be told, so that node %s may be the one", node)
	}
	if err := status.mayFence(node); err != nil {
		return nil, status, err
	}
	f := &FenceNode{}
	f.permission.grant, f.permission.granted = grant{node: node, fence: true}, true
	return f, status, nil
}

func (g *Gate) inScope(node string) bool { return slices.Contains(g.c.options.FenceScope.Nodes, node) }

// nodeTarget permits one operation on a guest of a node in the fence scope, whose
// list has just been read. A guest that has left the node is not reached: PVE
// looks for it there alone.
func (g *Gate) nodeTarget(node string, kind Kind, vmid int) (*FenceTarget, error) {
	if !g.inScope(node) {
		return nil, fmt.Errorf("node %s is %w", node, ErrFenceScope)
	}
	return fenceTarget(kind, node, vmid), nil
}

// mayFence refuses the node that answers, one that is offline, and every node
// where the answer does not say which one gave it.
func (s ClusterStatus) mayFence(node string) error {
	i := slices.IndexFunc(s.Nodes, func(n ClusterNode) bool { return n.Name == node })
	answers := slices.IndexFunc(s.Nodes, func(n ClusterNode) bool { return n.Local })
	switch {
	case i < 0:
		return refuse(CheckNode, "the cluster has no node %s", node)
	case answers < 0:
		return refuse(CheckEndpoint, "which node answers cannot be told, so that node %s may be the one", node)
	case i == answers:
		return refuse(CheckEndpoint, "node %s answers the API itself, and could not be asked afterwards whether it did; name another node as endpoint", node)
	case !s.Nodes[i].Online:
		return refuse(CheckNode, "node %s is offline: nothing can be asked of it, and only another path, such as its BMC, can prove it off", node)
	}
	return nil
}

// Shutdown shuts a node down. PVE answers at once, and stops guests that still
// run on it.
func (s *NodeService) Shutdown(ctx context.Context, p *FenceNode) error {
	granted, err := p.spend()
	if err != nil {
		return err
	}
	return s.c.call(guarded(ctx), http.MethodPost, at("nodes", granted.node, "status"), url.Values{"command": {"shutdown"}}, nil)
}

// SetLinks takes network devices of a VM down or up and keeps everything else
// of them. The permission has to be of the same read as the configuration.
func (s *VMService) SetLinks(ctx context.Context, p PowerPermission, config *GuestConfig, slots []string, down bool) error {
	granted, err := s.grantOf(p)
	if err != nil {
		return err
	}
	params := url.Values{}
	for _, slot := range slots {
		device, err := ParseProps(config.Wanted(slot))
		if err != nil {
			return fmt.Errorf("%s of VM %d: %w", slot, granted.vmid, err)
		}
		if device.Delete("link_down"); down {
			device.Set("link_down", formatBool(true))
		}
		params.Set(slot, device.raw())
	}
	defer s.c.View.Drop(granted.node)
	params = granted.params(params, digested)
	return s.c.call(granted.guard(ctx, params), http.MethodPut, s.path(granted.node, granted.vmid, "config"), params, nil)
}
