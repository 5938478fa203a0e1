package pvelab

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

var contentTypes = words("rootdir images vztmpl iso backup snippets import")

func contentList(c *call) (any, error) {
	s, err := c.lab.storage(c.node, c.params.str("storage"))
	if err != nil {
		return nil, err
	}
	wanted := contentTypes
	if c.params.has("content") {
		wanted = []string{c.params.str("content")}
	}
	out := []map[string]any{}
	for _, v := range s.at(c.node) {
		entry := v.describe()
		content, _ := entry["content"].(string)
		if !slices.Contains(wanted, content) || !s.allows(content) || !v.belongs(c) {
			continue
		}
		if c.checkVolumeAccess(0, v.volid) != nil {
			continue
		}
		out = append(out, entry)
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// belongs applies the filter by guest, which PVE forgets for snippets and
// imports.
func (v *volume) belongs(c *call) bool {
	if !c.params.has("vmid") {
		return true
	}
	switch v.content {
	case "iso", "vztmpl":
		return false
	case "snippets", "import":
		return true
	}
	return v.vmid == c.params.integer("vmid")
}

// checkVolumeAccess is PVE's rule for using an existing volume; vmid is the
// guest that would use it, or 0.
func (c *call) checkVolumeAccess(vmid int, volid string) error {
	name, err := c.lab.parseVolume(volid)
	if err != nil {
		return err
	}
	path := "/storage/" + name.storageID
	switch {
	case c.can(path, "Datastore.Allocate"):
		return nil
	case name.content == "iso" || name.content == "vztmpl" || name.content == "import":
		return c.requireAny(path, "Datastore.AllocateSpace", "Datastore.Audit")
	case name.vmid != 0 && name.vmid == vmid:
		return nil
	case name.content == "backup" && name.vmid != 0:
		if err := c.require(path, "Datastore.AllocateSpace"); err != nil {
			return err
		}
		return c.require(guestPath(name.vmid), "VM.Backup")
	case name.content == "images" && name.vmid != 0:
		if err := c.require(path, "Datastore.Audit"); err != nil {
			return err
		}
		return c.require(guestPath(name.vmid), "VM.Config.Disk")
	default:
		return fail("missing privileges to access %s", volid)
	}
}

func contentAlloc(c *call) (any, error) {
	s, err := c.lab.storageConfig(c.params.str("storage"))
	if err != nil {
		return nil, err
	}
	file, format := c.params.str("filename"), c.params.str("format")
	if m := imageSuffix(file); m != "" {
		if format != "" && format != m {
			return nil, badParams(map[string]string{"format": "different storage formats (" + format + " != " + m + ")"})
		}
		format = m
	}
	if s, err = c.lab.storage(c.node, s.id); err != nil {
		return nil, err
	}
	v, err := s.alloc(c.node, c.params.integer("vmid"), format, file, kibibytes(c.params.str("size")))
	if err != nil {
		return nil, err
	}
	return v.volid, nil
}

func imageSuffix(file string) string {
	for _, f := range words("raw qcow2 vmdk") {
		if strings.HasSuffix(file, "."+f) {
			return f
		}
	}
	return ""
}

// kibibytes reads a size in KiB, or in MiB or GiB with a suffix, as bytes.
func kibibytes(s string) int64 {
	n := int64(number(strings.TrimRight(s, "MG")))
	switch {
	case strings.HasSuffix(s, "M"):
		return n << 20
	case strings.HasSuffix(s, "G"):
		return n << 30
	}
	return n << 10
}

// contentVolume completes a volume name in the path to a volume id.
func contentVolume(c *call) (volumeName, string, error) {
	id, volume := c.params.str("storage"), c.params.str("volume")
	volid := id + ":" + volume
	if given, _, ok := strings.Cut(volume, ":"); ok {
		if id != "" && given != id {
			return volumeName{}, "", badParams(map[string]string{"volume": "storage ID mismatch (" + given + " != " + id + ")\n"})
		}
		volid = volume
	}
	name, err := c.lab.parseVolume(volid)
	return name, volid, err
}

func contentInfo(c *call) (any, error) {
	name, volid, err := contentVolume(c)
	if err != nil {
		return nil, err
	}
	if err := c.checkVolumeAccess(0, volid); err != nil {
		return nil, err
	}
	s, err := c.lab.storageConfig(name.storageID)
	if err != nil {
		return nil, err
	}
	v := s.at(c.node)[volid]
	if v == nil {
		return nil, fail("volume_size_info on '%s' failed - no format", volid)
	}
	out := map[string]any{"path": v.path(), "size": v.size, "used": v.used, "format": v.format}
	if v.content != "images" {
		// QEMU's tools look at the file as a raw image of whole sectors.
		out["size"], out["format"] = (v.size+511)/512*512, "raw"
	}
	if v.content == "backup" {
		out["notes"], out["protected"] = v.notes, boolInt(v.protected)
	}
	return out, nil
}

func contentUpdate(c *call) (any, error) {
	name, volid, err := contentVolume(c)
	if err != nil {
		return nil, err
	}
	if err := c.checkVolumeAccess(0, volid); err != nil {
		return nil, err
	}
	for _, attribute := range words("notes protected") {
		if !c.params.has(attribute) || name.content == "backup" {
			continue
		}
		if attribute == "notes" {
			return nil, fail("only backups can have notes")
		}
		return nil, fail("only backups support attribute '%s'", attribute)
	}
	v, err := c.lab.volume(c.node, volid)
	if err != nil {
		return nil, err
	}
	if c.params.has("notes") {
		v.notes = c.params.str("notes")
	}
	if c.params.has("protected") {
		v.protected = c.params.boolean("protected")
	}
	return nothing(c)
}

func contentDelete(c *call) (any, error) {
	name, volid, err := contentVolume(c)
	if err != nil {
		return nil, err
	}
	path := "/storage/" + name.storageID
	if name.content == "backup" && name.vmid != 0 {
		if err := c.require(path, "Datastore.AllocateSpace"); err != nil {
			return nil, err
		}
		err = c.require(guestPath(name.vmid), "VM.Backup")
	} else {
		err = c.require(path, "Datastore.Allocate")
	}
	if err != nil {
		return nil, err
	}
	id := name.storageID
	if name.vmid != 0 {
		id = strconv.Itoa(name.vmid) + "@" + id
	}
	l, node := c.lab, c.node
	upid := l.startTask(c, node, "imgdel", id, func(t *task) error { return l.removeVolume(t, node, name, volid) })
	if !c.params.has("delay") {
		return upid, nil
	}
	exit, done := c.await(upid, time.Duration(c.params.integer("delay"))*time.Second)
	switch {
	case !done:
		return upid, nil
	case exit != "OK":
		return nil, fail("%s", exit)
	default:
		return nothing(c)
	}
}

// removeVolume is the worker of a deletion.
func (l *Lab) removeVolume(t *task, node string, name volumeName, volid string) error {
	if err := t.sleep(100 * time.Millisecond); err != nil {
		return err
	}
	var err error
	l.locked(func() {
		s := l.storages[name.storageID]
		if s != nil && s.path != "" && s.at(node)[volid] == nil {
			t.logf("disk image '%s' does not exist", s.pathOf(name))
		}
		err = l.freeVolume(node, volid)
	})
	if err != nil {
		return err
	}
	t.logf("Removed volume '%s'", volid)
	return nil
}
