package pvelab

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"hash"
	"regexp"
	"strings"
	"time"
)

var (
	unsafeCharRE   = regexp.MustCompile(`[^a-zA-Z0-9_.-]`)
	uploadNameREs  = map[string]*regexp.Regexp{"iso": fileNameREs["iso"], "vztmpl": fileNameREs["vztmpl"]}
	importUploadRE = regexp.MustCompile(`^[a-zA-Z0-9\-.+=_]+\.(ova|qcow2|raw|vmdk)$`)
)

var checksums = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New, "sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
}

// uploadFile takes a file that was uploaded to the node asked and brings it to
// the storage of the node named.
func uploadFile(c *call) (any, error) {
	l, content := c.lab, c.params.str("content")
	node := c.params.str("node")
	s, err := l.storage(node, c.params.str("storage"))
	if err != nil {
		return nil, err
	}
	if s.path == "" {
		return nil, fail("can't upload to storage type '%s'", s.kind)
	}
	if c.upload == nil {
		return nil, fail("missing temporary file name")
	}
	file, err := uploadName(content, c.params.str("filename"))
	if err != nil {
		return nil, err
	}
	if !s.allows(content) {
		return nil, fail("storage '%s' does not support '%s' content", s.id, content)
	}
	name, err := s.parse(content + "/" + file)
	if err != nil {
		return nil, err
	}
	u := uploadJob{
		lab: l, node: node, storage: s, name: name, data: c.upload.content,
		algorithm: c.params.str("checksum-algorithm"), checksum: c.params.str("checksum"),
		temporary: "/var/tmp/pveupload-" + strings.ReplaceAll(newUUID(), "-", ""),
	}
	return l.startTask(c, c.via, "imgcopy", "", u.run), nil
}

// uploadName makes a file name harmless and checks its extension.
func uploadName(content, given string) (string, error) {
	given = strings.TrimSuffix(given, "\n")
	name := unsafeCharRE.ReplaceAllString(given[strings.LastIndexAny(given, `/\`)+1:], "_")
	if content == "import" {
		if !importUploadRE.MatchString(name) {
			return "", badParams(map[string]string{"filename": "invalid filename or wrong extension"})
		}
		return name, nil
	}
	if !uploadNameREs[content].MatchString(name) {
		return "", badParams(map[string]string{"filename": "wrong file extension"})
	}
	return name, nil
}

// uploadJob is the worker that moves an uploaded file to its place.
type uploadJob struct {
	lab                            *Lab
	node                           string
	storage                        *storage
	name                           volumeName
	data                           []byte
	algorithm, checksum, temporary string
}

func (u uploadJob) run(t *task) error {
	t.logf("starting file import from: %s", u.temporary)
	if err := u.verify(t); err != nil {
		return err
	}
	if err := t.sleep(200 * time.Millisecond); err != nil {
		return err
	}
	dest := u.storage.pathOf(u.name)
	t.logf("target node: %s", u.node)
	t.logf("target file: %s", dest)
	t.logf("file size is: %d", len(u.data))
	if t.node == u.node {
		t.logf("command: cp -- %s %s", u.temporary, dest)
	} else {
		t.logf("command: /usr/bin/scp -o BatchMode=yes -o HostKeyAlias=%s -p -- %s [%s]:%s", u.node, u.temporary, u.ip(), dest)
	}
	var err error
	u.lab.locked(func() {
		if u.lab.storageFull(u.storage.id) {
			err = fail("import failed: cp: error writing '%s': No space left on device", dest)
			return
		}
		u.storage.put(u.node, u.name, int64(len(u.data))).data = u.data
	})
	if err != nil {
		return err
	}
	t.logf("finished file import successfully")
	return nil
}

func (u uploadJob) ip() (ip string) {
	u.lab.locked(func() { ip = u.lab.nodes[u.node].ip })
	return ip
}

func (u uploadJob) verify(t *task) error {
	if u.algorithm == "" {
		return nil
	}
	h := checksums[u.algorithm]()
	h.Write(u.data)
	got := hex.EncodeToString(h.Sum(nil))
	if !strings.EqualFold(got, u.checksum) {
		t.logf("calculating checksum...")
		return fail("checksum mismatch: got '%s' != expect '%s'", got, u.checksum)
	}
	t.logf("calculating checksum...OK, checksum verified")
	return nil
}
