package pvelab

import (
	"fmt"
	"strings"
)

// checkCTOptions asks for what changing each of a container's options needs.
// old is the configuration before, nil for a new container.
func (c *call) checkCTOptions(vmid int, pool string, old, set guestConfig, deleted []string, unprivileged bool) error {
	if c.isRootPassword() {
		return nil
	}
	for _, key := range sortedKeys(set) {
		if err := c.checkCTOption(vmid, pool, key, old, set, unprivileged); err != nil {
			return err
		}
	}
	for _, key := range deleted {
		if err := c.checkCTOption(vmid, pool, key, old, nil, unprivileged); err != nil {
			return err
		}
	}
	return nil
}

// checkCTOption checks one option; set is nil where it is deleted.
func (c *call) checkCTOption(vmid int, pool, key string, old, set guestConfig, unprivileged bool) error {
	switch {
	case key == "cores" || key == "cpuunits" || key == "cpulimit":
		return c.requireVM(vmid, pool, "VM.Config.CPU")
	case isMount(key):
		return c.checkMount(vmid, pool, key, set)
	case key == "memory" || key == "swap":
		return c.requireVM(vmid, pool, "VM.Config.Memory")
	case isNet(key):
		return c.checkCTNIC(vmid, pool, old[key], set[key])
	case deviceRE.MatchString(key):
		return deniedText("configuring device passthrough is only allowed for root@pam")
	case key == "nameserver" || key == "searchdomain" || key == "hostname":
		return c.requireVM(vmid, pool, "VM.Config.Network")
	case key == "features":
		return c.checkFeatures(vmid, pool, old, set, unprivileged)
	case key == "hookscript":
		return deniedText("changing the hookscript is only allowed for root@pam")
	case key == "tags":
		return c.checkTags(vmid, old[key], set[key])
	}
	return c.requireVM(vmid, pool, "VM.Config.Options")
}

func (c *call) checkMount(vmid int, pool, key string, set guestConfig) error {
	if err := c.requireVM(vmid, pool, "VM.Config.Disk"); err != nil || set == nil {
		return err
	}
	m := parseMount(set[key])
	if kind := m.kind(); kind != "volume" {
		return deniedText(fmt.Sprintf("mount point type %s is only allowed for root@pam", kind))
	}
	if storage, _, isNew := m.newVolume(); isNew {
		return c.require("/storage/"+storage, "Datastore.AllocateSpace")
	}
	if strings.Trim(m.volume(), "0123456789.") == "" {
		return nil // a size alone: the default storage is checked elsewhere.
	}
	return c.useCTVolume(vmid, m.volume())
}

// useCTVolume asks for what attaching an existing volume needs: it must be an
// image, which PVE calls rootdir where containers may use it.
func (c *call) useCTVolume(vmid int, volid string) error {
	v, err := c.lab.parseVolume(volid)
	if err != nil {
		return err
	}
	if v.content != "images" {
		return fail("unable to use volume %s - content type needs to be 'rootdir'", volid)
	}
	return c.checkVolumeAccess(vmid, volid)
}

func (c *call) checkCTNIC(vmid int, pool, old, value string) error {
	if err := c.requireVM(vmid, pool, "VM.Config.Network"); err != nil {
		return err
	}
	for _, text := range []string{old, value} {
		if text == "" {
			continue
		}
		if err := c.checkCTBridge(text); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) checkCTBridge(value string) error {
	return c.checkBridge(nic(parseProps(value, "")))
}

// checkFeatures lets nobody but root change the features of a privileged
// container, or other features than nesting.
func (c *call) checkFeatures(vmid int, pool string, old, set guestConfig, unprivileged bool) error {
	if !unprivileged {
		return deniedText("changing feature flags for privileged container is only allowed for root@pam")
	}
	before, after := parseProps(old["features"], ""), parseProps(set["features"], "")
	for _, p := range []props{before, after} {
		for key := range p {
			if key != "nesting" && before[key] != after[key] {
				return deniedText("changing feature flags (except nesting) is only allowed for root@pam")
			}
		}
	}
	if before["nesting"] != after["nesting"] {
		return c.requireVM(vmid, pool, "VM.Allocate")
	}
	return nil
}
