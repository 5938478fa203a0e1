package pvelab

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	// taskListLimit is the default length of a node's task list and of a log.
	taskListLimit = 50
	// recentTasks is how many tasks of a node /cluster/tasks shows.
	recentTasks = 25
)

func (l *Lab) routeTasks() {
	l.handle("GET", "/cluster/tasks", clusterTasks)
	l.handle("GET", "/nodes/{node}/tasks", nodeTasks)
	l.handle("GET", "/nodes/{node}/tasks/{upid}", taskIndex)
	l.handle("DELETE", "/nodes/{node}/tasks/{upid}", stopTask)
	l.handle("GET", "/nodes/{node}/tasks/{upid}/log", taskLog)
	l.handle("GET", "/nodes/{node}/tasks/{upid}/status", taskStatus)
}

func taskIndex(*call) (any, error) {
	return []map[string]string{{"name": "log"}, {"name": "status"}}, nil
}

// taskOf finds the task that the path names, on the node that the path names.
func (c *call) taskOf() (*task, error) {
	t, wellFormed := c.lab.tasks.find(c.node, c.params.str("upid"))
	if !wellFormed {
		return nil, badParams(map[string]string{"upid": "unable to parse worker upid"})
	}
	if t == nil {
		return nil, badParams(map[string]string{"upid": "no such task"})
	}
	return t, nil
}

// owns reports whether the caller started the task; a user owns what the tokens
// started, too.
func (c *call) owns(t *task) bool {
	owner, _, isToken := splitTokenID(t.user)
	return c.auth.id() == t.user || isToken && c.auth.id() == owner
}

func taskStatus(c *call) (any, error) {
	t, err := c.taskOf()
	if err != nil {
		return nil, err
	}
	if !c.owns(t) {
		if err := c.require("/nodes/"+c.node, "Sys.Audit"); err != nil {
			return nil, err
		}
	}
	out := t.describe(true)
	out["pid"] = t.pid
	out["pstart"] = t.pstart
	running, exit := t.running()
	out["status"] = "running"
	if !running {
		out["status"] = "stopped"
		out["exitstatus"] = exit
	}
	return out, nil
}

// describe gives the fields that every view of a task has. A token's task names
// the token apart from its user, except in the list of active ones.
func (t *task) describe(splitToken bool) map[string]any {
	out := map[string]any{
		"upid": t.upid, "node": t.node, "type": t.typ, "id": t.id,
		"user": t.user, "starttime": t.start.Unix(),
	}
	if owner, name, isToken := splitTokenID(t.user); isToken && splitToken {
		out["user"], out["tokenid"] = owner, name
	}
	return out
}

func taskLog(c *call) (any, error) {
	t, err := c.logOf()
	if err != nil {
		return nil, err
	}
	if t == nil {
		line := taskLine(1, "unable to open file - No such file or directory")
		if c.lab.is8() {
			return counted{data: line, total: 1}, nil
		}
		return counted{data: []any{line}, total: 1}, nil
	}
	lines := t.lines()
	if c.params.boolean("download") {
		return c.downloadLog(lines)
	}
	if len(lines) == 0 {
		return counted{data: []any{taskLine(1, "no content")}, total: 1}, nil
	}
	limit := taskListLimit
	if c.params.has("limit") {
		limit = c.params.integer("limit")
	}
	if limit == 0 {
		limit = len(lines)
	}
	out := []any{}
	for i := c.params.integer("start"); i < len(lines) && len(out) < limit; i++ {
		out = append(out, taskLine(i+1, lines[i]))
	}
	return counted{data: out, total: len(lines)}, nil
}

// logOf finds the task whose log is read; an unknown one is no error.
func (c *call) logOf() (*task, error) {
	t, wellFormed := c.lab.tasks.find(c.node, c.params.str("upid"))
	if !wellFormed {
		return nil, badParams(map[string]string{"upid": "unable to parse worker upid"})
	}
	owner := &task{user: strings.Split(c.params.str("upid"), ":")[7]}
	if c.owns(owner) {
		return t, nil
	}
	return t, c.require("/nodes/"+c.node, "Sys.Audit")
}

func taskLine(n int, text string) map[string]any { return map[string]any{"n": n, "t": text} }

func (t *task) lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.log)
}

func (c *call) downloadLog(lines []string) (any, error) {
	if c.params.has("start") || c.params.has("limit") {
		return nil, fail("'download' cannot be used together with 'start' or 'limit' parameters")
	}
	return file{contentType: "text/plain", body: []byte(strings.Join(lines, "\n") + "\n")}, nil
}

// stopTask interrupts a worker and waits for its end; a finished one is left
// alone.
func stopTask(c *call) (any, error) {
	t, err := c.taskOf()
	if err != nil {
		return nil, err
	}
	if !c.owns(t) {
		if err := c.require("/nodes/"+c.node, "Sys.Modify"); err != nil {
			return nil, err
		}
	}
	t.cancel(errInterrupted)
	c.unlocked(func() {
		select {
		case <-t.done:
		case <-time.After(stopPatience):
		}
	})
	return nil, nil
}

// taskFilter is what /nodes/{node}/tasks is asked for.
type taskFilter struct {
	call     *call
	auditor  bool
	user     *regexp.Regexp
	statuses map[string]bool
}

func newTaskFilter(c *call) taskFilter {
	f := taskFilter{call: c, auditor: c.can("/nodes/"+c.node, "Sys.Audit")}
	if u := c.params.str("userfilter"); u != "" {
		f.user = regexp.MustCompile("(?i)" + regexp.QuoteMeta(u))
	}
	f.statuses = map[string]bool{"ok": true, "warning": true, "error": true, "unknown": true}
	switch {
	case c.params.boolean("errors"):
		f.statuses["ok"] = false
	case c.params.has("statusfilter"):
		f.statuses = map[string]bool{}
		for _, s := range splitList(c.params.str("statusfilter")) {
			f.statuses[strings.ToLower(s)] = true
		}
	}
	return f
}

// matches compares what the list shows of a task: in the list of active ones a
// token's user is the whole token id.
func (f taskFilter) matches(t *task, shown map[string]any) bool {
	p := f.call.params
	user := text(shown["user"])
	mine := f.call.auth.id() == user || f.call.auth.id() == t.user
	if f.user != nil && !f.user.MatchString(user) || !f.auditor && !mine {
		return false
	}
	if p.has("typefilter") && t.typ != p.str("typefilter") || p.has("vmid") && t.id != p.str("vmid") {
		return false
	}
	if p.has("since") && t.start.Unix() < int64(p.integer("since")) ||
		p.has("until") && t.start.Unix() > int64(p.integer("until")) {
		return false
	}
	return f.statuses[statusType(text(shown["status"]))]
}

var warningsRE = regexp.MustCompile(`^WARNINGS: \d+$`)

func statusType(status string) string {
	switch {
	case status == "" || status == errTaskLost.Error():
		return "unknown"
	case status == statusOK:
		return "ok"
	case warningsRE.MatchString(status):
		return "warning"
	}
	return "error"
}

func nodeTasks(c *call) (any, error) {
	source := c.params.str("source")
	filter := newTaskFilter(c)
	matching := []any{}
	keep := func(t *task, shown map[string]any) {
		if filter.matches(t, shown) {
			matching = append(matching, shown)
		}
	}
	if source == "active" || source == "all" {
		for _, t := range c.lab.tasks.active(c.node) {
			shown := t.activeEntry()
			keep(t, shown)
		}
	}
	if source != "active" {
		for _, t := range c.lab.tasks.archive(c.node) {
			keep(t, t.archiveEntry())
		}
	}
	limit := taskListLimit
	if c.params.has("limit") {
		limit = c.params.integer("limit")
	}
	start := min(c.params.integer("start"), len(matching))
	end := min(start+limit, len(matching))
	return counted{data: matching[start:end], total: len(matching)}, nil
}

// active lists a node's running tasks, in the order of their start.
func (s *taskStore) active(node string) []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*task
	for _, t := range s.started {
		if running, _ := t.running(); running && t.node == node {
			out = append(out, t)
		}
	}
	return out
}

// archive lists a node's finished tasks, the latest first.
func (s *taskStore) archive(node string) []*task {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*task
	for _, t := range slices.Backward(s.finished) {
		if t.node == node {
			out = append(out, t)
		}
	}
	return out
}

func (t *task) activeEntry() map[string]any {
	out := t.describe(false)
	out["pid"], out["pstart"] = t.pid, t.pstart
	out["saved"], out["status"] = "0", "RUNNING"
	return out
}

func (t *task) archiveEntry() map[string]any {
	out := t.describe(true)
	out["pid"], out["pstart"] = t.pid, t.pstart
	_, out["status"] = t.running()
	out["endtime"] = t.end.Unix()
	return out
}

// clusterTasks shows what the nodes last broadcast: their running tasks and a few
// finished ones.
func clusterTasks(c *call) (any, error) {
	all := c.can("/", "Sys.Audit")
	out := []any{}
	for _, node := range c.lab.opts.Nodes {
		if n := c.lab.nodes[node]; n == nil || !n.online {
			continue
		}
		for _, t := range c.lab.tasks.broadcast(node) {
			shown := t.broadcastEntry()
			if all || text(shown["user"]) == c.auth.id() {
				out = append(out, shown)
			}
		}
	}
	return out, nil
}

func (s *taskStore) broadcast(node string) []*task {
	active, done := s.active(node), s.archive(node)
	slices.SortStableFunc(done, func(a, b *task) int { return b.start.Compare(a.start) })
	room := max(0, recentTasks-len(active))
	return append(active, done[:min(room, len(done))]...)
}

func (t *task) broadcastEntry() map[string]any {
	out := t.describe(true)
	running, exit := t.running()
	if running {
		out["pid"] = t.pid
		return out
	}
	out["saved"], out["status"], out["endtime"] = "1", exit, t.end.Unix()
	return out
}
