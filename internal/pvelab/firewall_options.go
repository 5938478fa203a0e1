package pvelab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (l *Lab) routeFirewallOptions(scope string, at firewallAt) {
	l.handle("GET", scope+"/options", func(c *call) (any, error) { return firewallOptions(c, at(c), scope), nil })
	l.handle("PUT", scope+"/options", func(c *call) (any, error) { return nil, setFirewallOptions(c, at(c), scope) })
}

// optionProperties are a scope's options by name.
func (c *call) optionProperties(scope string) map[string]*property {
	out := map[string]*property{}
	for k, p := range c.lab.schema.methods["PUT "+scope+"/options"].Parameters.Properties {
		if !slices.Contains(words("node vmid delete digest"), k) {
			out[k] = p
		}
	}
	return out
}

func firewallOptions(c *call, s *firewallScope, scope string) any {
	s.lapse(c.lab.clock.Now())
	props := c.optionProperties(scope)
	out := map[string]any{"digest": firewallDigest(s.conf.options)}
	for k, v := range s.conf.options {
		out[k] = asType(props[k], v)
	}
	return out
}

// trialPeriod is how long the cluster's firewall stays enabled by a time instead
// of a 1: whoever locks himself out is let in again after it.
const trialPeriod = time.Minute

func (s *firewallScope) lapse(now time.Time) {
	since, err := strconv.ParseInt(s.conf.options["enable"], 10, 64)
	if err == nil && since > 1 && now.Sub(time.Unix(since, 0)) > trialPeriod {
		s.conf.options["enable"] = "0"
	}
}

func setFirewallOptions(c *call, s *firewallScope, scope string) error {
	s.lapse(c.lab.clock.Now())
	if err := c.unmodified(firewallDigest(s.conf.options)); err != nil {
		return err
	}
	props := c.optionProperties(scope)
	for _, k := range c.params.list("delete") {
		if props[k] == nil {
			return badParams(map[string]string{"delete": "no such option '" + k + "'"})
		}
	}
	for _, k := range c.params.list("delete") {
		delete(s.conf.options, k)
	}
	for k := range props {
		if c.params.has(k) {
			s.conf.options[k] = c.params.str(k)
		}
	}
	if s.env == "cluster" && c.params.integer("enable") > 1 {
		s.conf.options["enable"] = strconv.FormatInt(c.lab.clock.Now().Unix(), 10)
	}
	return nil
}

// FirewallLog appends a line to a node's firewall log, dated now, as the
// firewall writes it of a packet: vmid 0 is the node itself. An unknown node is
// an error.
func (l *Lab) FirewallLog(node string, vmid int, chain, text string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.nodes[node] == nil {
		return fmt.Errorf("no node %q", node)
	}
	stamp := l.clock.Now().Format("02/Jan/2006:15:04:05 -0700")
	l.firewallLogs[node] = append(l.firewallLogs[node], fmt.Sprintf("%d 6 %s %s %s", vmid, chain, stamp, text))
	return nil
}

// firewallLog shows a part of a node's log, or of a guest's lines in it.
func firewallLog(c *call) (any, error) {
	log, exists := c.lab.firewallLogs[c.node]
	if !exists {
		line := taskLine(1, "unable to open file - No such file or directory")
		if c.lab.is8() {
			return counted{data: line, total: 1}, nil
		}
		return counted{data: []any{line}, total: 1}, nil
	}
	window := logWindow{start: c.params.integer("start"), limit: defaultLogLimit}
	if c.params.has("limit") {
		window.limit = c.params.integer("limit")
	}
	for _, line := range log {
		if c.params.has("vmid") && !strings.HasPrefix(line, c.params.str("vmid")+" ") || !within(line, c.params) {
			continue
		}
		window.add(line)
	}
	// PVE shows no empty list.
	if window.count == 0 {
		window.add("no content")
	}
	return counted{data: window.lines, total: window.count}, nil
}

const defaultLogLimit = 50

// logWindow is the part of a log that is asked for; a limit of 0 is none.
type logWindow struct {
	start, limit, count int
	lines               []map[string]any
}

func (w *logWindow) add(line string) {
	w.count++
	if w.count <= w.start || w.limit > 0 && w.count > w.start+w.limit {
		return
	}
	w.lines = append(w.lines, map[string]any{"n": w.count, "t": line})
}

// within reports whether a line is of the time that is asked for.
func within(line string, p params) bool {
	fields := strings.SplitN(line, " ", 6)
	if len(fields) < 5 {
		return false
	}
	at, err := time.Parse("02/Jan/2006:15:04:05 -0700", fields[3]+" "+fields[4])
	if err != nil {
		return false
	}
	since, until := p.integer("since"), p.integer("until")
	return at.Unix() >= int64(since) && (until == 0 || at.Unix() <= int64(until))
}
