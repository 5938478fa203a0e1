package pvelab

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	// errInterrupted ends the wait of a task that was stopped.
	errInterrupted = errors.New("received interrupt")
	// errTaskLost ends the wait of a task whose node went away: the worker
	// returns at once and leaves everything as it is.
	errTaskLost = errors.New("unexpected status")
)

const (
	statusOK = "OK"
	// stopPatience is how long PVE waits for a stopped worker to end.
	stopPatience = 5 * time.Second
)

// taskStore holds all tasks, running and finished, and hands out process ids.
type taskStore struct {
	mu       sync.Mutex
	boot     time.Time
	lastPID  int
	all      map[string]*task
	started  []*task
	finished []*task
	workers  sync.WaitGroup
}

func newTaskStore() *taskStore {
	return &taskStore{boot: time.Now().Add(-time.Hour), lastPID: 1000, all: map[string]*task{}}
}

// task is a worker of PVE's. Its function runs in its own goroutine, without
// the lab's lock.
type task struct {
	lab                       *Lab
	ctx                       context.Context //nolint:containedctx // ends when the task is stopped.
	cancel                    context.CancelCauseFunc
	upid, node, typ, id, user string
	pid, pstart               int
	start                     time.Time
	done                      chan struct{}
	plan                      *taskPlan

	mu       sync.Mutex
	log      []string
	warnings int
	held     bool
	// exit is empty while the task runs.
	exit string
	end  time.Time
}

// startTask forks a worker on a node and returns its UPID. The worker's error
// becomes the exit status, and "TASK ERROR: …" in the log. It is called with
// the lab's lock held. Without a call the task is root's own.
func (l *Lab) startTask(c *call, node, typ, id string, run func(t *task) error) string {
	user := rootUser
	if c != nil {
		user = c.auth.id()
	}
	t := l.tasks.add(&task{
		lab: l, node: node, typ: typ, id: id, user: user,
		start: l.clock.Now(), done: make(chan struct{}),
	})
	t.plan = l.faults.matchTask(t)
	l.tasks.workers.Go(func() { t.work(run) })
	return t.upid
}

func (s *taskStore) add(t *task) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastPID += 3
	t.pid = s.lastPID
	t.pstart = int(time.Since(s.boot)/(10*time.Millisecond)) + s.lastPID
	t.upid = fmt.Sprintf("UPID:%s:%08X:%08X:%08X:%s:%s:%s:",
		t.node, t.pid, t.pstart, t.start.Unix(), t.typ, t.id, t.user)
	t.ctx, t.cancel = context.WithCancelCause(context.Background())
	s.all[t.upid] = t
	s.started = append(s.started, t)
	return t
}

// work runs the worker and settles its exit status.
func (t *task) work(run func(t *task) error) {
	defer t.cancel(nil)
	err := t.plan.begin(t)
	if err == nil {
		err = run(t)
		if err == nil {
			err = t.plan.finish(t)
		}
	}
	if context.Cause(t.ctx) == errTaskLost { //nolint:errorlint // the cause itself.
		err = errTaskLost
	}
	t.lab.tasks.retire(t, err)
	close(t.done)
}

// retire ends a task and moves it to the finished ones.
func (s *taskStore) retire(t *task, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.settle(err)
	s.finished = append(s.finished, t)
}

// settle writes the last line of the log, which is all that PVE keeps of an exit
// status.
func (t *task) settle(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.end = t.lab.clock.Now()
	switch {
	case errors.Is(err, errTaskLost):
		t.exit = errTaskLost.Error()
	case err != nil:
		t.exit = strings.ReplaceAll(strings.TrimSuffix(err.Error(), "\n"), "\n", " ")
		t.log = append(t.log, "TASK ERROR: "+t.exit)
	case t.warnings > 0:
		t.exit = "WARNINGS: " + strconv.Itoa(t.warnings)
		t.log = append(t.log, "TASK "+t.exit)
	default:
		t.exit = statusOK
		t.log = append(t.log, "TASK OK")
	}
}

// logf adds lines to the task's log.
func (t *task) logf(format string, a ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log = append(t.log, strings.Split(fmt.Sprintf(format, a...), "\n")...)
}

// warnf adds a "WARN: …" line; a task with warnings ends as "WARNINGS: n".
func (t *task) warnf(format string, a ...any) {
	t.logf("WARN: "+format, a...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.warnings++
}

// sleep waits for a duration of PVE's; here a task can be held and stopped. Its
// error is errInterrupted or errTaskLost.
func (t *task) sleep(d time.Duration) error {
	if err := t.plan.hold(t); err != nil {
		return err
	}
	if t.lab.clock.Sleep(t.ctx, d) != nil {
		return context.Cause(t.ctx)
	}
	return nil
}

// running reports whether the task has not ended, and its exit status if it has.
func (t *task) running() (bool, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.exit == "", t.exit
}

// await waits for a task for at most a duration of PVE's, without the lab's lock.
// done is false where the task still runs.
func (c *call) await(upid string, d time.Duration) (exit string, done bool) {
	t, _ := c.lab.tasks.find(c.node, upid)
	if t == nil {
		return "", false
	}
	c.lab.mu.Unlock()
	defer c.lab.mu.Lock()
	timer := time.NewTimer(c.lab.clock.scale(d))
	defer timer.Stop()
	select {
	case <-t.done:
		_, exit = t.running()
		return exit, true
	case <-timer.C:
		return "", false
	}
}

// stopTasks ends every worker and waits for them.
func (l *Lab) stopTasks() {
	l.tasks.mu.Lock()
	for _, t := range l.tasks.started {
		t.cancel(errTaskLost)
	}
	l.tasks.mu.Unlock()
	l.tasks.workers.Wait()
}

// loseTasks ends the workers of a node that went away.
func (s *taskStore) loseTasks(node string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.started {
		if t.node == node {
			t.cancel(errTaskLost)
		}
	}
}

// find returns the task of a node, nil when there is none. Its second value is
// false where the text is no UPID at all.
func (s *taskStore) find(node, upid string) (*task, bool) {
	if !upidRE.MatchString(upid) {
		return nil, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.all[upid]
	if t == nil || t.node != node {
		return nil, true
	}
	return t, true
}

var upidRE = regexp.MustCompile(`^UPID:([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?):([0-9A-Fa-f]{8}):` +
	`([0-9A-Fa-f]{8,9}):([0-9A-Fa-f]{8}):([^:\s/]+):([^:\s/]*):([^:\s/]+):$`)
