package pvelab

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

const (
	// replicationRound is how often pvescheduler looks for jobs that are due.
	replicationRound = time.Minute
	// replicationTime is what one run takes.
	replicationTime = 3 * time.Second
	// usualSchedule is that of a job that has none.
	usualSchedule = "*/15"
)

// FailReplication makes a job's runs fail with a text, or succeed again with "".
// The job need not exist yet.
func (f *Faults) FailReplication(id, text string) {
	f.lab.locked(func() {
		if f.lab.failing[id] = text; text == "" {
			delete(f.lab.failing, id)
		}
	})
}

// AgeReplication makes a job's last run and last success so much older.
func (f *Faults) AgeReplication(id string, age time.Duration) error {
	var err error
	f.lab.locked(func() {
		j := f.lab.replications[id]
		if j == nil {
			err = fmt.Errorf("no replication job %q", id)
			return
		}
		seconds := int64(age.Seconds())
		j.lastSync = max(0, j.lastSync-seconds)
		j.lastTry = max(0, j.lastTry-seconds)
	})
	return err
}

// replicate is pvescheduler on every node until ctx ends.
func (l *Lab) replicate(ctx context.Context) {
	for l.clock.Sleep(ctx, replicationRound) == nil {
		l.runReplications(ctx)
	}
}

// runReplications runs the jobs that are due, one after another.
func (l *Lab) runReplications(ctx context.Context) {
	for {
		var id string
		l.locked(func() { id = l.dueReplication() })
		if id == "" || l.clock.Sleep(ctx, replicationTime) != nil {
			return
		}
		l.locked(func() { l.endReplication(id) })
	}
}

// dueReplication begins the next job that is due, "" where there is none.
func (l *Lab) dueReplication() string {
	now := l.clock.Now().Unix()
	for _, id := range sortedKeys(l.replications) {
		j := l.replications[id]
		source := l.source(j)
		if source == nil || !source.online || j.conf["disable"] == "1" && j.conf["remove_job"] == "" {
			continue
		}
		if next := l.nextReplication(j); next == 0 || next > now {
			continue
		}
		j.lastTry, j.busy = now, true
		return id
	}
	return ""
}

// source is the node that a job runs on: its guest's. A guest that moved to its
// own target has the job turn around.
func (l *Lab) source(j *replication) *node {
	g := l.guests[j.guest]
	if g == nil {
		return nil
	}
	if j.conf["target"] == g.node {
		j.conf["target"] = j.conf["source"]
	}
	j.conf["source"] = g.node
	return l.nodes[g.node]
}

// nextReplication is the Unix time of a job's next run, 0 for never: a job that
// failed is tried again after 5, 10, 15 and then 30 minutes, while its target is
// online.
func (l *Lab) nextReplication(j *replication) int64 {
	if j.conf["remove_job"] != "" {
		return 1
	}
	if j.failures > 0 {
		if target := l.nodes[j.conf["target"]]; target == nil || !target.online {
			return 0
		}
		wait := 30 * time.Minute
		if j.failures <= 3 {
			wait = time.Duration(5*j.failures) * time.Minute
		}
		return j.after(l.clock.scale(wait))
	}
	return j.after(l.clock.scale(interval(orDefault(j.conf["schedule"], usualSchedule))))
}

// after is the Unix time so long after the last try, never 0.
func (j *replication) after(d time.Duration) int64 { return max(1, j.lastTry+int64(d.Seconds())) }

// endReplication notes what became of a job's run.
func (l *Lab) endReplication(id string) {
	j := l.replications[id]
	if j == nil {
		return
	}
	j.busy, j.duration = false, replicationTime.Seconds()
	if j.conf["remove_job"] != "" {
		delete(l.replications, id)
		return
	}
	target := j.conf["target"]
	j.log = []string{
		fmt.Sprintf("%s: start replication job", id),
		fmt.Sprintf("%s: guest => %s %d, running => %d", id, l.guests[j.guest].typeName(), j.guest, boolInt(l.guests[j.guest].run != nil)),
	}
	problem := l.failing[id]
	if n := l.nodes[target]; n == nil || !n.online {
		problem = fmt.Sprintf("command '/usr/bin/ssh -o 'BatchMode=yes' root@%s -- pvesr prepare-local-job %s' failed: exit code 255", target, id)
	}
	if problem != "" {
		j.failures++
		j.failure = problem
		j.log = append(j.log, fmt.Sprintf("%s: end replication job with error: %s", id, problem))
		return
	}
	j.lastSync, j.failures, j.failure = j.lastTry, 0, ""
	j.log = append(j.log, fmt.Sprintf("%s: end replication job", id))
}

// showRun is a job with its state, as its node shows it.
func (l *Lab) showRun(id string) map[string]any {
	j := l.replications[id]
	out := l.showReplication(id)
	out["vmtype"] = l.guests[j.guest].kind
	out["last_sync"], out["last_try"], out["fail_count"] = j.lastSync, j.lastTry, j.failures
	out["next_sync"] = l.nextReplication(j)
	if j.duration >= 0 {
		out["duration"] = j.duration
	}
	if j.failure != "" {
		out["error"] = j.failure
	}
	if j.busy {
		out["pid"] = l.lastPID
	}
	return out
}

// onNode reports whether a job runs on the node that answers.
func (c *call) onNode(j *replication) bool {
	n := c.lab.source(j)
	return n != nil && n.name == c.node && j.conf["target"] != c.node
}

func replicationRuns(c *call) (any, error) {
	out := []map[string]any{}
	for _, id := range sortedKeys(c.lab.replications) {
		j := c.lab.replications[id]
		if c.params.has("guest") && c.params.integer("guest") != j.guest {
			continue
		}
		if c.onNode(j) && c.can(guestPath(j.guest), "VM.Audit") {
			out = append(out, c.lab.showRun(id))
		}
	}
	return out, nil
}

func replicationStatus(c *call) (any, error) {
	j, err := c.job(noReplication)
	if err != nil {
		return nil, err
	}
	if !c.onNode(j) {
		return nil, fail(noReplication, c.params.str("id"))
	}
	if err := c.require(guestPath(j.guest), "VM.Audit"); err != nil {
		return nil, err
	}
	return c.lab.showRun(c.params.str("id")), nil
}

func replicationLog(c *call) (any, error) {
	j, err := c.job(noReplication)
	if err != nil {
		return nil, err
	}
	if !c.can(guestPath(j.guest), "VM.Audit") && !c.can("/nodes/"+c.node, "Sys.Audit") {
		return nil, deniedText("")
	}
	lines := []map[string]any{}
	for i, text := range j.log {
		lines = append(lines, map[string]any{"n": i + 1, "t": text})
	}
	return counted{data: lines, total: len(lines)}, nil
}

// replicationNow lets a job that has run before be due at once.
func replicationNow(c *call) (any, error) {
	guest, _ := parseJobID(c.params.str("id"))
	if err := c.requireReplicate(guest); err != nil {
		return nil, err
	}
	j, err := c.job(noReplication)
	if err != nil {
		return nil, err
	}
	j.lastTry = 0
	return nothing(c)
}

// intervals of the calendar events that have a name.
var intervals = map[string]time.Duration{
	"minutely": time.Minute, "hourly": time.Hour, "daily": 24 * time.Hour, "weekly": 7 * 24 * time.Hour,
}

// interval is how far apart a calendar event's times are: the lab's clock keeps
// distances, not times of day. Every other event than "*/15" and the named ones is
// daily.
func interval(schedule string) time.Duration {
	if d, ok := intervals[schedule]; ok {
		return d
	}
	if len(schedule) > 2 && schedule[:2] == "*/" {
		if n, err := strconv.Atoi(schedule[2:]); err == nil && n > 0 {
			return time.Duration(n) * time.Minute
		}
	}
	return intervals["daily"]
}
