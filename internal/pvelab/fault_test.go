package pvelab

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

const groupsPath = "/access/groups"

func groupForm(id string) url.Values { return url.Values{"groupid": {id}} }

func (l *Lab) hasGroup(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.access.groups[id] != nil
}

func mustAdd(t *testing.T, l *Lab, f Fault) int {
	t.Helper()
	id, err := l.Faults().Add(f)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestCallFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		fault  Fault
		status int // 0: the connection breaks
		reason string
		effect bool
	}{
		{"lost before", Fault{Drop: DropBefore}, 0, "", false},
		{"lost after", Fault{Drop: DropAfter}, 0, "", true},
		{"end in the body", Fault{Drop: DropBody}, 0, "", true},
		{"lock", LockTimeout("POST", groupsPath, 123), 500, "can't lock file '/var/lock/qemu-server/lock-123.conf' - got timeout", false},
		{"596", Fault{Status: 596, Text: "Connection timed out"}, 596, "Connection timed out", false},
		{"596 after", Fault{Status: 596, Text: "Connection timed out", After: true}, 596, "Connection timed out", true},
		{"delay", Fault{Delay: time.Second}, 200, "OK", true},
		{"other client", Fault{Agent: "^terraform", Drop: DropBefore}, 200, "OK", true},
		{"this client", Fault{Agent: "^Go-http", Drop: DropBefore}, 0, "", false},
		{"other method", Fault{Method: "GET", Drop: DropBefore}, 200, "OK", true},
		{"whole path only", Fault{Path: "/access", Drop: DropBefore}, 200, "OK", true},
		{"not yet", Fault{Skip: 1, Drop: DropBefore}, 200, "OK", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			l := startLab(t, Options{})
			if tc.fault.Path == "" {
				tc.fault.Path = groupsPath
			}
			id := mustAdd(t, l, tc.fault)
			a, err := rootClient(t, l).try("POST", groupsPath, groupForm("ops"))
			if tc.status == 0 && err == nil || tc.status != 0 && err != nil {
				t.Fatalf("answer %+v, error %v", a, err)
			}
			if a.status != tc.status || a.reason != tc.reason {
				t.Errorf("got %d %q", a.status, a.reason)
			}
			if l.hasGroup("ops") != tc.effect {
				t.Errorf("effect: %v", !tc.effect)
			}
			last := l.Requests()[len(l.Requests())-1]
			if last.Method != http.MethodPost || last.Path != groupsPath || last.Status != tc.status && tc.fault.Drop != DropBody || !strings.HasPrefix(last.Agent, "Go-http") {
				t.Errorf("the last request is %+v", last)
			}
			if tc.status == 596 && a.raw != "" {
				t.Errorf("a 596 has a body: %q", a.raw)
			}
			if hit := l.Faults().Hits(id) == 1; hit != (tc.status != 200 || tc.fault.Delay != 0) {
				t.Errorf("hit: %v", hit)
			}
		})
	}
}

func TestFaultsCountDown(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	c := rootClient(t, l)
	id := mustAdd(t, l, Fault{Method: "GET", Path: "/cluster/.*", Skip: 1, Times: 2, Status: 503, Text: "busy"})
	got := []int{}
	for range 5 {
		got = append(got, c.call("GET", "/cluster/tasks", nil).status)
	}
	if fmt.Sprint(got) != "[200 503 503 200 200]" {
		t.Errorf("got %v", got)
	}
	always := mustAdd(t, l, Fault{Path: "/cluster/tasks", Times: -1, Status: 502})
	for range 3 {
		if a := c.call("GET", "/cluster/tasks", nil); a.status != 502 || a.reason != "Bad Gateway" {
			t.Errorf("got %d %q", a.status, a.reason)
		}
	}
	if l.Faults().Hits(id) != 2 || l.Faults().Hits(always) != 3 {
		t.Errorf("hits: %d, %d", l.Faults().Hits(id), l.Faults().Hits(always))
	}
	l.Faults().Remove(always)
	if a := c.call("GET", "/cluster/tasks", nil); a.status != 200 {
		t.Errorf("after the fault: %d", a.status)
	}
	if _, err := l.Faults().Add(Fault{Path: "("}); err == nil {
		t.Error("a path that is no regular expression is taken")
	}
}

func TestClockSkewShows(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	l.Faults().SkewClock(48 * time.Hour)
	l.mu.Lock()
	upid := l.startTask(nil, "pve1", "test", "1", func(*task) error { return nil })
	l.mu.Unlock()
	stamp := strings.Split(upid, ":")[4]
	if want := fmt.Sprintf("%08X", time.Now().Add(48*time.Hour).Unix()); stamp[:6] != want[:6] {
		t.Errorf("start time %s, want about %s", stamp, want)
	}
}

func adminCall(t *testing.T, l *Lab, method, path, token string, body any) (int, map[string]any) {
	t.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, l.AdminURL()+path, bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	out := map[string]any{}
	if resp.StatusCode == http.StatusOK {
		if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
			t.Fatal(err)
		}
	}
	return resp.StatusCode, out
}

func TestAdminEndpoint(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	c := rootClient(t, l)
	if status, _ := adminCall(t, l, "GET", "/counters", "wrong", nil); status != http.StatusUnauthorized {
		t.Errorf("without the token: %d", status)
	}
	status, out := adminCall(t, l, "POST", "/faults", l.AdminToken(), map[string]any{
		"path": "/cluster/tasks", "status": 500, "text": "boom", "delay": "10ms",
	})
	if status != http.StatusOK {
		t.Fatalf("adding a fault: %d", status)
	}
	if a := c.call("GET", "/cluster/tasks", nil); a.status != 500 || a.reason != "boom" || a.message != "boom\n" {
		t.Errorf("the fault: %d %q %q", a.status, a.reason, a.message)
	}
	if _, seen := adminCall(t, l, "GET", fmt.Sprintf("/faults/%v", out["id"]), l.AdminToken(), nil); seen["hits"] != 1.0 {
		t.Errorf("hits: %v", seen)
	}
	if status, _ := adminCall(t, l, "POST", "/faults", l.AdminToken(), map[string]any{"paht": "x"}); status != http.StatusBadRequest {
		t.Errorf("a misspelt field: %d", status)
	}
	if status, _ := adminCall(t, l, "PUT", "/nodes/pve2", l.AdminToken(), map[string]any{"online": false}); status != http.StatusOK {
		t.Errorf("a node offline: %d", status)
	}
	if a := c.call("GET", "/nodes/pve2/tasks", nil); a.status != 595 {
		t.Errorf("a node offline answers %d", a.status)
	}
	_, counts := adminCall(t, l, "GET", "/counters", l.AdminToken(), nil)
	requests, _ := counts["requests"].(map[string]any)
	if requests["GET /nodes/{node}/tasks"] != 1.0 || counts["total"] != 2.0 {
		t.Errorf("counters: %v", counts)
	}
	if status, _ := adminCall(t, l, "PUT", "/guests/100", l.AdminToken(), map[string]any{"mute_agent": true}); status != http.StatusOK {
		t.Errorf("a mute agent: %d", status)
	}
	l.locked(func() {
		if !l.mute[100] || l.deaf[100] {
			t.Errorf("mute %v, deaf %v", l.mute[100], l.deaf[100])
		}
	})
	if a := c.call("GET", "/pvelab/counters", nil); a.status != 501 {
		t.Errorf("the API knows the lab's own paths: %d", a.status)
	}
}

func TestCounters(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	c := rootClient(t, l)
	c.call("GET", "/nodes/pve1/tasks", nil)
	before := l.Counters().Snapshot()
	c.call("GET", "/nodes/pve2/tasks", nil)
	c.call("GET", "/nodes/pve1/tasks/UPID:x/status", nil)
	c.call("GET", "/nothing", nil)
	d := l.Counters().Snapshot().Sub(before)
	want := map[string]int{"GET /nodes/{node}/tasks": 1, "GET /nodes/{node}/tasks/{upid}/status": 1, "GET ?": 1}
	if fmt.Sprint(d.Requests) != fmt.Sprint(want) || d.Total != 3 || d.Connections != 1 {
		t.Errorf("got %+v", d)
	}
	if d.BytesIn < 100 || d.BytesOut < 100 {
		t.Errorf("bytes: %d in, %d out", d.BytesIn, d.BytesOut)
	}
	l.Counters().Reset()
	if s := l.Counters().Snapshot(); s.Total != 0 || len(s.Requests) != 0 || s.Connections != 0 {
		t.Errorf("after the reset: %+v", s)
	}
}

// TestHeldAnswer: the call has done its work, and its answer waits.
func TestHeldAnswer(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	id := mustAdd(t, l, Fault{Path: groupsPath, Hold: true})
	client, answered := rootClient(t, l), make(chan int, 1)
	go func() {
		a, err := client.try("POST", groupsPath, groupForm("ops"))
		if err != nil {
			a.status = 0
		}
		answered <- a.status
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := l.Faults().Reached(ctx, id); err != nil {
		t.Fatal(err)
	}
	if !l.hasGroup("ops") || len(answered) > 0 {
		t.Errorf("effect: %v, answers: %d", l.hasGroup("ops"), len(answered))
	}
	l.Faults().Release(id)
	if status := <-answered; status != 200 {
		t.Errorf("released: %d", status)
	}
}

func TestHeldTask(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	id, err := l.Faults().AddTask(TaskFault{Type: "test", Hold: true})
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	upid := l.startTask(nil, "pve1", "test", "1", func(tk *task) error {
		tk.logf("begun")
		return tk.sleep(time.Second)
	})
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := l.Faults().Reached(ctx, id); err != nil {
		t.Fatal(err)
	}
	c := rootClient(t, l)
	if s := statusOf(t, c, upid); s["status"] != "running" {
		t.Errorf("held: %v", s)
	}
	l.Faults().Release(id)
	if s := settled(t, c, upid); s["exitstatus"] != "OK" {
		t.Errorf("released: %v", s)
	}
}
