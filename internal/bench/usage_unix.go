//go:build unix

package main

import (
	"runtime"
	"syscall"
	"time"
)

// usage is what a process has used so far.
type usage struct {
	cpu time.Duration
	// peak is the memory that it held at most, in bytes.
	peak int64
}

// ownUsage is this process's.
func ownUsage() usage {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return usage{}
	}
	unit := int64(1 << 10)
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return usage{cpu: time.Duration(used.Utime.Nano() + used.Stime.Nano()), peak: int64(used.Maxrss) * unit} //nolint:unconvert // 32 bits wide on some systems.
}
