package pvelab

// Counters count requests, connections and bytes.
type Counters struct{}

func newCounters() *Counters { return &Counters{} }
