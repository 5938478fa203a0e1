package main

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// TestShownAttributesExist holds the attributes that users are shown, at all depths,
// against the schema. No CLI does: an object with an attribute too many loses it in
// silence.
func TestShownAttributesExist(t *testing.T) {
	t.Parallel()

	found := read(t)
	seen := 0
	for _, each := range configurations(t) {
		parsed, problems := hclsyntax.ParseConfig([]byte(each.source), each.file, hcl.InitialPos)
		if problems.HasErrors() {
			t.Error(problems)
			continue
		}
		body, _ := parsed.Body.(*hclsyntax.Body)
		for _, block := range body.Blocks {
			seen += checkExpressions(t, block.Body.Attributes, found.attributesOf(block))
		}
	}
	const few = 200
	if seen < few {
		t.Errorf("only %d nested attributes are shown: this test looks in the wrong place", seen)
	}
}

// attributesOf are the attributes that a block may set, nil where it is none of the
// provider's.
func (s *schemas) attributesOf(block *hclsyntax.Block) map[string]attribute {
	switch {
	case block.Type == "provider":
		return s.Provider.Block.Attributes
	case block.Type == "resource" && len(block.Labels) > 0:
		return s.Resources[block.Labels[0]].Block.Attributes
	case block.Type == "data" && len(block.Labels) > 0:
		return s.DataSources[block.Labels[0]].Block.Attributes
	}
	return nil
}

// checkExpressions looks into what attributes are set to, and counts the nested
// attributes that it saw.
func checkExpressions(t *testing.T, set hclsyntax.Attributes, known map[string]attribute) (seen int) {
	t.Helper()

	for name, each := range set {
		if nested := known[name].NestedType; nested != nil {
			seen += checkNested(t, each.Expr, nested.NestingMode, nested.Attributes)
		}
	}
	return seen
}

func checkNested(t *testing.T, value hclsyntax.Expression, mode string, known map[string]attribute) (seen int) {
	t.Helper()

	switch value := value.(type) {
	case *hclsyntax.ObjectConsExpr:
		for _, item := range value.Items {
			if mode == "map" {
				seen += checkNested(t, item.ValueExpr, "single", known)
				continue
			}
			name := hcl.ExprAsKeyword(item.KeyExpr)
			inner, exists := known[name]
			if seen++; !exists {
				t.Errorf("%s: there is no %q", item.KeyExpr.Range(), name)
			}
			if inner.NestedType != nil {
				seen += checkNested(t, item.ValueExpr, inner.NestedType.NestingMode, inner.NestedType.Attributes)
			}
		}
	case *hclsyntax.TupleConsExpr:
		for _, element := range value.Exprs {
			seen += checkNested(t, element, "single", known)
		}
	}
	return seen
}
