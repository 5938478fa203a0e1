package settings

import (
	"slices"
	"strings"
)

// TagList is how PVE writes tags: it also accepts commas and blanks, and sorts.
var TagList = ListSpelling{
	Split: func(text string) ([]string, error) {
		tags := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";, ", r) })
		slices.Sort(tags)
		return slices.Compact(tags), nil
	},
	Join: func(tags []string) string { return strings.Join(tags, ";") },
	Fold: strings.ToLower,
}

// BlankList is how PVE writes name servers and search domains.
var BlankList = ListSpelling{
	Split: func(text string) ([]string, error) {
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";, ", r) }), nil
	},
	Join: func(items []string) string { return strings.Join(items, " ") },
}

// SemicolonList is how PVE writes several values inside a property string.
var SemicolonList = ListSpelling{
	Split: func(text string) ([]string, error) {
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("; ", r) }), nil
	},
	Join: func(items []string) string { return strings.Join(items, ";") },
}
