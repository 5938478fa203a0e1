package pvelab

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// ticketLife is how long a ticket is accepted.
const ticketLife = 2 * time.Hour

var (
	errNoTicket   = errors.New("No ticket")
	errAuthFailed = errors.New("Authentication failed!")
	errCSRF       = errors.New("Permission denied - invalid csrf token")

	uploadRE  = regexp.MustCompile(`^/nodes/[^/]+/storage/([^/]+)/upload$`)
	tokenIDRE = regexp.MustCompile(`^([^\s:/]+@[A-Za-z][A-Za-z0-9.\-_]+)!([A-Za-z][A-Za-z0-9.\-_]+)$`)
	ticketRE  = regexp.MustCompile(`^PVE:([^:]+):([0-9A-F]{8})::(\S+)$`)
	csrfRE    = regexp.MustCompile(`^([0-9A-F]{8}):(\S+)$`)
)

// ticketKey signs tickets and prevention tokens.
type ticketKey [32]byte

func newTicketKey() (ticketKey, error) {
	var k ticketKey
	if _, err := rand.Read(k[:]); err != nil {
		return k, fmt.Errorf("the tickets' key: %w", err)
	}
	return k, nil
}

func (k ticketKey) sign(text string) string {
	mac := hmac.New(sha256.New, k[:])
	mac.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// issueTicket returns a ticket of a user and the token that must come with writes.
func (l *Lab) issueTicket(user string) (ticket, csrf string) {
	stamp := fmt.Sprintf("%08X", l.clock.Now().Unix())
	data := "PVE:" + user + ":" + stamp
	return data + "::" + l.ticketKey.sign(data), stamp + ":" + l.ticketKey.sign("csrf:"+stamp+":"+user)
}

// ticketUser returns the user of a valid ticket, "" for another.
func (l *Lab) ticketUser(ticket string) string {
	m := ticketRE.FindStringSubmatch(ticket)
	if m == nil || !l.fresh(m[2]) {
		return ""
	}
	want := l.ticketKey.sign("PVE:" + m[1] + ":" + m[2])
	if subtle.ConstantTimeCompare([]byte(want), []byte(m[3])) != 1 {
		return ""
	}
	return m[1]
}

// fresh reports whether a hexadecimal time stamp lies within a ticket's life.
func (l *Lab) fresh(stamp string) bool {
	n, err := strconv.ParseInt(stamp, 16, 64)
	if err != nil {
		return false
	}
	age := l.clock.Now().Sub(time.Unix(n, 0))
	return age > -5*time.Minute && age < ticketLife
}

func (l *Lab) verifyCSRF(user, token string) bool {
	m := csrfRE.FindStringSubmatch(token)
	if m == nil || !l.fresh(m[1]) {
		return false
	}
	want := l.ticketKey.sign("csrf:" + m[1] + ":" + user)
	return subtle.ConstantTimeCompare([]byte(want), []byte(m[2])) == 1
}

// openCalls need no authentication.
var openCalls = map[string]bool{
	"GET /access/domains":          true,
	"GET /access/ticket":           true,
	"POST /access/ticket":          true,
	"POST /access/vncticket":       true,
	"POST /access/openid/login":    true,
	"POST /access/openid/auth-url": true,
}

// authenticate finds out who asks: a ticket from the cookie or the header, else
// an API token. Writes by ticket need the prevention token, uploads apart.
func (l *Lab) authenticate(req *http.Request, path string, isUpload bool) (principal, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if openCalls[req.Method+" "+path] {
		return principal{}, nil
	}
	header := req.Header.Get("Authorization")
	ticket := authValue(strings.Join(req.Header.Values("Cookie"), "; "), "PVEAuthCookie")
	if ticket == "" {
		ticket = authValue(header, "PVEAuthCookie")
	}
	if ticket == "" {
		return l.authenticateToken(authValue(header, "PVEAPIToken"))
	}
	user := l.ticketUser(ticket)
	if user == "" || l.access.checkUser(user, l.clock.Now()) != nil {
		return principal{}, errAuthFailed
	}
	if req.Method != http.MethodGet && !isUpload && !l.verifyCSRF(user, req.Header.Get("CSRFPreventionToken")) {
		return principal{}, errCSRF
	}
	return principal{user: user}, nil
}

func (l *Lab) authenticateToken(value string) (principal, error) {
	if value == "" {
		return principal{}, errNoTicket
	}
	at := strings.LastIndexByte(value, '=')
	if at < 0 {
		return principal{}, errAuthFailed
	}
	id, secret := value[:at], value[at+1:]
	user, name, ok := splitTokenID(id)
	if !ok || l.access.checkUser(user, l.clock.Now()) != nil {
		return principal{}, errAuthFailed
	}
	t := l.access.users[user].tokens[name]
	if t == nil || t.expire != 0 && int64(t.expire) < l.clock.Now().Unix() {
		return principal{}, errAuthFailed
	}
	if subtle.ConstantTimeCompare([]byte(t.secret), []byte(secret)) != 1 {
		return principal{}, errAuthFailed
	}
	return principal{user: user, token: id}, nil
}

// splitTokenID splits user@realm!name.
func splitTokenID(id string) (user, name string, ok bool) {
	m := tokenIDRE.FindStringSubmatch(id)
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// authValue reads "key=value" or "key value" out of a header, as pveproxy does.
func authValue(header, key string) string {
	i := strings.Index(header, key)
	for ; i >= 0; i = nextIndex(header, key, i) {
		rest := header[i+len(key):]
		if (i == 0 || header[i-1] == ' ') && rest != "" && (rest[0] == '=' || rest[0] == ' ') {
			value, _, _ := strings.Cut(rest[1:], ";")
			if u, err := url.PathUnescape(value); err == nil {
				return u
			}
			return value
		}
	}
	return ""
}

func nextIndex(s, sub string, from int) int {
	i := strings.Index(s[from+1:], sub)
	if i < 0 {
		return -1
	}
	return from + 1 + i
}

// uploadPath returns the storage of an upload, "" for any other call.
func uploadPath(method, path string) string {
	m := uploadRE.FindStringSubmatch(path)
	if method != http.MethodPost || m == nil {
		return ""
	}
	return m[1]
}

// mayUpload is checked before the file is read; its refusal has no body.
func (l *Lab) mayUpload(who principal, storage string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &call{lab: l, auth: who}
	return c.require("/storage/"+storage, "Datastore.AllocateTemplate")
}

// ExpireTickets makes every ticket handed out so far invalid.
func (f *Faults) ExpireTickets() error {
	key, err := newTicketKey()
	f.lab.mu.Lock()
	defer f.lab.mu.Unlock()
	f.lab.ticketKey = key
	return err
}
