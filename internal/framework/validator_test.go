package framework_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
)

func TestValidators(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		validator     validator.String
		accepts, bars []string
	}{
		// What recordings of PVE show as accepted and refused.
		"DNSName": {
			framework.DNSName(),
			[]string{"web-1", "a.b-c", "A-Upper", "1start", strings.Repeat("x", 64)},
			[]string{"", "under_score", "-dash", "a..b", "trailing.", "ünï"},
		},
		"Tag": {
			framework.Tag(),
			[]string{"web", "a_b-c.d+e", "_x", "7"},
			[]string{"", "UPPER", "ümlaut", "-a", "a b", "a;b"},
		},
		"NodeName":    {framework.NodeName(), []string{"pve1", "pve-dc1-01"}, []string{"", "no_pe", "pve.example.com"}},
		"StorageName": {framework.StorageName(), []string{"local", "local-lvm", "my_store.1"}, []string{"", "1x", "a", "a/b"}},
		"PoolName":    {framework.PoolName(), []string{"terraform", "a/b/c"}, []string{"", "a/", "a//b", "a/b/c/d"}},
		"DiskSlot": {
			framework.DiskSlot(),
			[]string{"scsi0", "scsi30", "virtio0", "virtio15", "sata5", "ide3"},
			[]string{"scsi31", "scsi", "scsi01", "virtio16", "sata6", "ide4", "net0", "scsi0 "},
		},
		"NetworkSlot": {framework.NetworkSlot(), []string{"net0", "net31"}, []string{"net32", "net", "net00"}},
		"MAC": {
			framework.MAC(),
			[]string{"BC:24:11:00:00:01", "bc:24:11:00:00:0f"},
			[]string{"", "BC-24-11-00-00-01", "BC:24:11:00:00", "01:00:5e:00:00:01", "bc24.1100.0001", "BC:24:11:00:00:01:02:03"},
		},
		"IPv4CIDR": {framework.IPv4CIDR(), []string{"10.0.0.11/24"}, []string{"10.0.0.11", "10.0.0.300/24", "10.0.0.11/33", "2001:db8::1/64"}},
		"IPv6CIDR": {framework.IPv6CIDR(), []string{"2001:db8::11/64"}, []string{"2001:db8::11", "10.0.0.11/24", "2001:db8::/129"}},
		"IPv4":     {framework.IPv4(), []string{"10.0.0.1"}, []string{"10.0.0", "::1", "10.0.0.1/24"}},
		"IPv6":     {framework.IPv6(), []string{"fe80::1"}, []string{"fe80::1%eth0", "10.0.0.1"}},
		"IP":       {framework.IP(), []string{"10.0.0.1", "fe80::1"}, []string{"dns.example.com", "fe80::1%eth0"}},
		"Duration": {framework.Duration(), []string{"90s", "1h30m", "0s"}, []string{"", "90", "-1s", "1d"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range test.accepts {
				if detail := validate(test.validator, types.StringValue(text)); detail != "" {
					t.Errorf("%q is barred: %s", text, detail)
				}
			}
			for _, text := range test.bars {
				detail := validate(test.validator, types.StringValue(text))
				if detail == "" {
					t.Errorf("%q is accepted", text)
				}
			}
			if detail := validate(test.validator, types.StringUnknown()) + validate(test.validator, types.StringNull()); detail != "" {
				t.Errorf("what is not known or not set is barred: %s", detail)
			}
		})
	}
}

func validate(v validator.String, value types.String) string {
	var resp validator.StringResponse
	v.ValidateString(context.Background(), validator.StringRequest{Path: path.Root("here"), ConfigValue: value}, &resp)
	if !resp.Diagnostics.HasError() {
		return ""
	}
	return resp.Diagnostics.Errors()[0].Detail()
}
