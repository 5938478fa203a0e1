package pvelab

// principal is who asks.
type principal struct {
	// user is user@realm, "" for nobody.
	user string
	// token is the full token id user@realm!name, "" for a ticket.
	token string
}

// id is how permission checks and tasks name the principal.
func (p principal) id() string {
	if p.token != "" {
		return p.token
	}
	return p.user
}

type tokenSecret struct{ id, secret string }
