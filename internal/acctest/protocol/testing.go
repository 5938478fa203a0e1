package protocol

import (
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/pvelab"
)

// Must ends the test where there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	must(t, err)
}

// EachVersion runs a test against each version of PVE that the lab plays.
func EachVersion(t *testing.T, test func(t *testing.T, version string)) {
	t.Helper()

	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

// Says fails the test for each of the words that no diagnostic says.
func (d Diagnostics) Says(t testing.TB, words ...string) {
	t.Helper()

	for _, each := range words {
		if !strings.Contains(d.String(), each) {
			t.Errorf("nothing says %q: %s", each, d)
		}
	}
}

// Single wants one diagnostic, with these words.
func (d Diagnostics) Single(t testing.TB, words ...string) {
	t.Helper()

	if len(d) != 1 {
		t.Errorf("one thing was to be said: %s", d)
	}
	d.Says(t, words...)
}

// Apply plans a configuration and applies it; nil destroys. It returns what both
// say.
func (r *Resource) Apply(t testing.TB, config Object) Diagnostics {
	t.Helper()

	plan, diagnostics := r.Plan(t, config)
	if plan == nil {
		return diagnostics
	}
	return append(diagnostics, plan.Apply(t)...)
}

// Spoil has calls fail until the fault is mended.
func (l *Lab) Spoil(t testing.TB, fault pvelab.Fault) (mend func()) {
	t.Helper()

	id, err := l.Faults().Add(fault)
	must(t, err)
	return func() { l.Faults().Remove(id) }
}
