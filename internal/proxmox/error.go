package proxmox

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Error is an answer of PVE other than success.
type Error struct {
	// Status is the HTTP status, Reason the text beside it. PVE answers 500 to
	// nearly everything that is not a matter of parameters or privileges.
	Status int
	Reason string
	// Message is PVE's own text, without its trailing newline. PVE sends it in
	// the reason and in the body; a 401 has no body.
	Message string
	// Params are the errors by parameter, of a call whose parameters PVE did
	// not accept.
	Params map[string]string
	Method string
	Path   string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("%s %s: %s", e.Method, e.Path, e.explanation())
	for _, name := range slices.Sorted(maps.Keys(e.Params)) {
		text += fmt.Sprintf("; %s: %s", name, strings.TrimSpace(e.Params[name]))
	}
	return text
}

// explanation is PVE's text, or what a 401, which has only its reason, means.
func (e *Error) explanation() string {
	if e.Status != http.StatusUnauthorized {
		return e.Message
	}
	switch {
	case textNoTicket.MatchString(e.Reason):
		return "401 No ticket: PVE found no credentials in the request; a proxy in between may have removed them"
	case textCSRF.MatchString(e.Reason):
		return "401 " + e.Reason
	default:
		return "401 " + e.Reason + " PVE does not accept the API token: its id or its secret is wrong, " +
			"or the token or its user is disabled, expired or gone"
	}
}

// TaskError is a task that ended with an error.
type TaskError struct {
	UPID       UPID
	ExitStatus string
	// LogTail are the last lines of the task's log, oldest first; it may be
	// empty.
	LogTail []string
}

func (e *TaskError) Error() string {
	return fmt.Sprintf("task %s of %s on node %s failed: %s", e.UPID.Type, e.UPID.ID, e.UPID.Node, e.ExitStatus)
}

// LostAnswerError is a mutation whose answer was lost: PVE may or may not have
// begun it. Look at the task list and at the object before anything else.
type LostAnswerError struct {
	Method, Path string
	Err          error
}

func (e *LostAnswerError) Error() string {
	return fmt.Sprintf("%s %s: the answer was lost, PVE may or may not have begun: %v", e.Method, e.Path, e.Err)
}

func (e *LostAnswerError) Unwrap() error { return e.Err }

// LateError is a mutation that was not sent: since its guest was read so much time
// has passed that it may be another one by now. The gate is to be asked anew.
type LateError struct{ Method, Path string }

func (e *LateError) Error() string {
	return fmt.Sprintf("%s %s was not sent: the guest was read too long ago", e.Method, e.Path)
}

// InterruptedError says that waiting for a task ended before the task did: it
// may still be running.
type InterruptedError struct {
	UPID UPID
	// Err is the context's error.
	Err error
}

func (e *InterruptedError) Error() string {
	return fmt.Sprintf("stopped waiting for task %s, which may still run: %v", e.UPID, e.Err)
}

func (e *InterruptedError) Unwrap() error { return e.Err }

// ConnectionError is a request without an answer: nobody could be reached, or
// the answer to a read was cut off.
type ConnectionError struct {
	Method, Path string
	// Endpoint is the host and port that was asked.
	Endpoint string
	// Sent tells whether a connection was had. If not, nothing has begun.
	Sent bool
	Err  error
}

func (e *ConnectionError) Error() string {
	what := "cannot reach"
	if e.Sent {
		what = "lost the connection to"
	}
	return fmt.Sprintf("%s %s: %s %s: %v", e.Method, e.Path, what, e.Endpoint, e.Err)
}

func (e *ConnectionError) Unwrap() error { return e.Err }

// TLSError is a connection that was not made because the server could not prove
// who it is. It is never a reason to try another endpoint.
type TLSError struct {
	Endpoint string
	// Cause is what is wrong with the certificate in a few words, Problem with all
	// that is known; Remedy says what to do.
	Cause, Problem, Remedy string
	Err                    error
}

func (e *TLSError) Error() string {
	return fmt.Sprintf("TLS connection to %s refused: %s; %s", e.Endpoint, e.Problem, e.Remedy)
}

func (e *TLSError) Unwrap() error { return e.Err }

// ClusterMismatchError is an endpoint that belongs to another cluster than the
// one that was expected.
type ClusterMismatchError struct{ Endpoint, Want, Got string }

func (e *ClusterMismatchError) Error() string {
	return fmt.Sprintf("endpoint %s belongs to cluster %q, not to %q", e.Endpoint, e.Got, e.Want)
}

// answer finds PVE's answer in an error.
func answer(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

func hasStatus(err error, status int) bool {
	e, ok := answer(err)
	return ok && e.Status == status
}
