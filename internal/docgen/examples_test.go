package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// shown is a configuration that users are shown.
type shown struct{ file, source string }

var fenced = regexp.MustCompile("(?s)```(?:terraform|hcl)\n(.*?)```")

// configurations are all examples, and what the guides and the README show.
func configurations(t *testing.T) []shown {
	t.Helper()

	var all []shown
	for _, pattern := range []string{"examples/*/*.tf", "examples/*/*/*.tf", "examples/*/*/*.tfquery.hcl", "templates/guides/*.md", "README.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: nothing to look at (%v)", pattern, err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(file) != ".md" {
				all = append(all, shown{file, string(content)})
				continue
			}
			for _, block := range fenced.FindAllStringSubmatch(string(content), -1) {
				all = append(all, shown{file, block[1]})
			}
		}
	}
	return all
}

// TestShownToNewerCLIs holds actions, list resources and imports by identity that
// users are shown against the schema: a CLI older than Terraform 1.14 cannot.
func TestShownToNewerCLIs(t *testing.T) {
	t.Parallel()

	found := read(t)
	seen := map[string]int{}
	for _, each := range configurations(t) {
		parsed, problems := hclsyntax.ParseConfig([]byte(each.source), each.file, hcl.InitialPos)
		if problems.HasErrors() {
			t.Error(problems)
			continue
		}
		body, _ := parsed.Body.(*hclsyntax.Body)
		for _, block := range body.Blocks {
			seen[block.Type]++
			checkShown(t, found, block)
		}
	}
	for _, kind := range []string{"action", "list", "import"} {
		if seen[kind] == 0 {
			t.Errorf("no %s is shown: this test looks in the wrong place", kind)
		}
	}
}

func checkShown(t *testing.T, found *schemas, block *hclsyntax.Block) {
	t.Helper()

	switch block.Type {
	case "action":
		checkBlock(t, found.Actions, block, true)
	case "list":
		checkBlock(t, found.ListResources, block, false)
		for name := range block.Body.Attributes {
			if !slices.Contains([]string{"provider", "include_resource", "limit", "count", "for_each"}, name) {
				t.Errorf("%s: a list block has no %s", block.Range(), name)
			}
		}
	case "import":
		checkIdentity(t, found, block)
	}
}

// checkBlock holds the config of a block against the schema that its label names.
func checkBlock(t *testing.T, known map[string]schema, block *hclsyntax.Block, needed bool) {
	t.Helper()

	kind, exists := known[block.Labels[0]]
	if !exists {
		t.Errorf("%s: there is no %s %s", block.Range(), block.Type, block.Labels[0])
		return
	}
	var given []string
	for _, inner := range block.Body.Blocks {
		if inner.Type != "config" {
			t.Errorf("%s: a block %s in %s", inner.Range(), inner.Type, block.Type)
		}
		given, needed = slices.Collect(maps.Keys(inner.Body.Attributes)), true
	}
	if !needed {
		return
	}
	required := map[string]bool{}
	for name, attribute := range kind.Block.Attributes {
		required[name] = attribute.Required
	}
	checkNames(t, block, required, given)
}

// checkIdentity holds the identity of an import block against the one of its
// target.
func checkIdentity(t *testing.T, found *schemas, block *hclsyntax.Block) {
	t.Helper()

	given, byIdentity := block.Body.Attributes["identity"]
	target, problems := hcl.AbsTraversalForExpr(block.Body.Attributes["to"].Expr)
	if !byIdentity || problems.HasErrors() {
		return
	}
	pairs, problems := hcl.ExprMap(given.Expr)
	if problems.HasErrors() {
		t.Error(problems)
		return
	}
	required := map[string]bool{}
	for name, attribute := range found.Identities[target.RootName()].Attributes {
		required[name] = attribute.RequiredForImport
	}
	var names []string
	for _, pair := range pairs {
		names = append(names, hcl.ExprAsKeyword(pair.Key))
	}
	checkNames(t, block, required, names)
}

// checkNames holds the names that are given against those that there are, with
// whether each has to be given.
func checkNames(t *testing.T, block *hclsyntax.Block, required map[string]bool, given []string) {
	t.Helper()

	for _, name := range given {
		if _, known := required[name]; !known {
			t.Errorf("%s: there is no %q", block.Range(), name)
		}
	}
	for name, needed := range required {
		if needed && !slices.Contains(given, name) {
			t.Errorf("%s: %q is missing", block.Range(), name)
		}
	}
}
