package framework

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// Description is a guest's description. PVE cuts trailing blanks and newlines
// of a VM's, gives a container's one newline, and keeps everything else.
type Description = String[descriptionSpelling]

// DescriptionType is the custom type of attributes that hold a [Description].
type DescriptionType = StringType[descriptionSpelling]

// MACAddress is a network interface's address. PVE keeps the case that it was
// given and generates upper case.
type MACAddress = String[macSpelling]

// MACAddressType is the custom type of attributes that hold a [MACAddress].
type MACAddressType = StringType[macSpelling]

// spelling tells when two strings mean one thing: when their normal forms are
// the same.
type spelling interface {
	name() string
	normal(text string) string
}

type descriptionSpelling struct{}

func (descriptionSpelling) name() string { return "description" }

func (descriptionSpelling) normal(text string) string {
	return strings.TrimRight(text, " \t\r\n")
}

type macSpelling struct{}

func (macSpelling) name() string { return "MAC address" }

func (macSpelling) normal(text string) string {
	return strings.ToUpper(text)
}

// StringType is a string type some of whose values mean the same though they
// are spelt differently. A value read back in another spelling is no change.
type StringType[S spelling] struct {
	basetypes.StringType
}

// String is a value of a [StringType].
type String[S spelling] struct {
	basetypes.StringValue
}

var (
	_ basetypes.StringTypable                    = DescriptionType{}
	_ basetypes.StringValuableWithSemanticEquals = Description{}
)

// Equal reports whether the other type is this one.
func (t StringType[S]) Equal(other attr.Type) bool {
	_, same := other.(StringType[S])
	return same
}

// String names the type in errors.
func (t StringType[S]) String() string {
	var s S
	return s.name()
}

// ValueFromString wraps a plain string.
func (t StringType[S]) ValueFromString(_ context.Context, in basetypes.StringValue) (basetypes.StringValuable, diag.Diagnostics) {
	return String[S]{in}, nil
}

// ValueFromTerraform converts a value of Terraform's. It fails on what is no
// string.
func (t StringType[S]) ValueFromTerraform(ctx context.Context, in tftypes.Value) (attr.Value, error) {
	value, err := t.StringType.ValueFromTerraform(ctx, in)
	if err != nil {
		return nil, err
	}
	plain, isString := value.(basetypes.StringValue)
	if !isString {
		return nil, fmt.Errorf("a %s is a string, not %T", t, value)
	}
	return String[S]{plain}, nil
}

// ValueType returns an empty value of the type.
func (t StringType[S]) ValueType(context.Context) attr.Value {
	return String[S]{}
}

// Equal reports whether the other value is of this type and spelt the same.
func (v String[S]) Equal(other attr.Value) bool {
	text, same := other.(String[S])
	return same && v.StringValue.Equal(text.StringValue)
}

// Type returns the value's type.
func (v String[S]) Type(context.Context) attr.Type {
	return StringType[S]{}
}

// StringSemanticEquals reports whether both spellings mean the same.
func (v String[S]) StringSemanticEquals(ctx context.Context, other basetypes.StringValuable) (bool, diag.Diagnostics) {
	plain, diags := other.ToStringValue(ctx)
	if diags.HasError() {
		return false, diags
	}
	var s S
	return s.normal(v.ValueString()) == s.normal(plain.ValueString()), diags
}
