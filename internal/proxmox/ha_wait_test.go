package proxmox

import (
	"strings"
	"testing"
)

// TestPowerWaitsForHA: the task of a stop only asks HA, which does it later, or fails.
func TestPowerWaitsForHA(t *testing.T) {
	t.Parallel()

	upid := upidOf("hastop", "10000")
	status := func(status, state string) step {
		return on("GET /nodes/pve1/qemu/10000/status/current").
			data200(map[string]any{"vmid": 10000, "status": status, "ha": map[string]any{"managed": 1, "state": state}})
	}
	asked := steps(oursHere, ends(stop, upid))
	for name, test := range map[string]struct {
		steps []step
		says  string
	}{
		"stops": {steps(asked, oursHere, status("running", "started"), oursHere, status("running", "request_stop"), oursHere, status("stopped", "stopped")), ""},
		"fails": {steps(asked, oursHere, status("running", "started"), oursHere, status("running", "error")), "HA's error state"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := script(t, test.steps...).Power(t.Context(), ourGuest(), nil, PowerStopped, PowerOptions{})
			if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("got %v, want %q", err, test.says)
			}
		})
	}
}
