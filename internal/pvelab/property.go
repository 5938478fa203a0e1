package pvelab

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// property is a schema of PVE's: of a parameter, of an object, or of one key of
// a property string.
type property struct {
	Type       string               `json:"type"`
	Properties map[string]*property `json:"properties"`
	Items      *property            `json:"items"`
	Optional   flag                 `json:"optional"`
	Additional json.RawMessage      `json:"additionalProperties"`
	Format     format               `json:"format"`
	Pattern    pattern              `json:"pattern"`
	Enum       []scalar             `json:"enum"`
	MaxLength  scalar               `json:"maxLength"`
	MinLength  scalar               `json:"minLength"`
	Maximum    scalar               `json:"maximum"`
	Minimum    scalar               `json:"minimum"`
	Requires   string               `json:"requires"`
	Default    scalar               `json:"default"`
	DefaultKey flag                 `json:"default_key"`
	Alias      string               `json:"alias"`
	KeyAlias   string               `json:"keyAlias"`
	variants
}

// closed reports whether properties that the schema does not name are refused.
func (p *property) closed() bool { return string(p.Additional) == "0" }

// scalar is a JSON number or string, kept as its text.
type scalar string

// UnmarshalJSON accepts a number or a string.
func (s *scalar) UnmarshalJSON(raw []byte) error {
	if raw[0] != '"' {
		*s = scalar(raw)
		return nil
	}
	return json.Unmarshal(raw, (*string)(s))
}

// flag is PVE's boolean, 0 or 1, as a number or a string.
type flag bool

// UnmarshalJSON accepts 0, 1 and their quoted forms.
func (f *flag) UnmarshalJSON(raw []byte) error {
	*f = strings.Trim(string(raw), `"`) == "1"
	return nil
}

// format is a named format or the keys of a property string.
type format struct {
	Name string
	Keys map[string]*property
}

// UnmarshalJSON accepts a name or an object of properties.
func (f *format) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &f.Name)
	}
	return json.Unmarshal(raw, &f.Keys)
}

// pattern is a regular expression in Perl's spelling, anchored at both ends.
type pattern struct{ re *regexp.Regexp }

// UnmarshalJSON compiles the pattern.
func (p *pattern) UnmarshalJSON(raw []byte) error {
	var perl string
	if err := json.Unmarshal(raw, &perl); err != nil {
		return err
	}
	re, err := regexp.Compile("^" + fromPerl(perl) + "$")
	if err != nil {
		return fmt.Errorf("pattern %q: %w", perl, err)
	}
	p.re = re
	return nil
}

var (
	perlGroupRE = regexp.MustCompile(`\(\?\^([a-z]*):`)
	openRangeRE = regexp.MustCompile(`\{,(\d+)\}`)
	longRangeRE = regexp.MustCompile(`\{0,\d{4,}\}`)
)

// fromPerl rewrites what Go spells differently: the modifiers of a stringified
// qr// and open-ended repetition; it gives up bounds above a thousand, which Go
// cannot hold.
func fromPerl(perl string) string {
	perl = perlGroupRE.ReplaceAllStringFunc(perl, func(m string) string {
		if strings.Contains(m, "i") {
			return "(?i:"
		}
		return "(?:"
	})
	perl = strings.ReplaceAll(perl, `\0`, `\x00`)
	perl = openRangeRE.ReplaceAllString(perl, "{0,$1}")
	return longRangeRE.ReplaceAllString(perl, "*")
}

// slots bounds the indexed properties, which the schema writes as "net[n]": the
// number of slots of each. From qemu-server, pve-container and pve-manager.
var slots = map[string]int{
	"ide": 4, "sata": 6, "scsi": 31, "virtio": 16, "unused": 256,
	"net": 32, "ipconfig": 32, "hostpci": 16, "usb": 14,
	"serial": 4, "parallel": 3, "numa": 8, "virtiofs": 10,
	"mp": 256, "dev": 256, "link": 8, "acmedomain": 6,
}

var indexedRE = regexp.MustCompile(`^([a-z]+)(0|[1-9]\d*)$`)

// lookup finds the schema of a key, indexed ones included.
func lookup(props map[string]*property, key string) *property {
	if p := props[key]; p != nil {
		return p
	}
	m := indexedRE.FindStringSubmatch(key)
	if m == nil {
		return nil
	}
	n, err := strconv.Atoi(m[2])
	if err != nil || n >= slots[m[1]] {
		return nil
	}
	return props[m[1]+"[n]"]
}
