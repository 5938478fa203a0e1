package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	inQuotes  = regexp.MustCompile(`"[^"]*"`)
	attrWord  = regexp.MustCompile(`\b[a-z][a-z0-9_]+\b`)
	slotWord  = regexp.MustCompile(`^[a-z]+[0-9]+$`)
	ourHeader = regexp.MustCompile("^\\| there \\| here, in `(proxmox_[a-z_]+)` \\|$")
)

// TestMigrationTablesNameAttributes holds the tables of the guides for those who
// come from another provider: every word in their right columns is an attribute.
func TestMigrationTablesNameAttributes(t *testing.T) {
	t.Parallel()

	found := read(t)
	for guide, least := range map[string]int{"coming-from-bpg": 60, "coming-from-telmate": 60} {
		content, err := os.ReadFile(filepath.Join(root, "templates/guides", guide+".md"))
		if err != nil {
			t.Fatal(err)
		}
		var known map[string]bool
		seen := 0
		for line := range strings.SplitSeq(string(content), "\n") {
			switch header := ourHeader.FindStringSubmatch(line); {
			case header != nil:
				known = words(found.Resources[header[1]].Block.Attributes)
			case line == "## The provider block":
				known = words(found.Provider.Block.Attributes)
			case strings.HasPrefix(line, "## "):
				known = nil
			case known != nil && strings.HasPrefix(line, "| "):
				_, right, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
				for _, word := range attributesIn(right) {
					seen++
					if !known[word] {
						t.Errorf("%s: there is no attribute %q: %s", guide, word, line)
					}
				}
			}
		}
		if seen < least {
			t.Errorf("%s names %d attributes: this test looks in the wrong place", guide, seen)
		}
	}
}

// attributesIn are the words in code that name attributes: neither values nor slots.
func attributesIn(cell string) []string {
	var found []string
	for _, span := range codeSpan.FindAllStringSubmatch(cell, -1) {
		for _, word := range attrWord.FindAllString(inQuotes.ReplaceAllString(span[1], ""), -1) {
			if !slotWord.MatchString(word) && word != "true" && word != "false" && !strings.HasPrefix(word, "proxmox_") {
				found = append(found, word)
			}
		}
	}
	return found
}

// words are the names of attributes, at all depths.
func words(attributes map[string]attribute) map[string]bool {
	all := map[string]bool{}
	for name, each := range attributes {
		all[name] = true
		if each.NestedType == nil {
			continue
		}
		for inner := range words(each.NestedType.Attributes) {
			all[inner] = true
		}
	}
	return all
}
