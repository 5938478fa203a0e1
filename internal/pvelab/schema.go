package pvelab

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
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
}

// permissions is a method's check: a kind of user, or an expression.
type permissions struct {
	User  string `json:"user"`
	Check []any  `json:"check"`
}

func loadSchema(version string) (*schema, error) {
	name := "schema/9.jsonl"
	if version == "8.4" {
		name = "schema/8.jsonl"
	}
	raw, err := schemaFiles.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("embedded schema: %w", err)
	}
	s := &schema{methods: map[string]*method{}}
	lines := bufio.NewScanner(bytes.NewReader(raw))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := &method{}
		if err := json.Unmarshal(lines.Bytes(), m); err != nil {
			return nil, fmt.Errorf("embedded schema %s: %w", name, err)
		}
		s.methods[m.Method+" "+m.Path] = m
	}
	return s, lines.Err()
}
