package proxmox

import (
	"context"
	"fmt"
	"strings"
)

// Proof tells how surely a privilege is held. Greater is better.
type Proof int

const (
	// Missing says that the privilege is not held on the object, or on no object at all.
	Missing Proof = iota
	// Inferred says that it is held on some objects; whether on those that are
	// meant nobody can say yet.
	Inferred
	// Proven says that it is held on the object, or on all of its kind.
	Proven
)

func (p Proof) String() string { return [...]string{"missing", "inferred", "proven"}[p] }

// Scope names the objects that needs are about: the keys are the words in the
// braces of [Need.Path].
//
//	vmid      a guest; also one that is yet to be made in the pool
//	template  a template
//	pool      a pool, "a/b" if nested
//	bridge    a bridge, node a node
//	storage   a storage for whatever content
//	images, rootdir, vztmpl, iso
//	          a storage for that content
//	usb, pci, dir
//	          a resource mapping of that kind
//
// An object that is not named stands for any of its kind.
type Scope map[string][]string

// Lack is a privilege that is not held, or not surely.
type Lack struct {
	Need Need
	// Capability is the one that was checked, "" where needs alone were.
	Capability string
	// Path is the object's path, or the pattern where no object is named.
	Path string
	// Privilege is the name in the version of PVE that was asked.
	Privilege string
	Proof     Proof
}

func (l Lack) String() string { return fmt.Sprintf("%s on %s", l.Privilege, l.Path) }

// Check tells how surely a capability is had for the objects of a scope, and
// what lacks. p is what [AccessService.Permissions] reads for all paths.
func (p Permissions) Check(c Capability, scope Scope, v Version) (Proof, []Lack) {
	proof, lacks := p.CheckNeeds(c.Needs, scope, v)
	for i := range lacks {
		lacks[i].Capability = c.Name
	}
	return proof, lacks
}

// CheckNeeds is [Permissions.Check] for some needs.
func (p Permissions) CheckNeeds(needs []Need, scope Scope, v Version) (Proof, []Lack) {
	proof := Proven
	var lacks []Lack
	for _, need := range needs {
		privilege := need.In(v)
		for _, path := range need.paths(scope) {
			held := p.proof(need, path, privilege, scope)
			if need.Instead != "" {
				held = max(held, p.proof(need, path, need.Instead, scope))
			}
			proof = min(proof, held)
			if held != Proven {
				lacks = append(lacks, Lack{Need: need, Path: path, Privilege: privilege, Proof: held})
			}
		}
	}
	return proof, lacks
}

// paths are the paths of a need for the objects of a scope, the pattern itself
// where it names none.
func (n Need) paths(scope Scope) []string {
	object := n.Object()
	if len(scope[object]) == 0 {
		return []string{n.Path}
	}
	var paths []string
	for _, name := range scope[object] {
		paths = append(paths, strings.Replace(n.Path, "{"+object+"}", name, 1))
	}
	return paths
}

// proof looks at one object, or at all of a kind that nobody has named yet. A
// guest has what its pool has, as has one that is to be made there.
func (p Permissions) proof(need Need, path, privilege string, scope Scope) Proof {
	isGuest := need.Path == guestPath
	if isGuest && p.onPools(privilege, scope) {
		return Proven
	}
	class, _, open := strings.Cut(path, "{")
	held := p.holds
	if open || path == guestsPath {
		held = p.below
		path = strings.TrimSuffix(class, "/")
	}
	switch {
	case held(path, privilege):
		return Proven
	case open && (p.onSome(class, privilege) || isGuest && p.onSome("/pool/", privilege)):
		return Inferred
	default:
		return Missing
	}
}

// onPools reports whether a privilege is held on all pools of the scope, and so
// on their members.
func (p Permissions) onPools(privilege string, scope Scope) bool {
	for _, pool := range scope["pool"] {
		if !p.holds("/pool/"+pool, privilege) {
			return false
		}
	}
	return len(scope["pool"]) > 0
}

// onSome reports whether a privilege is held on some path of a kind.
func (p Permissions) onSome(prefix, privilege string) bool {
	for path := range p {
		if strings.HasPrefix(path, prefix) && p.Has(path, privilege) {
			return true
		}
	}
	return false
}

// holds reports whether a privilege is held on a path: PVE lists each path that
// an entry of the access control or a pool's membership names, with what is in
// force there. What lies below the nearest listed one has what propagates. A
// path without any privilege is not listed, so that an entry which takes all
// away is not seen.
func (p Permissions) holds(path, privilege string) bool {
	if _, listed := p[path]; listed {
		return p.Has(path, privilege)
	}
	return p.below(parent(path), privilege)
}

// below reports whether a privilege is held on all that lies below a path.
func (p Permissions) below(path, privilege string) bool {
	for ; path != ""; path = parent(path) {
		if privileges, listed := p[path]; listed {
			return privileges[privilege]
		}
	}
	return false
}

func parent(path string) string {
	if path == rootPath {
		return ""
	}
	return path[:max(1, strings.LastIndexByte(path, '/'))]
}

// Empty reports whether no privilege is held at all, as with a token with
// privilege separation that nobody has granted anything.
func (p Permissions) Empty() bool {
	for _, privileges := range p {
		if len(privileges) > 0 {
			return false
		}
	}
	return true
}

// LackError is a refusal of PVE that names no privilege ("Permission check
// failed"), with those that the token was found to lack.
type LackError struct {
	Lacks []Lack
	Err   error
}

func (e *LackError) Error() string {
	return fmt.Sprintf("%v (the token lacks %s)", e.Err, e.Lacks[0])
}

func (e *LackError) Unwrap() error { return e.Err }

// nameLack finds out which privilege of a capability a refusal was for, where
// PVE does not say. Any other error is returned as it is.
func (c *Client) nameLack(ctx context.Context, err error, capability string, scope Scope) error {
	if _, _, named := PermissionOf(err); named || !IsPermission(err) {
		return err
	}
	wanted, _ := CapabilityOf(capability)
	version, failed := c.Cluster.Version(ctx)
	if failed != nil {
		return err
	}
	held, failed := c.Access.Permissions(ctx, "")
	if failed != nil {
		return err
	}
	if _, lacks := held.Check(wanted, scope, version); len(lacks) > 0 {
		return &LackError{Lacks: lacks, Err: err}
	}
	return err
}
