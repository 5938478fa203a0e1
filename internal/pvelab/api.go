package pvelab

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	apiPrefix = "/api2/json"
	jsonType  = "application/json;charset=UTF-8"
	// statusNoRoute is what pveproxy answers when another node does not.
	statusNoRoute = 595
	// maxPost is the largest body that pveproxy reads, uploads apart.
	maxPost = 512 * 1024
	// authDelay is how long a failed authentication takes.
	authDelay = 3 * time.Second
	// routeDelay is how long pveproxy tries to reach a node that is gone.
	routeDelay = 3 * time.Second
)

var knownMethods = []string{"GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"}

// counted is a list whose answer carries "total" beside "data".
type counted struct {
	data  any
	total int
	// changes is the network configuration's difference that waits for a reload.
	changes string
}

// file is an answer that is no JSON.
type file struct {
	contentType string
	body        []byte
}

// respond does what pveproxy does with a request, up to its answer.
func (e *endpoint) respond(req *http.Request) *response {
	if !slices.Contains(knownMethods, req.Method) {
		return bare(http.StatusNotImplemented, "method '"+req.Method+"' not available")
	}
	if len(req.TransferEncoding) > 0 {
		if e.server.lab.is8() {
			return &response{fate: fateDrop}
		}
		text := "chunked transfer encoding not supported"
		return spoken(http.StatusNotImplemented, text)
	}
	if isPage(req) {
		return e.pageOf(req.URL.Query())
	}
	path, found := strings.CutPrefix(req.URL.Path, apiPrefix)
	if !found || path != "" && path[0] != '/' {
		return e.otherPath(req.URL.Path)
	}
	if path == "" {
		path = "/"
	}
	rt, values := e.server.lab.router.find(req.Method, path)
	e.server.lab.counter.request(req.Method, rt)
	plan := e.server.lab.faults.match(req.Method, path, req.UserAgent())
	if resp := plan.before(e.server.ctx, e.server.lab.clock); resp != nil {
		return e.noted(req, path, resp)
	}
	resp := e.answer(req, path, rt, values)
	return e.noted(req, path, plan.after(e.server.ctx, resp))
}

// otherPath answers what is not the JSON API. The web interface is left out, but for
// the lab's own page in its place.
func (e *endpoint) otherPath(path string) *response {
	text := "no such file '" + path + "'"
	if strings.HasPrefix(path, "/api2/") {
		text = "no such uri"
		return spoken(http.StatusNotImplemented, text)
	}
	return died(text)
}

// answer authenticates, reads the body and runs the call.
func (e *endpoint) answer(req *http.Request, path string, rt *route, values map[string]string) *response {
	l := e.server.lab
	upload := uploadPath(req.Method, path)
	who, err := l.authenticate(req, path, upload != "")
	if err == nil && upload != "" {
		err = l.mayUpload(who, upload)
	}
	if err != nil {
		return refused(err)
	}
	raw, file, resp := e.parameters(req, upload != "")
	if resp != nil {
		return resp
	}
	c := &call{
		lab: l, ctx: e.server.ctx, auth: who, method: req.Method, userAgent: req.UserAgent(), path: path,
		via: e.node, node: e.node, upload: file,
	}
	return l.run(c, rt, values, raw)
}

// refused is an authentication that failed: an empty body, late.
func refused(err error) *response {
	resp := bare(http.StatusUnauthorized, err.Error())
	resp.delay = authDelay
	if ae := (*apiError)(nil); errors.As(err, &ae) {
		resp.status = ae.status
	}
	return resp
}

// parameters reads the body and the query. A response other than nil ends the
// request.
func (e *endpoint) parameters(req *http.Request, multipart bool) (map[string]any, *upload, *response) {
	raw := map[string]any{}
	var file *upload
	if req.ContentLength > 0 {
		if req.Method != http.MethodPost && req.Method != http.MethodPut {
			text := "Unexpected content for method '" + req.Method + "'"
			return nil, nil, spoken(http.StatusNotImplemented, text)
		}
		var resp *response
		if multipart {
			raw, file, resp = e.readUpload(req)
		} else {
			raw, resp = e.readBody(req)
		}
		if resp != nil {
			return nil, nil, resp
		}
	}
	for k, v := range decodeForm(req.URL.RawQuery) {
		raw[k] = v
	}
	delete(raw, "_dc")
	return raw, file, nil
}

func (e *endpoint) readBody(req *http.Request) (map[string]any, *response) {
	if req.ContentLength > maxPost {
		return nil, spoken(http.StatusNotImplemented, "for data too large")
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, bare(http.StatusBadRequest, "bad request")
	}
	full := req.Header.Get("Content-Type")
	typ, _, _ := strings.Cut(full, ";")
	switch strings.TrimSpace(typ) {
	case "", "application/x-www-form-urlencoded":
		return decodeForm(string(body)), nil
	case "application/json":
		return e.decodeJSON(body)
	}
	text := "upload 'Content-Type '" + full + "' not implemented"
	return nil, spoken(http.StatusVariantAlsoNegotiates, text)
}

// decodeForm reads a form as pveproxy does: "&" and ";" separate, a value ends at
// a second "=", and a repeated key makes an array.
func decodeForm(form string) map[string]any {
	out := map[string]any{}
	for _, pair := range strings.FieldsFunc(form, func(r rune) bool { return r == '&' || r == ';' }) {
		fields := strings.SplitN(pair, "=", 3) //nolint:mnd // key, value, the rest.
		key := unescape(fields[0])
		if len(fields) == 1 {
			out[key] = nil
			continue
		}
		value := unescape(fields[1])
		switch old := out[key].(type) {
		case nil:
			out[key] = value
		case []any:
			out[key] = append(old, value)
		default:
			out[key] = []any{old, value}
		}
	}
	return out
}

func unescape(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

func (e *endpoint) decodeJSON(body []byte) (map[string]any, *response) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	raw := map[string]any{}
	if err := dec.Decode(&raw); err != nil {
		return nil, died(malformed(string(body)) + e.server.lab.perlLine(lineDecodeJSON))
	}
	for k, v := range raw {
		raw[k] = numbersToText(v)
	}
	return raw, nil
}

// malformed is what Perl's JSON parser says of an object without a key, and of
// what is no JSON at all.
func malformed(body string) string {
	if rest, ok := strings.CutPrefix(body, "{"); ok && !strings.HasPrefix(rest, `"`) {
		rest = strings.TrimSuffix(rest, "}")
		return fmt.Sprintf("'\"' expected, at character offset 1 (before %q)", rest)
	}
	return fmt.Sprintf("malformed JSON string, neither tag, array, object, number, string or atom,"+
		" at character offset 0 (before %q)", body)
}

func numbersToText(v any) any {
	switch t := v.(type) {
	case json.Number:
		return t.String()
	case []any:
		for i := range t {
			t[i] = numbersToText(t[i])
		}
	case map[string]any:
		for k := range t {
			t[k] = numbersToText(t[k])
		}
	}
	return v
}

// run takes a call through PVE's order of checks to its handler.
func (l *Lab) run(c *call, rt *route, values map[string]string, raw map[string]any) *response {
	resp := l.runLocked(c, rt, values, raw)
	for _, f := range c.later {
		f()
	}
	return resp
}

func (l *Lab) runLocked(c *call, rt *route, values map[string]string, raw map[string]any) *response {
	l.mu.Lock()
	defer l.mu.Unlock()
	data, m, err := l.dispatch(c, rt, values, raw)
	resp := failure(err)
	if err == nil {
		resp = success(data)
		resp.protected = m.Protected == 1
	}
	resp.final = c.upload != nil
	return resp
}

func (l *Lab) dispatch(c *call, rt *route, values map[string]string, raw map[string]any) (any, *method, error) {
	var m *method
	if rt != nil {
		m = l.schema.methods[rt.method+" "+rt.template]
	}
	if m == nil {
		return nil, nil, notImplemented(c)
	}
	if err := mergePath(values, raw); err != nil {
		return nil, nil, err
	}
	if c.auth.token != "" && m.AllowToken != nil && *m.AllowToken == 0 {
		return nil, nil, deniedText("URI '" + c.path + "' not available with API token, need proper ticket.\n")
	}
	if err := c.permitted(m.Permissions, raw); err != nil {
		return nil, nil, err
	}
	if err := l.proxy(c, m, raw); err != nil {
		return nil, nil, err
	}
	var err error
	if c.params, err = m.verify(raw); err != nil {
		return nil, nil, err
	}
	data, err := rt.run(c)
	return data, m, err
}

func notImplemented(c *call) error {
	return &apiError{
		status:  http.StatusNotImplemented,
		text:    fmt.Sprintf("Method '%s %s' not implemented", c.method, c.path),
		oneLine: true,
	}
}

// mergePath adds the placeholders' values; a parameter that says otherwise is an
// error.
func mergePath(values map[string]string, raw map[string]any) error {
	for k, v := range values {
		if old, ok := raw[k]; ok && old != v {
			return badParams(map[string]string{
				k: "duplicate parameter (already defined in URI) with conflicting values!",
			})
		}
		raw[k] = v
	}
	return nil
}

// proxy decides which node runs the call.
func (l *Lab) proxy(c *call, m *method, raw map[string]any) error {
	if m.ProxyTo == "" {
		return nil
	}
	name, _ := raw[m.ProxyTo].(string)
	if name == "localhost" {
		raw[m.ProxyTo] = c.via
		return nil
	}
	n := l.nodes[name]
	if n == nil {
		return fail("hostname lookup '%s' failed - failed to get address info for: %s: Temporary failure in name resolution", name, name)
	}
	c.node = name
	if !n.online {
		return &apiError{status: statusNoRoute, text: "No route to host", bare: true, delay: routeDelay}
	}
	return nil
}

func success(data any) *response {
	if f, ok := data.(file); ok {
		return &response{status: http.StatusOK, reason: "OK", contentType: f.contentType, body: f.body}
	}
	body := map[string]any{"data": data}
	if list, ok := data.(counted); ok {
		body["data"] = list.data
		if list.total > 0 {
			body["total"] = list.total
		}
		if list.changes != "" {
			body["changes"] = list.changes
		}
	}
	return &response{status: http.StatusOK, reason: "OK", contentType: jsonType, body: encode(body)}
}

func failure(err error) *response {
	if err == nil {
		return nil
	}
	ae := (*apiError)(nil)
	if !errors.As(err, &ae) {
		ae = &apiError{status: http.StatusInternalServerError, text: err.Error()}
	}
	if ae.bare {
		resp := bare(ae.status, ae.text)
		resp.delay = ae.delay
		return resp
	}
	message := strings.TrimSuffix(ae.text, "\n") + "\n"
	if ae.oneLine {
		message = ae.text
	}
	body := map[string]any{"data": nil, "message": message}
	if len(ae.params) > 0 {
		body["errors"] = ae.params
	}
	if ae.status == http.StatusUnauthorized {
		ae.delay = authDelay
	}
	return &response{
		status: ae.status, reason: ae.text, contentType: jsonType,
		body: encode(body), delay: ae.delay,
	}
}

func encode(body any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return []byte(`{"data":null,"message":"` + err.Error() + `"}`)
	}
	return bytes.TrimRight(b.Bytes(), "\n")
}
