package seediso_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

const (
	uploads  = "/nodes/pve1/storage/seeds/upload"
	contents = "/nodes/pve1/storage/seeds/content"
	deletion = contents + "/.+"
)

// newLab is a lab whose provider has a node and a range.
func newLab(t *testing.T) *protocol.Lab {
	t.Helper()
	return protocol.NewLab(t, provider.New("test")(), "full", protocol.Object{
		"vmid_range": protocol.Object{"first": 20000, "last": 20099},
		"defaults":   protocol.Object{"node": "pve1"},
	})
}

// wanted is a seed of a script, which is another one with each text.
func wanted(text string, attributes protocol.Object) protocol.Object {
	config := protocol.Object{"storage": "seeds", "user_data": "#!/bin/sh\necho " + text + "\n"}
	maps.Copy(config, attributes)
	return config
}

// apply applies without errors, and with nothing left to do; it returns the
// volume id.
func apply(t *testing.T, seed *protocol.Resource, config protocol.Object) string {
	t.Helper()
	if diagnostics := seed.Apply(t, config); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	if diagnostics := seed.Refresh(t); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	if plan, diagnostics := seed.Plan(t, config); plan == nil || !plan.Empty() {
		t.Fatalf("the second plan is not empty: %s", diagnostics)
	}
	return volume(seed)
}

func volume(seed *protocol.Resource) string {
	volid, _ := seed.State["volume_id"].(string)
	return volid
}

// wantImages wants these images on the storage for seeds, and no others.
func wantImages(t *testing.T, lab *protocol.Lab, want ...string) {
	t.Helper()
	images, err := lab.Hand.Images(t.Context(), "pve1", "seeds")
	protocol.Must(t, err)
	found := make([]string, 0, len(images))
	for _, each := range images {
		found = append(found, each.VolID)
	}
	slices.Sort(found)
	slices.Sort(want)
	if !slices.Equal(found, want) {
		t.Errorf("the images are %v, want %v", found, want)
	}
}

// TestImagesOfOneSeed: an image is replaced beside the one in use, which goes at
// the next update, and none is left in the end.
func TestImagesOfOneSeed(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	seed := lab.Manage(t, "proxmox_seed_iso")
	first := apply(t, seed, wanted("one", nil))
	wantImages(t, lab, first)
	second := apply(t, seed, wanted("two", nil))
	wantImages(t, lab, first, second)
	if seed.Identity(t)["volume_id"] != second {
		t.Errorf("the identity is %v", seed.Identity(t))
	}
	third := apply(t, seed, wanted("three", nil))
	wantImages(t, lab, second, third)
	if diagnostics := seed.Apply(t, nil); len(diagnostics) != 0 {
		t.Error(diagnostics)
	}
	wantImages(t, lab)
}

// TestImageOfAKilledUpdate: an image of the seed that no state knows goes with it, and
// one of another seed does not.
func TestImageOfAKilledUpdate(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	seed := lab.Manage(t, "proxmox_seed_iso")
	apply(t, seed, wanted("one", nil))
	uid, _ := seed.State["uid"].(string)
	digest := strings.Repeat("0", 64)
	theirs := "seeds:iso/11111111-2222-4333-8444-555555555555-" + digest + ".iso"
	for _, volid := range []string{"seeds:iso/" + uid + "-" + digest + ".iso", theirs} {
		protocol.Must(t, lab.Hand.UploadImage(t.Context(), "pve1", volid, []byte("left")))
	}
	if diagnostics := seed.Apply(t, nil); len(diagnostics) != 0 {
		t.Error(diagnostics)
	}
	wantImages(t, lab, theirs)
}

// TestDriftOfASeed: an image that is gone or another one is told, and made anew
// under another name; what somebody put in its place goes too.
func TestDriftOfASeed(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	seed := lab.Manage(t, "proxmox_seed_iso")
	first := apply(t, seed, wanted("one", nil))
	protocol.Must(t, lab.Hand.DeleteImage(t.Context(), "pve1", first))
	lab.NextRun(t)
	seed.Refresh(t).Single(t, "The seed "+first+" is gone")
	second := apply(t, seed, wanted("one", nil))
	if second == first {
		t.Error("a name is used twice")
	}
	wantImages(t, lab, second)

	protocol.Must(t, lab.Hand.UploadImage(t.Context(), "pve1", second, []byte("another")))
	lab.NextRun(t)
	seed.Refresh(t).Single(t, "The seed "+second+" was changed by somebody else")
	third := apply(t, seed, wanted("one", nil))
	wantImages(t, lab, third)
}

// TestSeedThatCannotBeLookedAt stays in the state as it was.
func TestSeedThatCannotBeLookedAt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		fails  bool
		says   string
	}{
		"nobody answers": {596, false, "its last known state is kept"},
		"it fails":       {http.StatusInternalServerError, true, "look at the seed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := newLab(t)
			seed := lab.Manage(t, "proxmox_seed_iso")
			if diagnostics := seed.Apply(t, wanted("one", nil)); len(diagnostics) != 0 {
				t.Fatal(diagnostics)
			}
			before := volume(seed)
			lab.Spoil(t, pvelab.Fault{Method: http.MethodGet, Path: contents, Status: test.status, Text: "no list", Times: -1})
			diagnostics := seed.Refresh(t)
			diagnostics.Single(t, test.says, "no list")
			if fails := len(diagnostics.Errors()) != 0; fails != test.fails || volume(seed) != before {
				t.Errorf("%s; the state is %v", diagnostics, seed.State)
			}
		})
	}
}

// TestUploadFails: a refused upload leaves nothing behind to be destroyed; one
// that may have begun stays known, so that its image is deleted.
func TestUploadFails(t *testing.T) {
	t.Parallel()
	refuse := pvelab.Fault{Method: http.MethodPost, Path: uploads, Status: http.StatusForbidden, Text: "not now", Times: -1}
	unlisted := pvelab.Fault{Method: http.MethodGet, Path: contents, Status: http.StatusInternalServerError, Text: "no list", Times: -1}
	t.Run("the first, refused", func(t *testing.T) {
		t.Parallel()
		lab := newLab(t)
		seed := lab.Manage(t, "proxmox_seed_iso")
		lab.Spoil(t, refuse)
		seed.Apply(t, wanted("one", nil)).Single(t, "upload the seed", "not now")
		if seed.State != nil {
			t.Errorf("it is there: %v", seed.State)
		}
	})
	t.Run("the first, begun", func(t *testing.T) {
		t.Parallel()
		lab := newLab(t)
		seed := lab.Manage(t, "proxmox_seed_iso")
		mend := lab.Spoil(t, unlisted)
		seed.Apply(t, wanted("one", nil)).Single(t, "upload the seed", "no list")
		mend()
		if volume(seed) == "" {
			t.Fatalf("its name is not known: %v", seed.State)
		}
		wantImages(t, lab, volume(seed))
		if diagnostics := seed.Apply(t, nil); len(diagnostics) != 0 {
			t.Error(diagnostics)
		}
		wantImages(t, lab)
	})
	t.Run("another, refused", func(t *testing.T) {
		t.Parallel()
		lab := newLab(t)
		seed := lab.Manage(t, "proxmox_seed_iso")
		before := apply(t, seed, wanted("one", nil))
		mend := lab.Spoil(t, refuse)
		seed.Apply(t, wanted("two", nil)).Single(t, "upload the seed", "not now")
		mend()
		if volume(seed) != before {
			t.Errorf("it is %v", seed.State)
		}
		lab.Counters().Reset()
		apply(t, seed, wanted("one", nil))
		if n := lab.Counters().Snapshot().Requests["DELETE /nodes/{node}/storage/{storage}/content/{volume}"]; n != 0 {
			t.Errorf("%d images were deleted", n)
		}
	})
	t.Run("another, begun", func(t *testing.T) {
		t.Parallel()
		lab := newLab(t)
		seed := lab.Manage(t, "proxmox_seed_iso")
		before := apply(t, seed, wanted("one", nil))
		mend := lab.Spoil(t, unlisted)
		seed.Apply(t, wanted("two", nil)).Single(t, "upload the seed", "no list")
		mend()
		if volume(seed) != before {
			t.Errorf("it is %v", seed.State)
		}
		if diagnostics := seed.Apply(t, nil); len(diagnostics) != 0 {
			t.Error(diagnostics)
		}
		wantImages(t, lab)
	})
}

// TestOutdatedImageThatStays: what cannot be deleted yet is told, and tried again.
func TestOutdatedImageThatStays(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	seed := lab.Manage(t, "proxmox_seed_iso")
	first := apply(t, seed, wanted("one", nil))
	second := apply(t, seed, wanted("two", nil))
	mend := lab.Spoil(t, pvelab.Fault{Method: http.MethodDelete, Path: deletion, Status: http.StatusInternalServerError, Text: "not now", Times: -1})
	diagnostics := seed.Apply(t, wanted("three", nil))
	diagnostics.Single(t, "delete the outdated seed "+first, "not now")
	if len(diagnostics.Errors()) != 0 {
		t.Error("it fails the apply")
	}
	wantImages(t, lab, first, second, volume(seed))
	seed.Apply(t, nil).Errors()[:1].Single(t, "delete the seed "+first, "not now")
	mend()
	if diagnostics := seed.Apply(t, nil); len(diagnostics) != 0 {
		t.Error(diagnostics)
	}
	wantImages(t, lab)
}

// TestSeedInUse: a VM that was made here gives up its image at a destroy; that of
// somebody else keeps it.
func TestSeedInUse(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	seed := lab.Manage(t, "proxmox_seed_iso")
	image := apply(t, seed, wanted("one", nil))
	const uid = "5f0c1f3e-6a7b-4c8d-9e0f-000000020001"
	protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve1", 20001, byhand.Params{
		"name": "ours", "ide2": image + ",media=cdrom", "description": "terraform-proxmox-uid=" + uid + "/20001",
	}))
	protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve1", 300, byhand.Params{"name": "theirs", "ide2": image + ",media=cdrom"}))
	seed.Apply(t, nil).Single(t, "The seed "+image+" is in use", "300")
	wantImages(t, lab, image)
	if seed.State == nil {
		t.Fatal("it is forgotten")
	}
	theirs, err := lab.Hand.Config(t.Context(), 300)
	protocol.Must(t, err)
	if !strings.HasPrefix(theirs["ide2"], image) {
		t.Errorf("somebody else's drive was changed: %s", theirs["ide2"])
	}

	protocol.Must(t, lab.Hand.Destroy(t.Context(), 300))
	protocol.Must(t, lab.Hand.Configure(t.Context(), 20001, byhand.Params{"ide2": image + ",media=cdrom"}))
	lab.NextRun(t)
	if diagnostics := seed.Apply(t, nil); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	wantImages(t, lab)
	ours, err := lab.Hand.Config(t.Context(), 20001)
	protocol.Must(t, err)
	if ours["ide2"] != "none,media=cdrom" {
		t.Errorf("the drive of ours is %q", ours["ide2"])
	}
}

// TestSeedThatIsNotLetGo: an image that could not be taken out of a drive of ours,
// or whose users cannot be asked, stays, and so does the resource.
func TestSeedThatIsNotLetGo(t *testing.T) {
	t.Parallel()
	const uid = "5f0c1f3e-6a7b-4c8d-9e0f-000000020001"
	for name, test := range map[string]struct {
		fault pvelab.Fault
		says  []string
	}{
		"no ejection": {
			pvelab.Fault{Method: http.MethodPut, Path: "/nodes/pve1/qemu/20001/config", Status: http.StatusInternalServerError, Text: "not now"},
			[]string{"take the seed", "out of VM 20001", "not now"},
		},
		"no answer": {
			pvelab.Fault{Method: http.MethodGet, Path: "/nodes/pve1/qemu/20001/pending", Status: 596, Text: "not now"},
			[]string{"delete the seed", "VM 20001", "may use", "not now"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := newLab(t)
			seed := lab.Manage(t, "proxmox_seed_iso")
			image := apply(t, seed, wanted("one", nil))
			protocol.Must(t, lab.Hand.CreateVM(t.Context(), "pve1", 20001, byhand.Params{
				"ide2": image + ",media=cdrom", "description": "terraform-proxmox-uid=" + uid + "/20001",
			}))
			test.fault.Times = -1
			lab.Spoil(t, test.fault)
			seed.Apply(t, nil).Single(t, test.says...)
			wantImages(t, lab, image)
			if volume(seed) != image {
				t.Errorf("it is %v", seed.State)
			}
		})
	}
}

// TestImportOfASharedSeed takes the provider's node for one that several see.
func TestImportOfASharedSeed(t *testing.T) {
	t.Parallel()
	lab := protocol.NewLab(t, provider.New("test")(), "full", protocol.Object{"defaults": protocol.Object{"node": "pve2"}})
	image := apply(t, lab.Manage(t, "proxmox_seed_iso"), wanted("one", protocol.Object{"node": "pve3", "storage": "shared-nfs"}))
	found, diagnostics := lab.Import(t, "proxmox_seed_iso", image, nil)
	if found == nil || found.State["node"] != "pve2" {
		t.Errorf("%v: %s", found, diagnostics)
	}
}

// TestImportOfASeed finds the image by its volume id, with or without a node, and
// by identity; an unchanged configuration uploads nothing.
func TestImportOfASeed(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	config := wanted("one", protocol.Object{"node": "pve2"})
	image := apply(t, lab.Manage(t, "proxmox_seed_iso"), config)
	for name, given := range map[string]struct {
		id       string
		identity protocol.Object
	}{
		"by its volume id":   {image, nil},
		"with its node":      {"pve2/" + image, nil},
		"by identity":        {"", protocol.Object{"volume_id": image, "node": "pve2"}},
		"identity, any node": {"", protocol.Object{"volume_id": image}},
	} {
		found, diagnostics := lab.Import(t, "proxmox_seed_iso", given.id, given.identity)
		if found == nil || len(diagnostics) != 0 || found.State["node"] != "pve2" || volume(found) != image {
			t.Errorf("%s: %v, %s", name, found, diagnostics)
			continue
		}
		before := lab.Counters().Snapshot().Requests["POST /nodes/{node}/storage/{storage}/upload"]
		apply(t, found, config)
		if n := lab.Counters().Snapshot().Requests["POST /nodes/{node}/storage/{storage}/upload"]; n != before {
			t.Errorf("%s: it is uploaded again", name)
		}
	}
	other := strings.Replace(image, "seeds:", "local:", 1)
	for id, says := range map[string]string{
		"seeds:iso/debian.iso": "it is no seed of this provider's",
		"pve1/" + image:        "there is no such image on pve1",
		other:                  "there is no such image on pve1, pve2, pve3",
		"pve9/" + image:        "pve9",
	} {
		found, diagnostics := lab.Import(t, "proxmox_seed_iso", id, nil)
		if found != nil {
			t.Errorf("%s is imported: %v", id, found.State)
		}
		diagnostics.Single(t, "import", says)
	}
}

// TestPlaceOfASeed: a plan without a node, or on one that is not there, is refused
// where that is configured; one that cannot ask yet leaves it to apply.
func TestPlaceOfASeed(t *testing.T) {
	t.Parallel()
	lab := protocol.NewLab(t, provider.New("test")(), "full", nil)
	for at, config := range map[string]protocol.Object{
		"node":    wanted("one", nil),
		"storage": wanted("one", protocol.Object{"node": "pve1", "storage": "local-lvm"}),
	} {
		plan, diagnostics := lab.Manage(t, "proxmox_seed_iso").Plan(t, config)
		if plan != nil || len(diagnostics) != 1 || protocol.Attribute(diagnostics[0]) != at {
			t.Errorf("at %s: %s", at, diagnostics)
		}
	}
	plan, diagnostics := lab.Manage(t, "proxmox_seed_iso").Plan(t, wanted("one", protocol.Object{"node": "pve9"}))
	if plan != nil || !strings.Contains(diagnostics.String(), "There is no node pve9") {
		t.Errorf("a node that is not there: %s", diagnostics)
	}
	unready := protocol.New(t, provider.New("test")())
	plan, diagnostics = unready.Manage(t, "proxmox_seed_iso").Plan(t, wanted("one", nil))
	if plan == nil || len(diagnostics) != 0 || plan.After["node"] != protocol.Unknown {
		t.Errorf("before the provider is configured: %s", diagnostics)
	}
}

// TestListOfSeedsFails tells what it cannot list, beside what it can.
func TestListOfSeedsFails(t *testing.T) {
	t.Parallel()
	lab := newLab(t)
	image := apply(t, lab.Manage(t, "proxmox_seed_iso"), wanted("one", nil))
	for path, listed := range map[string]int{"/nodes": 0, "/nodes/pve2/storage": 1, contents: 0} {
		mend := lab.Spoil(t, pvelab.Fault{Method: http.MethodGet, Path: path, Status: http.StatusInternalServerError, Text: "no answer", Times: -1})
		lab.NextRun(t)
		found, diagnostics := lab.List(t, "proxmox_seed_iso", protocol.Object{}, 10, false)
		if len(found) != listed {
			t.Errorf("%s: it lists %v", path, found)
		}
		diagnostics.Single(t, "list seeds", "no answer")
		mend()
	}
	lab.NextRun(t)
	if found, diagnostics := lab.List(t, "proxmox_seed_iso", protocol.Object{"node": "pve1", "storage": "seeds"}, 10, false); len(found) != 1 || found[0].Name != image+" on pve1" {
		t.Errorf("%v: %s", found, diagnostics)
	}
}
