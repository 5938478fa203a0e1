package pvelab

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"testing"
	"time"
)

func statusOf(t *testing.T, c *client, upid string) map[string]any {
	t.Helper()
	a := c.call("GET", "/nodes/pve1/tasks/"+url.PathEscape(upid)+"/status", nil)
	s, ok := a.data.(map[string]any)
	if !ok {
		t.Fatalf("status of %s: %d %s", upid, a.status, a.reason)
	}
	return s
}

// settled waits for the end of a task.
func settled(t *testing.T, c *client, upid string) map[string]any {
	t.Helper()
	for range 1000 {
		if s := statusOf(t, c, upid); s["status"] == "stopped" {
			return s
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("%s does not end", upid)
	return nil
}

func logOf(t *testing.T, c *client, upid string) []string {
	t.Helper()
	a := c.call("GET", "/nodes/pve1/tasks/"+upid+"/log", nil)
	rows, ok := a.data.([]any)
	if !ok {
		t.Fatalf("log of %s: %d %s %v", upid, a.status, a.reason, a.data)
	}
	var out []string
	for i, r := range rows {
		row, _ := r.(map[string]any)
		if row["n"] != float64(i+1) {
			t.Errorf("line %d has the number %v", i+1, row["n"])
		}
		out = append(out, text(row["t"]))
	}
	if a.total != len(out) {
		t.Errorf("total %d of %d lines", a.total, len(out))
	}
	return out
}

func start(l *Lab, typ string, run func(*task) error) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &call{lab: l, auth: principal{user: rootUser, token: "root@pam!tok"}}
	return l.startTask(c, "pve1", typ, "100", run)
}

func TestTaskEnds(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	c := rootClient(t, l)
	for _, tc := range []struct {
		name string
		run  func(*task) error
		exit string
		log  []string
	}{
		{"ok", func(tk *task) error { tk.logf("one\ntwo"); return nil }, "OK", []string{"one", "two", "TASK OK"}},
		{"warnings", func(tk *task) error { tk.warnf("no %s", "efidisk"); return nil }, "WARNINGS: 1", []string{"WARN: no efidisk", "TASK WARNINGS: 1"}},
		{"error", func(*task) error { return fail("volume '%s' does not exist", "x") }, "volume 'x' does not exist", []string{"TASK ERROR: volume 'x' does not exist"}},
		{"error of two lines", func(*task) error { return errors.New("a\nb\n") }, "a b", []string{"TASK ERROR: a b"}},
	} {
		upid := start(l, "t", tc.run)
		if !upidRE.MatchString(upid) {
			t.Fatalf("%q is no UPID", upid)
		}
		s := settled(t, c, upid)
		if s["exitstatus"] != tc.exit || s["user"] != rootUser || s["tokenid"] != "tok" || s["id"] != "100" {
			t.Errorf("%s: %v", tc.name, s)
		}
		if got := logOf(t, c, upid); !slices.Equal(got, tc.log) {
			t.Errorf("%s: log %q", tc.name, got)
		}
	}
}

func TestStoppedTask(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	c := rootClient(t, l)
	upid := start(l, "t", func(tk *task) error { return tk.sleep(1000 * time.Hour) })
	if got := logOf(t, c, upid); !slices.Equal(got, []string{"no content"}) {
		t.Errorf("log of a silent task: %q", got)
	}
	if a := c.call("DELETE", "/nodes/pve1/tasks/"+upid, nil); a.status != 200 {
		t.Fatalf("stop: %d %s", a.status, a.reason)
	}
	if s := statusOf(t, c, upid); s["status"] != "stopped" || s["exitstatus"] != "received interrupt" {
		t.Errorf("right after the stop: %v", s)
	}
	if a := c.call("DELETE", "/nodes/pve1/tasks/"+upid, nil); a.status != 200 {
		t.Errorf("stop of a finished task: %d %s", a.status, a.reason)
	}
}

func TestTaskOfALostNode(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	c := rootClient(t, l)
	c.base = l.NodeURL("pve2")
	ended := make(chan error, 1)
	upid := start(l, "t", func(tk *task) error {
		err := tk.sleep(1000 * time.Hour)
		ended <- err
		return err
	})
	if err := l.Faults().NodeOffline("pve1"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, errTaskLost) {
		t.Errorf("the worker ends with %v", err)
	}
	if a := c.call("GET", "/nodes/pve1/tasks/"+upid+"/status", nil); a.status != 595 {
		t.Errorf("status while the node is gone: %d", a.status)
	}
	if err := l.Faults().NodeOnline("pve1"); err != nil {
		t.Fatal(err)
	}
	if s := settled(t, c, upid); s["exitstatus"] != "unexpected status" {
		t.Errorf("after the node's return: %v", s)
	}
}

func TestTaskFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		fault  TaskFault
		exit   string
		effect bool
	}{
		{"lock", TaskLockTimeout("qmclone", "100", 101), "can't lock file '/var/lock/qemu-server/lock-101.conf' - got timeout", false},
		{"failing with log", TaskFault{Log: []string{"transferred 1 of 2"}, Exit: "disk full"}, "disk full", false},
		{"failing at the end", TaskFault{Exit: "disk full", After: true}, "disk full", true},
		{"warnings", TaskFault{Warnings: []string{"a", "b"}}, "WARNINGS: 2", true},
		{"another type", TaskFault{Type: "qmstart", Exit: "x"}, "OK", true},
		{"another id", TaskFault{ID: "10", Exit: "x"}, "OK", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, Options{})
			if _, err := l.Faults().AddTask(tc.fault); err != nil {
				t.Fatal(err)
			}
			done := make(chan bool, 1)
			upid := start(l, "qmclone", func(*task) error { done <- true; return nil })
			c := rootClient(t, l)
			if s := settled(t, c, upid); s["exitstatus"] != tc.exit {
				t.Errorf("exit %v", s["exitstatus"])
			}
			if (len(done) == 1) != tc.effect {
				t.Errorf("effect: %v", !tc.effect)
			}
			if lines := logOf(t, c, upid); len(tc.fault.Log) > 0 && lines[0] != tc.fault.Log[0] {
				t.Errorf("log %q", lines)
			}
		})
	}
}

func TestTaskLists(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	c := rootClient(t, l)
	settled(t, c, start(l, "qmstart", func(*task) error { return nil }))
	settled(t, c, start(l, "qmclone", func(*task) error { return errors.New("no") }))
	settled(t, c, start(l, "qmstart", func(tk *task) error { tk.warnf("w"); return nil }))
	start(l, "qmclone", func(tk *task) error { return tk.sleep(1000 * time.Hour) })
	for _, tc := range []struct {
		query string
		want  []string
		total int
	}{
		{"", []string{"WARNINGS: 1", "no", "OK"}, 3},
		{"limit=1", []string{"WARNINGS: 1"}, 3},
		{"start=1&limit=1", []string{"no"}, 3},
		{"errors=1", []string{"WARNINGS: 1", "no"}, 2},
		{"statusfilter=warning,ok", []string{"WARNINGS: 1", "OK"}, 2},
		{"typefilter=qmstart", []string{"WARNINGS: 1", "OK"}, 2},
		{"source=active", []string{"RUNNING"}, 1},
		{"source=all", []string{"RUNNING", "WARNINGS: 1", "no", "OK"}, 4},
		{"vmid=101", nil, 0},
		{"userfilter=ROOT", []string{"WARNINGS: 1", "no", "OK"}, 3},
		{"since=4000000000", nil, 0},
	} {
		form, err := url.ParseQuery(tc.query)
		if err != nil {
			t.Fatal(err)
		}
		a := c.call("GET", "/nodes/pve1/tasks", form)
		rows, _ := a.data.([]any)
		var got []string
		for _, r := range rows {
			row, _ := r.(map[string]any)
			got = append(got, text(row["status"]))
		}
		if !slices.Equal(got, tc.want) || a.total != tc.total {
			t.Errorf("%q: %q, total %d", tc.query, got, a.total)
		}
	}
	if rows, _ := c.call("GET", "/cluster/tasks", nil).data.([]any); len(rows) != 4 {
		t.Errorf("/cluster/tasks has %d rows", len(rows))
	}
}

func TestTasksOfOthersAreHidden(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	addToken(l, "alice@pve", "tok", "s", true)
	upid := start(l, "t", func(*task) error { return nil })
	c := newClient(t, l, "PVEAPIToken=alice@pve!tok=s")
	for _, path := range []string{"/status", "/log"} {
		a := c.call("GET", "/nodes/pve1/tasks/"+upid+path, nil)
		if a.status != 403 || a.reason != "Permission check failed (/nodes/pve1, Sys.Audit)" {
			t.Errorf("%s: %d %s", path, a.status, a.reason)
		}
	}
	if a := c.call("DELETE", "/nodes/pve1/tasks/"+upid, nil); a.reason != "Permission check failed (/nodes/pve1, Sys.Modify)" {
		t.Errorf("stop: %d %s", a.status, a.reason)
	}
	for _, path := range []string{"/nodes/pve1/tasks", "/cluster/tasks"} {
		if rows, _ := c.call("GET", path, nil).data.([]any); len(rows) != 0 {
			t.Errorf("%s shows %v", path, rows)
		}
	}
}

func TestUnknownTasks(t *testing.T) {
	t.Parallel()
	const unknown = "UPID:pve1:0000FFFF:00FFFFFF:6A000000:qmstart:110:root@pam!tok:"
	for version, kind := range map[string]string{"9.2": "[]interface {}", "8.4": "map[string]interface {}"} {
		l := startLab(t, Options{Version: version})
		c := rootClient(t, l)
		a := c.call("GET", "/nodes/pve1/tasks/"+unknown+"/log", nil)
		if got := fmt.Sprintf("%T", a.data); a.status != 200 || got != kind {
			t.Errorf("%s: %d, the log is a %s", version, a.status, got)
		}
		if a := c.call("GET", "/nodes/pve1/tasks/"+unknown+"/status", nil); a.errors["upid"] != "no such task" {
			t.Errorf("%s: %d %v", version, a.status, a.errors)
		}
	}
}

func TestUPIDsAreUnique(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	pid := regexp.MustCompile(`^UPID:pve1:([0-9A-F]{8}):`)
	seen := map[string]bool{}
	for range 50 {
		m := pid.FindStringSubmatch(start(l, "t", func(*task) error { return nil }))
		if m == nil || seen[m[1]] {
			t.Fatalf("%q is malformed or not new", m)
		}
		seen[m[1]] = true
	}
}
