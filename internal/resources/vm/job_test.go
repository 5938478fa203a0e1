package vm

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// What Terraform can save depends on whether a job ends with an error: that
// taints the guest.
func TestJobEnds(t *testing.T) {
	t.Parallel()
	failed := errors.New("task failed")
	waited := &waitError{"the guest agent", context.DeadlineExceeded}
	known := proxmox.Guest{VMID: 20001}
	tests := map[string]struct {
		guest     proxmox.Guest
		first     bool
		onTimeout string
		cancelled bool
		err       error
		finished  bool
		fails     bool
		warns     string
	}{
		"well":                            {guest: known, first: true, finished: true},
		"with a failed task":              {guest: known, first: true, err: failed, fails: true},
		"cancelled in a clone":            {guest: known, first: true, cancelled: true, err: context.Canceled, warns: "interrupted"},
		"cancelled before there is an id": {first: true, cancelled: true, err: context.Canceled, fails: true},
		"cancelled in an update":          {guest: known, cancelled: true, err: context.Canceled, fails: true},
		"after the deadline":              {guest: known, first: true, err: context.DeadlineExceeded, fails: true},
		"waiting in vain":                 {guest: known, first: true, onTimeout: onTimeoutWarn, err: waited, warns: "in vain"},
		"the last write fails":            {guest: known, first: true, onTimeout: onTimeoutFail, err: &lastWriteError{failed}, warns: "marker"},
		"waiting in vain, not allowed":    {guest: known, first: true, onTimeout: onTimeoutFail, err: waited, fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var diags diag.Diagnostics
			plan := documentOf(t, o{"name": "web", "on_wait_timeout": test.onTimeout})
			j := &job{plan: plan, diags: &diags, guest: test.guest, first: test.first}
			finished := j.within(ctx, time.Minute, "create it", func(context.Context) error {
				if test.cancelled {
					cancel()
				}
				return test.err
			})
			if finished != test.finished || diags.HasError() != test.fails {
				t.Errorf("finished %t, %v", finished, diags)
			}
			if test.warns != "" && (diags.WarningsCount() != 1 || !strings.Contains(diags[0].Summary(), test.warns)) {
				t.Errorf("want a warning of %q, got %v", test.warns, diags)
			}
		})
	}
}

// The template's description is inherited without the template's own marker.
func TestCloneSpecInheritsTheDescription(t *testing.T) {
	t.Parallel()
	template := configured110(map[string]string{"description": "from the template"})
	for config, want := range map[string]string{"": "from the template", "mine": "mine"} {
		given := o{"name": "web", "template": 9000, "node": "pve2"}
		if config != "" {
			given["description"] = config
		}
		d := documentOf(t, given)
		j := &job{config: d, plan: d}
		spec := j.cloneSpec(t.Context(), template)
		if spec.Description != want || spec.Node != "pve2" || spec.TemplateNode != "pve1" || spec.UID == "" {
			t.Errorf("spec is %+v", spec)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	agent := found{slots: addressesByMAC(
		map[string]string{"net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0", "net1": "virtio=BC:24:11:00:00:02,bridge=vmbr0"},
		[]proxmox.AgentInterface{
			{Name: "lo", MAC: "00:00:00:00:00:00", IPs: prefixes("127.0.0.1/8")},
			{Name: "eth7", MAC: "bc:24:11:00:00:01", IPs: prefixes("10.0.0.9/24", "10.0.0.5/24", "fe80::1/64", "2001:db8::5/64")},
		},
	)}
	static := found{silent: true, slots: staticAddresses(map[string]string{"ipconfig0": "ip=10.0.0.7/24,gw=10.0.0.1,ip6=auto", "ipconfig1": "ip=dhcp"})}
	network := networkGroup.Typ()
	tests := map[string]struct {
		found found
		held  o
		want  o
	}{
		"the agent's, by MAC": {agent, o{"net0": o{}, "net1": o{}}, o{
			"net0": o{"ipv4_addresses": list("10.0.0.5", "10.0.0.9"), "ipv6_addresses": list("2001:db8::5")},
			"net1": o{"ipv4_addresses": list(), "ipv6_addresses": list()},
		}},
		"a silent agent's last ones": {static, o{"net0": o{"ipv4_addresses": []string{"10.0.0.5"}}}, o{
			"net0": o{"ipv4_addresses": list("10.0.0.5"), "ipv6_addresses": list()},
		}},
		"else the configured ones": {static, o{"net0": o{}, "net1": o{}}, o{
			"net0": o{"ipv4_addresses": list("10.0.0.7"), "ipv6_addresses": list()},
			"net1": o{"ipv4_addresses": list(), "ipv6_addresses": list()},
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := plain(t, test.found.into(value(t, network, test.held)))
			if diff := cmp.Diff(any(test.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}

	planned := value(t, network, o{"net0": o{"ipv4_addresses": []string{"1.2.3.4"}, "ipv6_addresses": unknown{}}})
	settled := plain(t, agent.complete(value(t, network, o{"net0": o{"ipv4_addresses": []string{"1.2.3.4"}}}), planned))
	want := o{"net0": o{"ipv4_addresses": list("1.2.3.4"), "ipv6_addresses": list("2001:db8::5")}}
	if diff := cmp.Diff(any(want), settled); diff != "" {
		t.Error(diff)
	}
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func TestStopping(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stop    any
		timeout time.Duration
		force   bool
	}{
		"nothing":    {nil, time.Minute, true},
		"configured": {o{"shutdown_timeout": "5m", "force": false}, 5 * time.Minute, false},
		"at once":    {o{"shutdown_timeout": "0s"}, 0, true},
	} {
		timeout, force := stopping(documentOf(t, o{"name": name, "stop": test.stop}))
		if timeout != test.timeout || force != test.force {
			t.Errorf("%s: %s, %t", name, timeout, force)
		}
	}
}

func BenchmarkRefreshOfOne(b *testing.B) {
	for b.Loop() {
		r := &settings.Reader{Values: guest, Purpose: settings.Importing}
		r.Object(table, "", nil)
	}
}
