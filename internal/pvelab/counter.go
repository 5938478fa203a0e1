package pvelab

import (
	"maps"
	"sync"
)

// Counters count what was asked of the lab, all nodes together.
type Counters struct {
	mu    sync.Mutex
	count Count
}

// Count is a state of the counters.
type Count struct {
	// Requests by "METHOD /path/{template}" as the schema writes it; what the lab
	// does not serve counts as "METHOD ?".
	Requests map[string]int `json:"requests"`
	// Total is the number of requests.
	Total int `json:"total"`
	// Connections is the number of TCP connections accepted.
	Connections int `json:"connections"`
	// BytesIn and BytesOut count what went over the wire, TLS included.
	BytesIn  int64 `json:"bytes_in"`
	BytesOut int64 `json:"bytes_out"`
}

func newCounters() *Counters { return &Counters{count: Count{Requests: map[string]int{}}} }

// Snapshot returns the counters' state.
func (c *Counters) Snapshot() Count {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.count
	out.Requests = maps.Clone(c.count.Requests)
	return out
}

// Reset sets all counters to zero.
func (c *Counters) Reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count = Count{Requests: map[string]int{}}
}

// Sub returns what was counted since an earlier state.
func (c Count) Sub(earlier Count) Count {
	out := Count{
		Requests: map[string]int{}, Total: c.Total - earlier.Total,
		Connections: c.Connections - earlier.Connections,
		BytesIn:     c.BytesIn - earlier.BytesIn, BytesOut: c.BytesOut - earlier.BytesOut,
	}
	for k, n := range c.Requests {
		if d := n - earlier.Requests[k]; d != 0 {
			out.Requests[k] = d
		}
	}
	return out
}

func (c *Counters) request(method string, rt *route) {
	key := method + " ?"
	if rt != nil {
		key = method + " " + rt.template
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count.Requests[key]++
	c.count.Total++
}

func (c *Counters) connection() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count.Connections++
}

func (c *Counters) bytes(in, out int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count.BytesIn += int64(in)
	c.count.BytesOut += int64(out)
}
