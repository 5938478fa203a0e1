package proxmox

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
)

// TokenID is the id of an API token.
type TokenID struct {
	User, Realm, Name string
}

func (t TokenID) String() string { return t.User + "@" + t.Realm + "!" + t.Name }

var (
	uuidPattern = regexp.MustCompile(`(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	// PVE's rules: the names of tokens have at least two characters.
	tokenIDPattern = regexp.MustCompile(`^([^\s:/@!]+(?:@[^\s:/@!]+)?)@([A-Za-z][A-Za-z0-9._-]+)!([A-Za-z][A-Za-z0-9._-]+)$`)
)

// ParseTokenID parses "user@realm!tokenid". It names the three usual mistakes
// (a secret in place of the id, no "!", no realm). Its errors never repeat what
// was given, which may be a secret.
func ParseTokenID(s string) (TokenID, error) {
	const form = `a token id has the form user@realm!tokenid, for instance terraform@pve!ci`
	s = strings.TrimSpace(s)
	user, _, hasName := strings.Cut(s, "!")
	switch {
	case s == "":
		return TokenID{}, errors.New("is empty; " + form)
	case strings.Contains(s, "="):
		return TokenID{}, errors.New(`contains "=": the secret was pasted along with the id; ` + form)
	case uuidPattern.MatchString(s):
		return TokenID{}, errors.New("contains a UUID, which looks like the token's secret; " + form)
	case !hasName:
		return TokenID{}, errors.New(`has no "!": this is a user, not one of its tokens; ` + form)
	case !strings.Contains(user, "@"):
		return TokenID{}, errors.New(`has no "@realm" after the user; ` + form)
	}
	parts := tokenIDPattern.FindStringSubmatch(s)
	if parts == nil {
		return TokenID{}, errors.New("is not well-formed; " + form)
	}
	return TokenID{User: parts[1], Realm: parts[2], Name: parts[3]}, nil
}

// SplitToken splits "user@realm!tokenid=secret", the form in which PVE's
// Authorization header wants a token. Its errors never repeat what was given.
func SplitToken(s string) (id, secret string, err error) {
	id, secret, found := strings.Cut(strings.TrimSpace(s), "=")
	if !found || secret == "" {
		return "", "", errors.New("a token in one string has the form user@realm!tokenid=secret")
	}
	return id, secret, nil
}

// credential is an API token.
type credential struct {
	id   TokenID
	file string

	mu     sync.Mutex
	secret string
}

// newCredential reports what is wrong with a token in p.
func newCredential(o Options, p *problems) *credential {
	id, err := ParseTokenID(o.TokenID)
	if err != nil {
		p.add("TokenID", err.Error())
	}
	c := &credential{id: id, file: o.TokenSecretFile, secret: strings.TrimSpace(o.TokenSecret)}
	switch {
	case o.TokenSecret != "" && o.TokenSecretFile != "":
		p.add("TokenSecretFile", "give the secret or the file that holds it, not both")
	case o.TokenSecretFile != "":
		if c.secret, err = readSecret(o.TokenSecretFile); err != nil {
			p.add("TokenSecretFile", err.Error())
		}
	case c.secret == "":
		p.add("TokenSecret", "is missing")
	}
	if strings.ContainsAny(c.secret, "!=@ \r\n") {
		p.add(secretField(o), "is not a secret alone: it holds the token's id too, or several lines")
	}
	return c
}

func secretField(o Options) string {
	if o.TokenSecretFile != "" {
		return "TokenSecretFile"
	}
	return "TokenSecret"
}

func (c *credential) authorize(req *http.Request, _ http.RoundTripper) (string, error) {
	header := c.header()
	req.Header.Set("Authorization", header)
	return header, nil
}

// header is the value of the Authorization header.
func (c *credential) header() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprintf("PVEAPIToken=%s=%s", c.id, c.secret)
}

// renew reads the file anew, if there is one, and reports whether the header is
// another one now than the one that PVE refused: perhaps a parallel call has
// read the file in between. A file that cannot be read leaves the old secret.
func (c *credential) renew(_ *http.Request, _ http.RoundTripper, refused string) (bool, error) {
	if c.file == "" {
		return false, nil
	}
	if secret, err := readSecret(c.file); err == nil {
		c.mu.Lock()
		c.secret = secret
		c.mu.Unlock()
	}
	return c.header() != refused, nil
}

func readSecret(file string) (string, error) {
	content, err := os.ReadFile(file) //nolint:gosec // The path is the user's own setting.
	if err != nil {
		return "", fmt.Errorf("cannot read the token's secret: %w", err)
	}
	secret := strings.TrimSpace(string(content))
	if secret == "" {
		return "", fmt.Errorf("the token's secret file %s is empty", file)
	}
	return secret, nil
}
