package proxmox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	signInCall   = "POST /access/ticket"
	testUser     = "ops@pve"
	testPassword = "correct horse"
)

func ticketReply(name string) reply {
	return data(fmt.Sprintf(`{"username":%q,"ticket":"PVE:%s::abc/+=","CSRFPreventionToken":"csrf-%s"}`, testUser, name, name))
}

// byPassword signs in instead of using a token.
func byPassword(o *Options) {
	o.TokenID, o.TokenSecret = "", ""
	o.Username, o.Password = testUser, testPassword
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(signInCall, ticketReply("one")).on("GET /version", data(versionData)).on("POST /pools", data("null"))
	c := pve.client(t, byPassword)
	if _, err := c.Cluster.Version(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Pools.Create(t.Context(), "x", ""); err != nil {
		t.Fatal(err)
	}
	if n := pve.count(signInCall); n != 1 {
		t.Errorf("signed in %d times", n)
	}
	sent := pve.last(t, signInCall)
	if sent.params.Get("username") != testUser || sent.params.Get("password") != testPassword || sent.header.Get("Cookie") != "" {
		t.Errorf("signed in with %v", sent)
	}
	read, written := pve.last(t, "GET /version"), pve.last(t, "POST /pools")
	const cookie = "PVEAuthCookie=PVE%3Aone%3A%3Aabc%2F%2B%3D"
	if read.header.Get("Cookie") != cookie || read.header.Get("Authorization") != "" || read.header.Get("CSRFPreventionToken") != "" {
		t.Errorf("a read has the headers %v", read.header)
	}
	if written.header.Get("Cookie") != cookie || written.header.Get("CSRFPreventionToken") != "csrf-one" {
		t.Errorf("a write has the headers %v", written.header)
	}
}

// TestTicketIsRenewed before PVE's two hours are over, and once more when PVE
// refuses it: a refused call has not begun.
func TestTicketIsRenewed(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(signInCall, ticketReply("one"), ticketReply("two"), ticketReply("three")).
		on("POST /pools", data("null"), data("null"), failure(401, "Authentication failed!"), data("null"))
	clock := newFakeClock()
	c := pve.client(t, byPassword, func(o *Options) { o.clock = clock })
	for i, want := range []struct {
		after time.Duration
		csrf  string
	}{{0, "csrf-one"}, {ticketLife + time.Second, "csrf-two"}, {time.Minute, "csrf-three"}} {
		clock.advance(want.after)
		if err := c.Pools.Create(t.Context(), "x", ""); err != nil {
			t.Fatal(err)
		}
		if got := pve.last(t, "POST /pools").header.Get("CSRFPreventionToken"); got != want.csrf {
			t.Errorf("call %d came with %q, want %q", i, got, want.csrf)
		}
	}
	if ticketLife >= 2*time.Hour {
		t.Error("PVE refuses tickets after two hours")
	}
}

// TestParallelSignIn: a hundred calls at once sign in once.
func TestParallelSignIn(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(signInCall, ticketReply("one")).on("GET /pools", data("[]"))
	c := pve.client(t, byPassword)
	var all sync.WaitGroup
	errs := make([]error, 100)
	for i := range errs {
		all.Go(func() { _, errs[i] = c.Pools.List(t.Context()) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if n := pve.count(signInCall); n != 1 {
		t.Errorf("signed in %d times", n)
	}
}

// TestRefusedPassword is not tried again, for no call.
func TestRefusedPassword(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(signInCall, failure(401, "authentication failure"))
	c := pve.client(t, byPassword)
	for range 3 {
		_, err := c.Pools.List(t.Context())
		var refused *SignInError
		if !errors.As(err, &refused) || refused.SecondFactor || !IsUnauthorized(err) || IsUnavailable(err) {
			t.Fatalf("error %v", err)
		}
		if strings.Contains(err.Error(), testPassword) {
			t.Error("the error holds the password")
		}
	}
	if n := pve.count(signInCall); n != 1 {
		t.Errorf("the password was tried %d times", n)
	}
}

func TestSecondFactor(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(signInCall, data(`{"username":"ops@pve","ticket":"PVE:!tfa!%7B%22totp%22%3Atrue%7D:6B0C::x","CSRFPreventionToken":"x","NeedTFA":1}`))
	c := pve.client(t, byPassword)
	for range 2 {
		err := c.Pools.Create(t.Context(), "x", "")
		var refused *SignInError
		if !errors.As(err, &refused) || !refused.SecondFactor || !strings.Contains(err.Error(), "use an API token") || IsLostAnswer(err) {
			t.Fatalf("error %v", err)
		}
	}
	if calls := pve.calls(); len(calls) != 1 {
		t.Errorf("calls %v", calls)
	}
}

// TestLostSignIn: the call in hand was not sent, so that it is nothing lost, and
// may be repeated.
func TestLostSignIn(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(signInCall, lost(), ticketReply("one")).on("POST /pools", data("null"))
	c := pve.client(t, byPassword)
	if err := c.Pools.Create(t.Context(), "x", ""); err != nil {
		t.Error(err)
	}
	if pve.count("POST /pools") != 1 || pve.count(signInCall) != 2 {
		t.Errorf("calls %v", pve.calls())
	}
}

// TestPasswordFile is read again when the ticket is no longer accepted.
func TestPasswordFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "password")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old one")
	pve := newRecordedPVE(t).on(signInCall, ticketReply("one"), ticketReply("two")).
		on("GET /pools", data("[]"), failure(401, "Authentication failed!"), data("[]"))
	c := pve.client(t, byPassword, func(o *Options) { o.Password, o.PasswordFile = "", file })
	if _, err := c.Pools.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	write("new one ")
	if _, err := c.Pools.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := pve.last(t, signInCall).params.Get("password"); got != "new one " {
		t.Errorf("signed in with %q", got)
	}
}

// TestSignInElsewhere: a node that is away is no reason to give up.
func TestSignInElsewhere(t *testing.T) {
	t.Parallel()
	pve := newRecordedPVE(t).on(signInCall, ticketReply("one")).on("POST /pools", data("null"))
	c := pve.client(t, byPassword, func(o *Options) { o.Endpoint, o.FallbackEndpoints = "https://127.0.0.1:1", []string{o.Endpoint} })
	if err := c.Pools.Create(t.Context(), "x", ""); err != nil {
		t.Error(err)
	}
}

func TestSignInOptions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*Options)
		field  string
	}{
		"no realm":       {func(o *Options) { o.Username = "ops" }, "Username"},
		"a token's id":   {func(o *Options) { o.Username = "ops@pve!ci" }, "Username"},
		"nonsense":       {func(o *Options) { o.Username = "o ps@pve" }, "Username"},
		"no password":    {func(o *Options) { o.Password = "" }, "Password"},
		"two passwords":  {func(o *Options) { o.PasswordFile = "/x" }, "PasswordFile"},
		"no such file":   {func(o *Options) { o.Password, o.PasswordFile = "", "/no/such" }, "PasswordFile"},
		"a token beside": {func(o *Options) { o.TokenID = testTokenID }, "Username"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newRecordedPVE(t).options()
			byPassword(&o)
			test.change(&o)
			_, err := New(o)
			var problem *OptionError
			if !errors.As(err, &problem) || problem.Field != test.field {
				t.Errorf("error %v, want one of %s", err, test.field)
			}
			if err != nil && strings.Contains(err.Error(), testPassword) {
				t.Error("the error holds the password")
			}
		})
	}
}
