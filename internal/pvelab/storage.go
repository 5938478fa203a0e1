package pvelab

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// storageState is what the storage endpoints keep in the lab: storage.cfg and
// the volumes.
type storageState struct {
	storages map[string]*storage
}

// storage is an entry of storage.cfg with its contents.
type storage struct {
	lab      *Lab
	id, kind string
	// config holds the properties as in storage.cfg; the fields below follow
	// from it.
	config   map[string]string
	path     string
	shared   bool
	disabled bool
	nodes    []string
	contents []string
	// volumes are by node and volume id; a shared storage has one node, "".
	volumes map[string]map[string]*volume
	// total and base are bytes per node: the size, and what is used by others.
	total, base int64
}

// baseUsed is what a new storage reports as used before it holds a volume.
const baseUsed = 19314819072

func (l *Lab) initStorage() { l.storages = map[string]*storage{} }

// addStorage puts a storage into the configuration without checks.
func (l *Lab) addStorage(id, kind string, total int64, config map[string]string) *storage {
	s := &storage{
		lab: l, id: id, kind: kind, config: config,
		volumes: map[string]map[string]*volume{}, total: total, base: min(baseUsed, total/10),
	}
	s.refresh()
	l.storages[id] = s
	return s
}

// refresh derives the fields from the configuration.
func (s *storage) refresh() {
	p := storageKinds[s.kind]
	s.path = s.config["path"]
	s.shared = p.shared || s.config["shared"] == "1"
	s.disabled = s.config["disable"] == "1"
	s.nodes = splitList(s.config["nodes"])
	s.contents = splitList(s.config["content"])
	if len(s.contents) == 0 {
		s.contents = p.usual
	}
}

// allows reports whether the storage may hold a content such as images or iso.
func (s *storage) allows(content string) bool { return slices.Contains(s.contents, content) }

// on reports whether the storage is configured for a node.
func (s *storage) on(node string) bool { return len(s.nodes) == 0 || slices.Contains(s.nodes, node) }

// enabled reports whether a node may use the storage.
func (s *storage) enabled(node string) bool { return !s.disabled && s.on(node) }

// resolveFormat is the wanted format where the storage knows it, else its own.
func (s *storage) resolveFormat(wanted string) string {
	if slices.Contains(storageKinds[s.kind].formats, wanted) {
		return wanted
	}
	return s.defaultFormat()
}

// checkSpace fails with what QEMU's and LVM's tools say when a full storage
// should hold more.
func (s *storage) checkSpace(v volumeName) error {
	switch {
	case !s.lab.storageFull(s.id):
		return nil
	case s.path == "":
		return fail("lvcreate '%s/%s' error:   Cannot create new thin volume, free space in thin pool %s/%s reached threshold.",
			s.config["vgname"], v.file, s.config["vgname"], s.config["thinpool"])
	default:
		return fail("unable to create image: qemu-img: %s: Could not write to file: No space left on device", s.pathOf(v))
	}
}

// defaultFormat is the format of an image that names none.
func (s *storage) defaultFormat() string {
	if f := s.config["format"]; f != "" {
		return f
	}
	return "raw"
}

// content is PVE's list of contents, in the order of a Perl hash: none.
func (s *storage) content() string {
	c := slices.Clone(s.contents)
	rand.Shuffle(len(c), func(i, j int) { c[i], c[j] = c[j], c[i] })
	return strings.Join(c, ",")
}

// storageConfig finds a storage whether or not it can be used.
func (l *Lab) storageConfig(id string) (*storage, error) {
	s := l.storages[id]
	if s == nil {
		return nil, fail("storage '%s' does not exist", id)
	}
	return s, nil
}

// storage finds a storage that a node may use.
func (l *Lab) storage(node, id string) (*storage, error) {
	s, err := l.storageConfig(id)
	if err != nil {
		return nil, err
	}
	if s.disabled {
		return nil, fail("storage '%s' is disabled", id)
	}
	if !s.on(node) {
		return nil, fail("storage '%s' is not available on node '%s'", id, node)
	}
	return s, s.activate()
}

// activate fails where the storage is out of reach: a share says so by itself,
// of a directory it is the path that is missed.
func (s *storage) activate() error {
	switch {
	case !s.lab.storageAway(s.id):
		return nil
	case s.shared:
		return fail("storage '%s' is not online", s.id)
	default:
		return fail("unable to activate storage '%s' - directory '%s' does not exist or is unreachable", s.id, s.path)
	}
}

// place is the key of a node's volumes.
func (s *storage) place(node string) string {
	if s.shared {
		return ""
	}
	return node
}

// on a node: the volumes there, made when first written to.
func (s *storage) at(node string) map[string]*volume {
	key := s.place(node)
	if s.volumes[key] == nil {
		s.volumes[key] = map[string]*volume{}
	}
	return s.volumes[key]
}

// used is the number of bytes in use on a node.
func (s *storage) used(node string) int64 {
	n := s.base
	for _, v := range s.volumes[s.place(node)] {
		n += v.used
	}
	return min(n, s.total)
}

// storageDigest is the SHA-1 of storage.cfg.
func (l *Lab) storageDigest() string {
	var b strings.Builder
	for _, id := range l.storageIDs() {
		s := l.storages[id]
		fmt.Fprintf(&b, "%s: %s\n", s.kind, id)
		for _, k := range sortedKeys(s.config) {
			fmt.Fprintf(&b, "\t%s %s\n", k, s.config[k])
		}
		b.WriteString("\n")
	}
	sum := sha1.Sum([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}

func (l *Lab) storageIDs() []string { return sortedKeys(l.storages) }

// info is what a node tells of a storage. One that is disabled, foreign or out
// of reach has no figures.
func (s *storage) info(node string) map[string]any {
	out := map[string]any{
		"type": s.kind, "content": s.content(), "shared": boolInt(s.shared),
		"enabled": boolInt(s.enabled(node)), "active": 0, "total": 0, "avail": 0, "used": 0,
	}
	if !s.enabled(node) || s.activate() != nil {
		return out
	}
	used := s.used(node)
	out["active"], out["total"], out["used"], out["avail"] = 1, s.total, used, s.total-used
	return out
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (l *Lab) routeStorage() {
	l.handle("GET", "/storage", storageList)
	l.handle("POST", "/storage", storageCreate)
	l.handle("GET", "/storage/{storage}", storageRead)
	l.handle("PUT", "/storage/{storage}", storageUpdate)
	l.handle("DELETE", "/storage/{storage}", storageDelete)
	l.handle("GET", "/nodes/{node}/storage", nodeStorages)
	l.handle("GET", "/nodes/{node}/storage/{storage}", storageIndex)
	l.handle("GET", "/nodes/{node}/storage/{storage}/status", storageStatus)
	l.handle("POST", "/nodes/{node}/storage/{storage}/upload", uploadFile)
	l.handle("GET", "/nodes/{node}/storage/{storage}/content", contentList)
	l.handle("POST", "/nodes/{node}/storage/{storage}/content", contentAlloc)
	l.handle("GET", "/nodes/{node}/storage/{storage}/content/{volume}", contentInfo)
	l.handle("PUT", "/nodes/{node}/storage/{storage}/content/{volume}", contentUpdate)
	l.handle("DELETE", "/nodes/{node}/storage/{storage}/content/{volume}", contentDelete)
}

// seesStorage reports whether lists show a storage to the caller.
func seesStorage(c *call, id string) bool {
	return c.canAny("/storage/"+id, "Datastore.Audit", "Datastore.AllocateSpace")
}

func nodeStorages(c *call) (any, error) {
	out := []map[string]any{}
	for _, id := range c.lab.storageIDs() {
		s := c.lab.storages[id]
		if !seesStorage(c, id) || !s.wanted(c) {
			continue
		}
		info := s.info(c.node)
		info["storage"] = id
		if used, ok := info["used"].(int64); ok {
			info["used_fraction"] = float64(used) / float64(s.total)
		}
		if c.params.boolean("format") {
			s.addFormats(c.lab, info)
		}
		out = append(out, info)
	}
	if id := c.params.str("storage"); id != "" && c.lab.storages[id] == nil {
		return nil, badParams(map[string]string{"storage": "No such storage."})
	}
	rand.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

// wanted applies the filters of the list of a node's storages.
func (s *storage) wanted(c *call) bool {
	p := c.params
	if id := p.str("storage"); id != "" && id != s.id {
		return false
	}
	if p.has("content") && (!s.enabled(c.node) || !slices.ContainsFunc(p.list("content"), s.allows)) {
		return false
	}
	if p.boolean("enabled") && s.disabled {
		return false
	}
	if target := p.str("target"); target != "" && target != c.node {
		return s.shared && s.on(c.node) && s.on(target)
	}
	return true
}

// addFormats tells which image formats the storage knows.
func (s *storage) addFormats(l *Lab, info map[string]any) {
	k := storageKinds[s.kind]
	valid := map[string]int{}
	for _, f := range k.formats {
		valid[f] = 1
	}
	info["format"] = []any{valid, s.defaultFormat()}
	if !l.is8() {
		info["formats"] = map[string]any{"supported": slices.Sorted(slices.Values(k.formats)), "default": s.defaultFormat()}
	}
	if k.selectExisting {
		info["select_existing"] = 1
	}
}

func storageStatus(c *call) (any, error) {
	s := c.lab.storages[c.params.str("storage")]
	if s == nil {
		return nil, badParams(map[string]string{"storage": "No such storage."})
	}
	return s.info(c.node), nil
}

func storageIndex(c *call) (any, error) {
	names := []string{
		"content", "download-url", "file-restore", "import-metadata", "identity", "oci-registry-pull",
		"prunebackups", "rrd", "rrddata", "status", "upload",
	}
	if c.lab.is8() {
		names = slices.DeleteFunc(names, func(n string) bool { return n == "oci-registry-pull" || n == "identity" })
	}
	return subdirs("subdir", names...), nil
}

// subdirs is an index of PVE's tree of paths.
func subdirs(key string, names ...string) []map[string]any {
	out := make([]map[string]any, len(names))
	for i, n := range names {
		out[i] = map[string]any{key: n}
	}
	return out
}
