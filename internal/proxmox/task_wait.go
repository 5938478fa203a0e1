package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The pace of polling a task: quick at first, for most tasks take less than a
// second, then ever slower. The end of a task is noticed late by a quarter of a
// second at most in its first three, and then by a twelfth of its time.
const (
	firstPoll   = 100 * time.Millisecond
	pollShare   = 12
	shortPoll   = time.Second
	longPoll    = 2 * time.Second
	longTask    = time.Minute
	logInterval = 4 * time.Second
	// logTail is the number of log lines told of a task that failed.
	logTail = 20
	// logPage is the number of log lines read at once for progress.
	logPage = 500
)

// WaitOptions is what a wait may be given.
type WaitOptions struct {
	// Progress receives the lines of the task's log as they appear, every few
	// seconds. Without it no call is spent on the log of a task that goes well.
	Progress func(line string)
}

// waiter follows one task.
type waiter struct {
	tasks *TaskService
	upid  UPID
	WaitOptions

	start   time.Time
	lastLog time.Time
	// lines is the number of log lines told so far.
	lines int
}

// Wait polls until the task has ended. A failure is a [*TaskError] with the end
// of the log; an end with warnings is a success. When the context ends first,
// the error is an [*InterruptedError]: the task goes on. Lost connections, 5xx
// answers and a restart of the node are survived as long as the context lives,
// so give it a deadline.
func (s *TaskService) Wait(ctx context.Context, upid UPID, o WaitOptions) (TaskResult, error) {
	now := s.c.clock.Now()
	w := &waiter{tasks: s, upid: upid, WaitOptions: o, start: now, lastLog: now}
	defer s.c.View.dropTask(upid)
	for {
		status, err := s.Status(ctx, upid)
		switch {
		case err == nil && !status.Running:
			w.flush(ctx)
			return w.finish(ctx, status.ExitStatus)
		case ctx.Err() != nil:
			return TaskResult{}, &InterruptedError{UPID: upid, Err: ctx.Err()}
		case err != nil && !passes(err):
			return TaskResult{}, fmt.Errorf("waiting for task %s: %w", upid, err)
		}
		w.progress(ctx)
		if err := s.c.clock.Sleep(ctx, w.pause()); err != nil {
			return TaskResult{}, &InterruptedError{UPID: upid, Err: err}
		}
	}
}

// passes reports whether an error while polling says nothing about the task: it
// goes away when the node is back.
func passes(err error) bool {
	if isTransient(err) {
		return true
	}
	var e *Error
	return errors.As(err, &e) && e.Status >= http.StatusInternalServerError && !IsNotImplemented(err)
}

// pause grows with the time that the task has taken.
func (w *waiter) pause() time.Duration {
	taken, longest := w.tasks.c.clock.Now().Sub(w.start), shortPoll
	if taken >= longTask {
		longest = longPoll
	}
	return min(longest, max(firstPoll, taken/pollShare))
}

// progress tells the new lines of the log, if somebody wants to know and the
// last look was a while ago.
func (w *waiter) progress(ctx context.Context) {
	if w.Progress == nil || w.tasks.c.clock.Now().Sub(w.lastLog) < logInterval {
		return
	}
	w.lastLog = w.tasks.c.clock.Now()
	w.tell(ctx)
}

// flush tells the last lines of a task that was long enough to have told some.
func (w *waiter) flush(ctx context.Context) {
	if w.Progress != nil && w.lines > 0 {
		w.tell(ctx)
	}
}

// tell gives up silently when the log cannot be read: progress is a courtesy.
func (w *waiter) tell(ctx context.Context) {
	lines, _, err := w.tasks.Log(ctx, w.upid, w.lines, logPage)
	if err != nil {
		return
	}
	w.lines += len(lines)
	for _, line := range lines {
		w.Progress(line)
	}
}

func (w *waiter) finish(ctx context.Context, exitStatus string) (TaskResult, error) {
	result := TaskResult{UPID: w.upid, ExitStatus: exitStatus}
	if exitStatus == "OK" {
		return result, nil
	}
	tail := w.tail(ctx)
	count, warned := strings.CutPrefix(exitStatus, "WARNINGS: ")
	if !warned {
		return TaskResult{}, &TaskError{UPID: w.upid, ExitStatus: exitStatus, LogTail: tail}
	}
	result.LogTail = tail
	result.Warnings = 1
	if n, err := strconv.Atoi(count); err == nil {
		result.Warnings = n
	}
	return result, nil
}

// tail reads the log's last lines; without them the exit status must do.
func (w *waiter) tail(ctx context.Context) []string {
	lines, total, err := w.tasks.Log(ctx, w.upid, 0, logTail)
	if err != nil {
		return nil
	}
	if total <= len(lines) {
		return lines
	}
	last, _, err := w.tasks.Log(ctx, w.upid, total-logTail, logTail)
	if err != nil {
		return lines
	}
	return last
}
