package pvelab

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	mountRE  = regexp.MustCompile(`^mp(\d+)$`)
	newRE    = regexp.MustCompile(`^([^:\s]+):(\d+(?:\.\d+)?)$`)
	deviceRE = regexp.MustCompile(`^dev\d+$`)
)

// isMount reports whether an option of a container is a place for a volume.
func isMount(key string) bool { return key == "rootfs" || mountRE.MatchString(key) }

// isVolumeKey reports whether an option of the guest's kind holds a volume.
func (g *guest) isVolumeKey(key string) bool {
	if g.kind == kindLXC {
		return isMount(key)
	}
	return isDriveSlot(key)
}

// mounts lists the root volume and the mount points in the order of their numbers.
func (o guestConfig) mounts() []string {
	var keys []string
	for key := range o {
		if isMount(key) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b string) int { return mountNumber(a) - mountNumber(b) })
	return keys
}

func mountNumber(key string) int {
	m := mountRE.FindStringSubmatch(key)
	if m == nil {
		return -1
	}
	return number(m[1])
}

var mountBooleans = map[string]bool{
	"acl": true, "backup": true, "keepattrs": true, "quota": true, "replicate": true, "ro": true, "shared": true,
}

// mount is a parsed rootfs, mpN or unusedN; its default key is volume.
type mount props

func parseMount(value string) mount {
	p := parseProps(value, "volume")
	p.normalise(mountBooleans)
	if bytes, _, ok := parseSize(p["size"]); ok {
		p["size"] = formatSize(bytes)
	}
	return mount(p)
}

// print writes the volume first, then the path, which PVE's format requires, and
// the rest sorted.
func (m mount) print() string { return props(m).printWith("volume", "mp") }

func (m mount) volume() string { return m["volume"] }

// kind is volume, bind or device, as PVE tells them apart by the path.
func (m mount) kind() string {
	switch {
	case strings.HasPrefix(m.volume(), "/dev/"):
		return "device"
	case strings.HasPrefix(m.volume(), "/"):
		return "bind"
	}
	return "volume"
}

// newVolume returns storage and bytes of "storage:GiB", which asks for a new
// volume; whole KiB of whole MiB, as PVE reckons.
func (m mount) newVolume() (storage string, size int64, ok bool) {
	match := newRE.FindStringSubmatch(m.volume())
	if match == nil {
		return "", 0, false
	}
	gibs, err := strconv.ParseFloat(match[2], 64)
	if err != nil {
		return "", 0, false
	}
	return match[1], int64(math.Floor(gibs*1024)) << 20, true
}

func (m mount) setSize(bytes int64) { m["size"] = formatSize(bytes) }

// printWith writes the default key's value first and bare, then the required keys,
// then the rest sorted.
func (p props) printWith(defaultKey string, required ...string) string {
	var parts []string
	if value, ok := p[defaultKey]; ok {
		parts = append(parts, value)
	}
	for _, key := range required {
		if value, ok := p[key]; ok {
			parts = append(parts, key+"="+value)
		}
	}
	for _, key := range sortedKeys(p) {
		if key != defaultKey && !slices.Contains(required, key) {
			parts = append(parts, key+"="+p[key])
		}
	}
	return strings.Join(parts, ",")
}

// ctNICBooleans are the switches of a container's network interface.
var ctNICBooleans = map[string]bool{"firewall": true, "host-managed": true, "link_down": true}

// ctNIC rewrites a container's network interface as PVE stores it: of type veth,
// with an address.
func ctNIC(value string) string {
	p := parseProps(value, "")
	p.normalise(ctNICBooleans)
	p["type"] = "veth"
	if p["hwaddr"] == "" {
		p["hwaddr"] = randomMAC()
	}
	return p.printWith("", "name")
}

// inUse reports whether the guest's mount points, snapshots or pending changes
// hold a volume.
func (g *guest) inUse(volid string) bool {
	for _, conf := range append([]guestConfig{g.conf, g.pending}, mapValues(g.snapshots)...) {
		if conf.mountsVolume(volid) {
			return true
		}
	}
	return false
}

func (o guestConfig) mountsVolume(volid string) bool {
	for key, value := range o {
		if isMount(key) && parseMount(value).volume() == volid {
			return true
		}
	}
	return false
}

// noMount is the failure of parsing a mount point that is not set: PVE's parser
// answers as for a call, its text apart.
func noMount(key string) error {
	errors := map[string]string{"volume": textMissing}
	if key != "rootfs" && !unusedRE.MatchString(key) {
		errors["mp"] = textMissing
	}
	return &apiError{status: 500, text: "format error", params: errors}
}
