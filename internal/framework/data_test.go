package framework_test

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

func TestResourceBase(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		handed any
		ready  bool
		says   string
	}{
		"nothing handed over yet": {nil, false, "is not configured"},
		"of another type":         {"text", false, "is not configured"},
		"not known yet":           {&framework.ProviderData{Unknown: []string{"endpoint"}}, false, "endpoint of the provider block depends"},
		"known":                   {&framework.ProviderData{Client: &proxmox.Client{}}, true, ""},
	} {
		var (
			base  framework.ResourceBase
			resp  resource.ConfigureResponse
			diags diag.Diagnostics
		)
		base.Configure(t.Context(), resource.ConfigureRequest{ProviderData: test.handed}, &resp)
		client := base.Client(&diags)
		if base.Ready() != test.ready || (client != nil) != test.ready {
			t.Errorf("%s: ready is %t, want %t", name, base.Ready(), test.ready)
		}
		if test.says != "" && (len(diags) != 1 || !strings.Contains(diags[0].Summary()+diags[0].Detail(), test.says)) {
			t.Errorf("%s: %v does not say %q", name, diags, test.says)
		}
	}
}

func TestRequire(t *testing.T) {
	t.Parallel()

	var diags diag.Diagnostics
	data := framework.ProviderData{Defaults: framework.Defaults{Node: "pve1"}, VMIDRange: proxmox.VMIDRange{First: 20000, Last: 20999}}
	if node := data.RequireNode("", path.Root("node"), &diags); node != "pve1" {
		t.Errorf("the default node is %q", node)
	}
	if node := data.RequireNode("pve2", path.Root("node"), &diags); node != "pve2" {
		t.Errorf("the configured node is %q", node)
	}
	if !data.RequireVMIDRange(&diags) || diags.HasError() {
		t.Errorf("a configured range is refused: %v", diags)
	}

	bare := framework.ProviderData{}
	if node := bare.RequireNode("", path.Root("node"), &diags); node != "" {
		t.Errorf("the node is %q though none is configured", node)
	}
	if bare.RequireVMIDRange(&diags) {
		t.Error("a range is there though none is configured")
	}
	var texts []string
	for _, d := range diags {
		texts = append(texts, d.Detail())
	}
	holds(t, "details", strings.Join(texts, "\n"), []string{"PROXMOX_NODE", "PROXMOX_VMID_RANGE"})
	if diags.ErrorsCount() != 2 {
		t.Errorf("got %d errors, want 2", diags.ErrorsCount())
	}
}
