package vm

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

var (
	diskSlot    = regexp.MustCompile(`^(scsi|virtio|sata|ide)\d+$`)
	networkSlot = regexp.MustCompile(`^net(\d+)$`)
	otherDevice = regexp.MustCompile(`^(efidisk|tpmstate|unused|serial|parallel|usb|hostpci|virtiofs)\d+$`)
	bootDevice  = regexp.MustCompile(`^(scsi|virtio|sata|ide|net|usb|hostpci)\d+$`)
	ipconfigKey = regexp.MustCompile(`^ipconfig(\d+)$`)
)

// isDevice reports whether a key shows in "devices".
func isDevice(key string) bool {
	return diskSlot.MatchString(key) || networkSlot.MatchString(key) || otherDevice.MatchString(key)
}

var diskSlots = &settings.Slots{
	Accepts: framework.DiskSlot(),
	Key:     func(slot string) string { return slot },
	Real: func(key, value string) (string, bool) {
		if !diskSlot.MatchString(key) {
			return "", false
		}
		disk, err := proxmox.ParseDisk(value)
		return key, err == nil && !disk.IsCDROM()
	},
}

var networkSlots = &settings.Slots{
	Accepts: framework.NetworkSlot(),
	Key:     func(slot string) string { return slot },
	Real:    func(key, _ string) (string, bool) { return key, networkSlot.MatchString(key) },
}

var interfaceSlots = &settings.Slots{
	Accepts: framework.NetworkSlot(),
	Key:     func(slot string) string { return "ipconfig" + strings.TrimPrefix(slot, "net") },
	Real: func(key, _ string) (string, bool) {
		match := ipconfigKey.FindStringSubmatch(key)
		if match == nil {
			return "", false
		}
		return "net" + match[1], true
	},
}

var (
	serialSlots   = numbered("serial", 4)
	parallelSlots = numbered("parallel", 3)
	usbSlots      = numbered("usb", 14)
	pciSlots      = numbered("hostpci", 16)
	virtiofsSlots = numbered("virtiofs", 10)
	numaSlots     = numbered("numa", 8)
)

// numbered are the slots of a kind of which PVE knows so many, under the keys
// that they are named after.
func numbered(kind string, count int) *settings.Slots {
	names := make([]string, count)
	for i := range names {
		names[i] = kind + strconv.Itoa(i)
	}
	return &settings.Slots{
		Accepts: stringvalidator.OneOf(names...),
		Key:     func(slot string) string { return slot },
		Real:    func(key, _ string) (string, bool) { return key, slices.Contains(names, key) },
	}
}
