package acctest

import (
	"fmt"
	"sync"
	"testing"
)

// idsPerTest is how many ids of a real node's range one test gets; the largest
// test makes twenty VMs and some strangers.
const idsPerTest = 40

// parts hands out parts of a real node's range, since tests run in parallel
// and the next free id of one would be in the way of another.
var parts = struct {
	sync.Mutex
	taken map[int]bool
}{taken: map[int]bool{}}

// slice takes a part of the range "first-last" for one test.
func slice(t *testing.T, text string) (first, last int) {
	t.Helper()

	var low, high int
	if _, err := fmt.Sscanf(text, "%d-%d", &low, &high); err != nil {
		t.Fatalf("PROXMOX_VMID_RANGE %q is not of the form 20000-20999", text)
	}

	parts.Lock()
	defer parts.Unlock()
	for first = low; first+idsPerTest-1 <= high; first += idsPerTest {
		if parts.taken[first] {
			continue
		}
		parts.taken[first] = true
		t.Cleanup(func() { release(first) })

		return first, first + idsPerTest - 1
	}
	t.Fatalf("PROXMOX_VMID_RANGE %s has no %d ids left for this test: widen it, or run fewer tests in parallel (-parallel)", text, idsPerTest)

	return 0, 0
}

func release(first int) {
	parts.Lock()
	defer parts.Unlock()
	delete(parts.taken, first)
}
