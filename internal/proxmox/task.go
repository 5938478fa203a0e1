package proxmox

import (
	"context"
	"time"
)

// TaskService follows tasks.
type TaskService struct{ c *Client }

// TaskStatus is the state of a task.
type TaskStatus struct {
	UPID    UPID
	Running bool
	// ExitStatus is "OK", "WARNINGS: n" or the error's text; empty while the
	// task runs.
	ExitStatus string
}

// Task is an entry of a node's task list.
type Task struct {
	UPID UPID
	// Status is the exit status; empty while the task runs.
	Status  string
	Running bool
	End     time.Time
}

// TaskResult is how a task ended that did not fail.
type TaskResult struct {
	UPID       UPID
	ExitStatus string
	// Warnings is the number of warnings; then LogTail holds the log's last
	// lines.
	Warnings int
	LogTail  []string
}

// WaitOptions is what a wait may be given.
type WaitOptions struct {
	// Progress receives the lines of the task's log as they appear, every few
	// seconds. Without it no call is spent on the log of a task that goes well.
	Progress func(line string)
}

// TaskSource says which tasks to list.
type TaskSource string

// The sources of a task list.
const (
	TasksArchived TaskSource = "archive"
	TasksActive   TaskSource = "active"
	TasksAll      TaskSource = "all"
)

// TaskFilter narrows a task list. Zero fields do not.
type TaskFilter struct {
	VMID       int
	TypeFilter string
	// Source defaults to all.
	Source TaskSource
	Since  time.Time
	// Limit is the number of tasks at most (PVE's default: 50).
	Limit int
}

// Wait polls until the task has ended. A failure is a [*TaskError] with the end
// of the log; an end with warnings is a success. When the context ends first,
// the error is an [*InterruptedError]: the task goes on. Lost connections, 5xx
// answers and a restart of the node are survived within the context's life.
func (s *TaskService) Wait(ctx context.Context, upid UPID, o WaitOptions) (TaskResult, error) {
	return TaskResult{}, nil
}

// Status reads a task's state.
func (s *TaskService) Status(ctx context.Context, upid UPID) (TaskStatus, error) {
	return TaskStatus{}, nil
}

// Log reads limit lines of a task's log from line start on (0 is the first),
// and the number of lines there are.
func (s *TaskService) Log(ctx context.Context, upid UPID, start, limit int) (lines []string, total int, err error) {
	return nil, 0, nil
}

// List reads a node's tasks, the newest first. Without Sys.Audit on the node
// only one's own are listed.
func (s *TaskService) List(ctx context.Context, node string, f TaskFilter) ([]Task, error) {
	return nil, nil
}

// Stop interrupts a task. Stopping a task that has ended succeeds.
func (s *TaskService) Stop(ctx context.Context, upid UPID) error { return nil }
