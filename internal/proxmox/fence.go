package proxmox

import (
	"context"
	"errors"
)

// ErrFenceScope says that a guest or a node may not be fenced: it is not in the
// client's fence scope.
var ErrFenceScope = errors.New("not in the fence scope: this client may stop no guest that it does not own")

// FenceTarget permits one power operation on a guest in the fence scope,
// whoever owns it.
type FenceTarget struct{ permission permission }

func (f *FenceTarget) spend() (grant, error) {
	if f == nil {
		return grant{}, ErrNoPermission
	}
	return f.permission.spend()
}

// FenceNode permits stopping the guests of a node in the fence scope.
type FenceNode struct{}

// FenceTarget grants a permission to fence a guest. A client without a fence
// scope is refused before any call.
func (g *Gate) FenceTarget(context.Context, int) (*FenceTarget, error) { return nil, ErrFenceScope }

// FenceNode grants a permission to fence a node. A client without a fence scope
// is refused before any call.
func (g *Gate) FenceNode(context.Context, string) (*FenceNode, error) { return nil, ErrFenceScope }
