package proxmox

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// step is one exchange that a test expects: the call, and what is answered.
type step struct {
	call string
	// form is what the call has to carry, among others.
	form map[string]string
	data any
	// status and message are an answer other than success.
	status  int
	message string
	params  map[string]string
	// lost cuts the connection instead of answering.
	lost bool
	// then runs before the answer.
	then func()
}

// on expects a call such as "GET /nodes/pve1/tasks?source=active".
func on(call string) step { return step{call: call} }

func (s step) with(key, value string) step {
	s.form = maps.Clone(s.form)
	if s.form == nil {
		s.form = map[string]string{}
	}
	s.form[key] = value
	return s
}

func (s step) data200(data any) step { s.data = data; return s }

func (s step) fail(status int, message string) step {
	s.status, s.message = status, message
	return s
}

func (s step) cut() step { s.lost = true; return s }

func (s step) and(then func()) step { s.then = then; return s }

// testRange is the range of guest ids of the clients under test.
var testRange = VMIDRange{First: 10000, Last: 10009}

// script is a PVE that expects exactly these calls in this order.
func script(t *testing.T, steps ...step) *Client {
	t.Helper()
	s := &scripted{t: t, steps: steps}
	t.Cleanup(func() {
		for _, missing := range s.steps {
			t.Errorf("missing call: %s", missing.call)
		}
	})
	return fakeClient(t, s)
}

type scripted struct {
	t     *testing.T
	mu    sync.Mutex
	steps []step
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := callOf(r)
	if len(s.steps) == 0 || s.steps[0].call != call {
		want := "none"
		if len(s.steps) > 0 {
			want = s.steps[0].call
		}
		s.t.Errorf("call %s, want %s", call, want)
		respond(w, on(call).fail(http.StatusNotImplemented, "Method not implemented"))
		return
	}
	next := s.steps[0]
	s.steps = s.steps[1:]
	for key, want := range next.form {
		if got := r.FormValue(key); got != want {
			s.t.Errorf("%s: %s = %q, want %q", call, key, got, want)
		}
	}
	if next.then != nil {
		next.then()
	}
	if next.lost {
		panic(http.ErrAbortHandler)
	}
	respond(w, next)
}

func callOf(r *http.Request) string {
	call := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api2/json")
	if r.URL.RawQuery != "" {
		call += "?" + r.URL.Query().Encode()
	}
	if listGuests == call+"?type=vm" {
		return listGuests // The view lists storages too, which are no matter here.
	}
	return call
}

func respond(w http.ResponseWriter, s step) {
	body := map[string]any{"data": s.data}
	if s.message != "" {
		body["message"] = s.message + "\n"
	}
	if s.params != nil {
		body["errors"] = s.params
	}
	w.Header().Set("Content-Type", "application/json;charset=UTF-8")
	if s.status != 0 {
		w.WriteHeader(s.status)
	}
	_ = json.NewEncoder(w).Encode(body)
}

// fakeClient is a client of a PVE that lives in the handler. It never really
// sleeps, and makes every call once.
func fakeClient(t *testing.T, handler http.Handler) *Client {
	t.Helper()
	server := httptest.NewTLSServer(handler)
	t.Cleanup(server.Close)
	c, err := New(Options{
		Endpoint: server.URL, TokenID: "terraform@pve!test", TokenSecret: "11111111-2222-4333-8444-555555555555",
		CAPEM:     pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
		VMIDRange: testRange, Retry: RetryPolicy{Attempts: 1}, clock: &idleClock{now: time.Unix(1796000000, 0)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// idleClock passes the time instead of waiting.
type idleClock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *idleClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *idleClock) Sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	c.now = c.now.Add(d)
	c.mu.Unlock()
	return ctx.Err()
}

const (
	testUUID  = "9c89f84e-b9c7-426a-b1ea-d6081f87ddb1"
	testCTime = 1795997230
)

// pendingOf is an answer of GET …/pending.
func pendingOf(values map[string]string) []map[string]any {
	var entries []map[string]any
	for _, key := range slices.Sorted(maps.Keys(values)) {
		entries = append(entries, map[string]any{"key": key, "value": values[key]})
	}
	return entries
}

// configOf is the configuration of a VM that carries a marker, changed by
// key, value, key, value; an empty value removes the key.
func configOf(marker Marker, changes ...string) []map[string]any {
	values := map[string]string{
		"name": "web", "description": "hello\n\n" + marker.String(), "digest": "d1", "memory": "512",
		"smbios1": "uuid=" + testUUID, "meta": "creation-qemu=10.0.13,ctime=1795997230",
		"boot": "order=scsi0;net0", "scsi0": "local:10000/vm-10000-disk-0.qcow2,size=2G",
	}
	for i := 0; i < len(changes); i += 2 {
		values[changes[i]] = changes[i+1]
		if changes[i+1] == "" {
			delete(values, changes[i])
		}
	}
	return pendingOf(values)
}

// stubConfig is what PVE shows of a guest of which no disk is done.
func stubConfig() []map[string]any {
	return pendingOf(map[string]string{"description": " qmclone temporary file", "lock": "clone", "digest": "d0"})
}

func upidOf(kind, id string) string {
	return "UPID:pve1:0000A2C5:000C7B33:6B0CD66F:" + kind + ":" + id + ":terraform@pve!test:"
}

// taskSteps is a task that ends at the first look. A failed one's log is read.
func taskSteps(upid, exit string) []step {
	path := "GET /nodes/pve1/tasks/" + upid
	steps := []step{on(path + "/status").data200(map[string]any{"status": "stopped", "exitstatus": exit})}
	if exit != "OK" {
		steps = append(steps, on(path+"/log?limit=20&start=0").data200([]map[string]any{{"n": 1, "t": "TASK ERROR: " + exit}}))
	}
	return steps
}

// steps joins single steps and lists of them.
func steps(parts ...any) []step {
	var all []step
	for _, part := range parts {
		switch part := part.(type) {
		case step:
			all = append(all, part)
		case []step:
			all = append(all, part...)
		}
	}
	return all
}

func ourGuest() Guest {
	return Guest{Kind: KindVM, VMID: 10000, Node: "pve1", UID: uidA, SMBIOSUUID: testUUID, CTime: testCTime}
}

func vmResource(vmid int, node, name string) map[string]any {
	return map[string]any{"type": "qemu", "id": "qemu/x", "vmid": vmid, "node": node, "name": name, "status": "running"}
}

const (
	notHere      = "Configuration file 'nodes/pve1/qemu-server/10000.conf' does not exist"
	noAudit      = "Permission check failed (/vms/10000, VM.Audit)"
	readGuest    = "GET /nodes/pve1/qemu/10000/pending"
	listGuests   = "GET /cluster/resources?type=vm"
	proveAbsence = "GET /cluster/nextid?vmid=10000"
)

func takenStep() step {
	s := on(proveAbsence).fail(400, "Parameter verification failed.")
	s.params = map[string]string{"vmid": "VM 10000 already exists"}
	return s
}

func itoa(n int) string { return strconv.Itoa(n) }
