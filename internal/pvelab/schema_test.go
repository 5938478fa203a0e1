package pvelab

import (
	"slices"
	"testing"
)

const regenerate = "run go generate ./internal/pvelab"

func TestEveryEndpointIsInASchema(t *testing.T) {
	t.Parallel()
	s9, err := loadSchema("9.2")
	if err != nil {
		t.Fatal(err)
	}
	s8, err := loadSchema("8.4")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range Endpoints() {
		if s9.methods[e] == nil && s8.methods[e] == nil {
			t.Errorf("no schema of %s: %s", e, regenerate)
		}
	}
	served := Endpoints()
	for _, s := range []*schema{s9, s8} {
		for e := range s.methods {
			if e != rootIndex && !slices.Contains(served, e) {
				t.Errorf("%s is in the extract, but not served: %s", e, regenerate)
			}
		}
	}
}

func TestEveryFormatIsKnown(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		s, err := loadSchema(version)
		if err != nil {
			t.Fatal(err)
		}
		for e, m := range s.methods {
			eachFormat(&m.Parameters, func(name string) {
				if !knownFormat(name) {
					t.Errorf("%s %s: format %q is not registered", version, e, name)
				}
			})
		}
	}
	for name, keys := range propertyFormats {
		for _, p := range keys {
			eachFormat(p, func(inner string) {
				if !knownFormat(inner) {
					t.Errorf("%s: format %q is not registered", name, inner)
				}
			})
		}
	}
}

func eachFormat(p *property, see func(name string)) {
	if p.Format.Name != "" {
		see(p.Format.Name)
	}
	for _, inner := range p.Format.Keys {
		eachFormat(inner, see)
	}
	for _, inner := range p.Properties {
		eachFormat(inner, see)
	}
	if p.Items != nil {
		eachFormat(p.Items, see)
	}
	for _, part := range slices.Concat(p.AllOf, p.OneOf) {
		eachFormat(part, see)
	}
}
