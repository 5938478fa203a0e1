package internal_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestMain(m *testing.M) {
	standIn()
	acctest.Main(m)
}

// needsActions are the examples that only a CLI which knows actions, queries and
// imports by identity can read; internal/docgen looks at them, too.
var needsActions = regexp.MustCompile(`/actions/|/import-by-identity\.tf$|\.tfquery\.hcl$`)

// TestAccExamplesAreValid holds every example that users are shown against the
// schema.
func TestAccExamplesAreValid(t *testing.T) {
	t.Parallel()

	target := acctest.NewLab(t, pvelab.Options{})
	for _, file := range filesMatching(t, regexp.MustCompile(`\.(tf|tfquery\.hcl)$`)) {
		t.Run(file, func(t *testing.T) {
			t.Parallel()

			workspace := target.Workspace(t)
			if needsActions.MatchString(file) {
				acctest.NeedActions(t, workspace)
			}
			configuration, validate := string(read(t, file)), []string{"validate", "-no-color"}
			if strings.HasSuffix(file, ".hcl") {
				writeQuery(t, workspace, configuration)
				configuration, validate = "", append(validate, "-query")
			}
			if !strings.Contains(configuration, "required_providers") {
				configuration = target.Provider() + configuration
			}
			acctest.Must(t, workspace.Write(configuration))
			acctest.MustRun(t, workspace, validate...)

			// Formatting is judged on the file as it is shown.
			_, ending, _ := strings.Cut(filepath.Base(file), ".")
			example := "example." + ending
			acctest.Must(t, os.WriteFile(filepath.Join(workspace.Dir(), example), read(t, file), 0o600))
			acctest.MustRun(t, workspace, "fmt", "-check", "-diff", example)
		})
	}
}

// TestAccGuidesAreValid holds what the guides show as configurations against the
// schema, those of one guide together. Blocks that this CLI does not know are looked
// at by internal/docgen.
func TestAccGuidesAreValid(t *testing.T) {
	t.Parallel()

	target := acctest.NewLab(t, pvelab.Options{})
	for _, file := range filesMatching(t, regexp.MustCompile(`\.md$`)) {
		if filepath.Dir(file) != "templates/guides" || filepath.Base(file) == filepath.Base(firstVMGuide) {
			continue // What the first guide shows is applied, see TestAccFirstVM.
		}
		t.Run(file, func(t *testing.T) {
			t.Parallel()

			workspace := target.Workspace(t)
			configuration := shownIn(t, file, workspace.HasActions(t.Context()))
			switch {
			case configuration == "":
				return
			case strings.Contains(configuration, "required_providers"):
			case strings.Contains(configuration, "provider \"proxmox\""):
				configuration = requiresProvider + configuration
			default:
				configuration = target.Provider() + configuration
			}
			acctest.Must(t, workspace.Write(configuration))
			acctest.MustRun(t, workspace, "validate", "-no-color")
		})
	}
}

const requiresProvider = `terraform {
  required_providers {
    proxmox = { source = "holdfast/proxmox" }
  }
}
`

// shownIn are the configurations that a guide shows, but for what a CLI without
// actions does not know, and for list blocks, which no configuration has.
func shownIn(t *testing.T, file string, actions bool) string {
	t.Helper()

	var all strings.Builder
	for _, shown := range terraformBlock.FindAllStringSubmatch(string(read(t, file)), -1) {
		parsed, problems := hclsyntax.ParseConfig([]byte(shown[1]), file, hcl.InitialPos)
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		body, ok := parsed.Body.(*hclsyntax.Body)
		if !ok {
			t.Fatalf("%s shows something that is not in HCL's own syntax", file)
		}
		for _, block := range body.Blocks {
			if block.Type != "list" && (actions || !isNewer(block)) {
				all.WriteString(shown[1][block.Range().Start.Byte:block.Body.EndRange.End.Byte] + "\n")
			}
		}
	}
	return all.String()
}

// isNewer reports whether only a CLI that knows actions knows the block.
func isNewer(block *hclsyntax.Block) bool {
	_, byIdentity := block.Body.Attributes["identity"]
	triggers := slices.ContainsFunc(block.Body.Blocks, func(inner *hclsyntax.Block) bool {
		return slices.ContainsFunc(inner.Body.Blocks, func(each *hclsyntax.Block) bool { return each.Type == "action_trigger" })
	})
	return block.Type == "action" || byIdentity || triggers
}
