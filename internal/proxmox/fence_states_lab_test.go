package proxmox

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

// fenceCase is a fence that is proven, and changed nothing, after what somebody
// did to VM 101 on pve2, which is stopped.
type fenceCase struct {
	name    string
	fence   Fence
	setup   []func(t *testing.T, b *fenceBench)
	state   FenceState
	reasons []string
	// failed are the checks that failed, by name.
	failed string
}

type deed = func(t *testing.T, b *fenceBench)

// on makes a call about VM 101.
func change(method, path string, params byhand.Params) deed {
	return func(t *testing.T, b *fenceBench) {
		t.Helper()
		if method == http.MethodPost {
			noError(t, b.admin.Task(t.Context(), method, vmPath("pve2", 101)+path, params))
			return
		}
		b.call(t, method, vmPath("pve2", 101)+path, params)
	}
}

func configured(params byhand.Params) deed { return change(http.MethodPut, "/config", params) }

func starts(t *testing.T, b *fenceBench) { change(http.MethodPost, "/status/start", nil)(t, b) }

func offline(t *testing.T, b *fenceBench) { noError(t, b.Faults().NodeOffline("pve2")) }

func gone(t *testing.T, b *fenceBench) { noError(t, b.admin.Destroy(t.Context(), 101)) }

// asked asks HA for a state, and lets its manager act unless it hangs.
func asked(state string, hangs bool) deed {
	return func(t *testing.T, b *fenceBench) {
		t.Helper()
		b.Faults().HangHA(hangs)
		b.call(t, http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": "vm:101", "state": state})
		if !hangs && state != HAIgnored {
			b.settled(t, "vm:101", "stopped")
		}
	}
}

func silent(path string) deed {
	return func(t *testing.T, b *fenceBench) {
		t.Helper()
		_, err := b.Faults().Add(pvelab.Fault{Method: http.MethodGet, Path: path, Status: 595, Text: "No route to host", Times: -1})
		noError(t, err)
	}
}

const (
	linkUp   = "virtio=BC:24:11:00:00:01,bridge=vmbr0"
	linkDown = linkUp + ",link_down=1"
)

func fenceCases() []fenceCase {
	stop := Fence{Action: FenceStop, Node: "pve2", VMID: 101, Foreign: true}
	links := Fence{Action: FenceLinkDown, Node: "pve2", VMID: 101, Foreign: true, NICs: []string{"net0"}}
	node := Fence{Action: FenceStopGuests, Node: "pve2", Foreign: true}
	shutdown := Fence{Action: FenceShutdown, Node: "pve2", Foreign: true}
	moved := change(http.MethodPost, "/migrate", byhand.Params{"target": "pve3"})
	return []fenceCase{
		{"stopped", stop, nil, Fenced, nil, ""},
		{"runs", stop, []deed{starts}, FenceLapsed, []string{"VM 101 runs on pve2"}, CheckStopped},
		{"on boot", stop, []deed{configured(byhand.Params{"onboot": 1})}, FenceTransient, []string{"onboot"}, CheckOnBoot},
		{"HA wants it", stop, []deed{asked("started", true)}, FenceTransient, []string{"HA wants VM 101 started"}, CheckHA},
		{"HA has not settled", stop, []deed{asked("stopped", true)}, FenceTransient, []string{"HA has not settled"}, CheckHA},
		{"HA wants it stopped", stop, []deed{asked("stopped", false)}, Fenced, nil, ""},
		{"HA has it disabled", stop, []deed{asked("disabled", false)}, Fenced, nil, ""},
		{"HA ignores it", stop, []deed{asked("ignored", false)}, Fenced, nil, ""},
		{"gone", stop, []deed{gone}, Fenced, []string{"does not exist any more"}, ""},
		{"moved", stop, []deed{moved}, Fenced, []string{"on node pve3 now"}, CheckNode},
		{"moved and runs", stop, []deed{moved, func(t *testing.T, b *fenceBench) {
			noError(t, b.admin.Power(t.Context(), 101, "start"))
		}}, FenceLapsed, []string{"on node pve3 now", "runs on pve3"}, CheckNode + " " + CheckStopped},
		{"a container's id now", stop, []deed{gone, containerByHand(101)}, FenceUnknown, []string{"is no VM any more"}, CheckKind},
		{"its node is offline", stop, []deed{offline}, FenceUnknown, []string{"only another path"}, CheckStopped},
		{"its status is not answered for", stop, []deed{silent(".*/status/current")}, FenceUnknown, []string{"cannot be asked for"}, CheckStopped},

		{"down", links, []deed{configured(byhand.Params{"net0": linkDown}), starts}, Fenced, nil, ""},
		{"up", links, []deed{configured(byhand.Params{"net0": linkUp}), starts}, FenceLapsed, []string{"net0 of VM 101 is up"}, CheckLinks},
		{
			"down until the next start", links,
			[]deed{configured(byhand.Params{"net0": linkDown, "hotplug": "disk"}), starts, configured(byhand.Params{"net0": "e1000,bridge=vmbr0"})},
			FenceTransient,
			[]string{"waits for the next start"},
			CheckLinks,
		},
		{"without the device", links, nil, Fenced, []string{"has no net0 any more"}, ""},
		{"links of a VM that is gone", links, []deed{gone}, Fenced, []string{"does not exist any more"}, ""},
		{"links on a node that is offline", links, []deed{offline}, FenceUnknown, []string{"only another path"}, CheckStopped},

		{"empty node", node, nil, Fenced, nil, ""},
		{"a guest runs", node, []deed{starts}, FenceLapsed, []string{"these run on node pve2: VM 101"}, CheckStopped},
		{"a guest starts on boot", node, []deed{configured(byhand.Params{"onboot": 1})}, FenceTransient, []string{"VM 101"}, CheckOnBoot},
		{"HA wants a guest", node, []deed{asked("started", true)}, FenceTransient, []string{"HA wants VM 101 started"}, CheckHA},
		{"HA has not settled on a guest", node, []deed{asked("stopped", true)}, FenceTransient, []string{"HA has not settled"}, CheckHA},
		{"offline", node, []deed{offline}, FenceUnknown, []string{"only another path"}, CheckNode},
		{"silent", node, []deed{silent("/nodes/pve2/.*")}, FenceUnknown, []string{"only another path"}, CheckNode},
		{"shut down, and back", shutdown, nil, FenceTransient, []string{"node pve2 is online"}, CheckNode},
		{"shut down", shutdown, []deed{offline}, FenceUnknown, []string{"only another path"}, CheckNode},
	}
}

// containerByHand makes a container.
func containerByHand(vmid int) deed {
	return func(t *testing.T, b *fenceBench) {
		t.Helper()
		noError(t, b.admin.Task(t.Context(), http.MethodPost, "/nodes/pve2/lxc", byhand.Params{
			"vmid": vmid, "ostemplate": "local:vztmpl/debian-13-standard_13.1-1_amd64.tar.zst", "rootfs": "local-lvm:1",
		}))
	}
}

// TestFenceStates proves each fence in each state that it can be in.
func TestFenceStates(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, version string) {
		for _, tc := range fenceCases() {
			t.Run(tc.name, func(t *testing.T) {
				t.Parallel()
				b := newFenceBench(t, version)
				noError(t, b.admin.CreateVM(t.Context(), "pve2", 101, nil))
				for _, do := range tc.setup {
					do(t, b)
				}
				proof, err := b.client.ProveFence(t.Context(), tc.fence)
				noError(t, err)
				wantState(t, proof, tc.state, tc.reasons...)
				var failed []string
				for _, check := range slices.Sorted(maps.Keys(proof.Checks)) {
					if !proof.Checks[check] {
						failed = append(failed, check)
					}
				}
				if got := strings.Join(failed, " "); got != tc.failed {
					t.Errorf("failed checks are %q, want %q", got, tc.failed)
				}
			})
		}
	})
}

// TestFenceUnreadable proves fences of what the token may not read any more.
func TestFenceUnreadable(t *testing.T) {
	t.Parallel()

	bothVersions(t, func(t *testing.T, version string) {
		b := newFenceBench(t, version)
		noError(t, b.admin.CreateVM(t.Context(), "pve2", 101, nil))
		few := b.as(t, map[string]string{"/": "Sys.Audit"})
		proof, err := few.client.ProveFence(t.Context(), Fence{Action: FenceStop, Node: "pve2", VMID: 101, Foreign: true})
		noError(t, err)
		wantState(t, proof, FenceUnknown, "cannot be read")
		node := Fence{Action: FenceStopGuests, Node: "pve2", Foreign: true}
		proof, err = few.client.ProveFence(t.Context(), node)
		noError(t, err)
		wantState(t, proof, FenceUnknown, "VM.Audit on /vms")
		b.call(t, http.MethodPut, "/access/acl", byhand.Params{"path": "/", "roles": "Subject1-0", "users": "subject1@pve", "delete": 1})
		proof, err = few.client.ProveFence(t.Context(), node)
		noError(t, err)
		wantState(t, proof, FenceUnknown, "whether node pve2 is online cannot be told")
	})
}

// TestMayFence holds which nodes a cluster's status lets be fenced.
func TestMayFence(t *testing.T) {
	t.Parallel()

	status := ClusterStatus{Nodes: []ClusterNode{{Name: "pve1", Online: true, Local: true}, {Name: "pve2", Online: true}, {Name: "pve3"}}}
	nobody := ClusterStatus{Nodes: []ClusterNode{{Name: "pve1", Online: true}, {Name: "pve2", Online: true}}}
	for _, tc := range []struct {
		status ClusterStatus
		node   string
		check  string
	}{
		{status, "pve2", ""}, {status, "pve1", CheckEndpoint}, {status, "pve3", CheckNode}, {status, "pve4", CheckNode}, {nobody, "pve2", CheckEndpoint},
	} {
		var refusal *FenceRefusal
		err := tc.status.mayFence(tc.node)
		if errors.As(err, &refusal) != (tc.check != "") || refusal != nil && refusal.Check != tc.check {
			t.Errorf("%s: %v", tc.node, err)
		}
	}
}
