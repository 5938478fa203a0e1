package pvelab

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// shownTasks and shownRequests are how many of the last ones the page shows.
const (
	shownTasks    = 25
	shownRequests = 40
	// keptRequests is how many [Lab.Requests] knows.
	keptRequests = 5000
)

//go:embed page.html
var pageHTML string

var pageTemplate = template.Must(template.New("page").Parse(pageHTML))

// Request is a request that was answered, without its parameters, among which are
// passwords.
type Request struct {
	Time time.Time
	// Node is the one that answered, Agent what the client calls itself.
	Node, Agent  string
	Method, Path string
	// Status is 0 where the connection was cut.
	Status int
}

// Clock is the time of day in milliseconds.
func (r Request) Clock() string { return r.Time.Format("15:04:05.000") }

// Requests are the last requests of the API on all nodes, the oldest first.
func (l *Lab) Requests() []Request { return l.recent.last(keptRequests) }

// requestLog keeps the last requests of all nodes.
type requestLog struct {
	mu    sync.Mutex
	lines []Request
}

func (r *requestLog) add(line Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	if len(r.lines) >= 2*keptRequests {
		r.lines = slices.Clone(r.lines[keptRequests:])
	}
}

// last are the last n requests, the oldest first.
func (r *requestLog) last(n int) []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines[max(0, len(r.lines)-n):])
}

// The rows of the page.
type (
	nodeRow struct {
		Name, URL string
		Online    bool
		Guests    int
	}
	guestRow struct {
		VMID                           int
		Kind, Node, Name, Status, Lock string
		Tags                           string
		Template, Marked               bool
	}
	taskRow struct {
		Start, Node, Type, ID, User, Exit string
		Running, Failed                   bool
	}
)

// page is what the page shows.
type page struct {
	Version  string
	Nodes    []nodeRow
	Guests   []guestRow
	Tasks    []taskRow
	Requests []Request
	Count    Count
}

// isPage reports whether a request is for the lab's page, where PVE has its web
// interface.
func isPage(req *http.Request) bool { return req.Method == http.MethodGet && req.URL.Path == "/" }

// pageOf answers with the page, or with its changing part alone.
func (e *endpoint) pageOf(query url.Values) *response {
	name := "page"
	if query.Has("part") {
		name = "part"
	}
	var body bytes.Buffer
	if err := pageTemplate.ExecuteTemplate(&body, name, e.server.lab.page()); err != nil {
		return died(err.Error())
	}
	return &response{status: http.StatusOK, reason: http.StatusText(http.StatusOK), contentType: "text/html; charset=utf-8", body: body.Bytes()}
}

// page collects what there is to see.
func (l *Lab) page() page {
	p := page{Version: l.opts.Version, Requests: l.recent.last(shownRequests), Count: l.counter.Snapshot(), Tasks: l.tasks.lines()}
	slices.Reverse(p.Requests)
	l.mu.Lock()
	defer l.mu.Unlock()
	guests := map[string]int{}
	for _, vmid := range slices.Sorted(maps.Keys(l.guests)) {
		g := l.guests[vmid]
		guests[g.node]++
		p.Guests = append(p.Guests, guestRow{
			VMID: g.vmid, Kind: g.kind, Node: g.node, Name: g.conf["name"] + g.conf["hostname"], Status: g.status(), Lock: g.conf["lock"],
			Tags: g.conf["tags"], Template: g.isTemplate(), Marked: strings.Contains(g.conf["description"], "terraform-proxmox-uid"),
		})
	}
	for _, name := range l.opts.Nodes {
		p.Nodes = append(p.Nodes, nodeRow{Name: name, URL: l.server.url(name), Online: l.nodes[name].online, Guests: guests[name]})
	}
	return p
}

// lines are the last tasks, the newest first.
func (s *taskStore) lines() []taskRow {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []taskRow
	for _, t := range slices.Backward(s.started) {
		running, exit := t.running()
		lines = append(lines, taskRow{
			Start: t.start.Format(time.TimeOnly), Node: t.node, Type: t.typ, ID: t.id, User: t.user, Exit: exit, Running: running,
			Failed: !running && exit != statusOK && !strings.HasPrefix(exit, "WARNINGS"),
		})
		if len(lines) == shownTasks {
			break
		}
	}
	return lines
}

// noted adds an answered request of the API to those that the page shows.
func (e *endpoint) noted(req *http.Request, path string, resp *response) *response {
	status := resp.status
	if resp.fate == fateDrop {
		status = 0
	}
	e.server.lab.recent.add(Request{
		Time: time.Now(), Node: e.node, Agent: req.UserAgent(), Method: req.Method, Path: path, Status: status,
	})
	return resp
}

// Megabytes prints bytes for humans.
func (c Count) Megabytes() string {
	const mega = 1e6
	return fmt.Sprintf("%.1f MB in, %.1f MB out", float64(c.BytesIn)/mega, float64(c.BytesOut)/mega)
}
