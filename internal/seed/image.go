package seed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kdomanski/iso9660"
)

// Label is the volume label by which cloud-init finds a seed.
const Label = "cidata"

// MaxContent is the number of bytes that the files of a seed may have together,
// as far as they are given. It is this provider's own limit: a seed passes
// through Terraform's state.
const MaxContent = 32 << 20

// Files are the contents of a seed. NoCloud wants user data and meta data, even
// if empty; the others are left out when they are.
type Files struct {
	UserData, MetaData, NetworkConfig, VendorData string
}

// CheckSize fails where the files have more than [MaxContent] bytes together.
func (f Files) CheckSize() error {
	total := len(f.UserData) + len(f.MetaData) + len(f.NetworkConfig) + len(f.VendorData)
	if total > MaxContent {
		return fmt.Errorf("the files of the seed have %d bytes together, more than the %d that are allowed", total, MaxContent)
	}
	return nil
}

// Image is a seed's ISO 9660 image. Its bytes depend on its files alone. The
// files are not copied: the image is put together while it is read.
type Image struct {
	head  []byte
	files []file
}

type file struct{ name, content string }

const sector = 2048

// padding returns what fills a file up to a whole number of sectors.
func (f file) padding() int64 {
	rest := int64(len(f.content)) % sector
	if rest == 0 {
		return 0
	}
	return sector - rest
}

// NewImage lays out an image.
func NewImage(f Files) (*Image, error) {
	files := []file{{"user-data", f.UserData}, {"meta-data", f.MetaData}}
	for _, each := range []file{{"network-config", f.NetworkConfig}, {"vendor-data", f.VendorData}} {
		if each.content != "" {
			files = append(files, each)
		}
	}
	// The files lie in the order of the directory.
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	head, err := layOut(files)
	if err != nil {
		return nil, fmt.Errorf("laying out the seed: %w", err)
	}
	return &Image{head: head, files: files}, nil
}

// Size is the image's size in bytes.
func (i *Image) Size() int64 {
	size := int64(len(i.head))
	for _, each := range i.files {
		size += int64(len(each.content)) + each.padding()
	}
	return size
}

// Open reads the image from its beginning.
func (i *Image) Open() io.Reader {
	parts := []io.Reader{bytes.NewReader(i.head)}
	for _, each := range i.files {
		parts = append(parts, strings.NewReader(each.content), io.LimitReader(zeros{}, each.padding()))
	}
	return io.MultiReader(parts...)
}

// SHA256 is the image's digest in hex.
func (i *Image) SHA256() (string, error) {
	digest := sha256.New()
	if _, err := io.Copy(digest, i.Open()); err != nil {
		return "", err
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// zeros is an endless file of zeros.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// descriptors are the sectors before the files: the system area, two volume
// descriptors and the root directory.
const descriptors = 16 + 2 + 1

// layOut writes the sectors before the files.
//
// The library makes an image out of files on the disk, where secrets have no
// business: it is given empty files of the right lengths, and what it writes of
// their content is dropped.
func layOut(files []file) (head []byte, err error) {
	staging, err := os.MkdirTemp("", "seed-")
	if err != nil {
		return nil, err
	}
	defer func() { err = firstOf(err, os.RemoveAll(staging)) }()
	writer, err := iso9660.NewWriter()
	if err != nil {
		return nil, err
	}
	defer func() { err = firstOf(err, writer.Cleanup()) }()

	for _, each := range files {
		hollow := filepath.Join(staging, each.name)
		if err := os.WriteFile(hollow, nil, 0o600); err != nil {
			return nil, err
		}
		if err := os.Truncate(hollow, int64(len(each.content))); err != nil {
			return nil, err
		}
		if err := writer.AddLocalFile(hollow, each.name); err != nil {
			return nil, err
		}
	}
	first := &headWriter{limit: descriptors * sector}
	if err := writer.WriteTo(first, Label); err != nil {
		return nil, err
	}
	normalise(first.head)
	return first.head, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// headWriter keeps the first bytes of what is written.
type headWriter struct {
	head  []byte
	limit int
}

func (w *headWriter) Write(p []byte) (int, error) {
	w.head = append(w.head, p[:min(len(p), w.limit-len(w.head))]...)
	return len(p), nil
}

// Where ECMA-119 has what would differ from day to day and from machine to
// machine: in the primary volume descriptor (8.4) and in the records of a
// directory (9.1).
const (
	primary       = 16 * sector
	systemAt      = primary + 8
	systemLength  = 32
	rootRecordAt  = primary + 156
	datesAt       = primary + 813
	dateLength    = 17
	directoryAt   = 18 * sector
	recordedAt    = 18
	noExpiryIndex = 2
)

// normalise makes the descriptors a function of the files: the library puts in
// the time and the operating system that it runs on.
func normalise(head []byte) {
	copy(head[systemAt:systemAt+systemLength], fmt.Sprintf("%-*s", systemLength, "LINUX"))
	for index := range 4 { // Creation, modification, expiry, when it takes effect.
		date := "2000010100000000\x00"
		if index == noExpiryIndex {
			date = "0000000000000000\x00"
		}
		copy(head[datesAt+index*dateLength:], date)
	}
	setRecorded(head[rootRecordAt:])
	for at := directoryAt; at < len(head) && head[at] != 0; at += int(head[at]) {
		setRecorded(head[at:])
	}
}

// setRecorded dates a directory record: years since 1900, month, day, and a
// time in UTC.
func setRecorded(record []byte) {
	copy(record[recordedAt:], []byte{100, 1, 1, 0, 0, 0, 0})
}
