//go:build unix

package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// ownGroup keeps a Ctrl-C at the terminal of the tests, or a signal to their
// process group, away from the CLI and its provider.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// ErrNoProvider says that no provider process of the workspace runs.
var ErrNoProvider = errors.New("no provider process runs")

// KillProvider kills the workspace's provider process with SIGKILL. It finds
// it in /proc, hence on Linux only; elsewhere it returns errors.ErrUnsupported.
func (w *Workspace) KillProvider() error {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return errors.ErrUnsupported
	}
	binary, err := filepath.EvalSymlinks(w.ProviderPath())
	if err != nil {
		return err
	}

	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if exe, err := os.Readlink(filepath.Join("/proc", entry.Name(), "exe")); err == nil && exe == binary {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
	}

	return ErrNoProvider
}

// Kill kills the CLI and its provider at once, as a power cut would.
func (p *Process) Kill() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
