package acctest

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/provider"
)

// Source is the provider's address as configurations write it, without a host.
var Source = provider.Address[strings.Index(provider.Address, "/")+1:]

// Factories serve the provider from this process to terraform-plugin-testing.
func Factories() map[string]func() (tfprotov6.ProviderServer, error) {
	return map[string]func() (tfprotov6.ProviderServer, error){
		"proxmox": func() (tfprotov6.ProviderServer, error) { return provider.Serve(context.Background(), "test"), nil },
	}
}

// Workspace returns a folder in which the real CLI runs the provider as a
// process of its own: for what tests inside one process cannot show, such as
// signals, kills, logs and the number of calls of one command.
func (target *Target) Workspace(t *testing.T) *cli.Workspace {
	t.Helper()

	workspace, err := cli.New(cli.Options{
		Dir: t.TempDir(), CLI: cliPath(t), Provider: providerBinary(t), Source: Source,
	})
	must(t, err)

	return workspace
}

// cliPath is the CLI that terraform-plugin-testing uses too.
func cliPath(t *testing.T) string {
	t.Helper()

	if path := os.Getenv("TF_ACC_TERRAFORM_PATH"); path != "" {
		return path
	}
	for _, name := range []string{"terraform", "tofu"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Fatal("neither terraform nor tofu is on PATH: run `make acc`, which builds OpenTofu where there is none")

	return ""
}

var build struct {
	sync.Once
	path string
	err  error
}

// providerBinary builds the provider once per test process. The folder goes
// with [Main].
func providerBinary(t *testing.T) string {
	t.Helper()

	build.Do(func() {
		dir, err := os.MkdirTemp("", "proxmox-acctest-")
		if err != nil {
			build.err = err
			return
		}
		build.path = filepath.Join(dir, "terraform-provider-proxmox")
		command := exec.CommandContext(context.Background(), "go", "build", "-o", build.path, "terraform-provider-proxmox") //nolint:gosec // Fixed arguments.
		if output, err := command.CombinedOutput(); err != nil {
			build.err = &cli.ExitError{Command: "go build", Output: string(output)}
		}
	})
	must(t, build.err)

	return build.path
}

// Main runs a package's tests and removes the provider that they built. Call
// it from TestMain.
func Main(m *testing.M) {
	// terraform-plugin-testing serves the provider under hashicorp/ otherwise.
	namespace, _, _ := strings.Cut(Source, "/")
	if err := os.Setenv("TF_ACC_PROVIDER_NAMESPACE", namespace); err != nil {
		panic(err)
	}

	if os.Getenv("PROXMOX_ENDPOINT") == "" {
		if err := cli.Forget("PROXMOX_"); err != nil {
			panic(err)
		}
	}

	code := m.Run()
	if build.path != "" {
		_ = os.RemoveAll(filepath.Dir(build.path))
	}
	os.Exit(code)
}
