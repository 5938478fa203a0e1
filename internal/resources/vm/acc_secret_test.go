package vm_test

import (
	"archive/zip"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
)

// TestAccVM_secrets looks for the token's secret and the guest's password in
// all that a run leaves: logs at TRACE, output, state, plan.
func TestAccVM_secrets(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	const password = "correct-horse-7-battery"

	withoutSecret := *target
	withoutSecret.TokenSecret = ""
	config := strings.Replace(withoutSecret.Provider(), `token_secret = ""`, "", 1) + `
variable "password" {
  type      = string
  sensitive = true
  ephemeral = true
}
` + vmBlock("test", target, "acc-secret", `
  power      = "stopped"
  cloud_init = { user = "ops", password_wo = var.password, password_wo_version = 1 }
`)
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(config))
	for name, value := range map[string]string{
		"PROXMOX_TOKEN_SECRET": target.TokenSecret, "TF_VAR_password": password, "TF_LOG": "TRACE",
	} {
		workspace.Setenv(name, value)
	}

	outputs := map[string]string{}
	for _, args := range [][]string{
		{"plan", "-out", "saved.plan"},
		{"show", "-json", "saved.plan"},
		{"apply", "saved.plan"},
		{"show", "-json"},
		{"plan"},
		{"destroy", "-auto-approve"},
	} {
		output, err := workspace.Run(ctx, args...)
		acctest.Must(t, err)
		outputs[strings.Join(args, " ")] = output
	}
	if !strings.Contains(outputs["apply saved.plan"], "/clone") {
		t.Error("the log does not show the provider's calls: the test proves nothing")
	}
	for _, file := range []string{"saved.plan", "terraform.tfstate", "terraform.tfstate.backup"} {
		outputs[file] = contents(t, filepath.Join(workspace.Dir(), file))
	}

	for where, text := range outputs {
		for what, secret := range map[string]string{"the token's secret": target.TokenSecret, "the password": password} {
			if strings.Contains(text, secret) {
				t.Errorf("%s is in %s", what, where)
			}
		}
	}
}

// contents reads a file, and what a plan file packs.
func contents(t *testing.T, path string) string {
	t.Helper()
	raw, err := os.ReadFile(path)
	acctest.Must(t, err)
	packed, err := zip.NewReader(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return string(raw)
	}

	var all strings.Builder
	for _, member := range packed.File {
		opened, err := member.Open()
		acctest.Must(t, err)
		_, err = io.Copy(&all, opened)
		acctest.Must(t, err)
		acctest.Must(t, opened.Close())
	}

	return all.String()
}
