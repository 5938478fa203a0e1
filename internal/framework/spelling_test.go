package framework_test

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	"terraform-provider-proxmox/internal/framework"
)

func TestSpelling(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		value basetypes.StringValuableWithSemanticEquals
		other basetypes.StringValuable
		same  bool
	}{
		"MAC in another case":      {mac("bc:24:11:00:00:0a"), mac("BC:24:11:00:00:0A"), true},
		"another MAC":              {mac("bc:24:11:00:00:0a"), mac("BC:24:11:00:00:0B"), false},
		"description with newline": {description("text"), description("text\n"), true},
		"description with blanks":  {description("text \t\r\n"), description("text"), true},
		"description that begins with blanks": {
			description("  text"), description("text"), false,
		},
		"description in another case": {description("text"), description("Text"), false},
	} {
		same, diags := test.value.StringSemanticEquals(t.Context(), test.other)
		if diags.HasError() || same != test.same {
			t.Errorf("%s: same is %t, want %t (%v)", name, same, test.same, diags)
		}
	}
}

func TestSpellingConverts(t *testing.T) {
	t.Parallel()

	value, err := framework.MACAddressType{}.ValueFromTerraform(t.Context(), tftypes.NewValue(tftypes.String, "BC:24:11:00:00:01"))
	if err != nil || !value.Equal(mac("BC:24:11:00:00:01")) {
		t.Errorf("got %v (%v)", value, err)
	}
	if value.Equal(types.StringValue("BC:24:11:00:00:01")) || value.Equal(description("BC:24:11:00:00:01")) {
		t.Error("values of other types are equal to a MAC address")
	}
	if !value.Type(t.Context()).Equal(framework.MACAddressType{}) || value.Type(t.Context()).Equal(framework.DescriptionType{}) {
		t.Error("the value's type is not that of MAC addresses alone")
	}
	if _, err := (framework.MACAddressType{}).ValueFromTerraform(t.Context(), tftypes.NewValue(tftypes.Bool, true)); err == nil {
		t.Error("a bool converts to a MAC address")
	}
}

func mac(address string) framework.MACAddress {
	return framework.MACAddress{StringValue: types.StringValue(address)}
}

func description(text string) framework.Description {
	return framework.Description{StringValue: types.StringValue(text)}
}
