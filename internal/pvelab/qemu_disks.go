package pvelab

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const (
	cloudInitDiskSize = 4 << 20
	tpmStateSize      = 4 << 20
	efiVarsSize       = 540672
	// allocTime is what making an empty volume takes.
	allocTime = 400 * time.Millisecond
	// copyRate is how many bytes of a volume are copied in a second.
	copyRate = 400 << 20
)

// copyTime is what copying that many bytes takes.
func copyTime(size int64) time.Duration {
	return allocTime + time.Duration(float64(size)/copyRate*float64(time.Second))
}

// diskMaker turns the drives of a change into volumes.
type diskMaker struct {
	c              *call
	g              *guest
	defaultStorage string
	log            logger
	made           guestConfig
	allocated      []*volume
}

// createDisks allocates, imports or looks up the volume of every drive and
// returns the options to store. When one fails, those already made are freed.
func (c *call) createDisks(g *guest, set guestConfig, defaultStorage string, log logger) (guestConfig, error) {
	m := &diskMaker{c: c, g: g, defaultStorage: defaultStorage, log: log, made: guestConfig{}}
	for _, key := range set.drives() {
		if err := m.drive(key, parseDrive(set[key])); err != nil {
			m.undo()
			return nil, err
		}
	}
	return m.made, nil
}

func (m *diskMaker) undo() {
	for _, v := range m.allocated {
		if err := m.c.lab.freeVolume(m.g.node, v.volid); err != nil {
			m.log("%s", err)
		}
	}
}

func (m *diskMaker) drive(key string, d drive) error {
	_, name, _ := volumeParts(d.file())
	_, _, isNew := d.newDisk()
	switch {
	case d.file() == "" || d.file() == "none" || d.file() == "cdrom":
		delete(d, "size")
		m.made[key] = d.print()
		return nil
	case d.file() == "cloudinit" || name == "cloudinit":
		return m.cloudInit(key, d)
	case isNew && d["import-from"] != "":
		return m.imported(key, d)
	case isNew:
		return m.empty(key, d)
	}
	return m.existing(key, d)
}

// storage is the storage of a new volume.
func (m *diskMaker) storage(id string) (*storage, error) {
	if id = orDefault(id, m.defaultStorage); id == "" {
		return nil, fail("no storage ID specified (and no default storage)")
	}
	return m.c.lab.storage(m.g.node, id)
}

func (m *diskMaker) alloc(s *storage, format, name string, size int64) (*volume, error) {
	v, err := s.alloc(m.g.node, m.g.vmid, format, name, size)
	if err != nil {
		return nil, err
	}
	m.allocated = append(m.allocated, v)
	m.log("%s", allocLine(v))
	return v, nil
}

// finish stores the volume as the drive's file and says so.
func (m *diskMaker) finish(key string, d drive, v *volume, sized bool) error {
	volid := v.volid
	if m.g.isTemplate() && !d.isCDROM() {
		base, err := m.c.lab.makeBase(m.g.node, volid)
		if err != nil {
			return err
		}
		volid = base.volid
	}
	d["file"] = volid
	delete(d, "format")
	delete(d, "size")
	if sized {
		d.setSize(v.size)
	}
	m.made[key] = d.print()
	m.log("%s: successfully created disk '%s'", key, m.made[key])
	return nil
}

func (m *diskMaker) cloudInit(key string, d drive) error {
	storageID, _, _ := volumeParts(d.file())
	if at := m.attachedCloudInit(key); at != "" {
		return fail("%s - cloud-init drive is already attached at '%s'", key, at)
	}
	s, err := m.storage(storageID)
	if err != nil {
		return err
	}
	format, suffix := "raw", ""
	if s.path != "" {
		format = orDefault(d["format"], "qcow2")
		suffix = "." + format
	}
	v, err := m.alloc(s, format, fmt.Sprintf("vm-%d-cloudinit%s", m.g.vmid, suffix), cloudInitDiskSize)
	if err != nil {
		return err
	}
	d["media"] = "cdrom"
	return m.finish(key, d, v, false)
}

// attachedCloudInit is another slot that holds a cloud-init drive, or "".
func (m *diskMaker) attachedCloudInit(skip string) string {
	for _, conf := range []guestConfig{m.g.conf, m.g.pending, m.made} {
		if slot := conf.cloudInitSlot(skip); slot != "" {
			return slot
		}
	}
	return ""
}

func (o guestConfig) cloudInitSlot(skip string) string {
	for _, key := range o.drives() {
		if key != skip && parseDrive(o[key]).isCloudInit() {
			return key
		}
	}
	return ""
}

func (m *diskMaker) empty(key string, d drive) error {
	storageID, gibs, _ := d.newDisk()
	s, err := m.storage(storageID)
	if err != nil {
		return err
	}
	v, err := m.alloc(s, orDefault(d["format"], s.defaultFormat()), "", newDiskSize(key, gibs))
	if err != nil {
		return err
	}
	if key == "efidisk0" {
		logTransfer(m.log, v.size, 1)
	}
	return m.finish(key, d, v, true)
}

// newDiskSize is the size of "storage:GiB" in bytes, whole KiB; EFI variables
// and TPM state have a size of their own.
func newDiskSize(key, gibs string) int64 {
	switch key {
	case "efidisk0":
		return efiVarsSize
	case "tpmstate0":
		return tpmStateSize
	}
	n, err := strconv.ParseFloat(gibs, 64)
	if err != nil {
		return 0
	}
	return int64(math.Ceil(n*gib/1024)) * 1024
}

func (m *diskMaker) imported(key string, d drive) error {
	source := d["import-from"]
	src, err := m.c.lab.volume(m.g.node, source)
	if err != nil {
		return m.noSource(source, err)
	}
	storageID, _, _ := d.newDisk()
	s, err := m.storage(storageID)
	if err != nil {
		return err
	}
	m.log("create full clone of drive (%s)", source)
	v, err := m.alloc(s, s.resolveFormat(orDefault(d["format"], src.format)), "", src.virtualSize())
	if err != nil {
		return err
	}
	v.contentID = src.contentID
	if !m.c.lab.is8() {
		m.log("allocated target volume '%s'", v.volid)
	}
	logTransfer(m.log, v.size, transferSteps)
	delete(d, "import-from")
	return m.finish(key, d, v, true)
}

// noSource is the failure of an import from a volume that is not there.
func (m *diskMaker) noSource(volid string, err error) error {
	name, perr := m.c.lab.parseVolume(volid)
	if perr != nil || name.content != "import" {
		return err
	}
	s, serr := m.c.lab.storage(m.g.node, name.storageID)
	if serr != nil {
		return serr
	}
	_, file, _ := volumeParts(volid)
	return fail("failed to stat '%s/%s'", s.path, file)
}

func (m *diskMaker) existing(key string, d drive) error {
	if d.isCloudInit() {
		if at := m.attachedCloudInit(key); at != "" {
			return fail("%s - cloud-init drive is already attached at '%s'", key, at)
		}
	}
	v, err := m.c.lab.volume(m.g.node, d.file())
	if err != nil {
		return err
	}
	if d["format"] != "" && d["format"] != v.format {
		return fail("drive '%s' - volume '%s' - 'format=%s' option different from storage format '%s'",
			key, d.file(), d["format"], v.format)
	}
	d.setSize(v.size)
	m.made[key] = d.print()
	return nil
}

// allocLine is what the storage prints when it makes a volume.
func allocLine(v *volume) string {
	path := v.path()
	switch {
	case !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/dev/"):
		_, name, _ := strings.Cut(v.volid, ":")
		return fmt.Sprintf("  Logical volume \"%s\" created.", name)
	case v.format == "raw":
		return fmt.Sprintf("Formatting '%s', fmt=raw size=%d preallocation=off", path, v.size)
	}
	layout, backing := "cluster_size=65536 extended_l2=off preallocation=metadata", ""
	if v.parent != "" {
		layout = "cluster_size=131072 extended_l2=on preallocation=metadata"
		if v.storage.lab.is8() {
			layout = "cluster_size=65536 extended_l2=off"
		}
		backing = fmt.Sprintf(" backing_file=../%s backing_fmt=qcow2", v.parent)
	}
	return fmt.Sprintf("Formatting '%s', fmt=%s %s compression_type=zlib size=%d%s lazy_refcounts=off refcount_bits=16",
		path, v.format, layout, v.size, backing)
}

// transferSteps is how many lines of progress a copy prints, the first and the
// repeated last aside.
const transferSteps = 8

// logTransfer prints the progress of a copy that is done already.
func logTransfer(log logger, size int64, steps int) {
	for i := range steps + 1 {
		log("%s", transferLine(size, float64(i)/float64(steps)))
	}
	log("%s", transferLine(size, 1))
}

func transferLine(size int64, part float64) string {
	return fmt.Sprintf("transferred %s of %s (%.2f%%)", humanSize(part*float64(size)), humanSize(float64(size)), part*100)
}

// humanSize writes a size with one decimal and a binary unit.
func humanSize(bytes float64) string {
	unit := "B"
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if bytes < 1024 {
			break
		}
		bytes /= 1024
		unit = next
	}
	return fmt.Sprintf("%.1f %s", bytes, unit)
}
