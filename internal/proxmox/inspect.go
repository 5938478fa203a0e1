package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Look is what a refresh learns of a guest.
type Look struct {
	Standing Standing
	// Node is where the guest was seen, "" where it was not.
	Node string
	// Config is nil when it could not be read.
	Config *GuestConfig
	// Status is the live state of a guest of ours; its zero value otherwise.
	Status GuestStatus
	// Detail says more about what was found, for a human.
	Detail string
}

// Err is the standing as the gate would put it, for a message.
func (l Look) Err(guest Guest) *OwnershipError {
	return &OwnershipError{Standing: l.Standing, Kind: guest.kind(), VMID: guest.VMID, Node: l.Node, UID: guest.UID, Detail: l.Detail}
}

// Inspect reads a guest for a refresh: one call of its own, beside the lists of
// the shared view. That a guest is gone is proven, never concluded from a list.
// The range is no matter here; an error means that nothing was learnt.
func (c *Client) Inspect(ctx context.Context, guest Guest) (Look, error) {
	resource, listed, err := c.View.Guest(ctx, guest.VMID)
	if err != nil {
		return Look{}, err
	}
	if listed && resource.Type == string(guest.kind()) {
		guest.Node = resource.Node
	}
	if listed && c.Gate.silent.is(guest.Node, c.clock.Now()) {
		return Look{Standing: Unreachable, Node: guest.Node, Detail: "the node did not answer a moment ago"}, nil
	}
	s, err := c.Gate.look(ctx, guest)
	if err != nil {
		return Look{}, err
	}
	if s.standing == Unreachable {
		c.Gate.silent.add(s.node, c.clock.Now())
	}
	look := Look{Standing: s.standing, Node: s.node, Config: s.config, Detail: s.detail}
	if s.standing.Owned() || s.standing == Damaged {
		look.Status, err = c.liveStatus(ctx, s.node, guest)
	}
	return look, err
}

// liveStatus takes a guest's state from its node's list. A list that is older
// than the guest's arrival lacks it.
func (c *Client) liveStatus(ctx context.Context, node string, guest Guest) (GuestStatus, error) {
	guests, err := c.View.LiveGuests(ctx, node, guest.kind())
	if err != nil {
		return GuestStatus{}, err
	}
	if status, ok := guests[guest.VMID]; ok {
		return status, nil
	}
	return c.of(guest.kind()).Status(ctx, node, guest.VMID)
}

// silenceLife is how long a node that did not answer is not asked again by
// those who may live with that: PVE's proxy waits for half a minute each time.
const silenceLife = 30 * time.Second

// silence remembers which nodes did not answer. The gate never asks it.
type silence struct {
	mu    sync.Mutex
	until map[string]time.Time
}

func (s *silence) add(node string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.until == nil {
		s.until = map[string]time.Time{}
	}
	s.until[node] = now.Add(silenceLife)
}

func (s *silence) is(node string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return now.Before(s.until[node])
}

var errSilent = errors.New("it did not answer a moment ago")

// Peek is [Client.Pending] for who reads many guests and may live without some: a
// node that did not answer a moment ago is not asked again, which is an error that
// [IsUnavailable] knows.
func (c *Client) Peek(ctx context.Context, kind Kind, node string, vmid int) (*GuestConfig, error) {
	if c.Gate.silent.is(node, c.clock.Now()) {
		return nil, &ConnectionError{Method: http.MethodGet, Path: c.of(kind).path(node, vmid, "pending"), Endpoint: node, Err: errSilent}
	}
	config, err := c.Pending(ctx, kind, node, vmid)
	if IsUnavailable(err) {
		c.Gate.silent.add(node, c.clock.Now())
	}
	return config, err
}

// findLimit bounds the configurations that are read at once.
const findLimit = 8

// FindByUID finds the guests of a kind in the client's range that carry the uid's marker,
// reading the configuration of each. More than one is possible only where
// somebody wrote a marker by hand. It fails if it found none and could not read
// them all.
func (c *Client) FindByUID(ctx context.Context, kind Kind, uid string) ([]Guest, error) {
	resources, err := c.Cluster.Resources(ctx, "vm")
	if err != nil {
		return nil, err
	}
	search := &search{c: c, kind: kind, uid: uid}
	slots := make(chan struct{}, findLimit)
	var all sync.WaitGroup
	for _, r := range resources {
		if r.Type != string(kind) || bool(r.Template) || !c.options.VMIDRange.Contains(r.VMID) {
			continue
		}
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			search.read(ctx, r)
		})
	}
	all.Wait()
	if len(search.found) == 0 && len(search.errs) > 0 {
		return nil, fmt.Errorf("find the guest with uid %s: %w", uid, errors.Join(search.errs...))
	}
	return search.found, nil
}

type search struct {
	c    *Client
	kind Kind
	uid  string

	mu    sync.Mutex
	found []Guest
	errs  []error
}

func (s *search) read(ctx context.Context, r Resource) {
	config, err := s.c.Peek(ctx, s.kind, r.Node, r.VMID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if !IsNotFound(err) {
			s.errs = append(s.errs, fmt.Errorf("read %s: %w", nameGuest(s.kind, r.VMID, r.Name, r.Node), err))
		}
		return
	}
	if marker, ok := config.Marker(); ok && marker.UID == s.uid {
		s.found = append(s.found, Guest{
			Kind: s.kind, VMID: r.VMID, Node: r.Node, UID: s.uid,
			SMBIOSUUID: config.SMBIOSUUID(), CTime: config.CTime(), MACs: config.MACs(),
		})
	}
}
