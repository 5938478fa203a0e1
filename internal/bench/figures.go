package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"runtime"
	"strings"
	"sync"
	"time"
)

// figures are what a piece of work has cost.
type figures struct {
	calls, conns int
	bytes        int64
	wall         time.Duration
	// cpu is that of this process; where a CLI ran, its own and the provider's.
	cpu, provider time.Duration
	// peak is in bytes.
	peak int64
}

// row is one line of the table.
type row struct {
	what, unit string
	n          int
	by         string
	ours       figures
	// floor is left out where there is nothing to compare with.
	floor *figures
	// extra says more, as key=value.
	extra string
}

func (r row) print() {
	per := func(n int) string { return fmt.Sprintf("%.2f", float64(n)/float64(r.n)) }
	fields := []string{
		r.what, fmt.Sprintf("%ss=%d", r.unit, r.n), "calls_per_" + r.unit + "=" + per(r.ours.calls),
		fmt.Sprintf("bytes=%d conns=%d wall_s=%.3f", r.ours.bytes, r.ours.conns, r.ours.wall.Seconds()),
	}
	if r.floor != nil {
		fields = append(fields, fmt.Sprintf("floor_s=%.3f ratio=%.2f floor_calls_per_%s=%s",
			r.floor.wall.Seconds(), r.ours.wall.Seconds()/r.floor.wall.Seconds(), r.unit, per(r.floor.calls)))
	}
	fields = append(fields, "by="+r.by)
	ms := func(d time.Duration) string { return fmt.Sprintf("%.2f", d.Seconds()*1000/float64(r.n)) }
	switch {
	case r.by == byCLI:
		fields = append(fields, "cli_cpu_ms_per_"+r.unit+"="+ms(r.ours.cpu), "provider_cpu_ms_per_"+r.unit+"="+ms(r.ours.provider))
	case r.floor != nil:
		fields = append(fields, "cpu_ms_per_"+r.unit+"="+ms(r.ours.cpu), "floor_cpu_ms_per_"+r.unit+"="+ms(r.floor.cpu))
	default:
		fields = append(fields, "cpu_ms_per_"+r.unit+"="+ms(r.ours.cpu))
	}
	fields = append(fields, fmt.Sprintf("peak_mb=%.1f", float64(r.ours.peak)/(1<<20)))
	if r.extra != "" {
		fields = append(fields, r.extra)
	}
	log.Print(strings.Join(fields, " "))
}

// byClient and byCLI say what was measured.
const byClient, byCLI = "client", "cli"

// cost measures work in this process.
func (b *bench) cost(work func() error) (figures, error) {
	runtime.GC()
	cpu, count, start := ownUsage().cpu, b.lab.Counters().Snapshot(), time.Now()
	err := work()
	wall := time.Since(start)
	spent := b.lab.Counters().Snapshot().Sub(count)
	usage := ownUsage()
	return figures{
		calls: spent.Total - spent.Requests["GET /nodes/{node}/tasks/{upid}/status"], conns: spent.Connections,
		bytes: spent.BytesIn + spent.BytesOut, wall: wall, cpu: usage.cpu - cpu, peak: usage.peak,
	}, err
}

// rounds is how often a piece of work that changes nothing is measured.
const rounds = 3

// compare measures two pieces of work in turn, several times: what else the
// machine does meets both. The fastest of each counts.
func (b *bench) compare(ours, floor func() error) (best, least figures, err error) {
	for round := range rounds {
		a, err := b.cost(ours)
		if err != nil {
			return best, least, err
		}
		c, err := b.cost(floor)
		if err != nil {
			return best, least, err
		}
		if round == 0 || a.wall < best.wall {
			best = a
		}
		if round == 0 || c.wall < least.wall {
			least = c
		}
	}
	return best, least, nil
}

// each does work n times, as many at once as Terraform would.
func each(ctx context.Context, n int, work func(ctx context.Context, i int) error) error {
	return atOnce(ctx, parallelism, n, work)
}

// atOnce does work n times, some at once.
func atOnce(ctx context.Context, some, n int, work func(ctx context.Context, i int) error) error {
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	next := make(chan int)
	for range some {
		group.Go(func() {
			for i := range next {
				err := work(ctx, i)
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return failed
}
