package pvelab

import "maps"

// variants is a schema whose parameters depend on a type: PVE writes the rules of
// HA that way.
type variants struct {
	AllOf        []*property `json:"allOf"`
	OneOf        []*property `json:"oneOf"`
	TypeProperty string      `json:"type-property"`
	TypeSchema   *property   `json:"type-property-schema"`
	Instance     string      `json:"instance-type"`
}

// chosen is the schema of a call's parameters: the variants that its type names,
// joined.
func (p *property) chosen(raw map[string]any) *property {
	if p.AllOf == nil && p.OneOf == nil {
		return p
	}
	out := &property{Type: "object", Additional: []byte("0"), Properties: map[string]*property{}}
	for _, part := range p.AllOf {
		maps.Copy(out.Properties, part.chosen(raw).Properties)
	}
	if p.TypeProperty != "" {
		out.Properties[p.TypeProperty] = p.TypeSchema
	}
	for _, variant := range p.OneOf {
		if raw[p.TypeProperty] == variant.Instance {
			maps.Copy(out.Properties, variant.Properties)
		}
	}
	return out
}
