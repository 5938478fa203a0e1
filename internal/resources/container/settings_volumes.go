package container

import (
	"regexp"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/float64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
)

const rootSlot = "rootfs"

var (
	mountSlot   = regexp.MustCompile(`^mp(\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5])$`)
	networkSlot = regexp.MustCompile(`^net\d+$`)
	deviceSlot  = regexp.MustCompile(`^dev\d+$`)
	volumeSlot  = regexp.MustCompile(`^(rootfs|mp\d+|unused\d+)$`)
)

// isDevice reports whether a key shows in "devices".
func isDevice(key string) bool {
	return volumeSlot.MatchString(key) || networkSlot.MatchString(key) || deviceSlot.MatchString(key)
}

var rootGroup = &settings.Group{
	Name: "root_volume", Device: rootSlot,
	Doc: "The root volume. It is unpacked from the template, always in the backup, and grows.",
	Settings: append([]settings.Setting{
		{
			Name: "volume", Source: settings.Reported, Place: settings.Prop{Name: "volume", Bare: true}, Form: settings.Text{},
			Doc: "PVE's id of the volume.",
		},
		{
			Name: "in_backup", Source: settings.Reported, Place: always{}, Form: settings.Boolean{},
			Doc: "Whether backups include the volume: of the root volume, always.",
		},
	}, volumeSettings...),
}

var mountGroup = &settings.Group{
	Name: "mount_points", Slots: slotsOf(mountSlot, "mp0"), Arrange: arrangeMount,
	Doc: "The mount points, by slot (`mp0` …): new volumes with `storage` and `size_gib`, existing ones by `volume`, or folders and devices of the node. " +
		"In contrast to a VM's disks, a mount point is in no backup unless `backup` says so.",
	Settings: append([]settings.Setting{
		{
			Name: "path", Source: settings.Required, Place: settings.Prop{Name: "mp"},
			Form: settings.Text{Validators: []validator.String{stringvalidator.RegexMatches(regexp.MustCompile(`^/\S`), "is an absolute path")}},
			Doc:  "Where it is mounted inside the container.",
		},
		{
			Name: "volume", Source: settings.Structural, Place: settings.Prop{Name: "volume", Bare: true},
			Form: settings.Text{}, Root: isHostPath,
			Doc: "PVE's id of an existing volume, or an absolute path of the node: a folder (bind mount) or a device, which PVE takes from root@pam alone, " +
				"signed in with its password. Leave it out to make a new volume.",
		},
		{
			Name: "backup", Place: settings.Prop{Name: "backup"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether backups include the volume. PVE's default is `false`, the opposite of a VM's disks.",
		},
		{
			Name: "in_backup", Source: settings.Reported, Place: inBackup{}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether backups really include it: never of folders and devices of the node.",
		},
		{
			Name: "read_only", Place: settings.Prop{Name: "ro"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether it is mounted read-only. PVE's default is `false`.",
		},
		{
			Name: "keep_attributes", Place: settings.Prop{Name: "keepattrs"}, Form: settings.Boolean{}, Absent: types.BoolValue(false), Since: 9,
			Doc: "Whether a new volume takes owner, group and access mode of the folder that it is mounted on, where there is one, from PVE 9 on. PVE's default is `false`.",
		},
		guests.OnRemoval("What becomes of the volume when the mount point is no longer configured: `detach` (default) keeps it as an unused volume of the container, " +
			"`destroy` removes it with its data."),
	}, volumeSettings...),
}

// volumeSettings are those of the root volume and of mount points alike.
var volumeSettings = []settings.Setting{
	{
		Name: "storage", Source: settings.Structural, Place: volumeStorage{},
		Form: settings.Text{Validators: []validator.String{framework.StorageName()}},
		Doc:  "The storage that holds the volume, with the content `rootdir`. It is chosen when the volume is made (the provider's default unless set).",
	},
	{
		Name: "size_gib", Source: settings.Structural, Place: settings.Prop{Name: "size"},
		Form: settings.Gib{Validators: []validator.Float64{float64validator.AtLeast(1.0 / 1024), settings.WholeMiB{}}},
		Doc:  "The size in GiB, whole MiB. A volume only grows: a smaller size is refused in the plan.",
	},
	{
		Name: "acl", Place: settings.Prop{Name: "acl"}, Form: settings.Boolean{},
		Doc: "Whether access control lists are on; the file system's own default unless set.",
	},
	{
		Name: "quota", Place: settings.Prop{Name: "quota"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
		Doc: "Whether user quotas are on; privileged containers only. PVE's default is `false`.",
	},
	{
		Name: "replicate", Place: settings.Prop{Name: "replicate"}, Form: settings.Boolean{}, Absent: types.BoolValue(true),
		Doc: "Whether replication jobs include the volume. PVE's default is `true`.",
	},
	{
		Name: "shared", Place: settings.Prop{Name: "shared"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
		Doc: "Whether the volume is to be found on all nodes although its storage is not shared. PVE's default is `false`.",
	},
	{
		Name: "mount_options", Place: settings.Prop{Name: "mountoptions"}, Form: settings.TextSet{Spelling: settings.SemicolonList},
		Doc: "Options of the mount: `discard`, `lazytime`, `noatime`, `nodev`, `noexec`, `nosuid`.",
	},
	{
		Name: "id_map", Place: settings.Prop{Name: "idmap"}, Form: settings.Text{}, Since: 9,
		Doc: "How ids inside map to ids of the volume: `passthrough`, or entries such as `u:0:100000:65536`, from PVE 9 on.",
	},
}

var deviceGroup = &settings.Group{
	Name: "passthrough", Slots: slotsOf(deviceSlot, "dev0"),
	Doc: "Devices of the node, by slot (`dev0` …). PVE takes them from root@pam alone, signed in with its password.",
	Settings: []settings.Setting{
		{
			Name: "path", Source: settings.Required, Place: settings.Prop{Name: "path", Bare: true}, Form: settings.Text{}, Root: settings.Always,
			Doc: "The device on the node, such as `/dev/dri/renderD128`.",
		},
		{
			Name: "mode", Place: settings.Prop{Name: "mode"}, Form: settings.Text{}, Doc: "Its access mode inside, such as `0660`.",
		},
		{
			Name: "uid", Place: settings.Prop{Name: "uid"}, Form: settings.Integer{}, Doc: "Its owner inside.",
		},
		{
			Name: "gid", Place: settings.Prop{Name: "gid"}, Form: settings.Integer{}, Doc: "Its group inside.",
		},
		{
			Name: "deny_write", Place: settings.Prop{Name: "deny-write"}, Form: settings.Boolean{}, Absent: types.BoolValue(false),
			Doc: "Whether the container may only read it. PVE's default is `false`.",
		},
	},
}

// slotsOf are the slots of a map whose names are PVE's keys.
func slotsOf(slot *regexp.Regexp, example string) *settings.Slots {
	return &settings.Slots{
		Accepts: stringvalidator.RegexMatches(slot, "is a slot such as "+example),
		Key:     func(name string) string { return name },
		Real:    func(key, _ string) (string, bool) { return key, slot.MatchString(key) },
	}
}

func isHostPath(volume string) bool { return strings.HasPrefix(volume, "/") }

// arrangeMount tells in the plan what backups will include.
func arrangeMount(_, planned map[string]attr.Value) {
	volume, backup := planned["volume"], planned["backup"]
	switch {
	case backup == nil || backup.IsUnknown():
		planned["in_backup"] = types.BoolUnknown()
	default:
		planned["in_backup"] = types.BoolValue(settings.IsTrue(backup) && !isHostPath(settings.TextOf(volume)))
	}
}
