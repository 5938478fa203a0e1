package pvelab

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// storageKind is what PVE's plugin of a storage type says of itself.
type storageKind struct {
	shared, selectExisting bool
	// contents are those allowed, usual those of a storage that names none.
	contents, usual []string
	formats         []string
	// required properties must be given; fixed ones cannot be changed.
	required, fixed, optional []string
}

func words(s string) []string { return strings.Fields(s) }

const (
	fileContents = "images rootdir vztmpl iso backup snippets import"
	fileOptions  = "content-dirs nodes disable prune-backups max-protected-backups content format mkdir create-base-path create-subdirs bwlimit preallocation"
)

// storageKinds are PVE's storage types, from its storage plugins.
var storageKinds = map[string]storageKind{
	"dir": {
		contents: words(fileContents + " none"), usual: words("images rootdir"), formats: words("raw qcow2 vmdk subvol"),
		required: words("path"), fixed: words("snapshot-as-volume-chain"), optional: words(fileOptions + " shared is_mountpoint"),
	},
	"btrfs": {
		contents: words(fileContents + " none"), usual: words("images rootdir"), formats: words("raw subvol"),
		required: words("path"), optional: words("nodes shared disable prune-backups max-protected-backups content format is_mountpoint nocow mkdir create-base-path create-subdirs preallocation"),
	},
	"nfs": {
		shared: true, contents: words(fileContents), usual: words("images"), formats: words("raw qcow2 vmdk"),
		required: words("path server export"), fixed: words("snapshot-as-volume-chain"), optional: words(fileOptions + " options"),
	},
	"cifs": {
		shared: true, contents: words(fileContents), usual: words("images"), formats: words("raw qcow2 vmdk"),
		required: words("path server share"), fixed: words("snapshot-as-volume-chain"),
		optional: words(fileOptions + " subdir username password domain smbversion options"),
	},
	"cephfs": {
		shared: true, contents: words("vztmpl iso backup snippets import"), usual: words("backup"), formats: words("raw"),
		required: words("path"), optional: words("content-dirs monhost nodes subdir disable options username content format mkdir create-base-path create-subdirs fuse bwlimit keyring prune-backups max-protected-backups fs-name"),
	},
	"lvm": {
		contents: words("images rootdir"), usual: words("images"), formats: words("raw qcow2"),
		required: words("vgname"), fixed: words("base"),
		optional: words("nodes shared disable saferemove saferemove-stepsize saferemove_throughput content tagged_only bwlimit snapshot-as-volume-chain"),
	},
	"lvmthin": {
		contents: words("images rootdir"), usual: words("images rootdir"), formats: words("raw"),
		required: words("thinpool vgname"), optional: words("nodes disable content bwlimit"),
	},
	"zfspool": {
		contents: words("images rootdir"), usual: words("images rootdir"), formats: words("raw subvol"),
		required: words("pool"), optional: words("blocksize sparse nodes disable content bwlimit mountpoint"),
	},
	"rbd": {
		shared: true, contents: words("images rootdir"), usual: words("images"), formats: words("raw"),
		optional: words("nodes disable monhost pool data-pool namespace username content krbd keyring bwlimit"),
	},
}

// secretProperties are kept outside storage.cfg and never shown.
var secretProperties = words("password keyring encryption-key master-pubkey")

// asAPI is a storage's configuration as PVE shows it.
func (s *storage) asAPI() map[string]any {
	out := map[string]any{"storage": s.id, "type": s.kind, "digest": s.lab.storageDigest(), "content": s.content()}
	props := s.lab.schema.methods["POST /storage"].Parameters.Properties
	for k, v := range s.config {
		if k == "content" || slices.Contains(secretProperties, k) {
			continue
		}
		out[k] = asType(props[k], v)
	}
	if storageKinds[s.kind].shared {
		out["shared"] = 1
	}
	if len(s.nodes) > 0 {
		out["nodes"] = strings.Join(slices.Sorted(slices.Values(s.nodes)), ",")
	}
	return out
}

// asType turns a property's text into the JSON type that PVE shows it as.
func asType(p *property, text string) any {
	if p == nil || (p.Type != "boolean" && p.Type != "integer") {
		return text
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return text
	}
	return n
}

func storageList(c *call) (any, error) {
	out := []map[string]any{}
	for _, id := range c.lab.storageIDs() {
		s := c.lab.storages[id]
		if !seesStorage(c, id) || (c.params.has("type") && c.params.str("type") != s.kind) {
			continue
		}
		out = append(out, s.asAPI())
	}
	return out, nil
}

func storageRead(c *call) (any, error) {
	s, err := c.lab.storageConfig(c.params.str("storage"))
	if err != nil {
		return nil, err
	}
	return s.asAPI(), nil
}

func storageCreate(c *call) (any, error) {
	id, kind := c.params.str("storage"), c.params.str("type")
	k, ok := storageKinds[kind]
	if !ok {
		return nil, fail("create storage failed: the lab has no storages of type '%s'", kind)
	}
	config := map[string]string{}
	for _, name := range c.params.names() {
		if name != "storage" && name != "type" && (name != "nodes" || c.params.str(name) != "") {
			config[name] = c.params.str(name)
		}
	}
	if err := k.check(config, true); err != nil {
		return nil, err
	}
	if c.lab.storages[id] != nil {
		return nil, fail("create storage failed: storage ID '%s' already defined", id)
	}
	if config["disable"] == "0" {
		delete(config, "disable")
	}
	c.lab.addStorage(id, kind, 256<<30, config)
	return map[string]any{"storage": id, "type": kind}, nil
}

var storagePathRE = regexp.MustCompile(`^/[-/a-zA-Z0-9_.@]+$`)

// check is the plugin's check of properties at creation or change.
func (k storageKind) check(config map[string]string, create bool) error {
	known := slices.Concat(k.required, k.fixed, k.optional)
	for _, name := range sortedKeys(config) {
		if !slices.Contains(known, name) {
			return fail("unexpected property '%s'", name)
		}
		if !create && (slices.Contains(k.required, name) || slices.Contains(k.fixed, name)) {
			return fail("can't change value of fixed parameter '%s'", name)
		}
	}
	if err := k.checkContent(config); err != nil || !create {
		return err
	}
	for _, name := range k.required {
		if config[name] == "" {
			return fail("missing value for required option '%s'", name)
		}
	}
	if path, ok := config["path"]; ok {
		if !storagePathRE.MatchString(path) {
			return fail("illegal path for directory storage: %s", path)
		}
		config["path"] = cleanPath(path)
	}
	return nil
}

func cleanPath(path string) string {
	return "/" + strings.Join(splitPath(path), "/")
}

// checkContent drops contents that the type does not know, as PVE does with a
// warning.
func (k storageKind) checkContent(config map[string]string) error {
	given, ok := config["content"]
	if !ok {
		return nil
	}
	list := slices.DeleteFunc(splitList(given), func(c string) bool { return !slices.Contains(k.contents, c) })
	if slices.Contains(list, "none") && len(list) > 1 {
		return fail("unable to combine 'none' with other content types")
	}
	if len(list) == 0 && !slices.Contains(k.contents, "none") {
		return fail("storage does not support content type 'none'")
	}
	config["content"] = strings.Join(list, ",")
	return nil
}

func storageUpdate(c *call) (any, error) {
	s, err := c.lab.changeStorage(c)
	if err != nil {
		return nil, prefixed("update storage failed", err)
	}
	return map[string]any{"storage": s.id, "type": s.kind}, nil
}

func (l *Lab) changeStorage(c *call) (*storage, error) {
	if d := c.params.str("digest"); d != "" && d != l.storageDigest() {
		return nil, fail("detected modified configuration - file changed by other user? Try again.")
	}
	s, err := l.storageConfig(c.params.str("storage"))
	if err != nil {
		return nil, err
	}
	k, set := storageKinds[s.kind], map[string]string{}
	for _, name := range c.params.names() {
		if !slices.Contains([]string{"storage", "node", "digest", "delete"}, name) {
			set[name] = c.params.str(name)
		}
	}
	if err := k.check(set, false); err != nil {
		return nil, err
	}
	remove := c.params.list("delete")
	if err := k.checkRemoval(remove, set); err != nil {
		return nil, err
	}
	maps.DeleteFunc(s.config, func(name, _ string) bool { return slices.Contains(remove, name) })
	maps.Copy(s.config, set)
	s.refresh()
	return s, nil
}

func (k storageKind) checkRemoval(remove []string, set map[string]string) error {
	for _, name := range remove {
		switch {
		case slices.Contains(k.required, name):
			return fail("unable to delete required option '%s'", name)
		case slices.Contains(k.fixed, name):
			return fail("unable to delete fixed option '%s'", name)
		case !slices.Contains(k.optional, name):
			return fail("no such option '%s'", name)
		}
		if _, ok := set[name]; ok {
			return fail("cannot set and delete property '%s' at the same time!", name)
		}
	}
	return nil
}

func storageDelete(c *call) (any, error) {
	s, err := c.lab.storageConfig(c.params.str("storage"))
	if err != nil {
		return nil, prefixed("delete storage failed", err)
	}
	for _, other := range c.lab.storages {
		if base, _, ok := strings.Cut(other.config["base"], ":"); ok && base == s.id {
			return nil, fail("delete storage failed: can't remove storage - storage is used as base of another storage")
		}
	}
	delete(c.lab.storages, s.id)
	return nothing(c)
}
