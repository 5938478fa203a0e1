// Package internal_test holds the rules of the source tree itself.
package internal_test

import (
	"bufio"
	"bytes"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/provider"
)

const (
	root     = ".."
	module   = "terraform-provider-proxmox"
	maxLines = 500
)

// arrows lists, for each layer, the layers that its code may import. A layer
// is a folder of internal/; "main" is the plugin's own package and "cmd" the
// programs beside it.
var arrows = map[string][]string{
	"main":        {"provider"},
	"cmd":         {"pvelab"},
	"chaos":       {"acctest", "pvelab"},
	"provider":    {"resources", "datasources", "actions", "framework", "proxmox"},
	"resources":   {"framework", "proxmox", "seed"},
	"datasources": {"framework", "proxmox"},
	"actions":     {"framework", "proxmox"},
	"framework":   {"proxmox", "seed"},
	"proxmox":     {},
	"seed":        {},
	"pvelab":      {},
	"acctest":     {"provider", "framework", "proxmox", "pvelab"},
	"bench":       {"acctest", "provider", "pvelab", "proxmox"},
	"live":        {"acctest"},
	"docgen":      {"provider", "framework", "proxmox"},
	"demo":        {"acctest", "pvelab", "proxmox"},
}

// withoutTerraform are the layers that know no Terraform.
var withoutTerraform = []string{"proxmox", "seed", "pvelab", "cmd"}

// strictInTests are the layers whose tests obey the arrows too. A lab whose
// tests know the client could share its misunderstandings.
var strictInTests = []string{"pvelab", "cmd"}

func TestImportArrows(t *testing.T) {
	t.Parallel()

	for _, file := range goFiles(t) {
		layer := layerOf(path.Dir(file))
		if layer == "internal" {
			continue
		}
		allowed, known := arrows[layer]
		if !known {
			t.Errorf("%s: internal/%s is a layer without arrows: add it to this test", file, layer)
			continue
		}
		if strings.HasSuffix(file, "_test.go") && !slices.Contains(strictInTests, layer) {
			continue
		}
		for _, imported := range imports(t, file) {
			checkImport(t, file, layer, imported, allowed)
		}
	}
}

func checkImport(t *testing.T, file, layer, imported string, allowed []string) {
	t.Helper()

	if strings.HasPrefix(imported, "github.com/hashicorp/") && slices.Contains(withoutTerraform, layer) {
		t.Errorf("%s imports %s: %s knows no Terraform", file, imported, layer)
	}
	inside, ours := strings.CutPrefix(imported, module+"/")
	if !ours {
		return
	}
	target := layerOf(inside)
	if target != layer && !slices.Contains(allowed, target) {
		t.Errorf("%s imports %s: %s may import only %v", file, imported, layer, allowed)
	}
	if layer == "resources" && target == layer && kindOf(inside) != kindOf(path.Dir(file)) {
		t.Errorf("%s imports %s: what kinds share belongs to framework", file, imported)
	}
}

func TestFilesAreShort(t *testing.T) {
	t.Parallel()

	for _, file := range goFiles(t) {
		source := read(t, file)
		if generated.Match(source) {
			continue
		}
		if lines := bytes.Count(source, []byte("\n")); lines > maxLines {
			t.Errorf("%s has %d lines, more than %d: split it by what it is about", file, lines, maxLines)
		}
	}
}

// TestSourceAddress holds every configuration shown to users against the one
// place that names the provider.
func TestSourceAddress(t *testing.T) {
	t.Parallel()

	_, want, _ := strings.Cut(provider.Address, "/")
	seen := 0
	for _, file := range filesMatching(t, regexp.MustCompile(`\.(tf|md|tmpl|go)$`)) {
		lines := bufio.NewScanner(bytes.NewReader(read(t, file)))
		for lines.Scan() {
			match := sourceAddress.FindStringSubmatch(lines.Text())
			if match == nil {
				continue
			}
			seen++
			if match[1] != want {
				t.Errorf("%s: source %q, but the provider is %q", file, match[1], want)
			}
		}
	}
	if seen == 0 {
		t.Error("no file shows the provider's source: this test looks in the wrong place")
	}
}

var (
	generated     = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
	sourceAddress = regexp.MustCompile(`source\s*=\s*"([^"]*/proxmox)"`)
)

// layerOf returns the layer of a folder given relative to the module's root.
func layerOf(dir string) string {
	parts := strings.Split(dir, "/")
	switch {
	case dir == ".":
		return "main"
	case parts[0] == "internal" && len(parts) > 1:
		return parts[1]
	default:
		return parts[0]
	}
}

// kindOf returns the folder of a resource, such as internal/resources/vm.
func kindOf(dir string) string {
	parts := strings.Split(dir, "/")
	return path.Join(parts[:min(3, len(parts))]...)
}

func goFiles(t *testing.T) []string {
	t.Helper()
	return filesMatching(t, regexp.MustCompile(`\.go$`))
}

// filesMatching returns the module's files, relative to its root, leaving out
// hidden folders and those that hold modules of their own.
func filesMatching(t *testing.T, name *regexp.Regexp) []string {
	t.Helper()

	var files []string
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return skipFolder(file, entry.Name())
		}
		if name.MatchString(entry.Name()) {
			relative, err := filepath.Rel(root, file)
			files = append(files, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no file matches %s: this test looks in the wrong place", name)
	}
	return files
}

func skipFolder(folder, name string) error {
	if folder == root {
		return nil
	}
	hidden := strings.HasPrefix(name, ".")
	if hidden || name == "tools" || name == "testdata" || name == "bin" {
		return filepath.SkipDir
	}
	return nil
}

func imports(t *testing.T, file string) []string {
	t.Helper()

	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, imported)
	}
	return paths
}

func read(t *testing.T, file string) []byte {
	t.Helper()

	content, err := os.ReadFile(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	return content
}
