// Command bench measures what the provider costs against the lab, beside a bare
// loop of the fewest calls that could do the same: for 1, 100 and 1,000 VMs, or
// for VMS=n alone. One line is one measurement:
//
//   - by=client goes through the API client alone, in this process; by=cli is one
//     command of a real Terraform or OpenTofu with the provider as a process of
//     its own, whatever else the command does included.
//   - calls leave out the polls of a running task, of which there are as many as
//     it takes; bytes are those of all requests and answers, without TLS.
//   - floor is the bare loop: the same number at a time, by=client with as many
//     rounds, the fastest of which counts, since the machine is shared.
//   - cpu is the time that processors worked: of a process with the lab in it where
//     by=client, of the CLI and of the provider where by=cli.
//   - peak_mb is the memory that the provider's process held at most; by=client that
//     of this process, the lab included.
//
// Everything runs on this machine, against a lab in this process whose tasks take
// next to no time: the figures tell how they compare, not how fast a Proxmox VE is.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

const (
	// speed makes the lab's tasks so short that what is left is the provider's.
	speed = 1000
	// slow leaves clones half a second, for how long they are waited for.
	slow = 10
	// parallelism is Terraform's own.
	parallelism = 10
	// node and storage are where the guests are made.
	node, storage = "pve1", "shared-nfs"
	template      = 9000
)

func main() {
	log.SetFlags(0)
	log.SetOutput(os.Stdout)
	run := measureAll
	switch {
	case filepath.Base(os.Args[0]) == pluginName:
		run = servePlugin
	case len(os.Args) == 2 && os.Args[1] == uploadArgument:
		run = uploadFile
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		log.Fatal("bench: ", err)
	}
}

func measureAll(ctx context.Context) error {
	sizes, short := []int{1, 100, 1000}, true
	if text := os.Getenv("VMS"); text != "" {
		number, err := strconv.Atoi(text)
		if err != nil || number < 1 || number > 5000 {
			return fmt.Errorf("VMS is %q: give a number from 1 to 5000", text)
		}
		sizes, short = []int{number}, false
	}
	if err := cli.Forget("PROXMOX_"); err != nil {
		return err
	}
	describeMachine()
	for _, number := range sizes {
		measure := func(b *bench) error { return b.vms(ctx, number, short) }
		if err := onLab(speed, measure); err != nil {
			return fmt.Errorf("%d VMs: %w", number, err)
		}
	}
	for _, measure := range []func(*bench) error{
		func(b *bench) error { return b.containers(ctx, min(sizes[len(sizes)-1], 100)) },
		func(b *bench) error { return b.firewall(ctx, 200) },
		func(b *bench) error { return b.upload(ctx) },
	} {
		if err := onLab(speed, measure); err != nil {
			return err
		}
	}
	if err := onLab(slow, func(b *bench) error { return b.clones(ctx, 50) }); err != nil {
		return err
	}
	describeLoad("end")
	return nil
}

// describeMachine tells what the times depend on.
func describeMachine() {
	log.Printf("machine cpus=%d go=%s os=%s/%s cli=%q parallelism=%d lab_speed=%d", //nolint:gosec // The user's own environment, quoted.
		runtime.NumCPU(), runtime.Version(), runtime.GOOS, runtime.GOARCH, os.Getenv("TF_CLI_PATH"), parallelism, speed)
	describeLoad("start")
}

// describeLoad tells what else the machine does, where the system says so.
func describeLoad(when string) {
	load := "unknown"
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		load = strings.Join(strings.Fields(string(text))[:3], ",")
	}
	log.Printf("load at=%s average_1_5_15_min=%s", when, load)
}

// bench is a lab and a folder that belong to one measurement.
type bench struct {
	lab *pvelab.Lab
	dir string
}

// onLab measures on a lab of its own.
func onLab(speed float64, measure func(*bench) error) error {
	lab, err := pvelab.New(pvelab.Options{Speed: speed})
	if err != nil {
		return err
	}
	if err := lab.Start(); err != nil {
		return err
	}
	defer func() { _ = lab.Close() }()
	dir, err := os.MkdirTemp("", "proxmox-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	return measure(&bench{lab: lab, dir: dir})
}
