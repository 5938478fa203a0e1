package proxmox

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// settle waits for what is being cloned in the range by other processes and has
// no name yet, then looks for an unfinished guest of this name. A provider that
// was killed in the middle of a clone leaves such a one: PVE goes on with it.
func (c *Client) settle(ctx context.Context, o order) (scan, []string, error) {
	s := &settling{c: c, order: o}
	for first := true; ; first = false {
		err := s.round(ctx, first)
		if err == nil && len(s.open) == 0 {
			return s.seen, s.warnings, nil
		}
		if err == nil {
			o.say("waiting for what is being cloned in the range: %s", s.names())
			err = c.clock.Sleep(ctx, settlePause)
		}
		if err != nil && ctx.Err() != nil && len(s.open) > 0 {
			return scan{}, nil, fmt.Errorf("%s may be the guest %q of an earlier run and is still being cloned, so that no second one was made: %w",
				s.names(), o.name, err)
		}
		if err != nil {
			return scan{}, nil, err
		}
	}
}

// settling looks, in rounds, at what may be an unfinished guest.
type settling struct {
	order

	c    *Client
	seen scan
	// open are the ids that the last round could not decide.
	open     map[int]bool
	warnings []string
}

func (s *settling) names() string {
	ids := slices.Sorted(maps.Keys(s.open))
	names := make([]string, len(ids))
	for i, vmid := range ids {
		names[i] = fmt.Sprintf("%s %d", s.kind, vmid)
		if vmid == 0 {
			names[i] = "a clone that has just begun"
		}
	}
	return strings.Join(names, ", ")
}

func (s *settling) round(ctx context.Context, first bool) error {
	seen, err := s.look(ctx, first)
	if err != nil {
		return fmt.Errorf("look for an unfinished guest named %q: %w", s.name, err)
	}
	s.seen = seen
	nodes := s.candidates()
	open := map[int]bool{}
	for _, vmid := range slices.Sorted(maps.Keys(nodes)) {
		undecided, err := s.examine(ctx, vmid, nodes[vmid])
		if err != nil {
			return err
		}
		if undecided {
			open[vmid] = true
		}
	}
	s.open = open
	return nil
}

// look lists what there is. A token that sees all guests sees a clone from its
// first moment on, since PVE writes the stub before it begins: then the list
// that found the template does for the first round, and the running tasks are
// asked for only where there is a stub to explain. Rights through a pool show a
// clone when it is done.
func (s *settling) look(ctx context.Context, first bool) (scan, error) {
	if !first {
		return s.c.IDs.scan(ctx, s.taskNode, s.kind)
	}
	held, err := s.c.View.Permissions(ctx)
	if err != nil || !held.below("/vms", "VM.Audit") {
		return s.c.IDs.scan(ctx, s.taskNode, s.kind)
	}
	found, err := s.c.View.census(ctx)
	return scan{census: found, unasked: true}, err
}

// candidates are the ids to look at with their nodes: clones that run, and
// guests of this name or of none. A new guest is listed without its name for up
// to ten seconds, and a guest on a dead node after some minutes.
func (s *settling) candidates() map[int]string {
	nodes := map[int]string{}
	for vmid := range s.seen.cloning {
		nodes[vmid] = s.taskNode
	}
	for _, guest := range s.seen.guests {
		mine := s.c.IDs.isOurs(guest.VMID)
		if guest.Type != string(s.kind) || mine || bool(guest.Template) || !s.c.options.VMIDRange.Contains(guest.VMID) {
			continue
		}
		if unnamed(guest) || guest.Name == s.name {
			nodes[guest.VMID] = guest.Node
		}
	}
	return nodes
}

// unnamed reports whether a guest is listed without a name of its own: PVE calls a
// container CT and its id until it has one.
func unnamed(guest Resource) bool {
	return guest.Name == "" || guest.Type == string(KindContainer) && guest.Name == "CT"+strconv.Itoa(guest.VMID)
}

// examine looks at one candidate. It is undecided while a running clone may
// make it the one.
func (s *settling) examine(ctx context.Context, vmid int, node string) (undecided bool, _ error) {
	if vmid == 0 {
		return true, nil
	}
	if s.c.Gate.silent.is(node, s.c.clock.Now()) {
		s.silent(node)
		return false, nil
	}
	config, err := s.c.of(s.kind).Pending(ctx, node, vmid)
	switch {
	case err == nil:
		return s.judge(config)
	case IsNotFound(err) && !s.seen.cloning[vmid]:
		return s.examineElsewhere(ctx, vmid, node)
	case IsNotFound(err), IsPermission(err):
		// A clone that has not come to its stub yet, or that a token with rights
		// through a pool may read only when it is done: PVE adds it to the pool
		// last. Without a clone that runs it is gone, or not to be read at all.
		return s.seen.cloning[vmid], nil
	case IsUnavailable(err):
		s.c.Gate.silent.add(node, s.c.clock.Now())
		s.silent(node)
		return false, nil
	default:
		return false, fmt.Errorf("look for an unfinished guest named %q: %w", s.name, err)
	}
}

// examineElsewhere looks at a candidate that is not where it was listed: it may have
// been moved meanwhile.
func (s *settling) examineElsewhere(ctx context.Context, vmid int, node string) (undecided bool, _ error) {
	config, err := s.c.configElsewhere(ctx, Resource{Type: string(s.kind), VMID: vmid, Node: node})
	switch {
	case hasStanding(err, Unreachable):
		s.silent(node)
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for an unfinished guest named %q: %w", s.name, err)
	case config == nil:
		return false, nil
	}
	return s.judge(config)
}

// silent warns of what could not be proven.
func (s *settling) silent(node string) {
	s.warn(fmt.Sprintf("node %s does not answer, so that it is not proven that none of its guests is an unfinished %q of an earlier run",
		node, s.name))
}

// warn says a thing once.
func (s *settling) warn(warning string) {
	if !slices.Contains(s.warnings, warning) {
		s.warnings = append(s.warnings, warning)
	}
}

func (s *settling) judge(config *GuestConfig) (undecided bool, _ error) {
	name := config.Name()
	marker, marked := config.Marker()
	if marked && marker.Creating && name == s.name {
		return false, &UnfinishedError{Kind: config.Kind, VMID: config.VMID, Node: config.Node, Name: name, UID: marker.UID}
	}
	if marked && name == s.name {
		s.warn(fmt.Sprintf("%s is a finished guest of this name, made by this provider (uid %s). If it is in no state, an earlier run was killed "+
			"after its last call and before it could be saved: then one of the two is to be destroyed", nameGuest(config.Kind, config.VMID, name, config.Node), marker.UID))
	}
	if name != "" || config.Lock() != "clone" && config.Lock() != "create" {
		return false, nil
	}
	// A stub without a running clone is one that just ended, or is nobody's for
	// ever: its worker was killed.
	return s.seen.unasked || s.seen.cloning[config.VMID] || !s.open[config.VMID], nil
}
