package proxmox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

// ticketLife is how long a ticket is used: PVE accepts it for two hours.
const ticketLife = 110 * time.Minute

// SignInError says that a user could not sign in with a password.
type SignInError struct {
	User string
	// SecondFactor is set when PVE wants one, which nobody is there to give.
	SecondFactor bool
	// Err is PVE's answer, or what kept it from coming; nil for a second factor.
	Err error
}

func (e *SignInError) Error() string {
	if e.SecondFactor {
		return fmt.Sprintf("%s needs a second factor to sign in, which nobody is there to give: use an API token", e.User)
	}
	return fmt.Sprintf("sign in as %s: %v", e.User, e.Err)
}

func (e *SignInError) Unwrap() error { return e.Err }

var userPattern = regexp.MustCompile(`^[^\s:/!]+@[A-Za-z][A-Za-z0-9._-]+$`)

// signIn is the credential of a user with a password: a ticket, which lives in
// memory only, and with it the token that PVE wants beside each write.
type signIn struct {
	c        *Client
	user     string
	password string
	file     string

	// turn lets one caller sign in while the others wait. Who has it may read and
	// write password, refusal and refused.
	turn chan struct{}
	// refusal is PVE's answer to the password refused.
	refusal error
	refused string

	mu     sync.Mutex
	ticket ticket
}

type ticket struct {
	Value string `json:"ticket"`
	CSRF  string `json:"CSRFPreventionToken"`
	// NeedTFA marks a half ticket, good for nothing but the second factor.
	NeedTFA Bool `json:"NeedTFA"`
	since   time.Time
}

// newSignIn reports what is wrong with user and password in p.
func newSignIn(c *Client, p *problems) *signIn {
	o := c.options
	s := &signIn{c: c, user: o.Username, password: o.Password, file: o.PasswordFile, turn: make(chan struct{}, 1)}
	switch {
	case !strings.Contains(o.Username, "@"):
		p.add("Username", "has no realm: a user is named user@realm, for instance terraform@pve or root@pam")
	case strings.Contains(o.Username, "!"):
		p.add("Username", "names a token: give it as the token's id, with its secret")
	case !userPattern.MatchString(o.Username):
		p.add("Username", "is not of the form user@realm")
	}
	switch {
	case o.Password != "" && o.PasswordFile != "":
		p.add("PasswordFile", "give the password or the file that holds it, not both")
	case o.PasswordFile != "":
		if err := s.readFile(); err != nil {
			p.add("PasswordFile", err.Error())
		}
	case o.Password == "":
		p.add("Password", "is missing")
	}
	return s
}

// readFile reads the password: the file's content without the end of its last
// line.
func (s *signIn) readFile() error {
	content, err := os.ReadFile(s.file)
	if err != nil {
		return fmt.Errorf("cannot read the password: %w", err)
	}
	password := strings.TrimRight(string(content), "\r\n")
	if password == "" {
		return fmt.Errorf("the password file %s is empty", s.file)
	}
	s.password = password
	return nil
}

// authorize signs in where there is no ticket, or an old one.
func (s *signIn) authorize(req *http.Request, next http.RoundTripper) (string, error) {
	current := s.current()
	if current.Value == "" || s.c.clock.Now().Sub(current.since) > ticketLife {
		var err error
		if current, err = s.renewTicket(req.Context(), req.URL.Host, next, current.Value); err != nil {
			return "", err
		}
	}
	req.Header.Set("Cookie", "PVEAuthCookie="+url.QueryEscape(current.Value))
	if !isRead(req) {
		req.Header.Set("CSRFPreventionToken", current.CSRF)
	}
	return current.Value, nil
}

// renew signs in anew after PVE refused a ticket, with the password that the
// file holds now.
func (s *signIn) renew(req *http.Request, next http.RoundTripper, refused string) (bool, error) {
	_, err := s.renewTicket(req.Context(), req.URL.Host, next, refused)
	return err == nil, err
}

func (s *signIn) current() ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ticket
}

// renewTicket replaces a ticket, unless a parallel call has done so.
func (s *signIn) renewTicket(ctx context.Context, host string, next http.RoundTripper, old string) (ticket, error) {
	select {
	case s.turn <- struct{}{}:
	case <-ctx.Done():
		return ticket{}, ctx.Err()
	}
	defer func() { <-s.turn }()
	if current := s.current(); current.Value != old {
		return current, nil
	}
	if s.file != "" {
		// A file that cannot be read leaves the password as it was.
		_ = s.readFile()
	}
	if s.refusal != nil && s.refused == s.password {
		return ticket{}, s.refusal
	}
	fresh, err := s.ask(ctx, host, next)
	if err != nil {
		s.remember(err)
		return ticket{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticket = fresh
	return fresh, nil
}

// remember keeps a refusal of the password: asked again PVE would take seconds
// to refuse it again, for each call, and might lock the account.
func (s *signIn) remember(err error) {
	var refusal *SignInError
	if errors.As(err, &refusal) && (refusal.SecondFactor || IsUnauthorized(err)) {
		s.refusal, s.refused = refusal, s.password
	}
}

// ask makes the call, of the very endpoint that the request in hand is for:
// all nodes of a cluster accept the ticket.
func (s *signIn) ask(ctx context.Context, host string, next http.RoundTripper) (ticket, error) {
	params := url.Values{"username": {s.user}, "password": {s.password}}
	req, err := s.c.request(ctx, host, http.MethodPost, at("access", "ticket"), params)
	if err != nil {
		return ticket{}, err
	}
	fresh := ticket{since: s.c.clock.Now()}
	answer, err := roundTrip(&explaining{next: next}, req)
	if err == nil {
		err = json.Unmarshal(answer.Data, &fresh)
	}
	var lost *LostAnswerError
	if errors.As(err, &lost) {
		// A ticket that nobody has seen harms nobody, and the request in hand was
		// not sent.
		err = &ConnectionError{Method: req.Method, Path: lost.Path, Endpoint: host, Err: lost.Err}
	}
	switch {
	case err != nil:
		return ticket{}, &SignInError{User: s.user, Err: err}
	case bool(fresh.NeedTFA), strings.HasPrefix(fresh.Value, "PVE:!tfa!"):
		return ticket{}, &SignInError{User: s.user, SecondFactor: true}
	}
	return fresh, nil
}
