package proxmox

import "net/http"

// authorizing adds the API token. When PVE refuses it and the file with the
// secret has changed, the request is made once more: a refused request has not
// begun.
type authorizing struct {
	next       http.RoundTripper
	credential *credential
}

func (t *authorizing) RoundTrip(req *http.Request) (*http.Response, error) {
	header := t.credential.header()
	resp, err := t.send(req, header)
	if err != nil || resp.StatusCode != http.StatusUnauthorized || !t.credential.renew(header) {
		return resp, err
	}
	_ = resp.Body.Close()
	return t.send(req, t.credential.header())
}

func (t *authorizing) send(req *http.Request, header string) (*http.Response, error) {
	req, err := resend(req)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", header)
	return t.next.RoundTrip(req)
}
