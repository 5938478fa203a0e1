package proxmox

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// The codec of property strings is driven by struct tags:
//
//	Bridge *string `pve:"bridge"`          the key; a pointer is optional
//	Volume string  `pve:"file,default"`    the default key, written without it, first
//	Model  string  `pve:"model,default,names=macaddr"`
//	                                       the value is itself the key of another: virtio=<mac>
//
// Fields may be text, numbers, truths (written 0 and 1) and what marshals to
// text, or pointers to them. What a struct does not model, and what did not
// change, stays as it was written, in its place.

// nicModels are the values of "model" that serve as keys: "virtio=<mac>" is
// "model=virtio,macaddr=<mac>".
var nicModels = []string{
	"virtio", "e1000", "e1000-82540em", "e1000-82544gc", "e1000-82545em", "e1000e", "i82551", "i82557b",
	"i82559er", "ne2k_isa", "ne2k_pci", "pcnet", "rtl8139", "vmxnet3",
}

// field is a field of a struct that stands for a key.
type field struct {
	value reflect.Value
	key   string
	// isDefault marks the default key; names is the key whose value is written
	// behind this one's.
	isDefault bool
	names     string
}

func fieldsOf(v reflect.Value) (fields []field, props *Props) {
	for i := range v.NumField() {
		if p, ok := addressOf(v.Field(i)).(*Props); ok {
			props = p
			continue
		}
		tag, ok := v.Type().Field(i).Tag.Lookup("pve")
		if !ok {
			continue
		}
		parts := strings.Split(tag, ",")
		f := field{value: v.Field(i), key: parts[0]}
		for _, option := range parts[1:] {
			f.isDefault = f.isDefault || option == "default"
			if names, ok := strings.CutPrefix(option, "names="); ok {
				f.names = names
			}
		}
		fields = append(fields, f)
	}
	return fields, props
}

func addressOf(v reflect.Value) any {
	if !v.CanAddr() {
		return nil
	}
	return v.Addr().Interface()
}

// UnmarshalProps reads a property string into the struct that v points to.
func UnmarshalProps(s string, v any) error {
	props, err := ParseProps(s)
	if err != nil {
		return err
	}
	fields, keep := fieldsOf(reflect.ValueOf(v).Elem())
	for _, f := range fields {
		value, ok := lookup(&props, fields, f)
		if !ok {
			f.value.SetZero()
			continue
		}
		if err := decode(f.value, value); err != nil {
			return fmt.Errorf("%s in %q: %w", f.key, s, err)
		}
	}
	if keep != nil {
		*keep = props
	}
	return nil
}

// lookup finds a field's value as written: under its key, without it, or in a
// pair such as "virtio=<mac>".
func lookup(props *Props, fields []field, f field) (string, bool) {
	if value, ok := props.Get(f.key); ok {
		return value, true
	}
	if f.isDefault {
		if value, ok := props.Get(""); ok {
			return value, true
		}
	}
	if f.names != "" {
		model, _, ok := pairIn(props)
		return model, ok
	}
	named := func(other field) bool { return other.names == f.key }
	if slices.ContainsFunc(fields, named) {
		_, value, ok := pairIn(props)
		return value, ok
	}
	return "", false
}

func pairIn(props *Props) (model, value string, ok bool) {
	for _, prop := range props.list {
		if slices.Contains(nicModels, prop.Key) {
			return prop.Key, prop.Value, true
		}
	}
	return "", "", false
}

// MarshalProps writes a struct, or what a pointer to one points to, as a
// property string.
func MarshalProps(v any) (string, error) {
	source := reflect.ValueOf(v)
	if source.Kind() == reflect.Pointer {
		source = source.Elem()
	}
	// A copy can be addressed and its properties changed.
	target := reflect.New(source.Type()).Elem()
	target.Set(source)
	fields, keep := fieldsOf(target)
	var props Props
	if keep != nil {
		props.list = slices.Clone(keep.list)
	}
	for _, f := range fields {
		if slices.ContainsFunc(fields, func(other field) bool { return other.names == f.key }) {
			continue // Written by the field that names it.
		}
		var err error
		if f.names == "" {
			err = write(&props, fields, f)
		} else {
			err = writePair(&props, fields, f)
		}
		if err != nil {
			return "", err
		}
	}
	return props.raw(), nil
}

func write(props *Props, fields []field, f field) error {
	value, present, err := encode(f.value)
	if err != nil {
		return fmt.Errorf("%s: %w", f.key, err)
	}
	written, ok := lookup(props, fields, f)
	switch {
	case ok && same(f.value, written):
	case !present:
		props.Delete(f.key)
		if f.isDefault {
			props.Delete("")
		}
	case f.isDefault:
		props.insert(Prop{Value: value}, 0, "", f.key)
	default:
		props.Set(f.key, value)
	}
	return nil
}

// writePair writes "virtio=<mac>", or the model alone while there is no MAC
// address, for which PVE then makes one.
func writePair(props *Props, fields []field, f field) error {
	index := slices.IndexFunc(fields, func(other field) bool { return other.key == f.names })
	named := fields[index]
	model, _, err := encode(f.value)
	if err != nil {
		return fmt.Errorf("%s: %w", f.key, err)
	}
	value, hasValue, err := encode(named.value)
	if err != nil {
		return fmt.Errorf("%s: %w", named.key, err)
	}
	oldModel, _ := lookup(props, fields, f)
	oldValue, hadValue := lookup(props, fields, named)
	if model == oldModel && value == oldValue && hasValue == hadValue {
		return nil
	}
	keys := append([]string{"", f.key, named.key}, nicModels...)
	if hasValue {
		props.insert(Prop{Key: model, Value: value}, 0, keys...)
	} else {
		props.insert(Prop{Value: model}, 0, keys...)
	}
	return nil
}

// same reports whether a text means what the field holds already, so that PVE's
// or the user's spelling of it is kept ("on" for 1, 1024M for 1G).
func same(v reflect.Value, written string) bool {
	other := reflect.New(v.Type()).Elem()
	return decode(other, written) == nil && reflect.DeepEqual(v.Interface(), other.Interface())
}

func decode(v reflect.Value, text string) error {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		return decode(v.Elem(), text)
	}
	if u, ok := addressOf(v).(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		truth, ok := parseBool(text)
		if !ok {
			return fmt.Errorf("%q is no truth value", text)
		}
		v.SetBool(truth)
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
		v.SetInt(n)
	case reflect.Float64:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return fmt.Errorf("%q is no number", text)
		}
		v.SetFloat(n)
	default:
		return fmt.Errorf("a field of type %s cannot hold a property", v.Type())
	}
	return nil
}

// encode writes a field's value; present is false for a nil pointer, an empty
// text and, of fields that are not optional, the number 0.
func encode(v reflect.Value) (text string, present bool, err error) {
	if v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "", false, nil
		}
		text, _, err = encode(v.Elem())
		return text, text != "", err
	}
	switch value := v.Interface().(type) {
	case encoding.TextMarshaler:
		b, err := value.MarshalText()
		text = string(b)
		if err != nil {
			return "", false, err
		}
		present = text != ""
	default:
		text, present, err = encodeKind(v)
	}
	if strings.Contains(text, ",") {
		return "", false, fmt.Errorf("the value %q contains a comma", text)
	}
	return text, present, err
}

func encodeKind(v reflect.Value) (text string, present bool, err error) {
	switch v.Kind() {
	case reflect.String:
		return v.String(), v.String() != "", nil
	case reflect.Bool:
		return formatBool(v.Bool()), true, nil
	case reflect.Int, reflect.Int64:
		return strconv.FormatInt(v.Int(), 10), v.Int() != 0, nil
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'f', -1, 64), v.Float() != 0, nil
	default:
		return "", false, fmt.Errorf("a field of type %s cannot hold a property", v.Type())
	}
}
