// Command bench measures what the provider's client costs against the lab, for
// 1, 100 and 1,000 VMs, beside a bare loop of the fewest calls that could do the
// same. VMS=100 measures that number alone.
//
// Both run on this machine, against a lab in the same process: the times tell
// how they compare, not how fast a Proxmox VE is.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"runtime"
	"strconv"
	"time"

	"terraform-provider-proxmox/internal/proxmox"
	"terraform-provider-proxmox/internal/pvelab"
)

const (
	// speed makes the lab's tasks so short that what is left is the client's.
	speed = 1000
	// parallelism is Terraform's own.
	parallelism = 10
	firstID     = 20000
	// most is how many VMs are made and destroyed one by one in a measurement.
	most = 100
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	sizes := []int{1, 100, 1000}
	if text := os.Getenv("VMS"); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 {
			return fmt.Errorf("VMS is %q: give a number", text)
		}
		sizes = []int{number}
	}
	log.SetFlags(0)
	log.Printf("machine cpus=%d go=%s os=%s/%s parallelism=%d lab_speed=%d", runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, parallelism, speed)
	for _, number := range sizes {
		if err := measure(ctx, number); err != nil {
			return fmt.Errorf("%d VMs: %w", number, err)
		}
	}
	return nil
}

// measure goes through the life of a number of VMs on a lab of its own.
func measure(ctx context.Context, number int) error {
	lab, err := pvelab.New(pvelab.Options{Speed: speed})
	if err != nil {
		return err
	}
	if err := lab.Start(); err != nil {
		return err
	}
	defer func() { _ = lab.Close() }()
	b := &bench{lab: lab, number: number}
	for _, step := range []func(context.Context) error{b.create, b.refresh, b.destroy} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// bench is one lab and the VMs that were made in it.
type bench struct {
	lab    *pvelab.Lab
	number int
	guests []proxmox.Guest
}

// client is a new one, without anything cached.
func (b *bench) client() (*proxmox.Client, error) {
	id, secret := b.lab.Token("full")
	return proxmox.New(proxmox.Options{
		Endpoint: b.lab.URL(), TokenID: id, TokenSecret: secret, CAPEM: b.lab.CAPEM(),
		VMIDRange: proxmox.VMIDRange{First: firstID, Last: firstID + 9999},
	})
}

// figures are what a measurement has cost.
type figures struct {
	calls, conns int
	bytes        int64
	wall         time.Duration
	peak         uint64
}

// cost measures work that is done for each of n VMs, some at a time.
func (b *bench) cost(ctx context.Context, n int, work func(ctx context.Context, i int) error) (figures, error) {
	runtime.GC()
	before, start := b.lab.Counters().Snapshot(), time.Now()
	err := each(ctx, n, work)
	wall := time.Since(start)
	count := b.lab.Counters().Snapshot().Sub(before)
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return figures{
		calls: count.Total - count.Requests["GET /nodes/{node}/tasks/{upid}/status"], conns: count.Connections,
		bytes: count.BytesIn + count.BytesOut, wall: wall, peak: memory.HeapInuse,
	}, err
}

// tell prints one line of the table. The memory is that of client and lab.
func tell(what string, n int, ours, floor figures) {
	log.Printf("%s vms=%d calls_per_vm=%.2f floor_calls_per_vm=%.2f bytes=%d conns=%d wall_s=%.3f floor_s=%.3f ratio=%.2f heap_mb=%.1f",
		what, n, float64(ours.calls)/float64(n), float64(floor.calls)/float64(n), ours.bytes, ours.conns,
		ours.wall.Seconds(), floor.wall.Seconds(), ours.wall.Seconds()/floor.wall.Seconds(), float64(ours.peak)/(1<<20))
}
