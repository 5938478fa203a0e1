package seed_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/seed"
)

var example = seed.Files{
	UserData:      "#cloud-config\npackages: [nginx]\n",
	MetaData:      "instance-id: iid-1\nlocal-hostname: web-1\n",
	NetworkConfig: "version: 2\n",
	VendorData:    "#!/bin/sh\n" + strings.Repeat("echo vendor\n", 500),
}

var exampleFiles = map[string]string{
	"user-data": example.UserData, "meta-data": example.MetaData,
	"network-config": example.NetworkConfig, "vendor-data": example.VendorData,
}

func read(t *testing.T, f seed.Files) []byte {
	t.Helper()
	image, err := seed.NewImage(f)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(image.Open())
	if err != nil {
		t.Fatal(err)
	}
	if int64(len(content)) != image.Size() {
		t.Errorf("the image has %d bytes and says %d", len(content), image.Size())
	}
	return content
}

// TestImageIsAFunctionOfItsFiles pins the digest: images made on another day, by
// another process or on another system are the same to the byte.
func TestImageIsAFunctionOfItsFiles(t *testing.T) {
	t.Parallel()
	const want = "d6f30a588ce990f0dbffc04bae62059b401dabc676f329228c3c70d4a1b57c40"
	image, err := seed.NewImage(example)
	if err != nil {
		t.Fatal(err)
	}
	got, err := image.SHA256()
	if err != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("the digest is %s, want %s", got, want)
	}
	if !bytes.Equal(read(t, example), read(t, example)) {
		t.Error("two images of the same files differ")
	}
	other := example
	other.VendorData = ""
	if bytes.Equal(read(t, example), read(t, other)) {
		t.Error("images of different files are the same")
	}
}

// TestImageByECMA119 reads the image by the standard, with nothing of what
// wrote it.
func TestImageByECMA119(t *testing.T) {
	t.Parallel()
	image := read(t, example)
	descriptor := image[16*2048:]
	if string(descriptor[:7]) != "\x01CD001\x01" {
		t.Fatalf("no primary volume descriptor: %q", descriptor[:7])
	}
	if label := strings.TrimRight(string(descriptor[40:72]), " "); label != "cidata" {
		t.Errorf("the label is %q", label)
	}
	if sectors := binary.LittleEndian.Uint32(descriptor[80:]); int(sectors)*2048 != len(image) {
		t.Errorf("the volume has %d sectors, the image %d bytes", sectors, len(image))
	}
	if created := string(descriptor[813:829]); created != "2000010100000000" {
		t.Errorf("created at %q", created)
	}
	found := map[string]string{}
	extent := func(record []byte) []byte {
		at := int(binary.LittleEndian.Uint32(record[2:])) * 2048
		return image[at : at+int(binary.LittleEndian.Uint32(record[10:]))]
	}
	directory := extent(descriptor[156:])
	for at := 0; at < len(directory) && directory[at] != 0; at += int(directory[at]) {
		record := directory[at:]
		name := string(record[33 : 33+record[32]])
		if !bytes.Equal(record[18:25], []byte{100, 1, 1, 0, 0, 0, 0}) {
			t.Errorf("%q was recorded at %v", name, record[18:25])
		}
		if base, ok := strings.CutSuffix(name, ";1"); ok {
			found[base] = string(extent(record))
		}
	}
	if !maps.Equal(found, exampleFiles) {
		t.Errorf("found %q", slices.Sorted(maps.Keys(found)))
	}
}

// TestImageByOthers reads the image with the tools that users have.
func TestImageByOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "seed.iso")
	if err := os.WriteFile(path, read(t, example), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("isoinfo", func(t *testing.T) {
		t.Parallel()
		if description := run(t, "isoinfo", "-d", "-i", path); !strings.Contains(description, "Volume id: cidata") {
			t.Errorf("isoinfo says:\n%s", description)
		}
		for name, content := range exampleFiles {
			if got := run(t, "isoinfo", "-i", path, "-x", "/"+name+";1"); got != content {
				t.Errorf("isoinfo reads %s as %q", name, got)
			}
		}
	})
	t.Run("xorriso", func(t *testing.T) {
		t.Parallel()
		target := filepath.Join(t.TempDir(), "out")
		said := run(t, "xorriso", "-osirrox", "on", "-indev", path, "-extract", "/", target)
		if !strings.Contains(said, "Volume id    : 'cidata'") {
			t.Errorf("xorriso says:\n%s", said)
		}
		for name, content := range exampleFiles {
			got, err := os.ReadFile(filepath.Join(target, name))
			if err != nil || string(got) != content {
				t.Errorf("xorriso reads %s as %q: %v", name, got, err)
			}
		}
	})
}

// run runs a tool that may not be there. What it says is on both streams.
func run(t *testing.T, tool string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(tool)
	if err != nil {
		t.Skipf("%s is not installed", tool)
	}
	output, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", tool, args, err, output)
	}
	return string(output)
}

func TestImageLimits(t *testing.T) {
	t.Parallel()
	image, err := seed.NewImage(seed.Files{UserData: strings.Repeat("#", seed.MaxContent)})
	if err != nil {
		t.Fatal(err)
	}
	if image.Size() != seed.MaxContent+19*2048 {
		t.Errorf("the largest image has %d bytes", image.Size())
	}
	full := seed.Files{UserData: strings.Repeat("#", seed.MaxContent-3), MetaData: "1", NetworkConfig: "2", VendorData: "3"}
	if err := full.CheckSize(); err != nil {
		t.Errorf("as much as is allowed: %v", err)
	}
	full.NetworkConfig = "22"
	if err := full.CheckSize(); err == nil || !strings.Contains(err.Error(), "33554433 bytes") {
		t.Errorf("one byte too many: %v", err)
	}
	empty := read(t, seed.Files{})
	if len(empty) != 19*2048 {
		t.Errorf("an image of two empty files has %d bytes", len(empty))
	}
}

// TestImageStaysOffTheDisk looks for user data in what is left in temporary
// folders while an image is made. Not parallel: the folder is the process's.
func TestImageStaysOffTheDisk(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	if _, err := seed.NewImage(example); err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
