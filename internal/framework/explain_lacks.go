package framework

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/proxmox"
)

// AddLacks adds one error that names all privileges that are known to be
// missing for an action, given in the infinitive, and reports whether there are
// any. What may be held is left to the call that needs it.
func AddLacks(diags *diag.Diagnostics, action string, held proxmox.Permissions, lacks []proxmox.Lack) bool {
	var lines []string
	for _, lack := range lacks {
		if lack.Proof == proxmox.Missing {
			lines = append(lines, lackLine(lack))
		}
	}
	if len(lines) == 0 {
		return false
	}
	if held.Empty() {
		diags.AddError("Cannot "+action+": the API token holds no privileges at all",
			"It is accepted, but nothing is granted to it.\n\n"+Separation+"\n\n"+
				"Grant roles to the token itself (`pveum acl modify <path> --tokens '<user>@<realm>!<name>' --roles <role>`) as well as to its user, "+
				"or make a token without privilege separation (`pveum user token modify <user>@<realm> <name> --privsep 0`), which holds what its user holds.\n\n"+
				"What is needed:\n"+strings.Join(lines, "\n"))
		return true
	}
	diags.AddError(fmt.Sprintf("Cannot %s: the API token lacks %s", action, plural(len(lines), "a privilege", "privileges")),
		"These are missing:\n"+strings.Join(lines, "\n")+"\n\n"+
			"A place in braces stands for any object of that kind; what is granted on a pool holds for its guests.\n\n"+Separation)
	return true
}

func lackLine(lack proxmox.Lack) string {
	line := fmt.Sprintf("  %s on %s, to %s", lack.Privilege, lack.Path, lack.Need.Why)
	if lack.Capability != "" {
		line += " (" + lack.Capability + ")"
	}
	return line
}
