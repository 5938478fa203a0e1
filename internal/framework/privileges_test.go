package framework

import (
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// A name that is not in the table must not pass for one that needs nothing.
func TestUseOfNoCapability(t *testing.T) {
	t.Parallel()
	var diags diag.Diagnostics
	if (Use{Capability: "vm.fly", Action: "fly"}).Check(t.Context(), nil, &diags) {
		t.Error("it is allowed")
	}
	if !diags.HasError() || !strings.Contains(diags[0].Detail(), `"vm.fly" is no capability`) {
		t.Errorf("it says %v", diags)
	}
}
