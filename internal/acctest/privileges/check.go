// Package privileges holds what a lab's clients were asked for against the table
// of capabilities.
package privileges

import (
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/proxmox"
	"terraform-provider-proxmox/internal/pvelab"
)

// agent begins the provider's User-Agent: what a test does by hand is not looked at.
const agent = "terraform-provider-proxmox"

// Check fails a test in which the provider made a call that needs a privilege
// which no capability names.
func Check(t testing.TB, lab *pvelab.Lab) {
	t.Helper()

	for _, q := range lab.Questions() {
		if !strings.HasPrefix(q.Agent, agent) {
			continue
		}
		named := func(privilege string) bool { return len(proxmox.Purposes(q.Path, privilege)) > 0 }
		if !slices.ContainsFunc(strings.Split(q.Privileges, "|"), named) {
			t.Errorf("a call of the provider needs %s on %s, which no capability names: add it to internal/proxmox/capability_table.go", q.Privileges, q.Path)
		}
	}
}
