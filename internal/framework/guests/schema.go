package guests

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// The powers of a guest.
const (
	PowerRunning = string(proxmox.PowerRunning)
	PowerStopped = string(proxmox.PowerStopped)
	PowerPaused  = string(proxmox.PowerPaused)
)

// StatusGone is the status of a guest that somebody else destroyed and that left
// something which goes with its resource.
const StatusGone = "gone"

// Words of the settings that all guests have.
const (
	rebootNever    = "never"
	rebootAuto     = "auto"
	unknownRefuse  = "refuse"
	unknownDestroy = "destroy"
	removalDetach  = "detach"
	removalDestroy = "destroy"
)

// Words are what the attributes that all guests have say of a kind.
type Words struct {
	// Kind is "VM" or "container".
	Kind string
	// Made says how a guest is made, in participles.
	Made string
	// MadeOn is where one is made that configures no node.
	MadeOn string
	// Moves says how one gets to another node.
	Moves string
}

// Attributes are those of all guests that are no settings of theirs: where a guest
// is, and what is found out about it.
func Attributes(w Words) map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"vmid": schema.Int64Attribute{
			Optional: true, Computed: true, Validators: []validator.Int64{framework.VMID()},
			MarkdownDescription: "The guest's id, inside the provider's `vmid_range`; the next unused one unless set. A change makes another guest.",
		},
		"node": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{framework.NodeName()},
			MarkdownDescription: fmt.Sprintf("The node to make the guest on: %s. A guest that has moved since is the same guest: "+
				"an apply migrates it to this node, %s, unless it is on one of `allowed_nodes`. That needs VM.Migrate.", w.MadeOn, w.Moves),
		},
		"allowed_nodes": schema.SetAttribute{
			Optional: true, ElementType: types.StringType,
			Validators: []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.ValueStringsAre(framework.NodeName())},
			MarkdownDescription: fmt.Sprintf("The nodes that the %s may be on. While it is on one of them, wherever HA or an operator has moved it, there is nothing to do; "+
				"then `node` only says where it is made.", w.Kind),
		},
		"pool": schema.StringAttribute{
			Optional: true, Computed: true, Validators: []validator.String{framework.PoolName()},
			MarkdownDescription: "The pool to make the guest in; the provider's default unless set. It is not changed afterwards.",
		},
		"uid": schema.StringAttribute{
			Computed: true, MarkdownDescription: "The random id in the guest's marker, by which it is recognised.",
		},
		"provisioned": schema.BoolAttribute{
			Computed: true, MarkdownDescription: fmt.Sprintf("Whether the guest was finished: %s. While it is `false`, the next apply finishes it.", w.Made),
		},
		"marked": schema.BoolAttribute{
			Computed: true, MarkdownDescription: "Whether the guest carries its marker. One that has lost it is kept and left alone, see `restore_marker`.",
		},
		"reboot_required": schema.SetAttribute{
			Computed: true, ElementType: types.StringType,
			MarkdownDescription: "PVE's configuration keys whose new value waits for the guest's next start.",
		},
	}
}

// Description is the setting of that name.
func Description(kind string) settings.Setting {
	return settings.Setting{
		Name: "description", Key: "description", Place: settings.Whole{}, Live: settings.AtOnce,
		// PVE cuts what is blank at its end.
		Form: settings.Text{Fold: func(text string) string { return strings.TrimRight(text, " \t\r\n") }},
		Doc: fmt.Sprintf("The %s's notes, in Markdown, without the line that marks the guest as this provider's "+
			"(`terraform-proxmox-uid=…`), which counts towards PVE's 8,192 characters.", kind),
	}
}

// OnRemoval is the setting of that name.
func OnRemoval(doc string) settings.Setting {
	return settings.Setting{
		Name: "on_removal", Source: settings.Local, Absent: types.StringValue(removalDetach), Form: settings.Choice(removalDetach, removalDestroy), Doc: doc,
	}
}

// DestroysOnRemoval reports whether the volume of a device goes with it.
func DestroysOnRemoval(device attr.Value) bool {
	return settings.TextOf(settings.Fields(device)["on_removal"]) == removalDestroy
}

// Reboot is the setting of that name.
func Reboot(kind string) settings.Setting {
	return settings.Setting{
		Name: "reboot", Source: settings.Local, Absent: types.StringValue(rebootNever), Form: settings.Choice(rebootNever, rebootAuto),
		Doc: fmt.Sprintf("Whether an update may restart a running %s so that what cannot change while it runs takes effect: `never` (default), "+
			"then `reboot_required` names what waits; or `auto`, then the plan says so.", kind),
	}
}

// EnforcePower is the setting of that name.
func EnforcePower(kind string) settings.Setting {
	return settings.Setting{
		Name: "enforce_power", Source: settings.Local, Absent: types.BoolValue(false), Form: settings.Boolean{},
		Doc: fmt.Sprintf("Whether an apply brings the %[1]s back to the configured `power` when somebody has changed it. Otherwise `power` acts only when "+
			"it changes here, so that a %[1]s that was fenced is not started again.", kind),
	}
}

// RestoreMarker is the setting of that name; birthmark is what the guest is known
// by without a marker.
func RestoreMarker(kind, birthmark string) settings.Setting {
	return settings.Setting{
		Name: "restore_marker", Source: settings.Local, Absent: types.BoolValue(false), Form: settings.Boolean{},
		Doc: fmt.Sprintf("Whether the next apply writes the marker again when somebody has deleted its line from the notes. The %s is then known by its %s.", kind, birthmark),
	}
}

// StopGroup says how a guest is stopped; whose is what has to shut down.
func StopGroup(kind, whose string) *settings.Group {
	return &settings.Group{
		Name: "stop", Doc: fmt.Sprintf("How the %s is stopped.", kind),
		Settings: []settings.Setting{
			{
				Name: "shutdown_timeout", Source: settings.Local, Absent: types.StringValue("60s"),
				Form: settings.Text{Validators: []validator.String{framework.Duration()}},
				Doc:  fmt.Sprintf("How long %s may take to shut down (`60s` unless set). `0s` stops it at once.", whose),
			},
			{
				Name: "force", Source: settings.Local, Absent: types.BoolValue(true), Form: settings.Boolean{},
				Doc: "Whether it is stopped hard when it has not shut down in time (`true` unless set); otherwise that is an error.",
			},
		},
	}
}

// OnDestroyGroup says what goes with a guest; when says at what occasions, unknown
// what the disks are that nobody here knows of.
func OnDestroyGroup(kind, when, unknown string) *settings.Group {
	return &settings.Group{
		Name: "on_destroy",
		Doc:  fmt.Sprintf("What goes with the %s when it is %s. A destroy reads the state: apply a change of it first.", kind, when),
		Settings: []settings.Setting{
			{
				Name: "unknown_disks", Source: settings.Local, Absent: types.StringValue(unknownRefuse), Form: settings.Choice(unknownRefuse, unknownDestroy),
				Doc: fmt.Sprintf("%s: `refuse` (default) names them and destroys nothing; `destroy` lets them go with the %s.", unknown, kind),
			},
			{
				Name: "unreferenced_disks", Source: settings.Local, Absent: types.BoolValue(false), Form: settings.Boolean{},
				Doc: fmt.Sprintf("Whether volumes go too that carry the %s's id and that its configuration does not name (`false` unless set).", kind),
			},
			{
				Name: "purge", Source: settings.Local, Absent: types.BoolValue(false), Form: settings.Boolean{},
				Doc: fmt.Sprintf("Whether the %[1]s is taken out of HA, replication and backup jobs (`false` unless set). Without it a %[1]s with HA or replication is not destroyed.", kind),
			},
		},
	}
}

// StartupGroup says when a guest starts with its node; change says what a change
// needs.
func StartupGroup(kind, change string) *settings.Group {
	turn := func(name, property, doc string) settings.Setting {
		return settings.Setting{
			Name: name, Key: "startup", Place: settings.Prop{Name: property, Bare: property == "order"}, Form: settings.Integer{}, Live: settings.AtOnce, Doc: doc,
		}
	}
	return &settings.Group{
		Name: "startup", Doc: strings.TrimSpace(fmt.Sprintf("When the %s starts and stops among the node's guests. %s", kind, change)),
		Settings: []settings.Setting{
			turn("order", "order", fmt.Sprintf("The %s's turn; guests stop in the opposite order. Those without one come last.", kind)),
			turn("up_seconds", "up", fmt.Sprintf("How long the next guest waits after the %s's start, in seconds.", kind)),
			turn("down_seconds", "down", fmt.Sprintf("How long the %s may take to shut down with the node, in seconds.", kind)),
		},
	}
}
