// Command docgen prepares what tfplugindocs makes the documentation of: the
// schema as `terraform providers schema -json` prints it, and the templates with
// the privileges that each page needs.
//
// The schema comes from the provider's server itself: a CLI prints only what it
// knows, and an older one knows no actions and no list resources.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"terraform-provider-proxmox/internal/provider"
)

// address is the only one that tfplugindocs looks a provider up under.
const address = "registry.terraform.io/hashicorp/proxmox"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: docgen <templates> <folder to write to>")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "docgen:", err)
		os.Exit(1)
	}
}

// run writes schema.json and templates/ into a folder.
func run(ctx context.Context, templates, into string) error {
	schemas, err := readSchemas(ctx, provider.Serve(ctx, "docs"))
	if err != nil {
		return err
	}
	document, err := json.MarshalIndent(map[string]any{
		"format_version": "1.0", "provider_schemas": map[string]any{address: schemas},
	}, "", " ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(into, "schema.json"), document, 0o600); err != nil {
		return err
	}
	return writeTemplates(templates, filepath.Join(into, "templates"), schemas.pages())
}
