package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// quoted is what the troubleshooting guide says that the provider prints.
var quoted = regexp.MustCompile(`"([^"\n]+)"`)

// TestQuotedMessagesExist holds the troubleshooting guide against the texts in the
// code: what stands in quotation marks in a first column is printed somewhere.
func TestQuotedMessagesExist(t *testing.T) {
	t.Parallel()

	printed := texts(t)
	seen := 0
	for line := range strings.SplitSeq(string(read(t, "templates/guides/troubleshooting.md")), "\n") {
		symptom, _, row := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		if !row || !strings.HasPrefix(line, "| ") {
			continue
		}
		for _, match := range quoted.FindAllStringSubmatch(symptom, -1) {
			seen++
			for part := range strings.SplitSeq(match[1], "…") {
				if part = strings.TrimSpace(part); len(part) > 1 && !strings.Contains(printed, part) {
					t.Errorf("no code prints %q, of %q", part, match[1])
				}
			}
		}
	}
	const few = 40
	if seen < few {
		t.Errorf("only %d messages are quoted: this test looks in the wrong place", seen)
	}
}

// texts are all texts in the code, one a line; what is put together of literals is
// one text.
func texts(t *testing.T) string {
	t.Helper()

	var all strings.Builder
	for _, file := range goFiles(t) {
		if strings.HasSuffix(file, "_test.go") || !strings.HasPrefix(file, "internal/") || strings.HasPrefix(file, "internal/pvelab/") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				all.WriteString(literal(n) + "\n")
			case *ast.BinaryExpr:
				all.WriteString(literal(n) + "\n")
			}
			return true
		})
	}
	return all.String()
}

// literal is a text of literals, with "…" for what is no literal.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); e.Kind == token.STRING && err == nil {
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return literal(e.X) + literal(e.Y)
		}
	}
	return "…"
}

var link = regexp.MustCompile(`\]\(([^)#:\s]+)(?:#[^)]*)?\)`)

// TestLinksLead holds that what a page links to exists.
func TestLinksLead(t *testing.T) {
	t.Parallel()

	// Templates of generated pages are not looked at: the pages are.
	for _, file := range filesMatching(t, regexp.MustCompile(`\.md$`)) {
		for _, match := range link.FindAllStringSubmatch(string(read(t, file)), -1) {
			// What is written under templates/ is read under docs/.
			folder := strings.Replace(filepath.Dir(file), "templates", "docs", 1)
			if _, err := os.Stat(filepath.Join(root, folder, match[1])); err != nil {
				t.Errorf("%s links to %s: %s", file, match[1], err)
			}
		}
	}
}
