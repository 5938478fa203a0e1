package proxmox

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of privileges into its guide")

const (
	guide      = "../../templates/guides/tokens-and-privileges.md"
	tableBegin = "<!-- Generated: go test ./internal/proxmox -run TestPrivilegesGuide -update -->\n"
	tableEnd   = "<!-- End of what is generated. -->\n"
)

// TestPrivilegesGuide holds the guide against the table in code.
func TestPrivilegesGuide(t *testing.T) {
	t.Parallel()

	content, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(content), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the table", guide)
	}
	wanted := before + tableBegin + capabilityTable() + tableEnd + after
	if wanted == string(content) {
		return
	}
	if !*update {
		t.Fatalf("%s is not what is generated: run `go test ./internal/proxmox -run TestPrivilegesGuide -update` and `make docs`", guide)
	}
	if err := os.WriteFile(guide, []byte(wanted), 0o600); err != nil {
		t.Fatal(err)
	}
}

func capabilityTable() string {
	var b strings.Builder
	b.WriteString("\n| Capability | Privilege | on | to |\n|---|---|---|---|\n")
	for _, c := range Capabilities() {
		fmt.Fprintf(&b, "| **`%s`** | | | %s |\n", c.Name, c.Doc)
		for _, n := range c.Needs {
			privilege := "`" + n.Privilege + "`"
			if n.Privilege8 != "" {
				privilege += " (8: `" + n.Privilege8 + "`)"
			}
			fmt.Fprintf(&b, "| | %s | `%s` | %s |\n", privilege, n.Path, n.Why)
		}
	}
	b.WriteString("\n")
	return b.String()
}
