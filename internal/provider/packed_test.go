package provider_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
)

// No CLI sees the packed variants of resources.
func TestPackedVariantsAreHidden(t *testing.T) {
	t.Parallel()
	served := provider.Serve(t.Context(), "test")
	metadata, err := served.GetMetadata(t.Context(), &tfprotov6.GetMetadataRequest{})
	if err != nil {
		t.Fatal(err)
	}
	identities, err := served.GetResourceIdentitySchemas(t.Context(), &tfprotov6.GetResourceIdentitySchemasRequest{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, each := range metadata.Resources {
		names[each.TypeName] = true
	}
	for name := range protocol.New(t, provider.New("test")()).Schemas.ResourceSchemas {
		names[name] = true
	}
	for name := range identities.IdentitySchemas {
		names[name] = true
	}
	for name := range names {
		if strings.HasSuffix(name, "_packed") {
			t.Errorf("%s is served", name)
		}
	}
	if !names["proxmox_vm"] {
		t.Error("proxmox_vm is not served")
	}
}

// A value that cannot be read costs nobody the state that there is.
func TestPackedVariantsKeepWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	served := provider.Serve(t.Context(), "test")
	const unfit, null = "\xc3", "\xc0" // True, which is no resource, and nil, in MessagePack.
	value := func(raw string) *tfprotov6.DynamicValue { return &tfprotov6.DynamicValue{MsgPack: []byte(raw)} }
	for doing, test := range map[string]struct{ prior, planned string }{
		"create": {null, unfit}, "update": {unfit, unfit}, "delete": {unfit, null},
	} {
		applied, err := served.ApplyResourceChange(t.Context(), &tfprotov6.ApplyResourceChangeRequest{
			TypeName: "proxmox_vm", Config: value(test.planned), PriorState: value(test.prior), PlannedState: value(test.planned),
		})
		if err != nil {
			t.Fatal(err)
		}
		if said := protocol.Diagnostics(applied.Diagnostics); len(said.Errors()) == 0 || !strings.Contains(said.String(), "cannot be unpacked") {
			t.Errorf("%s says %s", doing, said)
		}
		if got := string(applied.NewState.MsgPack); got != test.prior {
			t.Errorf("%s leaves %q, not %q", doing, got, test.prior)
		}
	}
	read, err := served.ReadResource(t.Context(), &tfprotov6.ReadResourceRequest{TypeName: "proxmox_vm", CurrentState: value(unfit)})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(read.NewState.MsgPack); got != unfit {
		t.Errorf("a refresh leaves %q", got)
	}
}

// What has a packed variant plans by itself: the framework's own ways to do so would
// not be asked.
func TestPackedResourcesHaveNoPlanModifiers(t *testing.T) {
	t.Parallel()
	resources := map[string]resource.Resource{}
	for _, constructor := range provider.New("test")().Resources(t.Context()) {
		var resp resource.MetadataResponse
		each := constructor()
		each.Metadata(t.Context(), resource.MetadataRequest{ProviderTypeName: "proxmox"}, &resp)
		resources[resp.TypeName] = each
	}
	packed := 0
	for variant := range resources {
		name, isVariant := strings.CutSuffix(variant, "_packed")
		if !isVariant {
			continue
		}
		packed++
		var resp resource.SchemaResponse
		resources[name].Schema(t.Context(), resource.SchemaRequest{}, &resp)
		for attribute, value := range resp.Schema.Attributes {
			checkPlain(t, name+"."+attribute, reflect.ValueOf(value))
		}
	}
	if packed == 0 {
		t.Error("no resource has a packed variant: this test looks in the wrong place")
	}
}

// checkPlain looks for defaults and plan modifiers in an attribute and in those
// within.
func checkPlain(t *testing.T, at string, attribute reflect.Value) {
	t.Helper()
	for attribute.Kind() == reflect.Interface || attribute.Kind() == reflect.Pointer {
		attribute = attribute.Elem()
	}
	switch attribute.Kind() {
	case reflect.Map:
		for _, key := range attribute.MapKeys() {
			checkPlain(t, at+"."+key.String(), attribute.MapIndex(key))
		}
		return
	case reflect.Struct:
	default:
		t.Fatalf("%s is a %s", at, attribute.Kind())
	}
	for _, name := range []string{"Default", "PlanModifiers"} {
		if field := attribute.FieldByName(name); field.IsValid() && !field.IsNil() {
			t.Errorf("%s has %s", at, name)
		}
	}
	for _, name := range []string{"Attributes", "NestedObject"} {
		if field := attribute.FieldByName(name); field.IsValid() {
			checkPlain(t, at, field)
		}
	}
}
