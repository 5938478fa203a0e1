package pvelab

import (
	"errors"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	textUnknown = "property is not defined in schema and the schema does not allow additional properties"
	textMissing = "property is missing and it is not optional"
)

// verification collects the errors of one check, by path.
type verification struct {
	errors map[string]string
	// is8 chooses the texts and the strictness of PVE 8.
	is8 bool
}

// add notes an error. PVE joins several of one field with a literal backslash
// and n.
func (v *verification) add(path, text string) {
	if path == "" {
		path = "_root"
	}
	if old, ok := v.errors[path]; ok {
		text = old + `\n` + text
	}
	v.errors[path] = text
}

// verify checks a call's raw parameters against its method's schema as
// PVE::JSONSchema does. The error is a badParams.
func (m *method) verify(raw map[string]any) (params, error) {
	schema := m.Parameters.chosen(raw)
	in := normalise(raw, schema.Properties)
	v := &verification{errors: map[string]string{}, is8: m.is8}
	v.object("", schema.Properties, in, schema.closed())
	if len(v.errors) > 0 {
		return nil, badParams(v.errors)
	}
	out := params{}
	for k, value := range in {
		out[k] = settle(value)
	}
	return out, nil
}

// settle turns what JSON bodies can hold into what handlers read.
func settle(value any) any {
	switch t := value.(type) {
	case bool:
		if t {
			return "1"
		}
		return "0"
	case []any:
		out := make([]string, 0, len(t))
		for _, e := range t {
			s, _ := settle(e).(string)
			out = append(out, s)
		}
		return out
	default:
		return value
	}
}

// normalise joins arrays given for a list format and wraps single values given
// for an array, as PVE does for forms.
func normalise(raw map[string]any, props map[string]*property) map[string]any {
	out := maps.Clone(raw)
	if out == nil {
		out = map[string]any{}
	}
	for k, value := range out {
		p := lookup(props, k)
		if p == nil {
			continue
		}
		switch t := value.(type) {
		case []any:
			if p.Type == "string" && strings.HasSuffix(p.Format.Name, "-list") {
				out[k] = strings.Join(settle(t).([]string), ",") //nolint:forcetypeassert // settle makes it one.
			}
		case string:
			if p.Type == "array" && t != "" && t != "0" {
				out[k] = []any{t}
			}
		}
	}
	return out
}

// object checks the members of an object, aliases moved to their targets first.
func (v *verification) object(path string, props map[string]*property, value map[string]any, closed bool) {
	v.aliases(path, props, value)
	for k, p := range props {
		if strings.HasSuffix(k, "[n]") || value[k] != nil {
			continue
		}
		if p.Alias == "" && !bool(p.Optional) && p.Type != "null" {
			v.add(join(path, k), textMissing)
		}
	}
	for _, k := range sortedKeys(value) {
		p := lookup(props, k)
		if p == nil {
			if closed {
				v.add(join(path, k), textUnknown)
			}
			continue
		}
		if p.Requires != "" && value[p.Requires] == nil {
			v.add(join(path, p.Requires), v.requiredBy(join(path, k)))
		}
		if value[k] != nil {
			v.prop(join(path, k), p, value[k])
		}
	}
}

func (v *verification) requiredBy(key string) string {
	if v.is8 {
		return "missing property - '" + key + "' requires this property"
	}
	return "missing property required by '" + key + "'"
}

func (v *verification) aliases(path string, props map[string]*property, value map[string]any) {
	for _, k := range sortedKeys(value) {
		p := lookup(props, k)
		if p == nil || p.Alias == "" {
			continue
		}
		if value[p.Alias] != nil {
			v.add(join(path, k), "cannot set both '"+k+"' and its alias target '"+p.Alias+"'")
			continue
		}
		value[p.Alias] = value[k]
		delete(value, k)
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// prop checks one value: type, format, pattern, length, bounds, enumeration.
func (v *verification) prop(path string, p *property, value any) {
	if p.Alias != "" || !v.hasType(path, p.Type, value) {
		return
	}
	switch t := value.(type) {
	case []any:
		v.items(path, p, t)
	case map[string]any:
		if p.Properties != nil {
			v.object(path, p.Properties, t, p.closed())
		}
	case string:
		v.text(path, p, t)
	}
}

func (v *verification) items(path string, p *property, list []any) {
	if p.Items == nil {
		return
	}
	for i, e := range list {
		v.prop(path+"["+strconv.Itoa(i)+"]", p.Items, e)
	}
}

var (
	integerRE = regexp.MustCompile(`^[+-]?\d+$`)
	numberRE  = regexp.MustCompile(`^[+-]?(\d+\.\d+|\d+\.|\.\d+|\d+)([eE][+-]?\d+)?$`)
)

func (v *verification) hasType(path, typ string, value any) bool {
	text, isText := value.(string)
	switch typ {
	case "", "any":
		return true
	case "array":
		if _, ok := value.([]any); !ok {
			v.add(path, "type check ('array') failed")
			return false
		}
		return true
	case "object":
		if _, ok := value.(map[string]any); !ok {
			v.add(path, "type check ('object') failed")
			return false
		}
		return true
	case "null":
		v.add(path, "type check ('null') failed - value is not null")
		return false
	}
	if _, isBool := value.(bool); isBool && typ == "boolean" {
		return true
	}
	if !isText {
		v.add(path, "type check ('"+typ+"') failed - got "+perlRef(value))
		return false
	}
	ok := true
	switch typ {
	case "boolean":
		ok = text == "0" || text == "1"
	case "integer":
		ok = integerRE.MatchString(text)
	case "number":
		ok = numberRE.MatchString(text)
	}
	if !ok {
		v.add(path, "type check ('"+typ+"') failed - got '"+text+"'")
	}
	return ok
}

// perlRef names a value as Perl's ref does.
func perlRef(value any) string {
	switch value.(type) {
	case []any:
		return "ARRAY"
	case map[string]any:
		return "HASH"
	default:
		return "JSON::PP::Boolean"
	}
}

// text checks a scalar beyond its type. A failed format, pattern or length ends
// the check; bounds and enumeration are both told.
func (v *verification) text(path string, p *property, value string) {
	if err := checkFormat(p.Format, value, path, v.is8); err != nil {
		v.add(path, "invalid format - "+err.Error()+"\n")
		return
	}
	if p.Pattern.re != nil && !p.Pattern.re.MatchString(value) {
		v.add(path, "value does not match the regex pattern")
		return
	}
	length := float64(utf8.RuneCountInString(value))
	if limit, ok := p.MaxLength.number(); ok && length > limit {
		v.add(path, "value may only be "+string(p.MaxLength)+" characters long")
		return
	}
	if limit, ok := p.MinLength.number(); ok && length < limit {
		v.add(path, "value must be at least "+string(p.MinLength)+" characters long")
		return
	}
	if !v.bounded(path, p, value) {
		return
	}
	if p.Enum != nil && !slices.Contains(p.Enum, scalar(value)) {
		all := make([]string, len(p.Enum))
		for i, e := range p.Enum {
			all[i] = string(e)
		}
		v.add(path, "value '"+value+"' does not have a value in the enumeration '"+strings.Join(all, ", ")+"'")
	}
}

// bounded checks a number's bounds, whatever the declared type.
func (v *verification) bounded(path string, p *property, value string) bool {
	if !numberRE.MatchString(value) {
		return true
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return true
	}
	if limit, ok := p.Maximum.number(); ok && n > limit {
		v.add(path, "value must have a maximum value of "+string(p.Maximum))
		return false
	}
	if limit, ok := p.Minimum.number(); ok && n < limit {
		v.add(path, "value must have a minimum value of "+string(p.Minimum))
		return false
	}
	return true
}

func (s scalar) number() (float64, bool) {
	if s == "" {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(s), 64)
	return f, err == nil
}
