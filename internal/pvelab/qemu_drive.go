package pvelab

import (
	"regexp"
	"strings"
)

var (
	driveRE    = regexp.MustCompile(`^(?:ide[0-3]|scsi(?:[12]?\d|30)|virtio(?:\d|1[0-5])|sata[0-5]|efidisk0|tpmstate0)$`)
	netRE      = regexp.MustCompile(`^net\d+$`)
	unusedRE   = regexp.MustCompile(`^unused\d+$`)
	newDiskRE  = regexp.MustCompile(`^(?:([^/:\s]+):)?(\d+(?:\.\d+)?)$`)
	cloudDrive = regexp.MustCompile(`[:/](?:vm-\d+-)?cloudinit(?:\.(?:raw|qcow2?|qed|vmdk|cloop))?$`)
)

// isDriveSlot reports whether an option is a slot for a drive; unusedN is not.
func isDriveSlot(key string) bool { return driveRE.MatchString(key) }

func isNet(key string) bool { return netRE.MatchString(key) }

// bootSlots are the slots in the order in which PVE looks for a boot disk.
var bootSlots = func() []string {
	var slots []string
	for _, bus := range []struct {
		name  string
		count int
	}{{"ide", 4}, {"scsi", 31}, {"virtio", 16}, {"sata", 6}} {
		for n := range bus.count {
			slots = append(slots, indexed(bus.name, n))
		}
	}
	return slots
}()

var driveBooleans = map[string]bool{
	"backup": true, "detect_zeroes": true, "iothread": true, "pre-enrolled-keys": true,
	"replicate": true, "ro": true, "shared": true, "snapshot": true, "ssd": true,
}

// drive is a parsed disk option; its default key is file.
type drive props

func parseDrive(value string) drive {
	p := parseProps(value, "file")
	if volume, ok := p["volume"]; ok {
		p["file"] = volume
		delete(p, "volume")
	}
	for key, v := range p {
		if long, ok := strings.CutSuffix(key, "_length"); ok && !strings.HasSuffix(long, "_max") {
			p[long+"_max_length"] = v
			delete(p, key)
		}
	}
	p.normalise(driveBooleans)
	if bytes, _, ok := parseSize(p["size"]); ok {
		p["size"] = formatSize(bytes)
	}
	return drive(p)
}

func (d drive) print() string { return props(d).print("file") }

func (d drive) file() string { return d["file"] }

func (d drive) setSize(bytes int64) { d["size"] = formatSize(bytes) }

func (d drive) size() int64 {
	bytes, _, _ := parseSize(d["size"])
	return bytes
}

func (d drive) isCloudInit() bool { return cloudDrive.MatchString(d.file()) }

// isCDROM is true for a cloud-init drive, too.
func (d drive) isCDROM() bool { return d["media"] == "cdrom" }

// isPlainCDROM leaves out cloud-init drives.
func (d drive) isPlainCDROM() bool { return d.isCDROM() && !d.isCloudInit() }

// newDisk returns storage and size in GiB of "storage:size", which asks for a
// new volume.
func (d drive) newDisk() (storage, gibs string, ok bool) {
	m := newDiskRE.FindStringSubmatch(d.file())
	if m == nil {
		return "", "", false
	}
	return m[1], m[2], true
}

// needed are the options that another one cannot do without.
var needed = [][2]string{
	{"mbps_max", "mbps"},
	{"mbps_rd_max", "mbps_rd"},
	{"mbps_wr_max", "mbps_wr"},
	{"bps_max_length", "mbps_max"},
	{"bps_rd_max_length", "mbps_rd_max"},
	{"bps_wr_max_length", "mbps_wr_max"},
	{"iops_max_length", "iops_max"},
	{"iops_rd_max_length", "iops_rd_max"},
	{"iops_wr_max_length", "iops_wr_max"},
}

// consistent is false for combinations that PVE's parser rejects as "unable to
// parse drive options".
func (d drive) consistent(slot string) bool {
	for _, pair := range needed {
		if d[pair[0]] != "" && d[pair[1]] == "" {
			return false
		}
	}
	for _, unit := range []string{"mbps", "iops"} {
		if d[unit] != "" && (d[unit+"_rd"] != "" || d[unit+"_wr"] != "") {
			return false
		}
	}
	if !d.isCDROM() {
		return true
	}
	return d["snapshot"] == "" && d["format"] == "" && !strings.HasPrefix(slot, "virtio")
}

// volumeParts splits a volume id.
func volumeParts(volid string) (storage, name string, ok bool) {
	if strings.HasPrefix(volid, "/") {
		return "", "", false
	}
	return strings.Cut(volid, ":")
}
