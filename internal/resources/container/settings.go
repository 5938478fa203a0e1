package container

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
)

// table are all settings of a container.
var table = &settings.Group{
	Settings: []settings.Setting{
		{
			Name: "hostname", Key: "hostname", Source: settings.Required, Place: settings.Whole{}, Live: settings.AtOnce,
			Form: settings.Text{Validators: []validator.String{framework.DNSName()}},
			Doc:  "The container's host name, DNS labels. It identifies nothing: two guests may have the same.",
		},
		guests.Description("container"),
		{
			Name: "tags", Key: "tags", Place: settings.Whole{}, Live: settings.AtOnce,
			Form: settings.TextSet{Spelling: settings.TagList}, Doc: "The container's tags, in lower case.",
		},
		{
			Name: "on_boot", Key: "onboot", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Live: settings.AtOnce,
			Doc: "Whether the container starts when its node does. PVE's default is `false`.",
		},
		{
			Name: "protection", Key: "protection", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Live: settings.AtOnce,
			Doc: "Whether PVE refuses to destroy the container and its volumes, a reinstallation included. PVE's default is `false`.",
		},
		{
			Name: "timezone", Key: "timezone", Place: settings.Whole{}, Form: settings.Text{},
			Doc: "The time zone, such as `Europe/Paris`, or `host` for the node's. The template's own unless set.",
		},
		{
			Name: "hook_script", Key: "hookscript", Place: settings.Whole{}, Form: settings.Text{}, Live: settings.AtOnce, Root: settings.Always,
			Doc: "A script of the content `snippets` that the node runs when the container starts and stops. PVE takes it from root@pam alone, signed in with its password.",
		},
		{
			Name: "entrypoint", Key: "entrypoint", Place: settings.Whole{}, Form: settings.Text{}, Since: 9,
			Doc: "The command that is the container's first process, from PVE 9 on. PVE's default is `/sbin/init`.",
		},
		{
			Name: "environment", Key: "env", Place: settings.Whole{}, Form: settings.TextSet{Spelling: nulList}, Since: 9,
			Doc: "Variables of that process, each as `NAME=value`, from PVE 9 on. They are no place for secrets: PVE keeps them in the configuration.",
		},
		{
			Name: "ssh_keys", Source: settings.Local, Absent: types.ListNull(types.StringType), Form: settings.TextList{Spelling: settings.BlankList},
			Doc: "Public SSH keys for root inside the container. They are set when it is made or reinstalled; PVE does not keep them.",
		},
		{
			Name: "password_wo", Source: settings.Secret,
			Form: settings.Text{Validators: []validator.String{stringvalidator.LengthAtLeast(5)}},
			Doc:  "Root's password inside the container, write-only: it is in no state and no plan. It is set when the container is made or reinstalled.",
		},
		guests.Reboot("container"),
		guests.EnforcePower("container"),
		guests.RestoreMarker("container", birthmark),
	},
	Groups: []*settings.Group{
		cpuGroup, memoryGroup, rootGroup, mountGroup, networkGroup, featuresGroup, dnsGroup, consoleGroup, startupGroup, deviceGroup, stopGroup, reinstallGroup, destroyGroup,
	},
}

var cpuGroup = &settings.Group{
	Name: "cpu", Doc: "The processors. What is not set is PVE's default.",
	Settings: []settings.Setting{
		{
			Name: "cores", Key: "cores", Place: settings.Whole{}, Form: settings.Integer{Least: 1, Most: 8192}, Live: settings.AtOnce,
			Doc: "How many cores the container sees. PVE's default is all of the node's.",
		},
		{
			Name: "limit", Key: "cpulimit", Place: settings.Whole{}, Form: settings.Number{}, Absent: types.Float64Value(0), Live: settings.AtOnce,
			Doc: "How much processor time it may use, in cores: 1.5 is one and a half. PVE's default, 0, is no limit.",
		},
		{
			Name: "units", Key: "cpuunits", Place: settings.Whole{}, Form: settings.Integer{Most: 10000}, Live: settings.AtOnce,
			Doc: "Its weight against the node's other guests. PVE's default is 100.",
		},
	},
}

var memoryGroup = &settings.Group{
	Name: "memory", Doc: "The memory. It changes while the container runs.",
	Settings: []settings.Setting{
		{
			Name: "mib", Key: "memory", Place: lasting{"512"}, Form: settings.Integer{Least: 16}, Absent: types.Int64Value(512), Live: settings.AtOnce,
			Doc: "Memory in MiB. PVE's default is 512.",
		},
		{
			Name: "swap_mib", Key: "swap", Place: lasting{"512"}, Form: settings.Integer{}, Absent: types.Int64Value(512), Live: settings.AtOnce,
			Doc: "Swap in MiB, beside the memory. PVE's default is 512.",
		},
	},
}

var featuresGroup = &settings.Group{
	Name: "features", Doc: "What the container may do beyond the usual. PVE takes all but `nesting` from root@pam alone, signed in with its password.",
	Settings: []settings.Setting{
		feature("nesting", nil, "Whether containers may run inside, and systemd has what it wants. It needs the privilege `VM.Allocate`."),
		feature("keyctl", isOn, "Whether the keyctl system call is allowed, as Docker needs it in an unprivileged container."),
		feature("fuse", isOn, "Whether FUSE file systems may be mounted. Backups and suspending may hang then."),
		feature("mknod", isOn, "Whether device nodes may be made, in an unprivileged container."),
		feature("force_rw_sys", isOn, "Whether /sys is writable in an unprivileged container."),
		{
			Name: "mount", Key: "features", Place: settings.Prop{Name: "mount"}, Form: settings.TextSet{Spelling: settings.SemicolonList}, Root: settings.Always,
			Doc: "The file systems that may be mounted inside, such as `nfs` and `cifs`.",
		},
	},
}

func feature(name string, root func(string) bool, doc string) settings.Setting {
	return settings.Setting{
		Name: name, Key: "features", Place: settings.Prop{Name: name}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Root: root,
		Doc: doc + " PVE's default is `false`.",
	}
}

func isOn(value string) bool { return value == "1" }

var dnsGroup = &settings.Group{
	Name: "dns", Doc: "The resolver. PVE takes the node's own where nothing is set.",
	Settings: []settings.Setting{
		{
			Name: "servers", Key: "nameserver", Place: settings.Whole{}, Form: settings.TextList{Spelling: settings.BlankList},
			Doc: "The name servers' addresses.",
		},
		{
			Name: "domain", Key: "searchdomain", Place: settings.Whole{}, Form: settings.Text{}, Doc: "The search domain.",
		},
	},
}

var consoleGroup = &settings.Group{
	Name: "console", Doc: "The console.",
	Settings: []settings.Setting{
		{
			Name: "enabled", Key: "console", Place: settings.Whole{}, Form: settings.Boolean{}, Absent: types.BoolValue(true),
			Doc: "Whether the container has a console device. PVE's default is `true`.",
		},
		{
			Name: "mode", Key: "cmode", Place: settings.Whole{}, Form: settings.Choice("tty", "console", "shell"), Absent: types.StringValue("tty"),
			Doc: "What PVE's console shows: `tty` (default), `console`, or a `shell` without a login.",
		},
		{
			Name: "tty_count", Key: "tty", Place: settings.Whole{}, Form: settings.Integer{Most: 6}, Absent: types.Int64Value(2),
			Doc: "How many terminals the container has, up to 6. PVE's default is 2.",
		},
	},
}

var startupGroup = guests.StartupGroup("container", "")

var stopGroup = guests.StopGroup("container", "the container")

var reinstallGroup = &settings.Group{
	Name: "reinstall", Optional: true,
	Doc: "What a changed `template` means. With it the container is rebuilt under its id: a new root volume is unpacked from the template, the mount points in " +
		"`keep` come back with their data, all other volumes are destroyed and made anew. Without it, a changed template makes another container.",
	Settings: []settings.Setting{
		{
			Name: "keep", Source: settings.Local, Absent: types.SetNull(types.StringType), Form: settings.TextSet{Spelling: settings.BlankList},
			Doc: "The mount points whose volumes are kept, such as `[\"mp0\"]`.",
		},
		{
			Name: "trigger", Source: settings.Local, Absent: types.StringNull(), Form: settings.Text{},
			Doc: "Any text: change it to rebuild the container from the same template.",
		},
	},
}

var destroyGroup = guests.OnDestroyGroup("container", "destroyed, replaced or reinstalled",
	"Volumes that this configuration did not put there, such as `unused0` or a mount point added by hand")
