package protocol

import (
	"math/big"
	"reflect"
	"testing"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Object is a block or an object: its attributes by name. In what is sent,
// attributes that are left out are null.
type Object map[string]any

// Unknown is a value that is known after apply.
const Unknown = unknown("known after apply")

type unknown string

// At goes down into objects within the object, and fails the test where there
// is none.
func (o Object) At(t testing.TB, names ...string) Object {
	t.Helper()

	for _, name := range names {
		inner, ok := o[name].(Object)
		if !ok {
			t.Fatalf("%s of %v is no object: it is %v", name, names, o[name])
		}
		o = inner
	}
	return o
}

// Want fails the test for each of the attributes that has another value. A nil
// is null.
func (o Object) Want(t testing.TB, attributes Object) {
	t.Helper()

	for name, want := range attributes {
		if !reflect.DeepEqual(o[name], want) {
			t.Errorf("%s is %v, want %v", name, o[name], want)
		}
	}
}

func encode(t testing.TB, as tftypes.Type, given any) *tfprotov6.DynamicValue {
	t.Helper()

	dynamic, err := tfprotov6.NewDynamicValue(as, value(t, as, given))
	must(t, err)
	return &dynamic
}

// value builds a value of a type.
func value(t testing.TB, as tftypes.Type, given any) tftypes.Value {
	t.Helper()

	if as.Is(tftypes.DynamicPseudoType) && given != nil && given != Unknown {
		as = typeOf(t, given)
	}
	switch v := given.(type) {
	case nil:
		return tftypes.NewValue(as, nil)
	case unknown:
		return tftypes.NewValue(as, tftypes.UnknownValue)
	case Object:
		if v == nil {
			return tftypes.NewValue(as, nil)
		}
		return objectValue(t, as, v)
	case []any:
		return listValue(t, as, v)
	default:
		must(t, tftypes.ValidateValue(as, v))
		return tftypes.NewValue(as, v)
	}
}

func objectValue(t testing.TB, as tftypes.Type, given Object) tftypes.Value {
	t.Helper()

	values := map[string]tftypes.Value{}
	switch as := as.(type) {
	case tftypes.Object:
		for name, attribute := range as.AttributeTypes {
			values[name] = value(t, attribute, given[name])
		}
	case tftypes.Map:
		for key, element := range given {
			values[key] = value(t, as.ElementType, element)
		}
	default:
		t.Fatalf("%s takes no object", as)
	}
	return tftypes.NewValue(as, values)
}

// typeOf is the type that the CLI gives to a value that may be of any.
func typeOf(t testing.TB, given any) tftypes.Type {
	t.Helper()

	switch v := given.(type) {
	case string:
		return tftypes.String
	case bool:
		return tftypes.Bool
	case int, float64:
		return tftypes.Number
	case Object:
		attributes := map[string]tftypes.Type{}
		for name, attribute := range v {
			attributes[name] = typeOf(t, attribute)
		}
		return tftypes.Object{AttributeTypes: attributes}
	case []any:
		elements := []tftypes.Type{}
		for _, element := range v {
			elements = append(elements, typeOf(t, element))
		}
		return tftypes.Tuple{ElementTypes: elements}
	}
	return tftypes.DynamicPseudoType
}

func listValue(t testing.TB, as tftypes.Type, given []any) tftypes.Value {
	t.Helper()

	element := func(int) tftypes.Type { return nil }
	switch as := as.(type) {
	case tftypes.List:
		element = func(int) tftypes.Type { return as.ElementType }
	case tftypes.Set:
		element = func(int) tftypes.Type { return as.ElementType }
	case tftypes.Tuple:
		element = func(i int) tftypes.Type { return as.ElementTypes[i] }
	default:
		t.Fatalf("%s takes no list", as)
	}
	values := []tftypes.Value{}
	for i, v := range given {
		values = append(values, value(t, element(i), v))
	}
	return tftypes.NewValue(as, values)
}

// decode turns a value into plain Go: nil, string, bool, float64, []any,
// [Object], and [Unknown] for what is unknown, of whatever type.
func decode(t testing.TB, v tftypes.Value) any {
	t.Helper()

	if !v.IsKnown() {
		return Unknown
	}
	if v.IsNull() {
		return nil
	}
	switch as := v.Type(); {
	case as.Is(tftypes.String):
		return plain[string](t, v)
	case as.Is(tftypes.Bool):
		return plain[bool](t, v)
	case as.Is(tftypes.Number):
		number := plain[big.Float](t, v)
		float, _ := number.Float64()
		return float
	case as.Is(tftypes.List{}), as.Is(tftypes.Set{}), as.Is(tftypes.Tuple{}):
		list := []any{}
		for _, element := range plain[[]tftypes.Value](t, v) {
			list = append(list, decode(t, element))
		}
		return list
	default:
		object := Object{}
		for name, attribute := range plain[map[string]tftypes.Value](t, v) {
			object[name] = decode(t, attribute)
		}
		return object
	}
}

func plain[T any](t testing.TB, v tftypes.Value) T {
	t.Helper()

	var into T
	must(t, v.As(&into))
	return into
}
