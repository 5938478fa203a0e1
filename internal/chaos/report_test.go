package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// begin begins a round in the history.
func (c *trial) begin(what string) {
	c.begun = time.Now()
	c.note("round %d: %s", len(c.history), what)
}

// note adds to the history of the round.
func (c *trial) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	line := fmt.Sprintf(format, args...)
	if strings.HasPrefix(line, "round ") {
		c.history = append(c.history, line)
		return
	}
	c.history[len(c.history)-1] += "\n  " + time.Since(c.begun).Round(time.Millisecond).String() + " " + line
}

// report writes what a trial that failed has gone through into a file: its rounds,
// the last one's configuration, output and requests.
func (c *trial) report() {
	if !c.t.Failed() {
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "CHAOS_SEED=%d, PVE %s, %d rounds\n\n%s\n\n", c.seed, c.version, len(c.history), strings.Join(c.history, "\n"))
	configuration, _ := os.ReadFile(filepath.Join(c.workspace.Dir(), "main.tf"))
	fmt.Fprintf(&text, "\n== configuration\n%s\n== output\n%s\n== requests\n", configuration, c.output)
	for _, request := range c.target.Lab.Requests() {
		if request.Time.After(c.begun) {
			fmt.Fprintf(&text, "%s %s %d %s %s (%s)\n", request.Clock(), request.Node, request.Status, request.Method, request.Path, request.Agent)
		}
	}
	name := filepath.Join(os.TempDir(), fmt.Sprintf("chaos-%s-%d.txt", c.version, c.seed))
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		c.t.Error(err)
	}
	c.t.Logf("what it went through is in %s", name)
}
