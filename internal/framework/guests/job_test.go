package guests

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// What Terraform can save depends on whether a job ends with an error: that
// taints the guest.
func TestJobEnds(t *testing.T) {
	t.Parallel()
	failed := errors.New("task failed")
	waited := &WaitError{What: "the guest agent", Err: context.DeadlineExceeded}
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
		"waiting in vain":                 {guest: known, first: true, onTimeout: "warn", err: waited, warns: "in vain"},
		"the last write fails":            {guest: known, first: true, onTimeout: OnTimeoutFail, err: &lastWriteError{proxmox.KindVM, failed}, warns: "marker"},
		"waiting in vain, not allowed":    {guest: known, first: true, onTimeout: OnTimeoutFail, err: waited, fails: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var diags diag.Diagnostics
			plan := settings.Document{Values: map[string]attr.Value{"on_wait_timeout": types.StringValue(test.onTimeout)}}
			j := &Job{Kind: &Kind{Kind: proxmox.KindVM}, Plan: plan, Diags: &diags, Guest: test.guest, First: test.first}
			finished := j.Within(ctx, time.Minute, "create it", func(context.Context) error {
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

func TestGrowths(t *testing.T) {
	t.Parallel()
	config := &proxmox.GuestConfig{Kind: proxmox.KindVM, Current: map[string]string{
		"scsi0": "local-lvm:vm-110-disk-0,size=3584M", "scsi1": "local-lvm:vm-110-disk-1,size=1G", "mp0": "local-lvm:vm-110-disk-2,mp=/a,size=1G",
	}}
	sizes := map[string]attr.Value{"scsi0": gib(20), "scsi1": gib(1), "scsi2": gib(9), "mp0": gib(2)}
	found, err := growths(config, sizes)
	if err != nil {
		t.Fatal(err)
	}
	if want := []growth{{"mp0", 2 << 30}, {"scsi0", 20 << 30}}; !slices.Equal(found, want) {
		t.Errorf("growths are %v", found)
	}
	if _, err = growths(config, map[string]attr.Value{"scsi0": gib(3)}); err == nil || !strings.Contains(err.Error(), "shrink") {
		t.Errorf("shrinking gives %v", err)
	}
}

func gib(size float64) attr.Value { return types.Float64Value(size) }

var nics = &settings.Group{Name: "network", Settings: []settings.Setting{
	{Name: "ipv4_addresses", Source: settings.Reported, Form: settings.TextList{Spelling: settings.BlankList}},
	{Name: "ipv6_addresses", Source: settings.Reported, Form: settings.TextList{Spelling: settings.BlankList}},
}}

func nic(ipv4, ipv6 []string) attr.Value {
	return nics.Object(map[string]attr.Value{
		"ipv4_addresses": types.ListValueMust(types.StringType, settings.Texts(ipv4)),
		"ipv6_addresses": types.ListValueMust(types.StringType, settings.Texts(ipv6)),
	})
}

func network(devices map[string]attr.Value) attr.Value { return nics.Mapping(devices) }

func TestAddresses(t *testing.T) {
	t.Parallel()
	told := Found{Slots: map[string][]netip.Addr{"net0": addresses("10.0.0.9", "10.0.0.5", "127.0.0.1", "fe80::1", "ff02::1", "2001:db8::5")}}
	stale := Found{Stale: true, Slots: map[string][]netip.Addr{"net0": addresses("10.0.0.7")}}
	for name, test := range map[string]struct {
		found      Found
		held, want map[string]attr.Value
	}{
		"what is told": {
			told,
			map[string]attr.Value{"net0": nic([]string{"10.0.0.1"}, nil), "net1": nic([]string{"10.0.0.2"}, nil)},
			map[string]attr.Value{"net0": nic([]string{"10.0.0.5", "10.0.0.9"}, []string{"2001:db8::5"}), "net1": nic(nil, nil)},
		},
		"else the last known ones": {stale, map[string]attr.Value{"net0": nic([]string{"10.0.0.5"}, nil)}, map[string]attr.Value{"net0": nic([]string{"10.0.0.5"}, nil)}},
		"else the configured ones": {stale, map[string]attr.Value{"net0": nic(nil, nil)}, map[string]attr.Value{"net0": nic([]string{"10.0.0.7"}, nil)}},
	} {
		if got, want := test.found.into(nics, network(test.held)), network(test.want); !got.Equal(want) {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	planned := nics.Object(map[string]attr.Value{
		"ipv4_addresses": types.ListValueMust(types.StringType, settings.Texts([]string{"1.2.3.4"})), "ipv6_addresses": types.ListUnknown(types.StringType),
	})
	got := told.complete(nics, network(map[string]attr.Value{"net0": nic(nil, nil)}), network(map[string]attr.Value{"net0": planned}))
	if want := network(map[string]attr.Value{"net0": nic([]string{"1.2.3.4"}, []string{"2001:db8::5"})}); !got.Equal(want) {
		t.Errorf("after an apply: %s, want %s", got, want)
	}
}

func addresses(texts ...string) []netip.Addr {
	var all []netip.Addr
	for _, text := range texts {
		all = append(all, netip.MustParseAddr(text))
	}
	return all
}

func TestStopping(t *testing.T) {
	t.Parallel()
	stop := func(timeout string, force attr.Value) attr.Value {
		return StopGroup("VM", "it").Object(map[string]attr.Value{"shutdown_timeout": types.StringValue(timeout), "force": force})
	}
	for name, test := range map[string]struct {
		stop    attr.Value
		timeout time.Duration
		force   bool
	}{
		"nothing":    {nil, time.Minute, true},
		"configured": {stop("5m", types.BoolValue(false)), 5 * time.Minute, false},
		"at once":    {stop("0s", types.BoolNull()), 0, true},
	} {
		timeout, force := Stopping(settings.Document{Values: map[string]attr.Value{"stop": test.stop}})
		if timeout != test.timeout || force != test.force {
			t.Errorf("%s: %s, %t", name, timeout, force)
		}
	}
}
