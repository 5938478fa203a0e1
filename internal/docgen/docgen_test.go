package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/proxmox"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const root = "../.."

func read(t *testing.T) *schemas {
	t.Helper()

	found, err := readSchemas(t.Context(), provider.Serve(t.Context(), "test"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// TestPagesAreComplete holds that each page says which privileges it needs, that
// every capability is on a page, and that each has an example.
func TestPagesAreComplete(t *testing.T) {
	t.Parallel()

	files := map[string]string{
		"resources": "resource.tf", "data-sources": "data-source.tf", "actions": "action.tf", "list-resources": "list-resource.tfquery.hcl",
	}
	left := maps.Clone(pages)
	for folder, names := range read(t).pages() {
		for _, name := range names {
			if _, known := left[folder+"/"+name]; !known {
				t.Errorf("nothing says which privileges %s/%s needs", folder, name)
			}
			delete(left, folder+"/"+name)
			if _, err := os.Stat(filepath.Join(root, "examples", folder, name, files[folder])); err != nil {
				t.Errorf("%s/%s has no example: %s", folder, name, err)
			}
		}
	}
	for name := range left {
		t.Errorf("there is no %s", name)
	}
	var used []string
	for name, about := range pages {
		used = append(used, about.capabilities...)
		if len(about.capabilities)+len(about.reads) == 0 {
			t.Errorf("%s names no privilege", name)
		}
	}
	for _, name := range proxmox.CapabilityNames() {
		if !slices.Contains(used, name) {
			t.Errorf("no page speaks of the capability %s", name)
		}
	}
}

// TestImportsAreShown holds that what can be imported shows how, on the command
// line, in a block, and by its identity where it has one.
func TestImportsAreShown(t *testing.T) {
	t.Parallel()

	found := read(t)
	for name := range found.Resources {
		files := []string{"import.sh", "import-by-string-id.tf"}
		if _, identified := found.Identities[name]; identified {
			files = append(files, "import-by-identity.tf")
		}
		if name == "proxmox_fence_action" {
			continue // A fence is performed, and proven, by making it.
		}
		for _, file := range files {
			if _, err := os.Stat(filepath.Join(root, "examples/resources", name, file)); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestTemplates(t *testing.T) {
	t.Parallel()

	into := t.TempDir()
	if err := run(t.Context(), filepath.Join(root, "templates"), into); err != nil {
		t.Fatal(err)
	}
	for file, says := range map[string][]string{
		"resources/vm.md.tmpl":             {"VM.GuestAgent.Audit` (8: `VM.Monitor`)", "`create` may take 30m,", "where `cpu` is configured"},
		"resources/firewall.md.tmpl":       {"`Sys.Modify` | `/nodes/{node}`", "The provider's `timeouts` bound"},
		"data-sources/storage.md.tmpl":     {"`Datastore.Audit`"},
		"data-sources/guest_probe.md.tmpl": {"`timeout` bounds the probe"},
		"actions/vm_power.md.tmpl":         {"`VM.PowerMgmt`", "Terraform 1.14", "`timeout` bounds it, 10m"},
		"list-resources/vm.md.tmpl":        {"vms.list", "terraform query", "`timeouts.read` bounds it: 5m"},
	} {
		content, err := os.ReadFile(filepath.Join(into, "templates", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range says {
			if !bytes.Contains(content, []byte(text)) {
				t.Errorf("%s does not say %q", file, text)
			}
		}
		if bytes.Contains(content, []byte(strings.TrimSpace(privilegesHere))) || bytes.Contains(content, []byte(strings.TrimSpace(timeoutsHere))) {
			t.Errorf("%s has a place left to be filled", file)
		}
	}
}

// TestAccSchemaIsTheCLIs holds the schema against what a CLI prints, in all that
// the CLI knows.
func TestAccSchemaIsTheCLIs(t *testing.T) {
	t.Parallel()

	target := acctest.NewLab(t, pvelab.Options{})
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(target.Provider()))
	output, err := workspace.Run(t.Context(), "providers", "schema", "-json")
	acctest.Must(t, err)
	var printed struct {
		Schemas map[string]map[string]any `json:"provider_schemas"`
	}
	acctest.Must(t, json.Unmarshal([]byte(output), &printed))
	if len(printed.Schemas) != 1 {
		t.Fatalf("the CLI prints %d providers", len(printed.Schemas))
	}
	ours := map[string]any{}
	document, err := json.Marshal(read(t))
	acctest.Must(t, err)
	acctest.Must(t, json.Unmarshal(document, &ours))
	for _, theirs := range printed.Schemas {
		for part, want := range theirs {
			if diff := cmp.Diff(want, ours[part]); diff != "" {
				t.Errorf("%s is not what the CLI prints (-CLI +ours):\n%.2000s", part, diff)
			}
		}
		for _, part := range []string{"provider", "resource_schemas", "data_source_schemas"} {
			if theirs[part] == nil {
				t.Errorf("the CLI prints no %s", part)
			}
		}
	}
}
