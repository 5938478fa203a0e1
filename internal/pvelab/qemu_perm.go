package pvelab

import (
	"fmt"
	"regexp"
	"strings"
)

// optionGroups are the options that one privilege covers, as PVE groups them.
var optionGroups = map[string]string{
	"VM.Config.CPU":     "cores cpu runningcpu cpulimit cpuunits numa smp sockets vcpus",
	"VM.Config.Memory":  "memory balloon shares allow-ksm",
	"VM.Config.HWType":  "acpi hotplug kvm machine runningmachine scsihw smbios1 tablet vga watchdog audio0 rng0",
	"VM.Config.Options": "agent autostart bios description keyboard localtime migrate_downtime migrate_speed name onboot ostype protection reboot startdate startup tdf template",
	"VM.PowerMgmt":      "freeze",
	"VM.Config.Disk":    "boot bootdisk vmstatestorage",
}

const cloudInitOptions = "cicustom cipassword citype ciuser ciupgrade nameserver searchdomain sshkeys"

var optionPrivilege = func() map[string]string {
	out := map[string]string{}
	for priv, names := range optionGroups {
		for _, name := range strings.Fields(names) {
			out[name] = priv
		}
	}
	return out
}()

var (
	isCloudInitOption = func() map[string]bool {
		out := map[string]bool{}
		for _, name := range strings.Fields(cloudInitOptions) {
			out[name] = true
		}
		return out
	}()
	ipconfigRE = regexp.MustCompile(`^ipconfig\d+$`)
	numaRE     = regexp.MustCompile(`^numa\d+$`)
	// checkedByValue options ask for privileges that depend on their value.
	checkedByValue = regexp.MustCompile(`^(?:unused|serial|usb|hostpci|virtiofs)\d+$`)
)

// optionExists reports whether PVE knows an option of that name.
func optionExists(key string) bool {
	if isDriveSlot(key) || isNet(key) || optionPrivilege[key] != "" || isCloudInitOption[key] {
		return true
	}
	if ipconfigRE.MatchString(key) || numaRE.MatchString(key) || checkedByValue.MatchString(key) {
		return true
	}
	return otherOptions[key]
}

// otherOptions are root's alone, or PVE's own.
var otherOptions = map[string]bool{
	"affinity": true, "amd-sev": true, "arch": true, "args": true, "hookscript": true, "hugepages": true,
	"intel-tdx": true, "ivshmem": true, "keephugepages": true, "lock": true, "meta": true, "parent": true,
	"running-nets-host-mtu": true, "snaptime": true, "spice_enhancements": true, "tags": true,
	"vmgenid": true, "vmstate": true, "parallel0": true, "parallel1": true, "parallel2": true,
}

// checkOptions asks for the privilege of each option, in order. What no
// privilege covers is root's, and refused even to a token of root.
func (c *call) checkOptions(vmid int, pool string, keys []string) error {
	if c.isRootPassword() {
		return nil
	}
	for _, key := range keys {
		if err := c.checkOption(vmid, pool, key); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) checkOption(vmid int, pool, key string) error {
	switch priv := optionPrivilege[key]; {
	case isDriveSlot(key) || key == "tags" || checkedByValue.MatchString(key):
		return nil
	case numaRE.MatchString(key):
		return c.requireVM(vmid, pool, "VM.Config.CPU")
	case priv != "":
		if err := c.requireVM(vmid, pool, priv); err != nil || key != "startup" {
			return err
		}
		// The start order changes how the host behaves.
		return c.require("/", "Sys.Modify")
	case isNet(key):
		return c.requireVM(vmid, pool, "VM.Config.Network")
	case isCloudInitOption[key] || ipconfigRE.MatchString(key):
		return c.requireAnyVM(vmid, pool, "VM.Config.Cloudinit", "VM.Config.Network")
	case key == "vmstate":
		return c.requireVM(vmid, pool, "VM.Config.Disk", "VM.PowerMgmt")
	}
	return fail("only root can set '%s' config", key)
}

// checkDevice asks for what a serial, usb, hostpci, virtiofs or rng0 option's
// value demands.
func (c *call) checkDevice(vmid int, pool, key, value string) error {
	if c.isRootPassword() {
		return nil
	}
	switch strings.TrimRight(key, "0123456789") {
	case "usb":
		return c.checkUSB(vmid, pool, key, parseProps(value, "host"))
	case "hostpci":
		return c.checkPCI(vmid, pool, key, parseProps(value, "host"))
	case "virtiofs":
		if err := c.requireVM(vmid, pool, "VM.Config.Disk"); err != nil {
			return err
		}
		return c.require("/mapping/dir/"+parseProps(value, "dirid")["dirid"], "Mapping.Use")
	case "rng":
		if err := c.requireVM(vmid, pool, "VM.Config.HWType"); err != nil {
			return err
		}
		if parseProps(value, "source")["source"] == "/dev/hwrng" {
			return c.require("/mapping/hwrng", "Mapping.Use")
		}
	}
	return nil
}

func (c *call) checkUSB(vmid int, pool, key string, device props) error {
	if err := c.requireVM(vmid, pool, "VM.Config.HWType"); err != nil {
		return err
	}
	switch {
	case strings.EqualFold(device["host"], "spice"):
		return nil
	case device["host"] != "":
		return fail("only root can set '%s' config for real devices", key)
	case device["mapping"] != "":
		return c.require("/mapping/usb/"+device["mapping"], "Mapping.Use")
	}
	return fail("either 'host' or 'mapping' must be set.")
}

func (c *call) checkPCI(vmid int, pool, key string, device props) error {
	switch {
	case device["host"] != "":
		return fail("only root can set '%s' config for non-mapped devices", key)
	case device["mapping"] == "":
		return fail("either 'host' or 'mapping' must be set.")
	}
	if err := c.require("/mapping/pci/"+device["mapping"], "Mapping.Use"); err != nil {
		return err
	}
	return c.requireVM(vmid, pool, "VM.Config.HWType")
}

// checkDrive asks for the privilege that changing a slot with this value needs.
func (c *call) checkDrive(vmid int, value string) error {
	switch d := parseDrive(value); {
	case d.isCloudInit():
		return c.requireVM(vmid, "", "VM.Config.Cloudinit", "VM.Config.CDROM")
	case d.isCDROM():
		return c.requireVM(vmid, "", "VM.Config.CDROM")
	default:
		return c.requireVM(vmid, "", "VM.Config.Disk")
	}
}

// checkBridges asks for the use of every NIC's bridge, or of its VLANs there.
func (c *call) checkBridges(conf guestConfig) error {
	if c.isRootPassword() {
		return nil
	}
	for _, key := range sortedKeys(conf) {
		if !isNet(key) {
			continue
		}
		if err := c.checkBridge(parseNIC(conf[key])); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) checkBridge(n nic) error {
	bridge := n["bridge"]
	if bridge == "" {
		if c.lab.is8() {
			return fail("no sdn vnet ID specified")
		}
		return nil
	}
	path := "/sdn/zones/localnetwork/" + bridge
	tags := trunkTags(n["trunks"])
	if n["tag"] != "" {
		tags = append([]string{n["tag"]}, tags...)
	}
	if len(tags) == 0 {
		return c.require(path, "SDN.Use")
	}
	for _, tag := range tags {
		if err := c.require(path+"/"+tag, "SDN.Use"); err != nil {
			return err
		}
	}
	return nil
}

// checkStorageAccess asks for what the drives of a change need of their
// storages. A drive without a storage goes to defaultStorage.
func (c *call) checkStorageAccess(vmid int, conf guestConfig, defaultStorage string) error {
	for _, key := range conf.drives() {
		if err := c.checkDriveStorage(vmid, key, parseDrive(conf[key]), defaultStorage); err != nil {
			return err
		}
	}
	for _, key := range sortedKeys(conf) {
		if strings.HasPrefix(key, "unused") {
			if err := c.useVolume(vmid, parseDrive(conf[key]).file(), "images"); err != nil {
				return err
			}
		}
	}
	if storage := conf["vmstatestorage"]; storage != "" {
		return c.require("/storage/"+storage, "Datastore.AllocateSpace")
	}
	return nil
}

func (c *call) checkDriveStorage(vmid int, key string, d drive, defaultStorage string) error {
	_, name, _ := volumeParts(d.file())
	storage, _, isNew := d.newDisk()
	switch {
	case d.file() == "" || d.file() == "none" || d.file() == "cloudinit" || name == "cloudinit":
		return nil
	case d.isCDROM() && d.file() == "cdrom":
		return c.require("/", "Sys.Console")
	case isNew && !d.isCDROM():
		if err := c.checkNewDisk(orDefault(storage, defaultStorage)); err != nil {
			return err
		}
	default:
		if err := c.useVolume(vmid, d.file(), ""); err != nil {
			return err
		}
		if v, err := c.lab.parseVolume(d.file()); err == nil && v.content != "images" && v.content != "iso" {
			return badParams(map[string]string{key: "content type needs to be 'images' or 'iso'"})
		}
	}
	if source := d["import-from"]; source != "" {
		return c.checkImport(vmid, key, source)
	}
	return nil
}

func (c *call) checkNewDisk(storage string) error {
	if storage == "" {
		return fail("no storage ID specified (and no default storage)")
	}
	if err := c.require("/storage/"+storage, "Datastore.AllocateSpace"); err != nil {
		return err
	}
	s, err := c.lab.storageConfig(storage)
	if err != nil {
		return err
	}
	if !s.allows("images") {
		text := fmt.Sprintf("storage '%s' does not support vm images", storage)
		return badParams(map[string]string{"storage": text})
	}
	return nil
}

func (c *call) checkImport(vmid int, key, source string) error {
	if _, _, ok := volumeParts(source); !ok {
		return c.useVolume(vmid, source, "")
	}
	v, err := c.lab.parseVolume(source)
	if err != nil {
		return err
	}
	if v.content != "images" && v.content != "import" {
		text := fmt.Sprintf("%s has wrong type '%s' - needs to be 'images' or 'import'", source, v.content)
		return badParams(map[string]string{key: text})
	}
	if v.vmid != 0 {
		return c.require(guestPath(v.vmid), "VM.Clone")
	}
	return c.useVolume(vmid, source, "")
}

// useVolume asks for what using an existing volume needs; content, if given, is
// the type it must have.
func (c *call) useVolume(vmid int, volid, content string) error {
	if _, _, ok := volumeParts(volid); !ok {
		if c.isRootPassword() {
			return nil
		}
		line := 651
		if c.lab.is8() {
			line = 581
		}
		return fail("Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm line %d.", line)
	}
	v, err := c.lab.parseVolume(volid)
	if err != nil {
		return err
	}
	if content != "" && v.content != content {
		return fail("unable to use volume %s - content type needs to be '%s'", volid, content)
	}
	return c.checkVolumeAccess(vmid, volid)
}
