package pvelab

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// volume is a disk image or file on a storage.
type volume struct {
	volumeName
	volid   string
	storage *storage
	// size and used are bytes.
	size, used int64
	// virtual is the size in bytes of the disk that an imported image holds.
	virtual   int64
	ctime     int64
	notes     string
	protected bool
	// contentID names the data: it stays with a volume that is renamed or made a
	// base, and goes along with a full copy.
	contentID string
	// unpacked is the template that a container's root volume was made from.
	unpacked string
	// data are the bytes of an uploaded file, nil elsewhere.
	data []byte
}

// volumeName is what a volume id says.
type volumeName struct {
	storageID string
	// name is the id without the storage.
	name string
	// file is the last part of the name.
	file    string
	content string
	format  string
	vmid    int
	base    bool
	// parent is the base volume's name of a linked clone on a directory, as in
	// 9000/base-9000-disk-0.qcow2.
	parent string
}

var (
	volumeIDRE   = regexp.MustCompile(`^(?i:([a-z][a-z0-9\-_.]*[a-z0-9])):(.+)$`)
	imageFileRE  = regexp.MustCompile(`^(vm|base|subvol)-(\d+)-[^/\s]+\.(raw|qcow2|vmdk|subvol)$`)
	imageNameRE  = regexp.MustCompile(`^(\d+)/([^/\s]+)$`)
	linkedNameRE = regexp.MustCompile(`^(\d+)/([^/\s]+)/(\d+)/([^/\s]+)$`)
	blockNameRE  = regexp.MustCompile(`^(vm|base|subvol)-(\d+)-\S+$`)
	fileNameREs  = map[string]*regexp.Regexp{
		"iso":      regexp.MustCompile(`^[^/]+\.(?i:iso|img)$`),
		"vztmpl":   regexp.MustCompile(`^[^/]+\.(?i:tar|tar\.(gz|xz|zst|bz2))$`),
		"backup":   regexp.MustCompile(`^[^/]+\.(tgz|(tar|vma)(\.(gz|lzo|zst|bz2))?)$`),
		"snippets": regexp.MustCompile(`^[^/]+$`),
		"import":   regexp.MustCompile(`^[^/]+\.(ova|ovf|qcow2|raw|vmdk)$`),
	}
	backupOwnerRE = regexp.MustCompile(`^vzdump-(?:openvz|lxc|qemu)-(\d+)-.+`)
)

// parseVolume reads a volume id as the storage's plugin does.
func (l *Lab) parseVolume(volid string) (volumeName, error) {
	m := volumeIDRE.FindStringSubmatch(volid)
	if m == nil {
		return volumeName{}, fail("unable to parse volume ID '%s'", volid)
	}
	s, err := l.storageConfig(m[1])
	if err != nil {
		return volumeName{}, err
	}
	return s.parse(m[2])
}

func (s *storage) parse(name string) (volumeName, error) {
	v := volumeName{storageID: s.id, name: name}
	if s.path == "" {
		return v, v.parseBlock(s.kind)
	}
	if m := linkedNameRE.FindStringSubmatch(name); m != nil {
		v.parent = m[1] + "/" + m[2]
		return v, v.parseImage(m[3], m[4])
	}
	if m := imageNameRE.FindStringSubmatch(name); m != nil {
		return v, v.parseImage(m[1], m[2])
	}
	content, file, _ := strings.Cut(name, "/")
	re := fileNameREs[content]
	if re == nil || !re.MatchString(file) {
		return v, fail("unable to parse directory volume name '%s'", name)
	}
	v.content, v.file, v.format = content, file, fileFormat(content, file)
	if m := backupOwnerRE.FindStringSubmatch(file); content == "backup" && m != nil {
		v.vmid = number(m[1])
	}
	return v, nil
}

func (v *volumeName) parseImage(vmid, file string) error {
	m := imageFileRE.FindStringSubmatch(file)
	if m == nil {
		return fail("unable to parse volume filename '%s'", file)
	}
	v.content, v.file, v.format, v.vmid, v.base = "images", file, m[3], number(vmid), m[1] == "base"
	return nil
}

func (v *volumeName) parseBlock(kind string) error {
	m := blockNameRE.FindStringSubmatch(v.name)
	if m == nil {
		return fail("unable to parse %s volume name '%s'", strings.TrimSuffix(kind, "thin"), v.name)
	}
	v.content, v.file, v.format, v.vmid, v.base = "images", v.name, "raw", number(m[2]), m[1] == "base"
	if m[1] == "subvol" {
		v.format = "subvol"
	}
	return nil
}

// fileFormat is the format that content lists show of a file.
func fileFormat(content, file string) string {
	switch content {
	case "iso":
		return "iso"
	case "snippets":
		return "snippet"
	case "vztmpl":
		ext := file[strings.LastIndex(file, ".")+1:]
		if strings.HasSuffix(file, ".tar."+ext) {
			return "t" + ext
		}
		return ext
	case "backup":
		_, ext, _ := strings.Cut(file, ".")
		return ext
	}
	return file[strings.LastIndex(file, ".")+1:]
}

func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// directories of a file storage by content.
var directories = map[string]string{
	"iso": "template/iso", "vztmpl": "template/cache", "backup": "dump", "snippets": "snippets", "import": "import",
}

// pathOf is where a volume lies on a node.
func (s *storage) pathOf(v volumeName) string {
	switch {
	case s.path == "":
		return fmt.Sprintf("/dev/%s/%s", s.config["vgname"], v.file)
	case v.content == "images":
		return fmt.Sprintf("%s/images/%d/%s", s.path, v.vmid, v.file)
	default:
		return fmt.Sprintf("%s/%s/%s", s.path, directories[v.content], v.file)
	}
}

// path is where the volume lies on a node.
func (v *volume) path() string { return v.storage.pathOf(v.volumeName) }

// volume finds an existing volume that a node can reach.
func (l *Lab) volume(node, volid string) (*volume, error) {
	name, err := l.parseVolume(volid)
	if err != nil {
		return nil, err
	}
	s, err := l.storage(node, name.storageID)
	if err != nil {
		return nil, err
	}
	if v := s.at(node)[volid]; v != nil {
		return v, nil
	}
	return nil, fail("volume '%s' does not exist", volid)
}

// volumesOf lists a guest's volumes on the storages that a node can use.
func (l *Lab) volumesOf(node string, vmid int) []*volume {
	var out []*volume
	for _, id := range l.storageIDs() {
		s := l.storages[id]
		if !s.enabled(node) {
			continue
		}
		for _, volid := range sortedKeys(s.at(node)) {
			if v := s.at(node)[volid]; v.content == "images" && v.vmid == vmid {
				out = append(out, v)
			}
		}
	}
	return out
}

// put adds a volume whose name was parsed.
func (s *storage) put(node string, name volumeName, size int64) *volume {
	v := &volume{
		volumeName: name, volid: s.id + ":" + name.name, storage: s,
		size: size, ctime: s.lab.clock.Now().Unix(), contentID: newUUID(),
	}
	v.used = occupied(v.format, size)
	if v.content != "images" {
		v.used = blocks(size)
	}
	s.at(node)[v.volid] = v
	return v
}

// occupied is about what an empty image takes.
func occupied(format string, size int64) int64 {
	if format == "qcow2" {
		return 256<<10 + blocks(size/16384)
	}
	return 4096
}

func blocks(size int64) int64 { return (size + 4095) / 4096 * 4096 }

// addFile puts a file such as iso/x.iso or vztmpl/x.tar.gz on a storage.
func (s *storage) addFile(node, name string, size int64) (*volume, error) {
	parsed, err := s.parse(name)
	if err != nil {
		return nil, err
	}
	return s.put(node, parsed, size), nil
}

// alloc makes an empty image of a number of bytes. Without a name it takes the
// next free vm-<vmid>-disk-<n>, without a format the storage's own.
func (s *storage) alloc(node string, vmid int, format, file string, size int64) (*volume, error) {
	if format == "" {
		format = s.defaultFormat()
	}
	if file == "" {
		var err error
		if file, err = s.freeName(node, vmid, format); err != nil {
			return nil, err
		}
	}
	name, err := s.imageName(vmid, format, file)
	if err != nil {
		return nil, err
	}
	if s.at(node)[s.id+":"+name.name] != nil {
		return nil, fail("disk image '%s' already exists", s.pathOf(name))
	}
	if err := s.checkSpace(name); err != nil {
		return nil, err
	}
	return s.put(node, name, size), nil
}

// virtualSize is the size of the disk in bytes.
func (v *volume) virtualSize() int64 {
	if v.virtual != 0 {
		return v.virtual
	}
	return v.size
}

// imageName checks an image's file name and makes it a volume name.
func (s *storage) imageName(vmid int, format, file string) (volumeName, error) {
	if s.path == "" {
		if !slices.Contains(storageKinds[s.kind].formats, format) {
			return volumeName{}, fail("unsupported format '%s' at /usr/share/perl5/PVE/Storage/LvmThinPlugin.pm line 84.", format)
		}
		if !strings.HasPrefix(file, fmt.Sprintf("vm-%d-", vmid)) && !strings.HasPrefix(file, fmt.Sprintf("subvol-%d-", vmid)) {
			return volumeName{}, fail("illegal name '%s' - should be 'vm-%d-*'", file, vmid)
		}
		return s.parse(file)
	}
	m := imageFileRE.FindStringSubmatch(file)
	if m == nil {
		return volumeName{}, fail("unable to parse volume filename '%s'", file)
	}
	if m[3] != format {
		return volumeName{}, fail("illegal name '%s' - wrong extension for format ('%s != '%s')", file, m[3], format)
	}
	return s.parse(fmt.Sprintf("%d/%s", vmid, file))
}

// freeName is the first vm-<vmid>-disk-<n> that no image of the guest has,
// whatever its format.
func (s *storage) freeName(node string, vmid int, format string) (string, error) {
	const most = 1024 // volumes a guest can have on one storage.
	prefix := "vm"
	if format == "subvol" {
		prefix = "subvol"
	}
	for n := range most {
		stem := fmt.Sprintf("%d-disk-%d", vmid, n)
		if s.hasStem(node, stem) {
			continue
		}
		file := prefix + "-" + stem
		if s.path != "" {
			file += "." + format
		}
		return file, nil
	}
	return "", fail("unable to allocate an image name for VM %d in storage '%s'", vmid, s.id)
}

func (s *storage) hasStem(node, stem string) bool {
	for _, v := range s.at(node) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(v.file, "."+v.format), "-")
		if v.content == "images" && rest == stem {
			return true
		}
	}
	return false
}

// describe is the volume's entry in a content list.
func (v *volume) describe() map[string]any {
	out := map[string]any{"volid": v.volid, "content": v.content, "format": v.format, "size": v.size, "ctime": v.ctime}
	if v.content == "images" {
		if g := v.storage.lab.guests[v.vmid]; g != nil && g.kind == "lxc" {
			out["content"] = "rootdir"
		}
		out["vmid"] = v.vmid
		if v.storage.path != "" {
			out["used"], out["parent"] = v.used, nil
		}
		if v.parent != "" {
			out["parent"] = "../" + v.parent
		}
	}
	if v.vmid != 0 {
		out["vmid"] = v.vmid
	}
	if v.notes != "" {
		out["notes"], _, _ = strings.Cut(v.notes, "\n")
	}
	if v.protected {
		out["protected"] = 1
	}
	return out
}
