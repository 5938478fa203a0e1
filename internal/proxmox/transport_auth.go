package proxmox

import "net/http"

// credentials authorize requests: an API token, or a user's ticket.
type credentials interface {
	// authorize adds what PVE wants to see, and returns it. next sends a request
	// that has to be made for it.
	authorize(req *http.Request, next http.RoundTripper) (used string, err error)
	// renew is told what PVE refused, and reports whether there is something else
	// to try.
	renew(req *http.Request, next http.RoundTripper, refused string) (bool, error)
}

// newCredentials takes a user with a password, or else a token.
func newCredentials(c *Client, p *problems) credentials {
	o := c.options
	byPassword := o.Username != "" || o.Password != "" || o.PasswordFile != ""
	byToken := o.TokenID != "" || o.TokenSecret != "" || o.TokenSecretFile != ""
	switch {
	case byPassword && byToken:
		p.add("Username", "give an API token or a user with a password, not both")
		return nil
	case byPassword:
		return newSignIn(c, p)
	default:
		return newCredential(o, p)
	}
}

// authorizing adds the credentials. When PVE refuses them and there are others,
// a secret from a file that has changed or a new ticket, the request is made
// once more: a refused request has not begun.
type authorizing struct {
	next        http.RoundTripper
	credentials credentials
}

func (t *authorizing) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, used, err := t.send(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	another, err := t.credentials.renew(req, t.next, used)
	if err != nil {
		_ = resp.Body.Close()
		return nil, &unsentError{err}
	}
	if !another {
		return resp, nil
	}
	_ = resp.Body.Close()
	resp, _, err = t.send(req)
	return resp, err
}

func (t *authorizing) send(req *http.Request) (_ *http.Response, used string, _ error) {
	req, err := resend(req)
	if err != nil {
		return nil, "", err
	}
	if used, err = t.credentials.authorize(req, t.next); err != nil {
		return nil, "", &unsentError{err}
	}
	resp, err := t.next.RoundTrip(req)
	return resp, used, err
}

// unsentError is why a request was not sent, or, refused, not sent again. It is
// explained already.
type unsentError struct{ error }

func (e *unsentError) Unwrap() error { return e.error }
