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
	resp, err := t.send(req)
	if err != nil || resp.StatusCode != http.StatusUnauthorized {
		return resp, err
	}
	// A file that cannot be read leaves PVE's refusal as the answer.
	if changed, rereadErr := t.credential.reread(); rereadErr != nil || !changed {
		return resp, nil
	}
	return t.send(req)
}

func (t *authorizing) send(req *http.Request) (*http.Response, error) {
	req, err := resend(req)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", t.credential.header())
	return t.next.RoundTrip(req)
}
