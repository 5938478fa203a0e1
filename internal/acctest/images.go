package acctest

import (
	"context"
	"os"
	"slices"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
)

// SeedStorage is a storage of the node that takes ISO images and that tests may
// fill: the lab's own, or on a real node what PROXMOX_SEED_STORAGE names.
func (target *Target) SeedStorage(t *testing.T) string {
	t.Helper()
	if target.Lab != nil {
		return "seeds"
	}
	storage := os.Getenv("PROXMOX_SEED_STORAGE")
	if storage == "" {
		t.Skip("PROXMOX_SEED_STORAGE names no storage for seeds")
	}

	return storage
}

// Images lists the images of a storage as the target's node sees them, sorted
// by volume id.
func (target *Target) Images(t *testing.T, storage string) []byhand.Image {
	t.Helper()
	return target.ImagesOn(t, target.Node, storage)
}

// ImagesOn is [Target.Images] of another node.
func (target *Target) ImagesOn(t *testing.T, node, storage string) []byhand.Image {
	t.Helper()
	images, err := target.Hand.Images(context.Background(), node, storage)
	must(t, err)
	slices.SortFunc(images, func(a, b byhand.Image) int {
		if a.VolID < b.VolID {
			return -1
		}
		return 1
	})

	return images
}
