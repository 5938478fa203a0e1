package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// step is one row: it returns what it found.
type step struct {
	name string
	do   func(context.Context) (string, error)
	// always has it done also after an earlier one has failed.
	always bool
}

// run does it; what cleans up does so also after a Ctrl-C.
func (s step) run(ctx context.Context) (string, error) {
	if s.always {
		ctx = context.WithoutCancel(ctx)
	}
	return s.do(ctx)
}

// errPointless is returned by a step that has nothing to do.
var errPointless = errors.New("skipped")

// table collects the rows.
type table struct {
	out    io.Writer
	rows   [][]string
	failed bool
}

// run does the steps in turn. After one that fails only those are done that clean up.
func (t *table) run(ctx context.Context, steps []step) {
	for _, s := range steps {
		if t.failed && !s.always {
			t.add(s.name, "skipped", 0, "")
			continue
		}
		began := time.Now()
		detail, err := s.run(ctx)
		took := time.Since(began)
		switch {
		case errors.Is(err, errPointless):
			t.add(s.name, "skipped", took, detail)
		case err != nil:
			t.failed = true
			t.add(s.name, "FAILED", took, firstLines(err.Error()))
		default:
			t.add(s.name, "ok", took, detail)
		}
	}
}

func (t *table) add(name, result string, took time.Duration, detail string) {
	_, _ = fmt.Fprintf(t.out, "%s: %s\n", name, strings.TrimSpace(result+" "+detail))
	t.rows = append(t.rows, []string{name, result, took.Round(10 * time.Millisecond).String(), detail})
}

// print writes the table.
func (t *table) print() {
	_, _ = fmt.Fprintln(t.out)
	w := tabwriter.NewWriter(t.out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "WHAT\tRESULT\tTIME\tFOUND")
	for _, row := range t.rows {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
}

// firstLines keeps an error to one row: what a CLI prints is long.
func firstLines(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		line = strings.Trim(line, "│╷╵ \t\r\n")
		if line != "" && len(kept) < 6 {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, " ")
}
