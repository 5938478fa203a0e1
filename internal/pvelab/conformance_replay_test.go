package pvelab

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// outcome is what came of one recorded exchange.
type outcome int

const (
	// alike: the lab answers as PVE did.
	alike outcome = iota
	// differs: the lab answers otherwise.
	differs
	// unserved: the lab has no such endpoint.
	unserved
	// orphaned: it polls a task that only an unserved endpoint would have begun.
	orphaned
)

// result is the outcome of an exchange, with the differences.
type result struct {
	*exchange
	outcome outcome
	// endpoint is "METHOD /path" in the schema's spelling.
	endpoint string
	diffs    []string
}

// replay sends one topic's recorded requests to a lab of its own.
type replay struct {
	t        *testing.T
	lab      *Lab
	topic    *topic
	client   *http.Client
	bindings *bindings
	schema   *router
	// secrets are tokens by id; ticket and csrf come from the last login.
	secrets      map[string]string
	ticket, csrf string
	begun        time.Time
}

func newReplay(t *testing.T, version string, tp *topic, schema *router) *replay {
	t.Helper()
	l := recordersNode(t, version)
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(l.CAPEM()) {
		t.Fatal("the lab's CA is no certificate")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	return &replay{
		t: t, lab: l, topic: tp, schema: schema, bindings: newBindings(),
		client:  &http.Client{Transport: transport, Timeout: time.Minute},
		secrets: map[string]string{"root@pam!lab": labSecret, "labuser@pve!restricted": labSecret},
		begun:   l.clock.Now(),
	}
}

// run replays the topic in order, each exchange after what the recorder did
// before it without recording.
func (r *replay) run() []result {
	steps := unrecorded[r.topic.id]
	results := make([]result, 0, len(r.topic.exchanges))
	for i, e := range r.topic.exchanges {
		for _, s := range steps[e.N] {
			s(r)
		}
		if vmid := newGuestOf(e); vmid != 0 && !overlapping[r.topic.id][e.N] {
			freeGuest(vmid)(r)
		}
		if r.overlaps(i) {
			// Until something has to be waited for.
			r.lab.clock.freeze()
		}
		results = append(results, r.exchange(e))
		if !r.overlaps(i) {
			r.settle(e)
		}
	}
	for _, s := range steps[afterwards] {
		s(r)
	}
	return results
}

// newGuestOf is the id of the VM that an accepted call creates, or 0.
func newGuestOf(e *exchange) int {
	if e.Method != http.MethodPost || e.Status != http.StatusOK {
		return 0
	}
	key := ""
	switch {
	case strings.HasSuffix(e.Path, "/qemu") || strings.HasSuffix(e.Path, "/lxc"):
		key = "vmid"
	case strings.HasSuffix(e.Path, "/clone"):
		key = "newid"
	}
	return number(fmt.Sprint(e.Params[key]))
}

// exchange sends one request and compares the answers.
func (r *replay) exchange(e *exchange) result {
	res := result{exchange: e, endpoint: e.Method + " " + e.apiPath()}
	if rt, _ := r.schema.find(e.Method, decodePath(e.apiPath())); rt != nil {
		res.endpoint = rt.method + " " + rt.template
		if served, _ := r.lab.router.find(e.Method, decodePath(e.apiPath())); served == nil {
			res.outcome = unserved
			return res
		}
	}
	if upid := upidIn(e.Path); upid != "" && !r.bindings.known(upid) && e.Status == http.StatusOK && strings.HasPrefix(res.endpoint, "GET /nodes/{node}/tasks/{upid}") && r.polls(upid) {
		res.outcome = orphaned
		return res
	}
	if ended(e) {
		r.wait(r.bindings.translate(upidIn(e.Path)))
	}
	got := r.send(e)
	c := &comparison{bindings: r.bindings, endpoint: e.Method + " " + e.apiPath()}
	// Where PVE cut the connection there is no status, and no reason to compare.
	if got.status != e.Status || e.Status != 0 && !r.bindings.same(e.Reason, got.reason) {
		c.differ("status", "%d %s, not %d %s", got.status, got.reason, e.Status, e.Reason)
	}
	if e.Status != 0 {
		r.compareHeaders(c, e, got, res.endpoint)
	}
	if e.Body != nil {
		c.value("", e.Body, got.decoded())
	}
	if e.BodyRaw != nil && e.Status != 0 && *e.BodyRaw != got.body {
		c.differ("body", "%s, not %s", describe(got.body), describe(*e.BodyRaw))
	}
	if res.diffs = c.diffs; len(res.diffs) > 0 {
		res.outcome = differs
	}
	r.remember(got)
	return res
}

// compareHeaders compares the type and what becomes of the connection. PVE sends
// two Connection headers with a protected method's success, of which the
// recordings kept one: close and Keep-Alive.
func (r *replay) compareHeaders(c *comparison, e *exchange, got labAnswer, endpoint string) {
	if want := e.Headers["Content-Type"]; got.contentType != want {
		c.differ("Content-Type", "%q, not %q", got.contentType, want)
	}
	m := r.lab.schema.methods[endpoint]
	closes := e.Headers["Connection"] == "close" || m != nil && m.Protected == 1
	if got.closes != closes {
		c.differ("Connection", "closes: %v, not %v", got.closes, closes)
	}
}

// polls reports whether a task was begun by a call of this topic.
func (r *replay) polls(upid string) bool {
	for _, e := range r.topic.exchanges {
		if m, ok := e.Body.(map[string]any); ok && m["data"] == upid {
			return true
		}
	}
	return false
}

// ended reports whether the recording shows a task after its end.
func ended(e *exchange) bool {
	upid := upidIn(e.Path)
	if upid == "" || e.Method != http.MethodGet {
		return false
	}
	return !strings.Contains(fmt.Sprint(e.Body), "status:running") && !strings.Contains(fmt.Sprint(e.Body), "t:no content")
}

// settle waits for the task that an answer began, as the recorder did: its next
// request tells nothing of a task at work.
func (r *replay) settle(e *exchange) {
	m, ok := e.Body.(map[string]any)
	if !ok {
		return
	}
	if upid, ok := m["data"].(string); ok && strings.HasPrefix(upid, "UPID:") && r.bindings.known(upid) {
		r.wait(r.bindings.translate(upid))
	}
}

// overlaps reports whether the recorder went on before the task of exchange i
// was over.
func (r *replay) overlaps(i int) bool {
	if overlapping[r.topic.id][r.topic.exchanges[i].N] {
		return true
	}
	if i+1 == len(r.topic.exchanges) {
		return false
	}
	next := r.topic.exchanges[i+1]
	return upidIn(next.Path) != "" && !ended(next)
}

// wait polls a task until it has stopped.
func (r *replay) wait(upid string) {
	path := "/nodes/pve1/tasks/" + url.PathEscape(upid) + "/status"
	for range 3000 {
		got := r.do(http.MethodGet, path, nil)
		m, _ := got.decoded().(map[string]any)
		data, _ := m["data"].(map[string]any)
		if data["status"] != "running" {
			return
		}
		r.lab.clock.thaw()
		time.Sleep(2 * time.Millisecond)
	}
	r.t.Errorf("topic %s: task %s does not end", r.topic.id, upid)
}

// labAnswer is what the lab sent.
type labAnswer struct {
	status       int
	reason, body string
	contentType  string
	// closes tells that the connection ends with the answer.
	closes bool
}

func (a labAnswer) decoded() any {
	var v any
	dec := json.NewDecoder(strings.NewReader(a.body))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	return v
}

// do makes an unrecorded request as root@pam!lab.
func (r *replay) do(method, path string, values url.Values) labAnswer {
	got := r.send(&exchange{Auth: "root@pam!lab", Method: method, Path: "/api2/json" + path, Params: asParams(values)})
	r.remember(got)
	return got
}

func asParams(values url.Values) map[string]any {
	p := map[string]any{}
	for k := range values {
		p[k] = values.Get(k)
	}
	return p
}

func (r *replay) send(e *exchange) labAnswer {
	req, err := r.request(e)
	if err != nil {
		r.t.Fatalf("%s %s: %v", e.Method, e.Path, err)
	}
	resp, err := r.client.Do(req)
	if err != nil {
		return labAnswer{reason: err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return labAnswer{reason: err.Error()}
	}
	reason := strings.TrimSpace(strings.TrimPrefix(resp.Status, fmt.Sprint(resp.StatusCode)))
	return labAnswer{
		status: resp.StatusCode, reason: reason, body: string(body),
		contentType: resp.Header.Get("Content-Type"), closes: resp.Close,
	}
}

func (r *replay) request(e *exchange) (*http.Request, error) {
	target := r.lab.URL() + r.bindings.translatePath(e.Path)
	form := url.Values{}
	for k, v := range e.Params {
		form.Set(k, r.parameter(k, fmt.Sprint(v)))
	}
	var body io.Reader = http.NoBody
	contentType := ""
	switch {
	case e.RequestBody != nil:
		body = strings.NewReader(*e.RequestBody)
	case e.Multipart != nil:
		var err error
		if body, contentType, err = r.multipart(e); err != nil {
			return nil, err
		}
	case e.Method == http.MethodGet || e.Method == http.MethodDelete:
		if len(form) > 0 {
			target += "?" + form.Encode()
		}
	default:
		body, contentType = strings.NewReader(form.Encode()), "application/x-www-form-urlencoded"
	}
	req, err := http.NewRequestWithContext(context.Background(), e.Method, target, body)
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	r.authorise(req, e)
	return req, nil
}

// multipart builds an upload of as many bytes as the recorded one. Their
// checksum takes the place of the recorded file's.
func (r *replay) multipart(e *exchange) (io.Reader, string, error) {
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	chunked := slices.Contains(e.RequestHeaders, "Transfer-Encoding: chunked")
	for _, f := range e.Multipart {
		if f.size == 0 {
			if err := w.WriteField(f.name, r.bindings.translate(f.value)); err != nil {
				return nil, "", err
			}
			continue
		}
		file, err := w.CreateFormFile(f.name, uploadNames[e.N])
		if err != nil {
			return nil, "", err
		}
		size := f.size
		if chunked {
			size = 1 // PVE looks no further than the headers.
		}
		if _, err := file.Write(make([]byte, size)); err != nil {
			return nil, "", err
		}
	}
	if chunked {
		// The client sends a body of unknown length in chunks.
		return io.MultiReader(&buf), w.FormDataContentType(), w.Close()
	}
	return &buf, w.FormDataContentType(), w.Close()
}

// parameter puts the lab's values where the recording has PVE's: tokens, the
// password, and moments.
func (r *replay) parameter(name, value string) string {
	switch {
	case name == "password" && value == "REDACTED":
		return labPassword
	case name == "since":
		return fmt.Sprint(r.begun.Unix())
	}
	return r.bindings.translate(value)
}

// authorise identifies the request as the recorder did, see the recordings'
// field "auth".
func (r *replay) authorise(req *http.Request, e *exchange) {
	for _, h := range e.RequestHeaders {
		k, v, _ := strings.Cut(h, ": ")
		req.Header.Set(k, strings.ReplaceAll(v, "<secret>", "00000000-0000-0000-0000-000000000000"))
	}
	switch e.Auth {
	case "ticket root@pam", "ticket root@pam, no CSRFPreventionToken":
		req.Header.Set("Cookie", "PVEAuthCookie="+url.QueryEscape(r.ticket))
	case "ticket root@pam + CSRF":
		req.Header.Set("Cookie", "PVEAuthCookie="+url.QueryEscape(r.ticket))
		req.Header.Set("CSRFPreventionToken", r.csrf)
	default:
		if secret, ok := r.secrets[e.Auth]; ok {
			req.Header.Set("Authorization", "PVEAPIToken="+e.Auth+"="+secret)
		}
	}
}

// remember keeps the credentials that an answer brings.
func (r *replay) remember(got labAnswer) {
	m, _ := got.decoded().(map[string]any)
	data, _ := m["data"].(map[string]any)
	if t, ok := data["ticket"].(string); ok {
		r.ticket = t
		r.csrf, _ = data["CSRFPreventionToken"].(string)
	}
	if id, ok := data["full-tokenid"].(string); ok {
		r.secrets[id], _ = data["value"].(string)
	}
}

func decodePath(path string) string {
	plain, err := url.PathUnescape(path)
	if err != nil {
		return path
	}
	return plain
}
