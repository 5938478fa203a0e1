package pvelab

import (
	"regexp"
	"strconv"
	"strings"
)

// props is a parsed property string.
type props map[string]string

// parseProps splits "value,key=value,…"; a part without a key belongs to
// defaultKey.
func parseProps(s, defaultKey string) props {
	p := props{}
	for part := range strings.SplitSeq(s, ",") {
		if part == "" {
			continue
		}
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			key, value = defaultKey, part
		}
		p[key] = value
	}
	return p
}

// print writes the parts as PVE rewrites a property string: the default key
// first and bare, the others sorted.
func (p props) print(defaultKey string) string {
	var parts []string
	if value, ok := p[defaultKey]; ok {
		parts = append(parts, value)
	}
	for _, key := range sortedKeys(p) {
		if key != defaultKey {
			parts = append(parts, key+"="+p[key])
		}
	}
	return strings.Join(parts, ",")
}

// normalise turns the spellings of a boolean into 1 and 0.
func (p props) normalise(booleans map[string]bool) {
	for key, value := range p {
		if !booleans[key] {
			continue
		}
		switch strings.ToLower(value) {
		case "1", "on", "yes", "true":
			p[key] = "1"
		case "0", "off", "no", "false":
			p[key] = "0"
		}
	}
}

var sizeRE = regexp.MustCompile(`^(\+)?(\d+(?:\.\d+)?)([KMGT])?(?:iB)?$`)

// parseSize reads PVE's sizes ("2G", "512M", "1024") as bytes.
func parseSize(s string) (bytes int64, relative, ok bool) {
	m := sizeRE.FindStringSubmatch(s)
	if m == nil {
		return 0, false, false
	}
	n, err := strconv.ParseFloat(m[2], 64)
	if err != nil {
		return 0, false, false
	}
	if m[3] != "" {
		n *= float64(int64(1) << (10 * (strings.Index("KMGT", m[3]) + 1)))
	}
	return int64(n), m[1] == "+", true
}

// formatSize writes bytes in the largest unit that divides them, "0T" for none.
func formatSize(bytes int64) string {
	for _, unit := range []string{"", "K", "M", "G"} {
		if bytes%1024 != 0 {
			return strconv.FormatInt(bytes, 10) + unit
		}
		bytes /= 1024
	}
	return strconv.FormatInt(bytes, 10) + "T"
}
