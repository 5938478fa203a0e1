// Package cli runs the real Terraform or OpenTofu binary on a configuration in
// a folder of its own, with the provider as it was built from this tree.
package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Workspace is one folder with a configuration and its state.
type Workspace struct {
	dir    string
	binary string
	env    []string
	output func(line []byte)
}

// Options say what a workspace runs.
type Options struct {
	// Dir is an empty or absent folder.
	Dir string
	// CLI is the path of terraform or tofu.
	CLI string
	// Provider is the path of the provider's binary; its file name must be
	// terraform-provider-proxmox.
	Provider string
	// Source is the provider's address as configurations write it.
	Source string
	// Env is added to this process's environment.
	Env []string
	// Output, when set, receives what the CLI prints, as it prints it.
	Output func([]byte)
}

// New prepares a folder. The CLI finds the provider by dev_overrides, so that
// nothing is downloaded and no init is needed.
func New(o Options) (*Workspace, error) {
	if err := os.MkdirAll(o.Dir, 0o750); err != nil {
		return nil, err
	}

	// A copy under the folder tells this workspace's provider process from
	// every other one on the machine.
	bin := filepath.Join(o.Dir, "bin")
	if err := os.MkdirAll(bin, 0o750); err != nil {
		return nil, err
	}
	provider := filepath.Join(bin, filepath.Base(o.Provider))
	if err := linkOrCopy(o.Provider, provider); err != nil {
		return nil, err
	}

	rc := filepath.Join(o.Dir, "cli.tfrc")
	settings := fmt.Sprintf("provider_installation {\n  dev_overrides {\n    %q = %q\n  }\n  direct {}\n}\n", o.Source, bin)
	if err := os.WriteFile(rc, []byte(settings), 0o600); err != nil {
		return nil, err
	}

	return &Workspace{
		dir:    o.Dir,
		binary: o.CLI,
		output: o.Output,
		env: append(append(os.Environ(), o.Env...),
			"TF_CLI_CONFIG_FILE="+rc, "TF_CLI_ARGS=-no-color", "TF_IN_AUTOMATION=1", "TF_INPUT=0", "CHECKPOINT_DISABLE=1"),
	}, nil
}

// Forget removes the variables of a prefix, such as PROXMOX_, from this process's
// environment, and so from that of the commands that follow. What the user keeps
// there for a real node would be mixed with what is set for the lab.
func Forget(prefix string) error {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}

	return nil
}

// linkOrCopy prefers a hard link: the binary is large and every workspace has one.
func linkOrCopy(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, os.ErrExist) {
		return nil
	}
	content, err := os.ReadFile(from) //nolint:gosec // The path of the provider that was just built.
	if err != nil {
		return err
	}

	return os.WriteFile(to, content, 0o700) //nolint:gosec // A program has to be executable.
}

// Dir is the workspace's folder.
func (w *Workspace) Dir() string { return w.dir }

// ProviderPath is the workspace's own copy of the provider's binary.
func (w *Workspace) ProviderPath() string {
	return filepath.Join(w.dir, "bin", "terraform-provider-proxmox")
}

// Write replaces the configuration.
func (w *Workspace) Write(configuration string) error {
	return os.WriteFile(filepath.Join(w.dir, "main.tf"), []byte(configuration), 0o600)
}

// Setenv adds to the environment of the commands that follow.
func (w *Workspace) Setenv(name, value string) { w.env = append(w.env, name+"="+value) }

// ExitError is a command that ended with a status other than 0.
type ExitError struct {
	Command string
	Code    int
	Output  string
}

// Error implements error.
func (e *ExitError) Error() string {
	return fmt.Sprintf("%s ended with %d:\n%s", e.Command, e.Code, e.Output)
}

// Run runs one command to its end and returns what it printed, errors included.
func (w *Workspace) Run(ctx context.Context, args ...string) (string, error) {
	process, err := w.Start(ctx, args...)
	if err != nil {
		return "", err
	}

	return process.Wait()
}

// Apply applies without asking.
func (w *Workspace) Apply(ctx context.Context, extra ...string) (string, error) {
	return w.Run(ctx, append([]string{"apply", "-auto-approve"}, extra...)...)
}

// Destroy destroys without asking.
func (w *Workspace) Destroy(ctx context.Context, extra ...string) (string, error) {
	return w.Run(ctx, append([]string{"destroy", "-auto-approve"}, extra...)...)
}

// Plan plans and tells whether there is anything to do.
func (w *Workspace) Plan(ctx context.Context, extra ...string) (changes bool, output string, err error) {
	output, err = w.Run(ctx, append([]string{"plan", "-detailed-exitcode"}, extra...)...)
	var exit *ExitError
	if errors.As(err, &exit) && exit.Code == 2 {
		return true, output, nil
	}

	return false, output, err
}

// HasActions reports whether the CLI knows action blocks, and list blocks with
// `query`: Terraform does from 1.14 on, OpenTofu does not.
func (w *Workspace) HasActions(ctx context.Context) bool {
	output, err := w.Run(ctx, "version")
	var major, minor int
	if err != nil {
		return false
	}
	if _, err := fmt.Sscanf(output, "Terraform v%d.%d", &major, &minor); err != nil {
		return false
	}

	return major > 1 || major == 1 && minor >= 14
}

// State decodes the whole state, as `show -json` prints it.
func (w *Workspace) State(ctx context.Context) (State, error) {
	output, err := w.Run(ctx, "show", "-json")
	if err != nil {
		return State{}, err
	}

	var state State

	return state, json.Unmarshal([]byte(output), &state)
}

// State is the part of `show -json` that is looked at.
type State struct {
	Values struct {
		Outputs map[string]struct {
			Value any `json:"value"`
		} `json:"outputs"`
		RootModule struct {
			Resources []Resource `json:"resources"`
		} `json:"root_module"`
	} `json:"values"`
}

// Resource is one resource of a [State].
type Resource struct {
	Address string         `json:"address"`
	Mode    string         `json:"mode"`
	Tainted bool           `json:"tainted"`
	Values  map[string]any `json:"values"`
	// Identity is nil where the CLI knows no identities.
	Identity map[string]any `json:"identity"`
}

// Resource returns the resource at an address such as proxmox_vm.a.
func (s State) Resource(address string) (Resource, bool) {
	for _, resource := range s.Values.RootModule.Resources {
		if resource.Address == address {
			return resource, true
		}
	}

	return Resource{}, false
}

// Process is a command that was started.
type Process struct {
	name   string
	cmd    *exec.Cmd
	output *recorder
}

// Start starts a command.
func (w *Workspace) Start(ctx context.Context, args ...string) (*Process, error) {
	cmd := exec.CommandContext(ctx, w.binary, args...) //nolint:gosec // The CLI that was chosen for the tests.
	cmd.Dir = w.dir
	cmd.Env = w.env
	cmd.WaitDelay = 10 * time.Second
	output := &recorder{tee: w.output}
	cmd.Stdout, cmd.Stderr = output, output
	ownGroup(cmd)

	if err := cmd.Start(); err != nil {
		return nil, err
	}

	return &Process{name: filepath.Base(w.binary) + " " + args[0], cmd: cmd, output: output}, nil
}

// Interrupt does what Ctrl-C does to the CLI.
func (p *Process) Interrupt() error { return p.cmd.Process.Signal(os.Interrupt) }

// Output is what was printed so far.
func (p *Process) Output() string { return p.output.String() }

// Wait waits for the command's end and returns what it printed.
func (p *Process) Wait() (string, error) {
	err := p.cmd.Wait()
	output := p.output.String()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return output, &ExitError{Command: p.name, Code: exit.ExitCode(), Output: output}
	}

	return output, err
}

// CPU is the time that processors worked for the command, once it has ended, and
// for the provider's processes, which it has started and waited for.
func (p *Process) CPU() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// recorder keeps what is printed and can be read while the command runs.
type recorder struct {
	mu  sync.Mutex
	buf bytes.Buffer
	tee func([]byte)
}

// Write implements io.Writer.
func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tee != nil {
		r.tee(p)
	}

	return r.buf.Write(p)
}

// String returns all that was written so far.
func (r *recorder) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()

	return r.buf.String()
}
