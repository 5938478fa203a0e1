package proxmox

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestSize(t *testing.T) {
	t.Parallel()
	sizes := map[string]Size{
		"20G": 20 << 30, "512M": 512 << 20, "16582K": 16582 << 10, "0T": 0, "2560M": 2560 << 20,
		"1T": 1 << 40, "4096T": 1 << 52, "104858K": 104858 << 10, "1023": 1023,
	}
	for text, size := range sizes {
		got, err := ParseSize(text)
		if err != nil || got != size {
			t.Errorf("%s is read as %d (%v)", text, got, err)
		}
		if size.String() != text {
			t.Errorf("%d is written %s, not %s", size, size, text)
		}
	}
	for text, size := range map[string]Size{"1024M": 1 << 30, "1.5G": 3 << 29, "0.5K": 512, "2GiB": 2 << 30, "1048576": 1 << 20} {
		if got, err := ParseSize(text); err != nil || got != size {
			t.Errorf("%s is read as %d (%v)", text, got, err)
		}
	}
	for _, text := range []string{"", "big", "1X", "-1G", "iB", "99999999999999999999", "9999999999999T", "1iB"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is read as %d", text, got)
		}
	}
	if Size(3<<30).GiB() != 3 || (Size(3<<30)-1).GiB() != 2 {
		t.Error("GiB are not rounded down")
	}
}

func TestUPID(t *testing.T) {
	t.Parallel()
	const raw = "UPID:pve1:00002148:0003D6F1:6B0CC050:qmcreate:110:root@pam!lab:"
	u, err := ParseUPID(raw)
	if err != nil {
		t.Fatal(err)
	}
	if u.Node != "pve1" || u.PID != 0x2148 || u.PStart != 0x3D6F1 || !u.Start.Equal(time.Unix(1795997776, 0)) ||
		u.Type != "qmcreate" || u.ID != "110" || u.User != "root@pam!lab" || u.String() != raw || u.IsZero() {
		t.Errorf("read %+v", u)
	}
	for _, valid := range []string{"UPID:pve1:0000AA8E:000C98BA:6B0CD6BB:stopall::root@pam!lab:"} {
		if _, err := ParseUPID(valid); err != nil {
			t.Error(err)
		}
	}
	for _, invalid := range []string{"", "UPID:foo", "UPID:pve1:00002148:0003D6F1:6B0CC050:qmcreate:110:root@pam!lab", "UPID:pve/1:00002148:0003D6F1:6B0CC050:a:1:b:"} {
		if _, err := ParseUPID(invalid); err == nil {
			t.Errorf("%q is taken for a task's id", invalid)
		}
	}
}

func FuzzUPID(f *testing.F) {
	f.Add("UPID:pve1:00002148:0003D6F1:6B0CC050:qmcreate:110:root@pam!lab:")
	f.Add("UPID:pve1:0000AA8E:000C98BA:6B0CD6BB:stopall::root@pam!lab:")
	f.Add("UPID:pve1:0000A2FF:000C7BEE:6B0CD671:qmclone:9000:tfpooluser@pve!tok1:")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseUPID(s)
		if err != nil {
			return
		}
		if u.String() != s || u.Node == "" || u.Type == "" || u.User == "" {
			t.Errorf("%q is read as %+v", s, u)
		}
	})
}

func TestVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Version{
		"9.2.11": {9, 2, 11, "9.2", "9.2.11"}, "8.4.21": {8, 4, 21, "8.4", "8.4.21"}, "8.1": {8, 1, 0, "8.1", "8.1"}, "9.0.0~11": {9, 0, 0, "9.0", "9.0.0~11"},
	} {
		if got, err := ParseVersion(text); err != nil || got != want {
			t.Errorf("%s is read as %+v (%v)", text, got, err)
		}
	}
	v, _ := ParseVersion("9.2.11")
	if !v.AtLeast(9, 2) || !v.AtLeast(8, 9) || v.AtLeast(9, 3) || v.AtLeast(10, 0) {
		t.Error("9.2 is compared wrongly")
	}
}

func FuzzVersion(f *testing.F) {
	for _, seed := range []string{"9.2.11", "8.4.21", "9.0.0~11", "8.1", "9", "9.2.11-1+b2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, err := ParseVersion(s)
		if err == nil && (v.String() != s || v.Major < 0 || !v.AtLeast(v.Major, v.Minor) || v.AtLeast(v.Major, v.Minor+1)) {
			t.Errorf("%q is read as %+v", s, v)
		}
	})
}

func TestFlexibleJSON(t *testing.T) {
	t.Parallel()
	var got struct {
		A, B, C, D Int
		E, F       Float
		G, H, I, J Bool
		K, L, M    Text
	}
	const sent = `{"A":5,"B":"100","C":null,"D":1.9,"E":0.25,"F":"0.5","G":1,"H":"0","I":true,"J":"","K":"x","L":128,"M":null}`
	if err := json.Unmarshal([]byte(sent), &got); err != nil {
		t.Fatal(err)
	}
	if got.A != 5 || got.B != 100 || got.C != 0 || got.D != 1 || got.E != 0.25 || got.F != 0.5 || !bool(got.G) || bool(got.H) ||
		!bool(got.I) || bool(got.J) || got.K != "x" || got.L != "128" || got.M != "" {
		t.Errorf("read %+v", got)
	}
	for _, wrong := range []string{`{"A":"x"}`, `{"A":[1]}`, `{"G":"maybe"}`, `{"K":{}}`, `{"E":"x"}`} {
		if json.Unmarshal([]byte(wrong), &got) == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}

func TestTokenID(t *testing.T) {
	t.Parallel()
	const secret = "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee"
	id, err := ParseTokenID("terraform@pve!ci")
	if err != nil || id != (TokenID{User: "terraform", Realm: "pve", Name: "ci"}) || id.String() != "terraform@pve!ci" {
		t.Errorf("read %+v (%v)", id, err)
	}
	if id, err := ParseTokenID("me@example.com@ldap!tok-1"); err != nil || id.User != "me@example.com" || id.Realm != "ldap" {
		t.Errorf("read %+v (%v)", id, err)
	}
	for given, want := range map[string]string{
		secret:                     "secret",
		"root@pam!lab=" + secret:   "secret was pasted",
		"root@pam":                 `no "!"`,
		"root!lab":                 `no "@realm"`,
		"":                         "empty",
		"root@pam!":                "not well-formed",
		"root@pam!x":               "not well-formed",
		"PVEAPIToken root@pam!a b": "not well-formed",
		secret + "@pam!lab":        "secret",
	} {
		_, err := ParseTokenID(given)
		if err == nil {
			t.Errorf("%q is accepted", given)
			continue
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v does not say %q", given, err, want)
		}
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error repeats the secret: %v", err)
		}
	}
	gotID, gotSecret, err := SplitToken("root@pam!lab=" + secret)
	if err != nil || gotID != testTokenID || gotSecret != secret {
		t.Errorf("split into %q, %q (%v)", gotID, gotSecret, err)
	}
	if _, _, err := SplitToken(secret); err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("a secret alone: %v", err)
	}
}
