package proxmox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
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
	UPID    UPID
	Running bool
	// Status is the exit status; empty while the task runs.
	Status string
	// End is when the task ended, zero while it runs.
	End time.Time
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

// Status reads a task's state.
func (s *TaskService) Status(ctx context.Context, upid UPID) (TaskStatus, error) {
	var answer struct {
		Status     string `json:"status"`
		ExitStatus Text   `json:"exitstatus"`
	}
	if err := s.c.get(ctx, taskPath(upid)+"/status", nil, &answer); err != nil {
		return TaskStatus{}, err
	}
	return TaskStatus{UPID: upid, Running: answer.Status == "running", ExitStatus: string(answer.ExitStatus)}, nil
}

// Log reads limit lines of a task's log from line start on (0 is the first),
// and the number of lines there are.
func (s *TaskService) Log(ctx context.Context, upid UPID, start, limit int) (lines []string, total int, err error) {
	query := url.Values{"start": {strconv.Itoa(start)}, "limit": {strconv.Itoa(limit)}}
	answer, err := s.c.exchange(ctx, http.MethodGet, taskPath(upid)+"/log", query)
	if err != nil {
		return nil, 0, err
	}
	// PVE 8 answers an object instead of a list for a task that it does not
	// know.
	if !bytes.HasPrefix(answer.Data, []byte("[")) {
		return nil, 0, nil
	}
	var entries []struct {
		Text Text `json:"t"`
	}
	if err := json.Unmarshal(answer.Data, &entries); err != nil {
		return nil, 0, fmt.Errorf("the log of task %s: %w", upid, err)
	}
	for _, entry := range entries {
		lines = append(lines, string(entry.Text))
	}
	total = int(answer.Total)
	if total == 1 && len(lines) == 1 && textEmptyLog.MatchString(lines[0]) {
		return nil, 0, nil
	}
	return lines, total, nil
}

// List reads a node's tasks, the newest first. Without Sys.Audit on the node
// only one's own are listed.
func (s *TaskService) List(ctx context.Context, node string, f TaskFilter) ([]Task, error) {
	var entries []struct {
		UPID    UPID   `json:"upid"`
		Status  string `json:"status"`
		EndTime Int    `json:"endtime"`
	}
	if err := s.c.get(ctx, at("nodes", node, "tasks"), f.query(), &entries); err != nil {
		return nil, err
	}
	tasks := make([]Task, len(entries))
	for i, entry := range entries {
		tasks[i] = Task{UPID: entry.UPID, Status: entry.Status}
		if entry.EndTime == 0 {
			// A running task reads "RUNNING" or has no status.
			tasks[i].Running, tasks[i].Status = true, ""
			continue
		}
		tasks[i].End = time.Unix(int64(entry.EndTime), 0)
	}
	return tasks, nil
}

func (f TaskFilter) query() url.Values {
	query := url.Values{"source": {string(TasksAll)}}
	if f.Source != "" {
		query.Set("source", string(f.Source))
	}
	if f.VMID != 0 {
		query.Set("vmid", strconv.Itoa(f.VMID))
	}
	if f.TypeFilter != "" {
		query.Set("typefilter", f.TypeFilter)
	}
	if !f.Since.IsZero() {
		query.Set("since", strconv.FormatInt(f.Since.Unix(), 10))
	}
	if f.Limit != 0 {
		query.Set("limit", strconv.Itoa(f.Limit))
	}
	return query
}

func taskPath(upid UPID) string { return at("nodes", upid.Node, "tasks", upid.String()) }
