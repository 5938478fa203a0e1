package pvelab

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// tolerance is a field whose value cannot be the recorded one. Its type must be.
type tolerance struct {
	endpoint, field *regexp.Regexp
	how             leniency
}

type leniency int

const (
	// exactly is no leniency: equal but for made-up tokens.
	exactly leniency = iota
	// sameType asks only for the same JSON type.
	sameType
	// anyOrder compares a comma-separated text as a set.
	anyOrder
	// ordered compares a list element by element; other lists are sets.
	ordered
	// logLines is ordered, without the progress lines, whose number and steps
	// follow from the host's speed, and without the lines' numbers.
	logLines
	// ownTasks is a list of tasks that also holds what was done before.
	ownTasks
)

func tolerate(how leniency, endpoint, field string) tolerance {
	return tolerance{regexp.MustCompile(endpoint), regexp.MustCompile(`^(?:` + field + `)$`), how}
}

// tolerances, first match wins. Fields are written as they are reported:
// data[qemu/110].uptime.
var tolerances = []tolerance{
	// When something happened, and which process did it.
	tolerate(sameType, ``, `.*\.(starttime|endtime|pstart|pid|ctime|time|localtime|snaptime)`),
	// What the guests of the recorder's host and the host itself consumed.
	tolerate(sameType, `^GET /(cluster/resources|pools|nodes/[^/]+/(qemu|lxc))`, `.*\.(cpu|mem|memhost|disk|diskread|diskwrite|netin|netout|uptime|freemem|pressure\w+)`),
	tolerate(sameType, `^GET /(cluster/resources|pools|nodes)`, `.*\[(node|storage)/[^]]+\]\.(uptime|cpu|mem|disk|maxcpu|maxmem|maxdisk)`),
	tolerate(sameType, `^GET /nodes/[^/]+/storage`, `.*\.(total|avail|used|used_fraction)`),
	tolerate(sameType, `^GET /nodes/[^/]+/status`, `data\.(cpuinfo|memory|rootfs|swap|ksm|loadavg|uptime|idle|wait|cpu|current-kernel|kversion|boot-info)\b.*`),
	tolerate(sameType, `/agent(/network-get-interfaces)?$`, `data\.result\[\w+\]\.statistics\..*`),
	tolerate(sameType, `/agent/get-time$`, `data\.result`),
	// A diff of two files with their times.
	tolerate(sameType, `^GET /nodes/[^/]+/network$`, `changes`),
	// Hash order.
	tolerate(anyOrder, `storage|^GET /(cluster/resources|pools)`, `.*\.content`),
	// Secrets.
	tolerate(sameType, `^POST /access/(users/.*/token|ticket)`, `data\.(value|ticket|CSRFPreventionToken)`),
	tolerate(sameType, `^GET /nodes`, `.*\.ssl_fingerprint`),
	// Tasks.
	tolerate(ownTasks, `^GET /(cluster|nodes/[^/]+)/tasks$`, `data`),
	tolerate(sameType, `^GET /nodes/[^/]+/tasks$`, `total`),
	tolerate(logLines, `^GET .*/tasks/[^/]+/log$`, `data`),
	tolerate(ordered, `^GET .*/(rules|snapshot)$`, `data`),
}

// comparison collects how an answer of the lab differs from the recorded one.
type comparison struct {
	bindings *bindings
	endpoint string
	diffs    []string
	// progress is set where a log has progress lines: their count is not compared.
	progress bool
}

func (c *comparison) differ(at, format string, a ...any) {
	c.diffs = append(c.diffs, at+": "+fmt.Sprintf(format, a...))
}

func (c *comparison) leniency(at string) leniency {
	for _, t := range tolerances {
		if t.endpoint.MatchString(c.endpoint) && t.field.MatchString(at) {
			return t.how
		}
	}
	return exactly
}

// value compares two decoded JSON values.
func (c *comparison) value(at string, want, got any) {
	if w, g := kindOf(want), kindOf(got); w != g {
		c.differ(at, "%s %s, not %s %s", g, describe(got), w, describe(want))
		return
	}
	switch want := want.(type) {
	case map[string]any:
		c.object(at, want, got.(map[string]any))
	case []any:
		c.list(at, want, got.([]any))
	case string:
		c.text(at, want, got.(string))
	default:
		if c.progress && at == "total" {
			return
		}
		if c.leniency(at) != sameType && !sameScalar(want, got) {
			c.differ(at, "%s, not %s", describe(got), describe(want))
		}
	}
}

func (c *comparison) object(at string, want, got map[string]any) {
	for _, k := range sortedKeys(want) {
		g, ok := got[k]
		if !ok {
			c.differ(at, "%q is missing (%s)", k, describe(want[k]))
			continue
		}
		c.value(strings.TrimPrefix(at+"."+k, "."), want[k], g)
	}
	for _, k := range sortedKeys(got) {
		if _, ok := want[k]; !ok {
			c.differ(at, "%q is too much (%s)", k, describe(got[k]))
		}
	}
}

func (c *comparison) text(at, want, got string) {
	switch c.leniency(at) {
	case sameType:
		return
	case anyOrder:
		w, g := strings.Split(want, ","), strings.Split(got, ",")
		slices.Sort(w)
		slices.Sort(g)
		want, got = strings.Join(w, ","), strings.Join(g, ",")
	case exactly, ordered, logLines, ownTasks:
	}
	if !c.bindings.same(want, got) {
		c.differ(at, "%s, not %s", describe(got), describe(c.bindings.peek(want)))
	}
}

// list compares element by element where PVE's order means something, else
// pairs what names the same thing.
func (c *comparison) list(at string, want, got []any) {
	how := c.leniency(at)
	if how == sameType {
		return
	}
	switch how {
	case ownTasks:
		want, got = c.ownTasks(want, got)
	case logLines:
		want, got = c.logLines(at, want, got)
	case exactly, sameType, anyOrder, ordered:
	}
	if how == exactly && !nested(want) {
		c.scalars(at, want, got)
		return
	}
	if how != exactly {
		c.inOrder(at, want, got)
		return
	}
	left := slices.Clone(got)
	for i, w := range want {
		name := c.nameOf(w, i)
		j := slices.IndexFunc(left, func(g any) bool { return c.nameOf(g, i) == name })
		if j < 0 {
			c.differ(at, "no %s", name)
			continue
		}
		c.value(at+"["+name+"]", w, left[j])
		left = slices.Delete(left, j, j+1)
	}
	for _, g := range left {
		c.differ(at, "%s is too much", describe(g))
	}
}

func (c *comparison) inOrder(at string, want, got []any) {
	if len(want) != len(got) {
		c.differ(at, "%d elements, not %d: %s, not %s", len(got), len(want), describe(got), describe(want))
		return
	}
	for i := range want {
		c.value(fmt.Sprintf("%s[%d]", at, i), want[i], got[i])
	}
}

func (c *comparison) scalars(at string, want, got []any) {
	w, g := make([]string, len(want)), make([]string, len(got))
	for i := range want {
		w[i] = kindOf(want[i]) + " " + describe(want[i])
	}
	for i := range got {
		g[i] = kindOf(got[i]) + " " + describe(got[i])
	}
	slices.Sort(w)
	slices.Sort(g)
	if !slices.Equal(w, g) {
		c.differ(at, "%v, not %v", describe(g), describe(w))
	}
}

// ownTasks keeps the tasks that both sides know: the recorder's node had a past.
func (c *comparison) ownTasks(want, got []any) (w, g []any) {
	upid := func(v any) string {
		m, _ := v.(map[string]any)
		s, _ := m["upid"].(string)
		return s
	}
	w = slices.DeleteFunc(slices.Clone(want), func(v any) bool { return !c.bindings.known(upid(v)) })
	g = slices.DeleteFunc(slices.Clone(got), func(v any) bool { _, ok := c.bindings.toRecord[upid(v)]; return !ok })
	if len(w) < len(want) && len(g) > len(w) {
		g = g[:len(w)]
	}
	return w, g
}

// speedRE is the speed of an unpacking.
var speedRE = regexp.MustCompile(`, \d+(\.\d+)?MiB/s`)

var progressRE = regexp.MustCompile(`^transferred \d`)

// logLines are the texts of a log; progress is there on both sides or on none.
func (c *comparison) logLines(at string, want, got []any) (w, g []any) {
	texts := func(lines []any) (out []any, progress bool) {
		for _, l := range lines {
			m, _ := l.(map[string]any)
			t, _ := m["t"].(string)
			if progressRE.MatchString(t) {
				progress = true
				continue
			}
			out = append(out, speedRE.ReplaceAllString(t, ""))
		}
		return out, progress
	}
	w, inRecord := texts(want)
	g, inLab := texts(got)
	if inRecord != inLab {
		c.differ(at, "progress lines: %v, not %v", inLab, inRecord)
	}
	if len(w) < len(want) {
		c.progress = true
	}
	return w, g
}

// naming are the fields that tell a list's elements apart, the best first.
var naming = []string{
	"upid", "id", "key", "sid", "volid", "vmid", "storage", "poolid", "userid", "tokenid",
	"groupid", "roleid", "realm", "iface", "subdir", "rule", "macro", "cidr", "name", "node",
}

// nameOf names a list's element by what PVE tells such elements apart by, or by
// its place.
func (c *comparison) nameOf(v any, place int) string {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Sprint(place)
	}
	if _, isACL := m["ugid"]; isACL {
		return fmt.Sprint(m["path"], " ", m["ugid"], " ", m["roleid"])
	}
	for _, k := range naming {
		if f, ok := m[k]; ok {
			return c.bindings.peek(fmt.Sprint(f))
		}
	}
	return fmt.Sprint(place)
}

func nested(list []any) bool {
	return slices.ContainsFunc(list, func(v any) bool {
		t := kindOf(v)
		return t == "object" || t == "array"
	})
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "bool"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	default:
		return fmt.Sprintf("%T", v)
	}
}

func sameScalar(want, got any) bool {
	w, ok := want.(json.Number)
	if !ok {
		return want == got
	}
	a, errA := w.Float64()
	b, errB := got.(json.Number).Float64()
	return errA == nil && errB == nil && a == b
}
