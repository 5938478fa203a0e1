package pvelab

import (
	"regexp"
	"slices"
	"strings"
)

// localDevice are the slots of what may be a device of the node.
var localDevice = regexp.MustCompile(`^(usb|hostpci|serial|parallel|virtiofs)\d+$`)

// localResources are the keys that bind a VM to its node, and the names of the
// resource mappings among them.
func (g *guest) localResources() (bound []string, mapped map[string]string) {
	bound, mapped = []string{}, map[string]string{}
	if g.conf["ivshmem"] != "" {
		bound = append(bound, "ivshmem")
	}
	for _, key := range sortedKeys(g.conf) {
		if !localDevice.MatchString(key) {
			continue
		}
		device, isPCI := parseProps(g.conf[key], "host"), strings.HasPrefix(key, "hostpci")
		name := device["mapping"]
		if strings.HasPrefix(key, "virtiofs") {
			name = parseProps(g.conf[key], "dirid")["dirid"]
		}
		if name != "" {
			mapped[key] = name
		}
		switch {
		case strings.HasPrefix(key, "usb") && strings.EqualFold(device["host"], "spice"):
		case strings.HasPrefix(key, "serial") && g.conf[key] == "socket":
		case isPCI && name != "" && g.run == nil: // The target has it, too.
		default:
			bound = append(bound, key)
		}
	}
	return bound, mapped
}

// checkDevices refuses the migration of a VM that has devices of its node. Those
// of a resource mapping stay behind as long as the VM does not run.
func (m *migration) checkDevices(g *guest) error {
	bound, mapped := g.localResources()
	blocking := slices.DeleteFunc(bound, func(key string) bool { return mapped[key] != "" })
	if len(blocking) > 0 {
		return fail("can't migrate VM which uses local devices: %s", strings.Join(blocking, ", "))
	}
	if g.run == nil || len(mapped) == 0 {
		return nil
	}
	var names []string
	for _, key := range sortedKeys(mapped) {
		names = append(names, key+":"+mapped[key])
	}
	return fail("can't live migrate running VM which uses following mapped devices: %s", strings.Join(names, ", "))
}

// localDisks describes the volumes and images that are on no shared storage,
// whatever names them: the configuration, a pending change or a snapshot.
func (l *Lab) localDisks(g *guest) []map[string]any {
	disks := map[string]map[string]any{}
	note := func(conf guestConfig, attached bool, reference func(disk map[string]any)) {
		for _, key := range sortedKeys(conf) {
			if !isDriveSlot(key) && !unusedRE.MatchString(key) {
				continue
			}
			d := parseDrive(conf[key])
			id, _, ok := volumeParts(d.file())
			if s := l.storages[id]; !ok || (s != nil && s.shared) {
				continue
			}
			if disks[d.file()] == nil {
				disks[d.file()] = l.localDisk(d)
			}
			describeUse(disks[d.file()], key, attached)
			reference(disks[d.file()])
		}
	}
	note(g.conf, true, func(map[string]any) {})
	note(g.pending, false, func(disk map[string]any) { disk["referenced_in_pending"] = 1 })
	for _, name := range sortedKeys(g.snapshots) {
		note(g.snapshots[name], false, func(disk map[string]any) {
			if disk["referenced_in_snapshot"] == nil {
				disk["referenced_in_snapshot"] = map[string]any{}
			}
			snapshots, _ := disk["referenced_in_snapshot"].(map[string]any)
			snapshots[name] = 1
		})
	}
	list := []map[string]any{}
	for _, volid := range sortedKeys(disks) {
		list = append(list, disks[volid])
	}
	return list
}

func (l *Lab) localDisk(d drive) map[string]any {
	disk := map[string]any{
		"volid": d.file(), "cdrom": boolInt(d.isCDROM()), "is_unused": 0, "is_attached": 0, "is_tpmstate": 0, "is_vmstate": 0,
		"shared": boolInt(d["shared"] == "1"), "replicate": boolInt(d["replicate"] != "0"),
	}
	if !l.is8() {
		disk["is_cloudinit"] = boolInt(d.isCloudInit())
	}
	if d["size"] != "" {
		disk["size"] = d.size()
	}
	return disk
}

// describeUse adds what a slot says of a volume.
func describeUse(disk map[string]any, key string, attached bool) {
	switch {
	case unusedRE.MatchString(key):
		disk["is_unused"] = 1
		return
	case attached:
		disk["is_attached"] = 1
	}
	disk["drivename"] = key
	if key == "tpmstate0" {
		disk["is_tpmstate"] = 1
	}
}

// localImages are the images of a VM that are on no shared storage: PVE copies
// none of them.
func (l *Lab) localImages(g *guest) []string {
	var images []string
	for _, disk := range l.localDisks(g) {
		volid, _ := disk["volid"].(string)
		if disk["cdrom"] == 1 && !cloudDrive.MatchString(volid) {
			images = append(images, volid)
		}
	}
	return images
}
