package proxmox

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// optionErrors maps the fields that New complained of to what it said.
func optionErrors(t *testing.T, err error) map[string]string {
	t.Helper()
	found := map[string]string{}
	joined, ok := err.(interface{ Unwrap() []error })
	if err != nil && !ok {
		t.Fatalf("%v is not a joined error", err)
	}
	if err == nil {
		return found
	}
	for _, one := range joined.Unwrap() {
		var option *OptionError
		if !errors.As(one, &option) {
			t.Fatalf("%v is not of an option", one)
		}
		found[option.Field] += option.Problem
	}
	return found
}

func TestOptions(t *testing.T) {
	t.Parallel()
	valid := Options{Endpoint: "https://pve1.example.com", TokenID: testTokenID, TokenSecret: testSecret}
	tests := map[string]struct {
		change func(*Options)
		wrong  map[string]string
	}{
		"valid":            {func(*Options) {}, nil},
		"nothing":          {func(o *Options) { *o = Options{} }, map[string]string{"Endpoint": "missing", "TokenID": "empty", "TokenSecret": "missing"}},
		"http":             {func(o *Options) { o.Endpoint = "http://pve1" }, map[string]string{"Endpoint": "https://"}},
		"no scheme":        {func(o *Options) { o.Endpoint = "pve1:8006" }, map[string]string{"Endpoint": "https://"}},
		"a path":           {func(o *Options) { o.Endpoint = "https://pve1/api2/json" }, map[string]string{"Endpoint": "without a path"}},
		"credentials":      {func(o *Options) { o.Endpoint = "https://root:x@pve1" }, map[string]string{"Endpoint": "credentials"}},
		"no host":          {func(o *Options) { o.Endpoint = "https://:8006" }, map[string]string{"Endpoint": "no host"}},
		"fallback":         {func(o *Options) { o.FallbackEndpoints = []string{"https://pve2", "http://pve3"} }, map[string]string{"FallbackEndpoints": "https://"}},
		"two kinds":        {func(o *Options) { o.Insecure, o.Fingerprint = true, "AA" }, map[string]string{"Insecure": "only one"}},
		"bad fingerprint":  {func(o *Options) { o.Fingerprint = "AA:BB" }, map[string]string{"Fingerprint": "32 bytes"}},
		"no PEM":           {func(o *Options) { o.CAPEM = []byte("x") }, map[string]string{"CAPEM": "no certificate"}},
		"no CA file":       {func(o *Options) { o.CAFile = "/nowhere/ca.pem" }, map[string]string{"CAFile": "cannot read"}},
		"range":            {func(o *Options) { o.VMIDRange = VMIDRange{First: 200, Last: 100} }, map[string]string{"VMIDRange": "above"}},
		"range too low":    {func(o *Options) { o.VMIDRange = VMIDRange{First: 1, Last: 100} }, map[string]string{"VMIDRange": "between 100"}},
		"limits":           {func(o *Options) { o.Limits.Requests = -1 }, map[string]string{"Limits": "negative"}},
		"no secret file":   {func(o *Options) { o.TokenSecret, o.TokenSecretFile = "", "/nowhere/x" }, map[string]string{"TokenSecretFile": "cannot read"}},
		"secret and file":  {func(o *Options) { o.TokenSecretFile = "x" }, map[string]string{"TokenSecretFile": "not both"}},
		"whole token":      {func(o *Options) { o.TokenSecret = testTokenID + "=" + testSecret }, map[string]string{"TokenSecret": "not a secret alone"}},
		"several at once":  {func(o *Options) { o.Endpoint, o.TokenID, o.Fingerprint = "http://x", "root@pam", "z" }, map[string]string{"Endpoint": "https", "TokenID": `"!"`, "Fingerprint": "hex"}},
		"secret for an id": {func(o *Options) { o.TokenID = testSecret }, map[string]string{"TokenID": "secret"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := valid
			test.change(&o)
			_, err := New(o)
			found := optionErrors(t, err)
			if !slices.Equal(slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(test.wrong))) {
				t.Fatalf("complaints %v, want of %v", found, test.wrong)
			}
			for field, text := range test.wrong {
				if !strings.Contains(found[field], text) {
					t.Errorf("%s: %q does not say %q", field, found[field], text)
				}
			}
			if err != nil && strings.Contains(err.Error(), testSecret) {
				t.Errorf("the secret is told: %v", err)
			}
		})
	}
}

func TestEndpointsGetThePort(t *testing.T) {
	t.Parallel()
	o := Options{Endpoint: "https://pve1/", FallbackEndpoints: []string{"https://[fd00::1]", "https://pve2:443"}}
	var p problems
	got := o.endpoints(&p)
	if want := []string{"pve1:8006", "[fd00::1]:8006", "pve2:443"}; !slices.Equal(got, want) || p.err() != nil {
		t.Errorf("endpoints %q (%v)", got, p.err())
	}
}

func TestVMIDRange(t *testing.T) {
	t.Parallel()
	r := VMIDRange{First: 100, Last: 199}
	if !r.Contains(100) || !r.Contains(199) || r.Contains(99) || r.Contains(200) || r.Size() != 100 {
		t.Error("the bounds of a range are wrong")
	}
	if (VMIDRange{}).Contains(0) || (VMIDRange{}).Configured() || (VMIDRange{}).Size() != 0 {
		t.Error("no range contains an id")
	}
}
