// Package byhand makes bare API calls, as an operator at the web interface or
// with curl would. Tests and the demo use it to do what the provider must then
// notice. It is deliberately no user of the provider's own client: the client
// refuses to touch guests it does not own, and a mistake shared by both would
// stay hidden.
package byhand

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Hand is one operator: an endpoint and what signs the calls.
type Hand struct {
	endpoint string
	headers  map[string]string
	client   *http.Client
}

// New returns a hand for an endpoint such as https://pve1:8006. An empty caPEM
// means the system's roots.
func New(endpoint, tokenID, tokenSecret string, caPEM []byte) (*Hand, error) {
	hand, err := anonymous(endpoint, caPEM)
	if err != nil {
		return nil, err
	}
	hand.headers["Authorization"] = "PVEAPIToken=" + tokenID + "=" + tokenSecret

	return hand, nil
}

// Login returns a hand that signed in by password. Some things PVE allows to
// root@pam so signed in and to no token, such as skiplock.
func Login(ctx context.Context, endpoint, user, password string, caPEM []byte) (*Hand, error) {
	hand, err := anonymous(endpoint, caPEM)
	if err != nil {
		return nil, err
	}
	var answer struct {
		Ticket string `json:"ticket"`
		CSRF   string `json:"CSRFPreventionToken"`
	}
	credentials := Params{"username": user, "password": password}
	if err := hand.Call(ctx, http.MethodPost, "/access/ticket", credentials, &answer); err != nil {
		return nil, err
	}
	hand.headers["Cookie"] = "PVEAuthCookie=" + url.QueryEscape(answer.Ticket)
	hand.headers["CSRFPreventionToken"] = answer.CSRF

	return hand, nil
}

func anonymous(endpoint string, caPEM []byte) (*Hand, error) {
	tlsConfig := &tls.Config{MinVersion: tls.VersionTLS12}
	if len(caPEM) > 0 {
		tlsConfig.RootCAs = x509.NewCertPool()
		if !tlsConfig.RootCAs.AppendCertsFromPEM(caPEM) {
			return nil, errors.New("the CA holds no certificate")
		}
	}

	return &Hand{
		endpoint: strings.TrimSuffix(endpoint, "/"),
		headers:  map[string]string{},
		client:   &http.Client{Transport: &http.Transport{TLSClientConfig: tlsConfig}, Timeout: time.Minute},
	}, nil
}

// Params are the parameters of one call by PVE's names; booleans are 0 and 1.
type Params map[string]any

// StatusError is an answer other than 2xx. Text is PVE's own.
type StatusError struct {
	Status int
	Text   string
}

// Error implements error.
func (e *StatusError) Error() string { return fmt.Sprintf("%d %s", e.Status, e.Text) }

// Call makes one request below /api2/json and decodes the data of its answer
// into out, unless out is nil. An answer other than 2xx is a *StatusError.
func (h *Hand) Call(ctx context.Context, method, path string, params Params, out any) error {
	form := url.Values{}
	for name, value := range params {
		form.Set(name, fmt.Sprint(value))
	}

	target := h.endpoint + "/api2/json" + path
	var body io.Reader
	if method == http.MethodGet || method == http.MethodDelete {
		if len(form) > 0 {
			target += "?" + form.Encode()
		}
	} else {
		body = strings.NewReader(form.Encode())
	}

	request, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}

	return h.do(request, out)
}

// do signs and sends a request.
func (h *Hand) do(request *http.Request, out any) error {
	for name, value := range h.headers {
		request.Header.Set(name, value)
	}
	answer, err := h.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()

	return decode(answer, out)
}

func decode(answer *http.Response, out any) error {
	var body struct {
		Data    json.RawMessage   `json:"data"`
		Message string            `json:"message"`
		Errors  map[string]string `json:"errors"`
	}
	raw, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &body); err != nil {
			return fmt.Errorf("%s: %w", answer.Status, err)
		}
	}

	if answer.StatusCode/100 != 2 {
		text := strings.TrimSpace(body.Message)
		if text == "" {
			text = answer.Status
		}
		for field, problem := range body.Errors {
			text += "; " + field + ": " + strings.TrimSpace(problem)
		}
		return &StatusError{Status: answer.StatusCode, Text: text}
	}
	if out == nil {
		return nil
	}

	return json.Unmarshal(body.Data, out)
}

// Task makes a call that starts a task, and waits until the task has ended. An
// exit status other than OK or WARNINGS is an error.
func (h *Hand) Task(ctx context.Context, method, path string, params Params) error {
	var upid string
	if err := h.Call(ctx, method, path, params, &upid); err != nil {
		return err
	}

	return h.Wait(ctx, upid)
}

// Wait waits until the task has ended, as [Hand.Task] does.
func (h *Hand) Wait(ctx context.Context, upid string) error {
	fields := strings.Split(upid, ":")
	if len(fields) < 3 {
		return fmt.Errorf("%q is no UPID", upid)
	}
	path := "/nodes/" + fields[1] + "/tasks/" + url.PathEscape(upid) + "/status"

	for {
		var status struct {
			Status     string `json:"status"`
			ExitStatus string `json:"exitstatus"`
		}
		if err := h.Call(ctx, http.MethodGet, path, nil, &status); err != nil {
			return err
		}
		if status.Status == "stopped" {
			if status.ExitStatus == "OK" || strings.HasPrefix(status.ExitStatus, "WARNINGS") {
				return nil
			}
			return fmt.Errorf("task %s: %s", upid, status.ExitStatus)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}
