package acctest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// idsPerTest is how many ids of a real node's range one test gets; the largest
// test makes twenty VMs and some strangers.
const idsPerTest = 40

// parts hands out parts of a real node's range, since tests run in parallel
// and the next free id of one would be in the way of another. Those of other
// packages are processes of their own: the lock of a file keeps them apart.
var parts = struct {
	sync.Mutex
	taken map[int]*os.File
}{taken: map[int]*os.File{}}

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
		if parts.taken[first] != nil {
			continue
		}
		lock, err := lockPart(first)
		must(t, err)
		if lock == nil {
			continue
		}
		parts.taken[first] = lock
		t.Cleanup(func() { release(first) })

		return first, first + idsPerTest - 1
	}
	t.Fatalf("PROXMOX_VMID_RANGE %s has no %d ids left for this test: widen it, or run fewer tests in parallel (-parallel, -p)", text, idsPerTest)

	return 0, 0
}

// lockPart returns nil where another process has the part. The lock goes with
// the process.
func lockPart(first int) (*os.File, error) {
	name := filepath.Join(os.TempDir(), fmt.Sprintf("proxmox-acctest-%d.lock", first))
	file, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // A name of our own.
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, file.Close()
	}
	return file, err
}

func release(first int) {
	parts.Lock()
	defer parts.Unlock()
	_ = parts.taken[first].Close()
	delete(parts.taken, first)
}
