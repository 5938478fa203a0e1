package seediso_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestMain(m *testing.M) { acctest.Main(m) }

func skipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in a short round")
	}
}

const (
	address  = "proxmox_seed_iso.test"
	userData = `user_data = "#cloud-config\npackages: [nginx]\n"`
)

func block(storage string, lines ...string) string {
	return fmt.Sprintf(`
resource "proxmox_seed_iso" "test" {
  storage = %q
  %s
}
`, storage, strings.Join(lines, "\n  "))
}

// bench is a workspace on a target.
type bench struct {
	*testing.T
	*acctest.Target
	*cli.Workspace
	storage string
}

func newBench(t *testing.T, target *acctest.Target) *bench {
	t.Helper()
	return &bench{T: t, Target: target, Workspace: target.Workspace(t), storage: target.SeedStorage(t)}
}

func (b *bench) write(lines ...string) {
	b.Helper()
	acctest.Must(b.T, b.Write(b.Provider()+block(b.storage, lines...)))
}

// apply applies and wants an empty plan afterwards; it returns the seed.
func (b *bench) apply(lines ...string) cli.Resource {
	b.Helper()
	b.write(lines...)
	acctest.MustRun(b.T, b.Workspace, "apply", "-auto-approve")
	changes, output, err := b.Plan(context.Background())
	if err != nil || changes {
		b.Fatalf("the plan after the apply is not empty: %v\n%s", err, output)
	}
	return acctest.Resource(b.T, b.Workspace, address)
}

// refused wants a plan that fails with these words.
func (b *bench) refused(words ...string) {
	b.Helper()
	_, output, err := b.Plan(context.Background())
	var exit *cli.ExitError
	if !errors.As(err, &exit) {
		b.Fatalf("the plan is not refused: %v\n%s", err, output)
	}
	for _, word := range words {
		if !strings.Contains(acctest.Unwrap(output), word) {
			b.Errorf("the refusal does not say %q:\n%s", word, output)
		}
	}
}

func text(r cli.Resource, name string) string {
	value, _ := r.Values[name].(string)
	return value
}

// volumes are the volume ids of the storage's images, with a seed's own uid.
func (b *bench) volumes(uid string) []string {
	b.Helper()
	var found []string
	for _, image := range b.Images(b.T, b.storage) {
		if strings.Contains(image.VolID, uid) {
			found = append(found, image.VolID)
		}
	}
	return found
}

func (b *bench) wantVolumes(uid string, want ...string) {
	b.Helper()
	if got := b.volumes(uid); len(got) != len(want) || strings.Join(got, " ") != strings.Join(sorted(want), " ") {
		b.Errorf("the images are %v, want %v", got, want)
	}
}

func sorted(texts []string) []string {
	if len(texts) == 2 && texts[0] > texts[1] {
		return []string{texts[1], texts[0]}
	}
	return texts
}

// TestAccSeedISO_lifecycle goes once through everything that happens to a seed.
func TestAccSeedISO_lifecycle(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"9.2", "8.4"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			if version != "9.2" {
				skipIfShort(t)
			}
			if version != "9.2" && os.Getenv("PROXMOX_ENDPOINT") == "" {
				lifecycle(t, acctest.NewLab(t, pvelab.Options{Version: version}))
				return
			}
			if version == "9.2" {
				lifecycle(t, acctest.New(t))
			}
		})
	}
}

func lifecycle(t *testing.T, target *acctest.Target) {
	t.Helper()
	b := newBench(t, target)
	first := b.apply(userData, `host_name = "web-1"`)
	uid := text(first, "uid")
	if want := b.storage + ":iso/" + uid + "-" + text(first, "sha256") + ".iso"; text(first, "volume_id") != want {
		t.Errorf("volume_id is %s, want %s", text(first, "volume_id"), want)
	}
	b.wantVolumes(uid, text(first, "volume_id"))
	if size := b.Images(t, b.storage)[0].Size; fmt.Sprint(size) != fmt.Sprint(first.Values["size"]) {
		t.Errorf("size is %v, the storage lists %d", first.Values["size"], size)
	}

	// Another network keeps the instance, other user data make another one.
	network := `interfaces = { eth0 = { mac_address = "BC:24:11:00:00:01", ipv4 = { address = "10.0.0.11/24", gateway = "10.0.0.1" } } }`
	second := b.apply(userData, `host_name = "web-1"`, network)
	if text(second, "instance_id") != text(first, "instance_id") || text(second, "sha256") == text(first, "sha256") {
		t.Errorf("another network: %v after %v", second.Values, first.Values)
	}
	// The first image stays until the next update: a VM may still use it.
	b.wantVolumes(uid, text(first, "volume_id"), text(second, "volume_id"))

	third := b.apply(`user_data = "#!/bin/sh\ntrue\n"`, `host_name = "web-1"`, network)
	if text(third, "instance_id") == text(first, "instance_id") {
		t.Error("other user data keep the instance id")
	}
	b.wantVolumes(uid, text(second, "volume_id"), text(third, "volume_id"))

	// Back again: the same inputs have the same image and the same name.
	fourth := b.apply(userData, `host_name = "web-1"`, network)
	if text(fourth, "volume_id") != text(second, "volume_id") {
		t.Errorf("the same inputs have the image %s, and had %s", text(fourth, "volume_id"), text(second, "volume_id"))
	}
	b.wantVolumes(uid, text(third, "volume_id"), text(fourth, "volume_id"))

	// An id of one's own, and its end.
	given := b.apply(userData, `host_name = "web-1"`, network, `instance_id = "mine"`)
	if text(given, "instance_id") != "mine" {
		t.Errorf("the instance id is %q", text(given, "instance_id"))
	}
	back := b.apply(userData, `host_name = "web-1"`, network)
	if text(back, "instance_id") != text(first, "instance_id") {
		t.Errorf("without an id of its own it is %q", text(back, "instance_id"))
	}

	// Import: an unchanged configuration uploads nothing.
	acctest.MustRun(t, b.Workspace, "state", "rm", address)
	acctest.MustRun(t, b.Workspace, "import", address, text(back, "volume_id"))
	imported := b.apply(userData, `host_name = "web-1"`, network)
	if text(imported, "volume_id") != text(back, "volume_id") || text(imported, "instance_id") != text(back, "instance_id") {
		t.Errorf("imported: %v", imported.Values)
	}
	acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve")
	if left := b.volumes(text(back, "volume_id")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for _, each := range b.volumes(uid) { // Forgotten with the state that knew them.
		acctest.Must(t, b.Hand.DeleteImage(context.Background(), b.Node, each))
	}
}

func TestAccSeedISO_planSaysWhatItKnows(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	b := newBench(t, acctest.New(t))
	b.apply(userData)
	b.write(`user_data = "#cloud-config\npackages: [apache2]\n"`)
	_, output, err := b.Plan(context.Background())
	acctest.Must(t, err)
	if said := acctest.Unwrap(output); !strings.Contains(said, "volume_id") || !strings.Contains(said, "(known after apply)") || !strings.Contains(said, "updated in-place") {
		t.Errorf("the plan is:\n%s", output)
	}
	acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve")
}

func TestAccSeedISO_refused(t *testing.T) {
	t.Parallel()
	b := newBench(t, acctest.New(t))
	for name, test := range map[string]struct {
		line string
		says []string
	}{
		"no YAML":                 {`user_data = "#cloud-config\na: b\n c: d\n"`, []string{"user_data", "line 3", "not YAML"}},
		"no header":               {`user_data = "packages: [nginx]\n"`, []string{"line 1", "no header that cloud-init knows"}},
		"a network of no version": {`network_config = "ethernets: {}\n"`, []string{"there is no version"}},
		"two kinds of user data":  {userData + "\n" + `user_data_wo = "#!/bin/sh\n"` + "\nuser_data_wo_version = 1", []string{"user_data_wo"}},
		"no version beside":       {`user_data_wo = "#!/bin/sh\n"`, []string{"user_data_wo_version"}},
		"meta data beside a name": {"host_name = \"x\"\nmeta_data = \"instance-id: i\\n\"", []string{"host_name"}},
		"meta data without an id": {`meta_data = "a: b\n"`, []string{"no instance-id"}},
		"a gateway alone":         {`interfaces = { eth0 = { mac_address = "BC:24:11:00:00:01", ipv4 = { gateway = "10.0.0.1" } } }`, []string{"address"}},
		"an address by DHCP":      {`interfaces = { eth0 = { mac_address = "BC:24:11:00:00:01", ipv4 = { address = "10.0.0.2/24", method = "dhcp" } } }`, []string{"An address is static"}},
		"too much":                {`user_data = "#!${join("", [for i in range(1024) : join("", [for j in range(1024) : "0123456789abcdef0123456789abcdef"])])}"`, []string{"too large", "33554432"}},
		"no such node":            {userData + "\n" + `node = "pve9"`, []string{"There is no node pve9"}},
	} {
		b.write(test.line)
		t.Log(name)
		b.refused(test.says...)
	}
	for storage, says := range map[string]string{
		"local-lvm": "holds no ISO images", "nowhere": `There is no storage "nowhere"`,
	} {
		if b.Lab == nil {
			continue
		}
		acctest.Must(t, b.Write(b.Provider()+block(storage, userData)))
		b.refused(says)
	}
	if images := b.Images(t, b.storage); b.Lab != nil && len(images) > 0 {
		t.Errorf("refused plans left %v", images)
	}
}

// TestAccSeedISO_storageAway is about storages that exist and cannot be used.
func TestAccSeedISO_storageAway(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	b := newBench(t, acctest.NewLab(t, pvelab.Options{}))
	ctx := context.Background()
	b.write(userData)
	acctest.Must(t, b.Hand.Call(ctx, http.MethodPut, "/storage/seeds", byhand.Params{"disable": 1}, nil))
	b.refused(`Storage "seeds" is not enabled on node pve1`, "It is disabled.")
	acctest.Must(t, b.Hand.Call(ctx, http.MethodPut, "/storage/seeds", byhand.Params{"disable": 0}, nil))
	b.Lab.Faults().StorageAway("seeds", true)
	b.refused(`Storage "seeds" is not active on node pve1`, "cannot reach it right now")
	b.Lab.Faults().StorageAway("seeds", false)
	acctest.Must(t, b.Hand.Call(ctx, http.MethodPut, "/storage/seeds", byhand.Params{"nodes": "pve2"}, nil))
	b.refused("is limited to other nodes: pve2")
	acctest.Must(t, b.Write(b.Provider()+block("seeds", userData, `node = "pve2"`)))
	acctest.MustRun(t, b.Workspace, "apply", "-auto-approve")
	if images := b.ImagesOn(t, "pve2", "seeds"); len(images) != 1 {
		t.Errorf("pve2 has %v", images)
	}
	acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve")
}

// TestAccSeedISO_drift replaces an image that is gone or changed.
func TestAccSeedISO_drift(t *testing.T) {
	t.Parallel()
	b := newBench(t, acctest.New(t))
	ctx := context.Background()
	first := b.apply(userData)
	acctest.Must(t, b.Hand.DeleteImage(ctx, b.Node, text(first, "volume_id")))
	second := b.apply(userData)
	if text(second, "uid") == text(first, "uid") || text(second, "sha256") != text(first, "sha256") {
		t.Errorf("after the loss: %v", second.Values)
	}
	b.wantVolumes(text(second, "uid"), text(second, "volume_id"))

	acctest.Must(t, b.Hand.UploadImage(ctx, b.Node, text(second, "volume_id"), []byte("something else")))
	third := b.apply(userData)
	if text(third, "volume_id") == text(second, "volume_id") {
		t.Error("an image of another size is kept")
	}
	acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve")
	for _, each := range []cli.Resource{first, second, third} {
		b.wantVolumes(text(each, "uid"))
	}
}

// TestAccSeedISO_goneIsGone destroys what somebody else deleted before.
func TestAccSeedISO_goneIsGone(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	b := newBench(t, acctest.New(t))
	seed := b.apply(userData)
	acctest.Must(t, b.Hand.DeleteImage(context.Background(), b.Node, text(seed, "volume_id")))
	acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve", "-refresh=false")
}

// TestAccSeedISO_secret keeps write-only user data out of the state, the plan
// and the log.
func TestAccSeedISO_secret(t *testing.T) {
	t.Parallel()
	b := newBench(t, acctest.New(t))
	const secret = "hunter2-very-secret"
	log := filepath.Join(t.TempDir(), "log")
	b.Workspace.Setenv("TF_LOG", "TRACE")
	b.Workspace.Setenv("TF_LOG_PATH", log)
	config := func(version int, password string) []string {
		return []string{
			fmt.Sprintf("user_data_wo = %q", "#cloud-config\npassword: "+password+"\n"), fmt.Sprintf("user_data_wo_version = %d", version),
		}
	}
	first := b.apply(config(1, secret)...)
	// Without another version other data stay unwritten.
	same := b.apply(config(1, secret+"-too")...)
	if text(same, "sha256") != text(first, "sha256") {
		t.Error("the image changes without another version")
	}
	second := b.apply(config(2, secret+"-too")...)
	if text(second, "sha256") == text(first, "sha256") || text(second, "instance_id") == text(first, "instance_id") {
		t.Error("another version leaves the image as it was")
	}
	// Import: versions are new, the image is the same.
	acctest.MustRun(t, b.Workspace, "state", "rm", address)
	acctest.MustRun(t, b.Workspace, "import", address, b.Node+"/"+text(second, "volume_id"))
	if imported := b.apply(config(2, secret+"-too")...); text(imported, "volume_id") != text(second, "volume_id") {
		t.Errorf("imported: %v", imported.Values)
	}
	for _, path := range []string{filepath.Join(b.Dir(), "terraform.tfstate"), filepath.Join(b.Dir(), "terraform.tfstate.backup"), log} {
		content, err := os.ReadFile(path)
		acctest.Must(t, err)
		// The CLI's own log shows the configuration that it sends to providers.
		if strings.Contains(string(content), secret) && path != log {
			t.Errorf("%s holds the user data", filepath.Base(path))
		}
	}
	acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve")
	// The first image, which the removed state alone knew, goes with the second.
	b.wantVolumes(text(first, "uid"))
}

// TestAccSeedISO_faults survives what goes wrong on the way.
func TestAccSeedISO_faults(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	const upload, remove = "/nodes/pve1/storage/seeds/upload", "/nodes/pve1/storage/seeds/content/.+"
	for name, fault := range map[string]pvelab.Fault{
		"an upload's answer lost before": {Method: http.MethodPost, Path: upload, Drop: pvelab.DropBefore},
		"an upload's answer lost after":  {Method: http.MethodPost, Path: upload, Drop: pvelab.DropAfter},
		"an upload's answer cut off":     {Method: http.MethodPost, Path: upload, Drop: pvelab.DropBody},
		"a deletion's answer lost":       {Method: http.MethodDelete, Path: remove, Drop: pvelab.DropAfter},
		"596 while polling":              {Path: "/nodes/[^/]+/tasks/[^/]+/status", Status: 596, Text: "Connection timed out", Times: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, acctest.NewLab(t, pvelab.Options{}))
			_, err := b.Lab.Faults().Add(fault)
			acctest.Must(t, err)
			seed := b.apply(userData)
			b.wantVolumes("iso/", text(seed, "volume_id"))
			acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve")
			b.wantVolumes("iso/")
		})
	}
	t.Run("a checksum that does not match", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, acctest.NewLab(t, pvelab.Options{}))
		_, err := b.Lab.Faults().AddTask(pvelab.TaskFault{Type: "imgcopy", Exit: "checksum mismatch: got 'a' != expect 'b'"})
		acctest.Must(t, err)
		b.write(userData)
		output, err := b.Apply(context.Background())
		if err == nil || !strings.Contains(output, "checksum mismatch") {
			t.Errorf("the apply says: %v\n%s", err, output)
		}
		b.apply(userData) // The half-made seed is replaced.
		acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve")
		b.wantVolumes("iso/")
	})
}

// TestAccSeedISO_notListed keeps an image in mind that was uploaded and could not
// be listed then.
func TestAccSeedISO_notListed(t *testing.T) {
	t.Parallel()
	b := newBench(t, acctest.NewLab(t, pvelab.Options{}))
	fault, err := b.Lab.Faults().Add(pvelab.Fault{
		Method: http.MethodGet, Path: "/nodes/pve1/storage/seeds/content", Status: http.StatusInternalServerError, Text: "the list failed", Times: -1,
	})
	acctest.Must(t, err)
	b.write(userData)
	output, err := b.Apply(context.Background())
	if err == nil || !strings.Contains(acctest.Unwrap(output), "the list failed") {
		t.Errorf("the apply says: %v\n%s", err, output)
	}
	b.Lab.Faults().Remove(fault)
	if left := b.volumes("iso/"); len(left) != 1 {
		t.Errorf("the images are %v, want the one that was uploaded", left)
	}
	acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve")
	b.wantVolumes("iso/")
}

// TestAccSeedISO_nodeAway keeps an image of a shared storage as long as a VM that
// may hold it cannot be asked.
func TestAccSeedISO_nodeAway(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	b := newBench(t, acctest.NewLab(t, pvelab.Options{}))
	b.storage = "shared-nfs"
	seed := b.apply(userData)
	const vmid = 300
	acctest.Must(t, b.Hand.CreateVM(context.Background(), "pve2", vmid, byhand.Params{"ide2": text(seed, "volume_id") + ",media=cdrom"}))
	acctest.Must(t, b.Lab.Faults().NodeOffline("pve2"))
	output, err := b.Workspace.Run(context.Background(), "destroy", "-auto-approve")
	if said := acctest.Unwrap(output); err == nil || !strings.Contains(said, "on pve2 may use "+b.storage) {
		t.Errorf("a destroy with the node away says: %v\n%s", err, output)
	}
	b.wantVolumes(text(seed, "uid"), text(seed, "volume_id"))
	acctest.Must(t, b.Lab.Faults().NodeOnline("pve2"))
	acctest.Must(t, b.Hand.Call(context.Background(), http.MethodPut, fmt.Sprintf("/nodes/pve2/qemu/%d/config", vmid), byhand.Params{"ide2": "none,media=cdrom"}, nil))
	acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve")
	b.wantVolumes(text(seed, "uid"))
}

// TestAccSeedISO_leastPrivilege uses the two roles of the documentation and
// nothing else.
func TestAccSeedISO_leastPrivilege(t *testing.T) {
	skipIfShort(t)
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	target.TokenID, target.TokenSecret = target.Lab.Token("least")
	b := newBench(t, target)
	seed := b.apply(userData)
	b.apply(`user_data = "#!/bin/sh\n"`)
	acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve")
	b.wantVolumes(text(seed, "uid"))

	// Elsewhere the seed role is not held, which the plan says.
	acctest.Must(t, b.Write(b.Provider()+block("shared-nfs", userData)))
	b.refused("Cannot keep seeds on shared-nfs: the API token lacks privileges",
		"Datastore.AllocateTemplate on /storage/shared-nfs, to upload ISO images", "Datastore.Allocate on /storage/shared-nfs, to delete ISO images")
	// A storage where it may upload and, once it has, not delete.
	ctx := context.Background()
	grant := func(role, kind, holder string) {
		acctest.Must(t, b.Hand.Call(ctx, http.MethodPut, "/access/acl", byhand.Params{
			"path": "/storage/shared-nfs", "roles": role, kind: holder,
		}, nil))
	}
	grant("PVEDatastoreAdmin", "users", "terraform@pve")
	acctest.Must(t, b.Hand.Call(ctx, http.MethodPost, "/access/roles", byhand.Params{
		"roleid": "UploadOnly", "privs": "Datastore.AllocateTemplate,Datastore.Audit",
	}, nil))
	grant("UploadOnly", "tokens", target.TokenID)
	b.refused("the API token lacks a privilege", "Datastore.Allocate on /storage/shared-nfs")
	grant("PVEDatastoreAdmin", "tokens", target.TokenID)
	acctest.MustRun(t, b.Workspace, "apply", "-auto-approve")
	acctest.Must(t, b.Hand.Call(ctx, http.MethodPut, "/access/acl", byhand.Params{
		"path": "/storage/shared-nfs", "roles": "PVEDatastoreAdmin", "tokens": target.TokenID, "delete": 1,
	}, nil))
	output, err := b.Destroy(ctx)
	for _, words := range []string{"lacks Datastore.Allocate on /storage/shared-nfs", "dedicated storage"} {
		if said := acctest.Unwrap(output); err == nil || !strings.Contains(said, words) {
			t.Errorf("a deletion elsewhere does not say %q: %v\n%s", words, err, output)
		}
	}
	grant("PVEDatastoreAdmin", "tokens", target.TokenID)
	acctest.MustRun(t, b.Workspace, "destroy", "-auto-approve")
}
