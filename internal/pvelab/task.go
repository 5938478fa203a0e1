package pvelab

import (
	"context"
	"time"
)

type taskStore struct {
	tasks []*task
}

func newTaskStore() *taskStore { return &taskStore{} }

// task is a worker of PVE's. Its function runs in its own goroutine, without
// the lab's lock.
type task struct {
	lab                       *Lab
	ctx                       context.Context //nolint:containedctx // ends when the task is stopped.
	upid, node, typ, id, user string
}

// startTask forks a worker on a node and returns its UPID. The worker's error
// becomes the exit status, and "TASK ERROR: …" in the log. It is called with
// the lab's lock held.
func (l *Lab) startTask(c *call, node, typ, id string, run func(t *task) error) string {
	_, _, _, _, _ = c, node, typ, id, run
	return ""
}

// logf adds a line to the task's log.
func (t *task) logf(format string, a ...any) { _, _ = format, a }

// warnf adds a "WARN: …" line; a task with warnings ends as "WARNINGS: n".
func (t *task) warnf(format string, a ...any) { _, _ = format, a }

// sleep waits for a duration of PVE's; it returns an error early when the task
// is stopped.
func (t *task) sleep(d time.Duration) error { return t.lab.clock.Sleep(t.ctx, d) }

func (l *Lab) stopTasks() {}
