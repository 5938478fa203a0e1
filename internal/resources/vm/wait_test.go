package vm_test

import (
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/pvelab"
)

// TestWaitForCloudInit: an agent that is restarted in the middle of a question is
// asked again. One that refuses ends the wait; the guest is kept, and no plan
// replaces it.
func TestWaitForCloudInit(t *testing.T) {
	t.Parallel()
	waiting := config(block{
		"power": nil, "agent": block{"enabled": true}, "cloud_init": block{"user": "ops"}, "wait_for": "cloud-init",
		"timeouts": block{"create": "1m"},
	})
	for name, test := range map[string]struct {
		text  string
		times int
		warns string
	}{
		"a restart, PVE 9": {text: "VM 20000 qga command 'guest-file-open' failed - got timeout", times: 2},
		"a restart, PVE 8": {text: "VM 20000 qmp command 'guest-file-read' failed - client closed connection", times: 2},
		"a refusal":        {text: "Agent error: Command guest-file-open has been disabled", times: -1, warns: "has been disabled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDevice(t, "9.2")
			fault, err := d.lab.Faults().Add(pvelab.Fault{Path: ".*/agent/file-read", Status: http.StatusInternalServerError, Text: test.text, Times: test.times})
			must(t, err)
			diagnostics := d.try(t, waiting)
			if len(diagnostics.Errors()) != 0 || len(diagnostics) != 0 != (test.warns != "") || !strings.Contains(diagnostics.String(), test.warns) {
				t.Errorf("got %s", diagnostics)
			}
			if d.lab.Faults().Hits(fault) == 0 {
				t.Error("the agent was never asked")
			}
			if provisioned := d.State["provisioned"]; provisioned != (test.warns == "") || d.State["vmid"] != 20000.0 {
				t.Errorf("the VM is %v, provisioned %v", d.State["vmid"], provisioned)
			}
		})
	}
}
