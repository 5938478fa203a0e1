package pvelab

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"
)

// apiError is an error as PVE's REST layer answers it: the text goes into the
// reason phrase and, with a newline, into the body's message.
type apiError struct {
	status int
	text   string
	params map[string]string
	// bare errors come from PVE's HTTP server itself and have an empty body.
	bare bool
	// oneLine texts end without the newline that die adds.
	oneLine bool
	// delay is waited before the answer, in PVE's time.
	delay time.Duration
}

func (e *apiError) Error() string {
	if len(e.params) == 0 {
		return e.text
	}
	var b strings.Builder
	b.WriteString(e.text)
	for _, k := range sortedKeys(e.params) {
		fmt.Fprintf(&b, "\n%s: %s", k, e.params[k])
	}
	return b.String()
}

// fail is PVE's plain die: status 500 with the text.
func fail(format string, a ...any) error {
	return &apiError{status: http.StatusInternalServerError, text: fmt.Sprintf(format, a...)}
}

// httpError is an exception raised with a status of its own.
func httpError(status int, text string) error { return &apiError{status: status, text: text} }

// badParams is a failed parameter verification, one text per parameter.
func badParams(errors map[string]string) error {
	return &apiError{
		status: http.StatusBadRequest,
		text:   "Parameter verification failed.",
		params: maps.Clone(errors),
	}
}

// denied is a failed permission check. Several privileges read as alternatives.
func denied(path string, privs ...string) error {
	return deniedText(fmt.Sprintf("%s, %s", path, strings.Join(privs, "|")))
}

// deniedText is a failed permission check with PVE's detail, or without one.
func deniedText(detail string) error {
	text := "Permission check failed"
	if detail != "" {
		text += " (" + detail + ")"
	}
	return httpError(http.StatusForbidden, text)
}
