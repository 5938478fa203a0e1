package power

import (
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/action"

	"terraform-provider-proxmox/internal/framework/fences"
	"terraform-provider-proxmox/internal/proxmox"
)

// NewVM returns the action for VMs.
func NewVM() action.Action { return &powerAction{kind: vm} }

var vm = &kind{
	name: "_vm_power", guest: "VM", foreign: true, command: (*proxmox.Client).Command,
	docs: map[string]string{
		"": "Starts, stops, shuts down, reboots, pauses or resumes a VM, and waits until that shows. " +
			"A VM that HA manages is started and stopped by its manager, which sets the requested state with it. " +
			"A command that does not fit is refused before any call, as *never* or *not yet*, with the reason.",
		"command": "One of `" + strings.Join(proxmox.PowerVerbs(), "`, `") + "`.",
		"vmid":    "The VM.",
		"uid":     fences.Docs["uid"],
		"foreign": "Whether the VM may be one that the provider does not own, listed in the provider's `fence_scope`: " +
			"it is started, stopped and shut down, and nothing else.",
		"force_stop": "Whether the plug is pulled where it has not shut down in time.",
		"timeout":    fences.Docs["timeout"],
	},
}
