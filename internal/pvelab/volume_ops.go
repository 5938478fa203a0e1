package pvelab

import (
	"fmt"
	"slices"
	"strings"
)

// freeVolume removes a volume; an absent one is no error, as in PVE.
func (l *Lab) freeVolume(node, volid string) error {
	name, err := l.parseVolume(volid)
	if err != nil {
		return err
	}
	s, err := l.storage(node, name.storageID)
	if err != nil {
		return err
	}
	if l.baseInUse(volid) {
		return fail("base volume '%s' is still in use by linked clones", name.name)
	}
	v := s.at(node)[volid]
	if v == nil {
		return nil
	}
	if v.protected {
		return fail("cannot remove protected volume '%s' on '%s'", name.name, s.id)
	}
	delete(s.at(node), volid)
	return nil
}

// resizeVolume sets an image's size in bytes.
func (l *Lab) resizeVolume(node, volid string, size int64) error {
	v, err := l.volume(node, volid)
	if err != nil {
		return err
	}
	if v.format != "raw" && v.format != "qcow2" {
		return fail("can't resize this image format")
	}
	if size > v.size && v.storage.lab.storageFull(v.storageID) {
		return v.storage.checkSpace(v.volumeName)
	}
	v.size = size
	return nil
}

// baseInUse reports whether linked clones depend on a volume.
func (l *Lab) baseInUse(volid string) bool {
	id, name, ok := strings.Cut(volid, ":")
	s := l.storages[id]
	if !ok || s == nil {
		return false
	}
	for _, vols := range s.volumes {
		for _, v := range vols {
			if v.parent == name {
				return true
			}
		}
	}
	return false
}

// makeBase renames vm-… to base-…, which linked clones can build upon.
func (l *Lab) makeBase(node, volid string) (*volume, error) {
	v, err := l.volume(node, volid)
	if err != nil {
		return nil, err
	}
	if v.base {
		return nil, fail("create_base not possible with base image")
	}
	stem := strings.TrimSuffix(v.name, v.file)
	return l.moveTo(node, v, stem+"base-"+strings.TrimPrefix(strings.TrimPrefix(v.file, "vm-"), "subvol-"))
}

// moveTo gives a volume another name on its storage.
func (l *Lab) moveTo(node string, v *volume, name string) (*volume, error) {
	parsed, err := v.storage.parse(name)
	if err != nil {
		return nil, err
	}
	vols := v.storage.at(node)
	if vols[v.storage.id+":"+name] != nil {
		return nil, fail("target volume '%s' already exists", parsed.file)
	}
	delete(vols, v.volid)
	v.volumeName, v.volid = parsed, v.storage.id+":"+name
	vols[v.volid] = v
	return v, nil
}

// cloneVolume makes a linked clone of a base volume for a guest.
func (l *Lab) cloneVolume(node, baseVolid string, vmid int) (*volume, error) {
	base, err := l.volume(node, baseVolid)
	if err != nil {
		return nil, err
	}
	if !base.base {
		return nil, fail("clone_image only works on base images")
	}
	s := base.storage
	format := "qcow2"
	if s.path == "" {
		format = "raw"
	}
	file, err := s.freeName(node, vmid, format)
	if err != nil {
		return nil, err
	}
	full := file
	if s.path != "" {
		full = fmt.Sprintf("%d/%s/%d/%s", base.vmid, base.file, vmid, file)
	}
	name, err := s.parse(full)
	if err != nil {
		return nil, err
	}
	if err := s.checkSpace(name); err != nil {
		return nil, err
	}
	v := s.put(node, name, base.size)
	v.contentID = base.contentID
	return v, nil
}

// renameVolume hands a volume to another guest under the next free name there.
func (l *Lab) renameVolume(node, volid string, vmid int) (*volume, error) {
	v, err := l.volume(node, volid)
	if err != nil {
		return nil, err
	}
	file, err := v.storage.freeName(node, vmid, v.format)
	if err != nil {
		return nil, err
	}
	if v.storage.path == "" {
		return l.moveTo(node, v, file)
	}
	name := fmt.Sprintf("%d/%s", vmid, file)
	if v.parent != "" {
		name = v.parent + "/" + name
	}
	return l.moveTo(node, v, name)
}

// features of volumes by what they are (base, current or snap), as the plugins
// of directories and of thin LVM declare them.
var (
	fileFeatures = map[string]map[string][]string{
		"snapshot": {"current": words("qcow2"), "snap": words("qcow2")},
		"clone":    {"base": words("qcow2 raw vmdk")},
		"template": {"current": words("qcow2 raw vmdk subvol")},
		"copy":     {"base": words("qcow2 raw vmdk"), "current": words("qcow2 raw vmdk"), "snap": words("qcow2")},
		"rename":   {"current": words("qcow2 raw vmdk")},
	}
	thinFeatures = map[string]map[string][]string{
		"snapshot": {"current": words("raw")},
		"clone":    {"base": words("raw"), "snap": words("raw")},
		"template": {"current": words("raw")},
		"copy":     {"base": words("raw"), "current": words("raw"), "snap": words("raw")},
		"rename":   {"current": words("raw")},
	}
)

// volumeHas reports whether PVE can do something with a volume: snapshot, clone
// (linked), template, copy or rename.
func (l *Lab) volumeHas(feature, volid, snapshot string) bool {
	name, err := l.parseVolume(volid)
	if err != nil {
		return false
	}
	state := "current"
	switch {
	case snapshot != "":
		state = "snap"
	case name.base:
		state = "base"
	}
	features := thinFeatures
	if l.storages[name.storageID].path != "" {
		features = fileFeatures
	}
	return slices.Contains(features[feature][state], name.format)
}
