package framework

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
)

// AddError turns an error of the client into a diagnostic that says what could
// not be done, why, and what to do about it. The action is what was tried, in
// the infinitive: `clone template 9000`. It does nothing without an error.
func AddError(diags *diag.Diagnostics, action string, err error) {
	if err == nil {
		return
	}
	summary, detail := describe(action, err)
	diags.AddError(summary, detail)
}

// AddAttributeError is [AddError] for what one attribute is the reason of.
func AddAttributeError(diags *diag.Diagnostics, at path.Path, action string, err error) {
	if err == nil {
		return
	}
	summary, detail := describe(action, err)
	diags.AddAttributeError(at, summary, detail)
}

// AddWarning is [AddError] for what does not stop the operation.
func AddWarning(diags *diag.Diagnostics, action string, err error) {
	if err == nil {
		return
	}
	summary, detail := describe(action, err)
	diags.AddWarning(summary, detail)
}

// describe renders an error: what failed and the cause in one line, then the
// client's own words and the way out.
func describe(action string, err error) (summary, detail string) {
	e := explain(err)
	summary = "Cannot " + action
	if e.cause != "" {
		summary += ": " + e.cause
	}
	detail = e.said
	if detail == "" {
		detail = err.Error()
	}
	if e.remedy != "" {
		detail += "\n\n" + e.remedy
	}
	return summary, detail
}
