package proxmox

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// SplitVolID splits a volume's id: "seeds:iso/x.iso" is "iso/x.iso" on the
// storage "seeds".
func SplitVolID(volid string) (storage, name string, err error) {
	storage, name, found := strings.Cut(volid, ":")
	if !found || storage == "" || name == "" || strings.Contains(storage, "/") {
		return "", "", fmt.Errorf("%q is no volume id such as seeds:iso/x.iso", volid)
	}
	return storage, name, nil
}

// Volume finds a volume in the content list of its storage, as the node sees
// it.
func (s *StorageService) Volume(ctx context.Context, node, volid string) (Volume, bool, error) {
	storage, name, err := SplitVolID(volid)
	if err != nil {
		return Volume{}, false, err
	}
	content, _, isFile := strings.Cut(name, "/")
	if !isFile || !slices.Contains([]string{"iso", "vztmpl", "import", "backup", "snippets"}, content) {
		content = ""
	}
	volumes, err := s.Content(ctx, node, storage, content)
	if err != nil {
		return Volume{}, false, err
	}
	i := slices.IndexFunc(volumes, func(v Volume) bool { return v.VolID == volid })
	if i < 0 {
		return Volume{}, false, nil
	}
	return volumes[i], true, nil
}

// Delete removes a file from a storage and waits until it is gone. One that is
// gone already is a success, for PVE too. It needs Datastore.Allocate on the
// storage. Disks of guests are refused: they go with the gate's permission.
func (s *StorageService) Delete(ctx context.Context, node, volid string) error {
	storage, name, err := SplitVolID(volid)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(name, "iso/") {
		return fmt.Errorf("%s is no ISO image: only these are deleted by name", volid)
	}
	defer s.c.View.dropImages(storage)
	for attempt := 0; ; attempt++ {
		err := s.remove(ctx, node, storage, volid)
		if err == nil || ctx.Err() != nil || !mayPass(err) {
			return err
		}
		if stopped := s.c.backoff(ctx, attempt); stopped != nil {
			return fmt.Errorf("%w: %w", stopped, err)
		}
		// Deleting what is gone succeeds, so that a lost answer is resolved by
		// asking again: the name is never given to another file.
	}
}

func (s *StorageService) remove(ctx context.Context, node, storage, volid string) error {
	upid, err := s.c.startTask(ctx, http.MethodDelete, at("nodes", node, "storage", storage, "content", volid), nil)
	if err != nil {
		return err
	}
	_, err = s.c.Tasks.Wait(ctx, upid, WaitOptions{})
	return err
}

// Images lists the ISO images of a storage as a node sees them.
func (v *View) Images(ctx context.Context, node, storage string) ([]Volume, error) {
	key := viewKey{what: "images", node: node, id: storage}
	return shared(ctx, v, key, func(ctx context.Context) ([]Volume, error) {
		return v.c.Storage.Content(ctx, node, storage, "iso")
	})
}

// dropImages forgets the images of a storage, which may be shared by all nodes.
func (v *View) dropImages(storage string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for key := range v.entries {
		if key.what == "images" && key.id == storage {
			delete(v.entries, key)
		}
	}
}
