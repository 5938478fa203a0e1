package pvelab

import (
	"strconv"
	"strings"
)

// ext4 describes the file system that mkfs.ext4 makes on a volume.
type ext4 struct{ blockSize, blocks, inodes, groups int64 }

// newExt4 follows mke2fs.conf: below 512 MiB blocks of 1 KiB and an inode for
// every 4 KiB, else blocks of 4 KiB and an inode for every 16 KiB.
func newExt4(size int64) ext4 {
	fs := ext4{blockSize: 4096}
	perInode := int64(16384)
	if size < 512<<20 {
		fs.blockSize, perInode = 1024, 4096
	}
	fs.blocks = size / fs.blockSize
	perGroup := fs.blockSize * 8
	fs.groups = max(1, (fs.blocks+perGroup-1)/perGroup)
	fs.inodes = size / perInode / fs.groups &^ 7 * fs.groups
	return fs
}

// backups are the blocks of the superblock's copies: in group 1 and those whose
// number is a power of 3, 5 or 7.
func (fs ext4) backups() []string {
	var list []string
	first := int64(0)
	if fs.blockSize == 1024 {
		first = 1
	}
	for group := int64(1); group < fs.groups; group++ {
		if isPower(group, 3) || isPower(group, 5) || isPower(group, 7) {
			list = append(list, strconv.FormatInt(group*fs.blockSize*8+first, 10))
		}
	}
	return list
}

func isPower(n, base int64) bool {
	for n > 1 && n%base == 0 {
		n /= base
	}
	return n == 1
}

// logMkfs prints what mkfs.ext4 says.
func logMkfs(log logger, size int64) {
	fs := newExt4(size)
	log("Creating filesystem with %d %dk blocks and %d inodes", fs.blocks, fs.blockSize/1024, fs.inodes)
	log("Filesystem UUID: %s", newUUID())
	log("Superblock backups stored on blocks: ")
	log("\t%s", strings.Join(fs.backups(), ", "))
}
