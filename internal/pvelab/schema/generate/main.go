// Command generate writes the extract of PVE's API schema that the lab embeds:
// of every endpoint in the lab's routing table the parameters, the permissions
// and the node that runs it. It reads ../shared/pve beside the repository and
// leaves the extract as it is where that is absent.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"

	"terraform-provider-proxmox/internal/pvelab"
)

var kept = []string{"method", "path", "name", "parameters", "permissions", "protected", "proxyto", "allowtoken"}

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

// run expects the package's directory as its working directory, which is where
// go generate puts it.
func run() error {
	shared := filepath.Join("..", "..", "..", "shared", "pve")
	served := map[string]bool{}
	for _, e := range pvelab.Endpoints() {
		served[e] = true
	}
	found := map[string]bool{}
	for _, major := range []string{"9", "8"} {
		source := filepath.Join(shared, "schema-"+major+".json")
		raw, err := os.ReadFile(source) //nolint:gosec // a fixed name.
		if errors.Is(err, fs.ErrNotExist) {
			log.Printf("%s is absent: the embedded extract stays as it is", source)
			return nil
		}
		if err != nil {
			return err
		}
		out, err := extract(raw, served, found)
		if err != nil {
			return fmt.Errorf("%s: %w", source, err)
		}
		if err := os.WriteFile(filepath.Join("schema", major+".jsonl"), out, 0o644); err != nil { //nolint:gosec // a source file.
			return err
		}
	}
	for e := range served {
		if !found[e] {
			return fmt.Errorf("the lab serves %s, which neither schema has", e)
		}
	}
	return nil
}

// extract keeps the served methods of a schema, one a line.
func extract(raw []byte, served, found map[string]bool) ([]byte, error) {
	var methods []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &methods); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for _, m := range methods {
		key := text(m["method"]) + " " + text(m["path"])
		if !served[key] {
			continue
		}
		found[key] = true
		short := map[string]json.RawMessage{}
		for _, k := range kept {
			if v, ok := m[k]; ok {
				short[k] = v
			}
		}
		if err := enc.Encode(short); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
