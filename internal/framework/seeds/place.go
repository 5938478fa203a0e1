package seeds

import (
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
	"terraform-provider-proxmox/internal/seed"
)

// Name is what an image's volume is called: by an id of its owner's own, which
// nobody else uses, and by its digest, so that another image never replaces one
// that a guest still reads.
type Name struct{ Storage, UID, SHA256 string }

// String is the volume's id.
func (n Name) String() string { return n.Storage + ":iso/" + n.file() }

func (n Name) file() string { return n.UID + "-" + n.SHA256 + ".iso" }

var nameForm = regexp.MustCompile(`^([^:]+):iso/([0-9a-f-]{36})-([0-9a-f]{64})\.iso$`)

// ParseName reads a volume's id.
func ParseName(volid string) (Name, bool) {
	match := nameForm.FindStringSubmatch(volid)
	if match == nil {
		return Name{}, false
	}
	return Name{match[1], match[2], match[3]}, true
}

// Put uploads an image to a node and waits until the storage lists it.
func Put(ctx context.Context, client *proxmox.Client, node string, name Name, image *seed.Image) (proxmox.Volume, error) {
	return client.Storage.Store(ctx, proxmox.Upload{
		Node: node, Storage: name.Storage, Content: "iso", Name: name.file(),
		Size: image.Size(), SHA256: name.SHA256, Open: image.Open,
		Progress: func(line string) { framework.Log(ctx, line, nil) },
	})
}

// CheckStorage checks that a node can keep a seed on a storage, where the token
// may upload it and delete it again, and adds an error at the attribute if not.
func CheckStorage(ctx context.Context, client *proxmox.Client, node, storage string, at path.Path, diags *diag.Diagnostics) {
	storages, err := client.View.Storages(ctx, node)
	if err != nil {
		framework.AddAttributeError(diags, at, "list the storages of node "+node, err)
		return
	}
	if _, ok := framework.FindStorage(ctx, client, storages, node, storage, "iso", at, diags); !ok {
		return
	}
	use := framework.Use{
		Capability: "seed_iso", Action: "keep seeds on " + storage, Scope: proxmox.Scope{"iso": {storage}},
		Spare: func(need proxmox.Need) bool { return !strings.HasPrefix(need.Path, "/storage/") },
	}
	use.Check(ctx, client, diags)
}

// Users lists the VMs that name an image. Where VMs could not be asked the error
// is one of [proxmox.IsUnasked], beside the users that were found.
func Users(ctx context.Context, client *proxmox.Client, node, volid string) ([]proxmox.VolumeUser, error) {
	storage, _, err := proxmox.SplitVolID(volid)
	if err != nil {
		return nil, err
	}
	shared, err := Shared(ctx, client, node, storage)
	if err != nil {
		return nil, err
	}
	return client.Storage.VolumeUsers(ctx, node, shared, volid)
}

// AddInUse adds the error that an image stays for those who hold it.
func AddInUse(diags *diag.Diagnostics, volid string, users []proxmox.VolumeUser) {
	var names []string
	for _, user := range users {
		names = append(names, user.String())
	}
	diags.AddError("The seed "+volid+" is in use", "These VMs hold it: "+strings.Join(names, "; ")+
		". Take it out of their CD-ROM drives, or stop them where that waits for a restart, and apply again.")
}

// Size is the size in bytes of an image as its storage lists it, 0 for one that
// is not there, nor its storage.
func Size(ctx context.Context, client *proxmox.Client, node, volid string) (int64, error) {
	storage, _, err := proxmox.SplitVolID(volid)
	if err != nil {
		return 0, err
	}
	images, err := client.View.Images(ctx, node, storage)
	if proxmox.IsNoStorage(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for _, image := range images {
		if image.VolID == volid {
			return int64(image.Size), nil
		}
	}
	return 0, nil
}

// Shared reports whether all nodes see the same images on a storage. One that
// is not listed has none.
func Shared(ctx context.Context, client *proxmox.Client, node, storage string) (bool, error) {
	storages, err := client.View.Storages(ctx, node)
	if err != nil {
		return false, err
	}
	i := slices.IndexFunc(storages, func(s proxmox.NodeStorage) bool { return s.Storage == storage })
	return i >= 0 && bool(storages[i].Shared), nil
}
