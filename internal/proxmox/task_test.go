package proxmox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	startUPID   = "UPID:pve1:0000265B:000410E6:6B0CC0E4:qmstart:110:root@pam!lab:"
	startStatus = "GET /nodes/pve1/tasks/" + startUPID + "/status"
	startLog    = "GET /nodes/pve1/tasks/" + startUPID + "/log"
)

func upid(t *testing.T, s string) UPID {
	t.Helper()
	u, err := ParseUPID(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// taskAnswer is a task's status as recorded.
func taskAnswer(exit string) reply {
	status := `"status":"running"`
	if exit != "" {
		status = fmt.Sprintf(`"status":"stopped","exitstatus":%q`, exit)
	}
	return data(`{"upid":"` + startUPID + `","id":"110","type":"qmstart","node":"pve1","pid":9819,"pstart":266470,"starttime":1795997924,"user":"root@pam","tokenid":"lab",` + status + `}`)
}

func logAnswer(total int, lines ...string) reply {
	entries := make([]string, len(lines))
	for i, line := range lines {
		entries[i] = fmt.Sprintf(`{"n":%d,"t":%q}`, i+1, line)
	}
	return data(fmt.Sprintf(`[%s],"total":%d`, strings.Join(entries, ","), total))
}

func TestWait(t *testing.T) {
	t.Parallel()
	running := taskAnswer("")
	tests := map[string]struct {
		status   []reply
		log      []reply
		warnings int
		failure  string
		tail     []string
		polls    int
		logs     int
	}{
		"at once":  {[]reply{taskAnswer("OK")}, nil, 0, "", nil, 1, 0},
		"in time":  {[]reply{running, running, taskAnswer("OK")}, nil, 0, "", nil, 3, 0},
		"warnings": {[]reply{running, taskAnswer("WARNINGS: 1")}, []reply{logAnswer(2, "WARN: no efidisk configured! Using temporary efivars disk.", "TASK WARNINGS: 1")}, 1, "", []string{"WARN: no efidisk configured! Using temporary efivars disk.", "TASK WARNINGS: 1"}, 2, 1},
		"failure":  {[]reply{taskAnswer("volume 'local:110/vm-110-disk-0.raw' does not exist")}, []reply{logAnswer(1, "TASK ERROR: volume 'local:110/vm-110-disk-0.raw' does not exist")}, 0, "volume 'local:110/vm-110-disk-0.raw' does not exist", []string{"TASK ERROR: volume 'local:110/vm-110-disk-0.raw' does not exist"}, 1, 1},
		"long log": {[]reply{taskAnswer("received interrupt")}, []reply{logAnswer(90, "first"), logAnswer(90, "last", "TASK ERROR: received interrupt")}, 0, "received interrupt", []string{"last", "TASK ERROR: received interrupt"}, 1, 2},
		"no log":   {[]reply{taskAnswer("received interrupt")}, []reply{failure(403, "Permission check failed (/nodes/pve1, Sys.Audit)")}, 0, "received interrupt", nil, 1, 1},
		"a restart of the node": {[]reply{
			running, lost(), lost(), lost(), lost(), lost(), lost(), failure(595, "Connection refused"), failure(596, "Connection timed out"),
			failure(500, "unexpected end of file"), taskAnswer("OK"),
		}, nil, 0, "", nil, 11, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pve := newRecordedPVE(t).on(startStatus, test.status...).on(startLog, test.log...)
			result, err := pve.client(t).Tasks.Wait(t.Context(), upid(t, startUPID), WaitOptions{})
			var failed *TaskError
			tail := result.LogTail
			if errors.As(err, &failed) {
				tail = failed.LogTail
			}
			if test.failure == "" && err != nil || test.failure != "" && (failed == nil || failed.ExitStatus != test.failure) {
				t.Errorf("error %v", err)
			}
			if result.Warnings != test.warnings || !slices.Equal(tail, test.tail) {
				t.Errorf("%d warnings, log %q", result.Warnings, tail)
			}
			if polls, logs := pve.count(startStatus), pve.count(startLog); polls != test.polls || logs != test.logs {
				t.Errorf("%d polls and %d reads of the log", polls, logs)
			}
		})
	}
}

func TestLastLogLines(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(startStatus, taskAnswer("x")).on(startLog, logAnswer(90, "first"), logAnswer(90, "last"))
	if _, err := pve.client(t).Tasks.Wait(t.Context(), upid(t, startUPID), WaitOptions{}); err == nil {
		t.Error("a failed task is no error")
	}
	if got := pve.last(t, startLog).params; got.Get("start") != "70" || got.Get("limit") != "20" {
		t.Errorf("the end of a log of 90 lines was read with %v", got)
	}
}

func TestWaitGivesUpOnARefusal(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]reply{
		"unknown task": {status: 400, text: "Parameter verification failed.", params: map[string]string{"upid": "no such task"}},
		"unauthorized": failure(401, "Authentication failed!"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pve := newRecordedPVE(t).on(startStatus, taskAnswer(""), answer)
			_, err := pve.client(t).Tasks.Wait(t.Context(), upid(t, startUPID), WaitOptions{})
			var interrupted *InterruptedError
			if err == nil || errors.As(err, &interrupted) || pve.count(startStatus) != 2 {
				t.Errorf("%v after %d polls", err, pve.count(startStatus))
			}
		})
	}
}

func TestWaitIsInterrupted(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(startStatus, taskAnswer(""))
	ctx, cancel := context.WithCancel(t.Context())
	clock := newFakeClock()
	clock.onWake = func(n int) {
		if n == 3 {
			cancel()
		}
	}
	_, err := pve.client(t, func(o *Options) { o.clock = clock }).Tasks.Wait(ctx, upid(t, startUPID), WaitOptions{})
	var interrupted *InterruptedError
	if !errors.As(err, &interrupted) || interrupted.UPID.String() != startUPID || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if n := pve.count(startStatus); n != 3 {
		t.Errorf("%d polls before it was cancelled", n)
	}
}

// TestPollingSlowsDown holds how late the end of a task is noticed against how
// often it is asked for: short tasks are most of what a guest takes, and each
// question is a connection of its own.
func TestPollingSlowsDown(t *testing.T) {
	t.Parallel()
	for takes, want := range map[time.Duration]struct {
		late  time.Duration
		polls int
	}{
		0:                      {0, 1},
		300 * time.Millisecond: {0, 4},
		350 * time.Millisecond: {50 * time.Millisecond, 5},
		time.Second:            {0, 11},
		3 * time.Second:        {250 * time.Millisecond, 25},
		20 * time.Second:       {time.Second, 50},
		10 * time.Minute:       {2 * time.Second, 360},
	} {
		if late, polls := waited(t, takes); late > want.late || polls > want.polls {
			t.Errorf("a task of %v is noticed %v late after %d polls", takes, late, polls)
		}
	}
	for takes := time.Duration(0); takes < 2*time.Minute; takes += 37 * time.Millisecond {
		late, _ := waited(t, takes)
		bound := min(longPoll, max(100*time.Millisecond, takes/10))
		if takes < longTask {
			bound = min(bound, time.Second)
		}
		if late > bound || takes <= 3*time.Second && late > 250*time.Millisecond {
			t.Errorf("a task of %v is noticed %v late", takes, late)
		}
	}
}

// waited is how late the end of a task is noticed, and after how many polls.
func waited(t *testing.T, takes time.Duration) (late time.Duration, polls int) {
	t.Helper()
	clock := newFakeClock()
	c := &Client{clock: clock, Tasks: &TaskService{}}
	c.View, c.Tasks.c = newView(c), c
	c.http = answering(func(*http.Request) (*http.Response, error) {
		polls++
		answer := taskAnswer("OK")
		if clock.Now().Sub(newFakeClock().now) < takes {
			answer = taskAnswer("")
		}
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"data":` + answer.data + `}`))}, nil
	})
	if _, err := c.Tasks.Wait(t.Context(), upid(t, startUPID), WaitOptions{}); err != nil {
		t.Fatal(err)
	}
	return clock.Now().Sub(newFakeClock().now) - takes, polls
}

func TestProgressIsSparse(t *testing.T) {
	t.Parallel()
	statuses := slices.Repeat([]reply{taskAnswer("")}, 40)
	pve := newRecordedPVE(t).on(startStatus, append(statuses, taskAnswer("OK"))...).
		on(startLog, logAnswer(2, "create full clone", "10% done"), logAnswer(3, "50% done"), logAnswer(4, "TASK OK"))
	var told []string
	_, err := pve.client(t).Tasks.Wait(t.Context(), upid(t, startUPID), WaitOptions{Progress: func(line string) { told = append(told, line) }})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"create full clone", "10% done", "50% done", "TASK OK"}; !slices.Equal(told, want) {
		t.Errorf("told %q", told)
	}
	if n := pve.count(startLog); n != 3 {
		t.Errorf("the log was read %d times in 41 polls", n)
	}
	if got := pve.last(t, startLog).params.Get("start"); got != "3" {
		t.Errorf("the last read began at line %s", got)
	}
}

func TestTaskLogAndList(t *testing.T) {
	t.Parallel()
	const list = "GET /nodes/pve1/tasks"
	pve := newRecordedPVE(t).
		on(startLog, logAnswer(1, "no content"), data(`{"n":1,"t":"unable to open file"}`)).
		on(list, data(`[{"upid":"`+startUPID+`","id":"110","type":"qmstart","node":"pve1","pid":1,"pstart":2,"saved":"0","starttime":1795997924,"status":"RUNNING","user":"root@pam!lab"},
			{"upid":"`+startUPID+`","id":"110","type":"qmstart","node":"pve1","pid":1,"pstart":2,"starttime":1795997924,"endtime":1795997934,"status":"received interrupt","user":"root@pam"}],"total":309`))
	c := pve.client(t)
	for _, what := range []string{"an empty log", "the log of a task that PVE 8 does not know"} {
		if lines, total, err := c.Tasks.Log(t.Context(), upid(t, startUPID), 0, 50); len(lines) != 0 || total != 0 || err != nil {
			t.Errorf("%s: %q of %d (%v)", what, lines, total, err)
		}
	}
	tasks, err := c.Tasks.List(t.Context(), "pve1", TaskFilter{VMID: 110, TypeFilter: "qmstart", Since: time.Unix(1795997906, 0), Limit: 5})
	if err != nil || len(tasks) != 2 || !tasks[0].Running || tasks[0].Status != "" || tasks[1].Running ||
		tasks[1].Status != "received interrupt" || !tasks[1].End.Equal(time.Unix(1795997934, 0)) || tasks[0].UPID.Type != "qmstart" {
		t.Errorf("tasks %+v (%v)", tasks, err)
	}
	if got := pve.last(t, list).params.Encode(); got != "limit=5&since=1795997906&source=all&typefilter=qmstart&vmid=110" {
		t.Errorf("asked %s", got)
	}
}
