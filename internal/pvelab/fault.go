package pvelab

// Faults make the lab misbehave on demand.
type Faults struct{ lab *Lab }

func newFaults(l *Lab) *Faults { return &Faults{lab: l} }
