package power

import (
	"github.com/hashicorp/terraform-plugin-framework/action"

	"terraform-provider-proxmox/internal/proxmox"
)

// NewContainer returns the action for containers. Fencing reaches none of others.
func NewContainer() action.Action { return &powerAction{kind: container} }

var container = &kind{
	name: "_container_power", guest: "container", command: (*proxmox.Client).CommandContainer,
	docs: map[string]string{
		"": "Starts, stops, shuts down or reboots a container that the provider owns, and waits until that shows. " +
			"`pause` and `resume` are refused as *not yet*, since the call that Proxmox VE has for it is experimental and fails. " +
			"A command that does not fit is refused before any call that changes something, with the reason.",
		"command": "`start`, `stop`, `shutdown` or `reboot`.",
		"vmid":    "The container, inside the provider's `vmid_range`.",
		"uid": "The `uid` of the `proxmox_container`: another guest under its id is refused. " +
			"Left out, any marker that the container carries will do.",
		"force_stop": "Whether it is stopped hard where it has not shut down in time.",
		"timeout":    "How long it may take in all until that shows (`10m` unless given).",
	},
}
