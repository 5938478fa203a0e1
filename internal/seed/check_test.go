package seed_test

import (
	"errors"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/seed"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	const secret = "hunter2secret"
	for name, test := range map[string]struct {
		check   func(string) error
		content string
		line    int
		says    string // "" for what is fine.
	}{
		"nothing":                 {seed.CheckUserData, "", 0, ""},
		"cloud-config":            {seed.CheckUserData, "#cloud-config\npackages: [nginx]\n", 0, ""},
		"with CRLF":               {seed.CheckUserData, "#cloud-config\r\na: b\r\n", 0, ""},
		"an empty one":            {seed.CheckUserData, "#cloud-config\n", 0, ""},
		"a script":                {seed.CheckUserData, "#!/bin/sh\n: [\n", 0, ""},
		"a template":              {seed.CheckUserData, "## template: jinja\n#cloud-config\n{% if x %}: [\n", 0, ""},
		"an include":              {seed.CheckUserData, "#include\nhttps://example.com/x\n", 0, ""},
		"an archive":              {seed.CheckUserData, "#cloud-config-archive\n- type: text/x-shellscript\n  content: echo\n", 0, ""},
		"an archive of no YAML":   {seed.CheckUserData, "#cloud-config-archive\n- a: b\n c: d\n", 3, "not YAML"},
		"multipart":               {seed.CheckUserData, "Content-Type: multipart/mixed; boundary=\"x\"\nMIME-Version: 1.0\n\n--x--\n", 0, ""},
		"without a header":        {seed.CheckUserData, "packages: [nginx]\n", 1, "no header that cloud-init knows"},
		"with blanks before":      {seed.CheckUserData, "\n\npackages: []\n", 3, "no header"},
		"a header with a comment": {seed.CheckUserData, "#cloud-config for web\na: b\n", 1, "not exactly #cloud-config"},
		"a header with a blank":   {seed.CheckUserData, "# cloud-config\na: b\n", 1, "not exactly #cloud-config"},
		"no YAML":                 {seed.CheckUserData, "#cloud-config\na: b\n c: " + secret + "\n", 3, "it is not YAML: mapping values are not allowed"},
		"an unclosed list":        {seed.CheckUserData, "#cloud-config\npackages: [nginx\nruncmd: []\n", 3, "not YAML"},
		"a wrong indent":          {seed.CheckUserData, "#cloud-config\nusers:\n  - name: x\n foo: y\n", 4, "did not find expected key"},
		"a tab":                   {seed.CheckUserData, "#cloud-config\na:\n\t- b\n", 3, "not YAML"},
		"an alias of nothing":     {seed.CheckUserData, "#cloud-config\na: *" + secret + "\n", 2, "unknown anchor"},
		"a list":                  {seed.CheckUserData, "#cloud-config\n- a\n", 2, "not a mapping"},
		"vendor data":             {seed.CheckVendorData, "x\n", 1, "no header"},
		"meta data":               {seed.CheckMetaData, "instance-id: i-1\n", 0, ""},
		"meta data without an id": {seed.CheckMetaData, "local-hostname: x\n", 0, "no instance-id"},
		"a network":               {seed.CheckNetworkConfig, "version: 2\nethernets: {}\n", 0, ""},
		"a nested network":        {seed.CheckNetworkConfig, "network:\n  version: 1\n", 0, ""},
		"JSON is YAML":            {seed.CheckNetworkConfig, `{"version": 2}`, 0, ""},
		"a network of no version": {seed.CheckNetworkConfig, "ethernets: {}\n", 0, "no version"},
		"a network of version 3":  {seed.CheckNetworkConfig, "a: 1\nversion: 3\n", 2, "neither 1 nor 2"},
	} {
		err := test.check(test.content)
		var input *seed.InputError
		switch {
		case test.says == "" && err != nil:
			t.Errorf("%s is refused: %v", name, err)
		case test.says == "":
		case err == nil:
			t.Errorf("%s passes", name)
		case !errors.As(err, &input) || !strings.Contains(err.Error(), test.says) || input.Line != test.line:
			t.Errorf("%s: %v, want %q in line %d", name, err, test.says, test.line)
		case strings.Contains(err.Error(), secret):
			t.Errorf("%s repeats the content: %v", name, err)
		}
	}
}

func TestRendering(t *testing.T) {
	t.Parallel()
	meta, err := seed.MetaData("iid-1", "web-1")
	if err != nil || meta != "instance-id: iid-1\nlocal-hostname: web-1\n" {
		t.Errorf("meta data is %q, %v", meta, err)
	}
	network, err := seed.NetworkConfig([]seed.Interface{
		{Name: "eth0", MAC: "12:34:56:01:02:03", Addresses: []string{"10.0.0.11/24", "2001:db8::11/64"}, Gateway4: "10.0.0.1", Gateway6: "2001:db8::1"},
		{Name: "eth1", MAC: "bc:24:11:00:00:02", DHCP4: true, Auto6: true},
	}, []string{"10.0.0.53"}, []string{"example.com"})
	if err != nil {
		t.Fatal(err)
	}
	// The first address would be a number to the base 60 without its quotes.
	const want = `version: 2
ethernets:
    eth0:
        match:
            macaddress: "12:34:56:01:02:03"
        set-name: eth0
        dhcp4: false
        dhcp6: false
        addresses:
            - 10.0.0.11/24
            - 2001:db8::11/64
        routes:
            - to: 0.0.0.0/0
              via: 10.0.0.1
            - to: ::/0
              via: 2001:db8::1
        nameservers:
            addresses:
                - 10.0.0.53
            search:
                - example.com
    eth1:
        match:
            macaddress: bc:24:11:00:00:02
        set-name: eth1
        dhcp4: true
        dhcp6: false
        accept-ra: true
        nameservers:
            addresses:
                - 10.0.0.53
            search:
                - example.com
`
	if network != want {
		t.Errorf("the network is:\n%s", network)
	}
	if err := seed.CheckNetworkConfig(network); err != nil {
		t.Error(err)
	}
}

// TestInstanceID holds what makes cloud-init take a guest for a new one.
func TestInstanceID(t *testing.T) {
	t.Parallel()
	base := seed.InstanceID("", seed.Files{UserData: "a", VendorData: "b"})
	for name, test := range map[string]struct {
		id   string
		same bool
	}{
		"another network":     {seed.InstanceID("", seed.Files{UserData: "a", VendorData: "b", NetworkConfig: "c", MetaData: "d"}), true},
		"another user data":   {seed.InstanceID("", seed.Files{UserData: "x", VendorData: "b"}), false},
		"another vendor data": {seed.InstanceID("", seed.Files{UserData: "a", VendorData: "x"}), false},
		"another split":       {seed.InstanceID("", seed.Files{UserData: "ab"}), false},
		"another scope":       {seed.InstanceID("1", seed.Files{UserData: "a", VendorData: "b"}), false},
	} {
		if (test.id == base) != test.same {
			t.Errorf("%s: %s and %s", name, base, test.id)
		}
	}
}
