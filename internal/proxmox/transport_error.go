package proxmox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
)

// apiPrefix is where PVE's API lives below the host.
const apiPrefix = "/api2/json"

// explaining turns failures into the package's errors: answers of 400 and more
// into [*Error], connections that were not had or lost into [*ConnectionError]
// and [*TLSError], and a mutation of which nobody knows into
// [*LostAnswerError].
type explaining struct{ next http.RoundTripper }

func (t *explaining) RoundTrip(req *http.Request) (*http.Response, error) {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	traced := req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
	resp, err := t.next.RoundTrip(traced)
	var unsent *unsentError
	if errors.As(err, &unsent) {
		return nil, unsent.error
	}
	if err != nil {
		return nil, explain(req, err, connected.Load())
	}
	if resp.StatusCode < http.StatusBadRequest {
		return resp, nil
	}
	refusal := readError(req, resp)
	if !isRead(req) && mayHaveBegun(refusal) {
		return nil, &LostAnswerError{Method: req.Method, Path: refusal.Path, Err: refusal}
	}
	return nil, refusal
}

func explain(req *http.Request, err error, sent bool) error {
	path := apiPath(req)
	if !sent && req.Context().Err() != nil {
		return fmt.Errorf("%s %s was not sent: %w", req.Method, path, req.Context().Err())
	}
	if refused := asTLSError(req.URL.Host, err); refused != nil && !sent {
		return refused
	}
	if sent && !isRead(req) {
		return &LostAnswerError{Method: req.Method, Path: path, Err: err}
	}
	if req.Context().Err() != nil {
		return fmt.Errorf("%s %s: %w", req.Method, path, req.Context().Err())
	}
	return &ConnectionError{Method: req.Method, Path: path, Endpoint: req.URL.Host, Sent: sent, Err: err}
}

// mayHaveBegun reports whether a proxy gave up on an answer, so that the daemon
// behind it may be at work all the same.
func mayHaveBegun(e *Error) bool { return isGateway(e.Status) && e.Status != statusNoConnection }

func apiPath(req *http.Request) string { return strings.TrimPrefix(req.URL.Path, apiPrefix) }

func readError(req *http.Request, resp *http.Response) *Error {
	_, reason, _ := strings.Cut(resp.Status, " ")
	e := &Error{Status: resp.StatusCode, Reason: reason, Method: req.Method, Path: apiPath(req)}
	var body struct {
		Message string          `json:"message"`
		Errors  map[string]Text `json:"errors"`
	}
	sent := paramsOf(req)
	content, err := io.ReadAll(resp.Body)
	if err == nil && json.Unmarshal(content, &body) == nil {
		e.Message = scrub(strings.TrimSpace(body.Message), sent)
		for name, text := range body.Errors {
			e.setParam(name, scrub(string(text), sent))
		}
	}
	e.Reason = scrub(e.Reason, sent)
	if e.Message == "" {
		e.Message = strings.TrimSpace(e.Reason)
	}
	if e.Message == "" {
		e.Message = http.StatusText(e.Status)
	}
	return e
}

func (e *Error) setParam(name, text string) {
	if e.Params == nil {
		e.Params = map[string]string{}
	}
	e.Params[name] = text
}

// unreached reports whether an error left the request unsent for want of a
// server, so that another endpoint may be asked.
func unreached(err error) bool {
	var connection *ConnectionError
	return errors.As(err, &connection) && !connection.Sent
}
