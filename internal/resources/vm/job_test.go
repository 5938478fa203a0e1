package vm

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

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
		j := &job{Job: &guests.Job{Kind: kind, Config: d, Plan: d}}
		spec := j.cloneSpec(t.Context(), template)
		if spec.Description != want || spec.Node != "pve2" || spec.TemplateNode != "pve1" || spec.UID == "" {
			t.Errorf("spec is %+v", spec)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	agent := addressesByMAC(
		map[string]string{"net0": "virtio=bc:24:11:00:00:01,bridge=vmbr0", "net1": "virtio=BC:24:11:00:00:02,bridge=vmbr0"},
		[]proxmox.AgentInterface{
			{Name: "lo", MAC: "00:00:00:00:00:00", IPs: prefixes("127.0.0.1/8")},
			{Name: "eth7", MAC: "BC:24:11:00:00:01", IPs: prefixes("10.0.0.9/24")},
			{Name: "eth8", MAC: "bc:24:11:00:00:01", IPs: prefixes("2001:db8::5/64")},
		},
	)
	static := staticAddresses(map[string]string{"ipconfig0": "ip=10.0.0.7/24,gw=10.0.0.1,ip6=auto", "ipconfig1": "ip=dhcp"})
	for name, test := range map[string]struct {
		found guests.Found
		want  map[string]string
	}{
		"the agent's, by MAC": {agent, map[string]string{"net0": "[10.0.0.9 2001:db8::5]"}},
		"those of cloud-init": {static, map[string]string{"net0": "[10.0.0.7]"}},
	} {
		got := map[string]string{}
		for slot, addresses := range test.found.Slots {
			got[slot] = fmt.Sprint(addresses)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func prefixes(texts ...string) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

func BenchmarkRefreshOfOne(b *testing.B) {
	for b.Loop() {
		r := &settings.Reader{Values: guest, Purpose: settings.Importing}
		r.Object(table, "", nil)
	}
}
