package proxmox

import (
	"testing"
)

// TestRebootOnce: a lost answer never restarts a guest twice.
func TestRebootOnce(t *testing.T) {
	t.Parallel()

	const (
		reboot = "POST /nodes/pve1/qemu/10000/status/reboot"
		active = "GET /nodes/pve1/tasks?source=active&typefilter=qmreboot&vmid=10000"
		status = "GET /nodes/pve1/qemu/10000/status/current"
	)
	running := upidOf("qmreboot", "10000")
	up := func(seconds int) step {
		return on(status).data200(map[string]any{"vmid": 10000, "status": "running", "uptime": seconds})
	}
	lost := steps(oursHere, on(reboot).cut(), oursHere)
	idle := on(active).data200(nil)
	again := steps(on(reboot).data200(running), taskSteps(running, "OK"))
	tests := map[string][]step{
		"as it should be":                     steps(oursHere, again),
		"lost, and it runs":                   steps(lost, on(active).data200(tasksOf(running)), taskSteps(running, "OK")),
		"lost, and it is over":                steps(lost, idle, up(0)),
		"lost, and it never began":            steps(lost, idle, up(3600), again),
		"the lock was held: it has not begun": steps(oursHere, on(reboot).fail(500, "can't lock file '/x' - got timeout"), oursHere, again),
	}
	for name, list := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := script(t, list...).Reboot(t.Context(), ourGuest(), nil, PowerOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}
