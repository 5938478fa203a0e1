package pvelab

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// params are a call's verified parameters, those in the path included. A value
// is a string, or a []string for a parameter of type array.
type params map[string]any

func (p params) has(name string) bool { _, ok := p[name]; return ok }

// str returns a parameter's text, "" when absent.
func (p params) str(name string) string {
	s, _ := p[name].(string)
	return s
}

// integer returns a verified integer, 0 when absent.
func (p params) integer(name string) int {
	n, _ := strconv.Atoi(p.str(name))
	return n
}

func (p params) boolean(name string) bool { return p.str(name) == "1" }

// list returns an array, or a string split as PVE splits its lists.
func (p params) list(name string) []string {
	if l, ok := p[name].([]string); ok {
		return l
	}
	return splitList(p.str(name))
}

// names returns the parameters present, sorted.
func (p params) names() []string { return sortedKeys(p) }

// splitList splits at commas, semicolons, blanks and NULs, and drops what is
// empty, as PVE::Tools::split_list does.
func splitList(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool {
		return r == ',' || r == ';' || r == 0 || r == ' ' || r == '\t' || r == '\n' || r == '\r'
	})
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
