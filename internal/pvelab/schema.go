package pvelab

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"sync"
)

//go:embed schema/*.jsonl
var schemaFiles embed.FS

// schema is the part of PVE's API schema that the lab serves.
type schema struct {
	methods map[string]*method
}

// method is one method of PVE's API: its parameters and who may call it.
type method struct {
	Method      string       `json:"method"`
	Path        string       `json:"path"`
	Name        string       `json:"name"`
	Parameters  property     `json:"parameters"`
	Permissions *permissions `json:"permissions"`
	Protected   int          `json:"protected"`
	ProxyTo     string       `json:"proxyto"`
	AllowToken  *int         `json:"allowtoken"`
	// is8 is set on the methods of PVE 8.
	is8 bool
}

// permissions is a method's check: a kind of user, or an expression.
type permissions struct {
	User  string `json:"user"`
	Check []any  `json:"check"`
}

// rootIndex is the one method that PVE's schema leaves out.
const rootIndex = "GET /"

// schemas are read once: labs share them.
var schemas = map[string]func() (*schema, error){
	"9.2": sync.OnceValues(func() (*schema, error) { return readSchema("schema/9.jsonl", false) }),
	"8.4": sync.OnceValues(func() (*schema, error) { return readSchema("schema/8.jsonl", true) }),
}

func loadSchema(version string) (*schema, error) { return schemas[version]() }

func readSchema(name string, is8 bool) (*schema, error) {
	raw, err := schemaFiles.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("embedded schema: %w", err)
	}
	s := &schema{methods: map[string]*method{rootIndex: {
		Method: "GET", Path: "/", Name: "index", Permissions: &permissions{User: "all"},
		Parameters: property{Additional: json.RawMessage("0")},
	}}}
	dec := json.NewDecoder(bytes.NewReader(raw))
	for dec.More() {
		m := &method{}
		if err := dec.Decode(m); err != nil {
			return nil, fmt.Errorf("embedded schema %s: %w", name, err)
		}
		m.settleFormats(is8)
		s.methods[m.Method+" "+m.Path] = m
	}
	return s, nil
}
