package pvelab

import (
	"net/url"
	"strconv"
	"time"
)

// The recorder's unrecorded steps and the lab's deviations in the topics about
// containers.
func init() {
	const small = "&memory=64&rootfs=local:0.1"
	unrecorded["11"] = map[int][]step{
		27: {removeCT(211)}, 38: {removeCT(211)},
		// The worker that makes a template is not waited for.
		98: {stop}, 100: {pause(4 * time.Second)},
		124: {changeCT(210, "protection", "1")},
		125: {changeCT(210, "protection", "0"), lockVM(210, "backup")},
		130: {lockVM(210, "")},
	}
	overlapping["11"] = map[int]bool{1: true}
	merge("13", map[int][]step{
		1: {
			createTestCT("vmid=220&mp0=local:0.1,mp%3D/data,backup%3D1&description=owner+A" + small),
			createTestCT("vmid=221&description=owner+B" + small),
		},
		27: {changeCT(221, "mp0", "local:0.1,mp=/other")},
		44: {createTestCT("vmid=224&mp0=local:0.1,mp%3D/data" + small)},
	})
	merge("14", map[int][]step{77: {createTestCT("vmid=131" + small)}})
	merge("15", ctPropertySteps(createTestCT("vmid=141"+small)))
	const counts = "what fsck, rsync and the kernel count is the recorder's"
	deviations = append(deviations,
		deviation{version: "8.4", topic: "11", numbers: []int{99, 100}, why: "the order in which volumes were cloned is a hash's"},
		deviation{topic: "11", numbers: []int{53, 56, 77, 96}, why: counts},
		deviation{topic: "11", numbers: []int{63}, why: "a running container's disk is what its file system says"},
	)
	tolerances = append([]tolerance{tolerate(sameType, `/lxc(/\d+/status/current)?$`, `data(\[.*\])?\.(disk|netin|netout|pressure\w+|uptime)`)}, tolerances...)
}

func merge(topic string, steps map[int][]step) {
	if unrecorded[topic] == nil {
		unrecorded[topic] = map[int][]step{}
	}
	for n, s := range steps {
		unrecorded[topic][n] = append(unrecorded[topic][n], s...)
	}
}

func createTestCT(query string) step {
	return asRoot("POST", "/nodes/pve1/lxc", "ostemplate=local:vztmpl/lab-busybox_1.0_amd64.tar.gz&"+query)
}

func removeCT(vmid int) step { return asRoot("DELETE", "/nodes/pve1/lxc/"+strconv.Itoa(vmid), "") }

func changeCT(vmid int, key, value string) step {
	return asRoot("PUT", "/nodes/pve1/lxc/"+strconv.Itoa(vmid)+"/config", url.Values{key: {value}}.Encode())
}

// ctPropertySteps clears the mount point between its settings.
func ctPropertySteps(create step) map[int][]step {
	steps := map[int][]step{297: {create}}
	const firstMount, lastMount = 315, 327
	for n := firstMount + 2; n <= lastMount+2; n += 2 {
		steps[n] = []step{clearMount}
	}
	return steps
}

// clearMount removes mp0 of 141 and its volume where there is one.
func clearMount(r *replay) {
	set := false
	r.lab.locked(func() { set = r.lab.guests[141].conf["mp0"] != "" })
	if set {
		asRoot("PUT", "/nodes/pve1/lxc/141/config", "delete=mp0")(r)
		asRoot("PUT", "/nodes/pve1/lxc/141/config", "delete=unused0")(r)
	}
}
