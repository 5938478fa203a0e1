package pvelab

import (
	"testing"
)

func TestNodeShutdown(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{Speed: 500})
	c.create("vmid=100", "memory=64", "onboot=1")
	c.create("vmid=101", "memory=64")
	c.start("100")
	c.start("101")
	other := *c
	other.base = l.NodeURL("pve2")
	if got := other.must("POST", "/nodes/pve1/status", "command=shutdown"); got != nil {
		t.Errorf("answers %v", got)
	}
	eventually(t, "the power off", func() bool { return !l.isOnline("pve1") })
	running := func() (list []int) {
		l.locked(func() {
			for _, vmid := range sortedKeys(l.guests) {
				if l.guests[vmid].run != nil {
					list = append(list, vmid)
				}
			}
		})
		return list
	}
	if got := running(); len(got) > 0 {
		t.Errorf("%v still run", got)
	}
	if err := l.Faults().NodeOnline("pve1"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the start at boot", func() bool { got := running(); return len(got) == 1 && got[0] == 100 })
}

func TestStopAll(t *testing.T) {
	t.Parallel()
	l, c := vmLab(t, Options{Speed: 500})
	for _, vmid := range []string{"100", "101", "102"} {
		c.create("vmid="+vmid, "memory=64")
		c.start(vmid)
	}
	l.Faults().IgnoreShutdown(101, true)
	c.must("POST", "/nodes/pve1/stopall", "vms=100 101", "timeout=5", "max-workers=1")
	for vmid, want := range map[string]string{"100": "stopped", "101": "stopped", "102": "running"} {
		if got := c.status(vmid)["status"]; got != want {
			t.Errorf("%s is %v", vmid, got)
		}
	}
	addToken(l, "ops@pve", "stop", "secret", true)
	grant(l, "ops@pve!stop", "/vms/100", "VM.PowerMgmt")
	ops := newClient(t, l, "PVEAPIToken=ops@pve!stop=secret")
	ops.must("POST", "/nodes/pve1/stopall", "vms=100")
	for vms, want := range map[string]string{
		"timeout=9": "Permission check failed (/, VM.PowerMgmt)",
		"vms=4711":  "Permission check failed (/vms/4711, VM.PowerMgmt)",
	} {
		if _, reason := ops.fails("POST", "/nodes/pve1/stopall", vms); reason != want {
			t.Errorf("%q: %s", vms, reason)
		}
	}
}
