package proxmox

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

const redacted = "(hidden)"

// secretParam tells the parameters whose values are nobody's business. "keyboard"
// is none of them: its values, such as "is", are parts of PVE's own texts.
var secretParam = regexp.MustCompile(`(?i)pass|secret|ticket|token|otp|keys?$|keyring|csrf|private|credential|content|user-?data`)

// logging tells of each attempt. Parameters that may be secret are hidden, the
// token never is among the fields, and of an answer only its size is told.
type logging struct {
	next  http.RoundTripper
	log   LogFunc
	clock clock
}

func (t *logging) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.log == nil {
		return t.next.RoundTrip(req)
	}
	params := paramsOf(req)
	start := t.clock.Now()
	resp, err := t.next.RoundTrip(req)
	fields := map[string]any{
		"method":      req.Method,
		"endpoint":    req.URL.Host,
		"path":        apiPath(req),
		"duration_ms": t.clock.Now().Sub(start).Milliseconds(),
	}
	if len(params) > 0 {
		fields["params"] = hide(params)
	}
	if err != nil {
		fields["error"] = scrub(err.Error(), params)
	} else {
		fields["status"] = scrub(resp.Status, params)
	}
	t.log(req.Context(), "Proxmox VE API request", fields)
	return resp, err
}

// paramsOf reads a request's parameters without consuming its body. An upload is
// not read: it may be large, and is nobody's business.
func paramsOf(req *http.Request) url.Values {
	if req.GetBody == nil || req.Header.Get("Content-Type") != formType {
		return req.URL.Query()
	}
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer func() { _ = body.Close() }()
	content, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	params, err := url.ParseQuery(string(content))
	if err != nil {
		return nil
	}
	return params
}

func hide(params url.Values) map[string]string {
	shown := make(map[string]string, len(params))
	for name, values := range params {
		shown[name] = strings.Join(values, ",")
		if secretParam.MatchString(name) {
			shown[name] = redacted
		}
	}
	return shown
}

// scrub removes secret parameters' values from a text of PVE that repeats them.
func scrub(text string, params url.Values) string {
	for name, values := range params {
		if !secretParam.MatchString(name) {
			continue
		}
		for _, value := range values {
			if value != "" {
				text = strings.ReplaceAll(text, value, redacted)
			}
		}
	}
	return text
}
