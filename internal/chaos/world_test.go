package chaos

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
)

const marker = "terraform-proxmox-uid="

var (
	nodes = []string{"pve1", "pve2", "pve3"}
	// markerLine is the marker with its uid and its guest's id.
	markerLine = regexp.MustCompile(marker + `([0-9a-f-]{36})/(\d+)`)
)

// guest is one of ours.
type guest struct {
	byhand.Guest
	uid    string
	config map[string]string
}

// ours are the guests with a marker of their own id, by the name that is in their
// configuration: the cluster's list may lack those of new guests.
func (c *trial) ours() []guest {
	guests, err := c.hand.Guests(context.Background())
	acctest.Must(c.t, err)
	var marked []guest
	for _, each := range guests {
		config := c.config(each)
		line := markerLine.FindStringSubmatch(config["description"])
		if line == nil || line[2] != fmt.Sprint(each.VMID) || c.isStranger(each.VMID) {
			continue
		}
		each.Name = config["name"] + config["hostname"]
		marked = append(marked, guest{each, line[1], config})
	}
	return marked
}

// volume is a line of a storage's content.
type volume struct {
	VolID   string `json:"volid"`
	VMID    int    `json:"vmid"`
	Content string `json:"content"`
	storage string
	node    string
}

// volumes lists what the storages hold that guests and seeds lie on.
func (c *trial) volumes() []volume {
	var all []volume
	for _, node := range nodes {
		for _, storage := range []string{"local-lvm", "local-zfs", "shared-nfs", "seeds"} {
			var content []volume
			path := fmt.Sprintf("/nodes/%s/storage/%s/content", node, storage)
			acctest.Must(c.t, c.hand.Call(context.Background(), http.MethodGet, path, nil, &content))
			for _, each := range content {
				if storage == "shared-nfs" && node != nodes[0] {
					continue // It is listed on every node.
				}
				each.storage, each.node = storage, node
				all = append(all, each)
			}
		}
	}
	return all
}

// images are the ISO images among the volumes.
func (c *trial) images() []string {
	var images []string
	for _, each := range c.volumes() {
		if each.Content == "iso" {
			images = append(images, each.node+" "+each.VolID)
		}
	}
	return images
}

// check holds what must be true at any time.
func (c *trial) check(when string) {
	c.t.Helper()
	c.checkStrangers(when)
	c.checkDoubles(when)
	c.checkData(when)
	c.checkVolumes(when)
	c.checkSecrets(when)
	c.noteWorld(when)
}

// noteWorld writes down what there is, and which images have no VM of ours just now.
func (c *trial) noteWorld(when string) {
	var guests, uids, images []string
	for _, each := range c.ours() {
		guests = append(guests, fmt.Sprintf("%s %d %s", each.Name, each.VMID, each.uid))
		uids = append(uids, each.uid)
	}
	for _, image := range c.images() {
		if !slices.ContainsFunc(uids, func(uid string) bool { return strings.Contains(image, uid) }) {
			images = append(images, image)
		}
	}
	c.note("%s: %s; other images: %s", when, strings.Join(guests, ", "), strings.Join(images, ", "))
}

// checkDoubles wants no two of ours to have one name or one uid.
func (c *trial) checkDoubles(when string) {
	c.t.Helper()
	seen := map[string]int{}
	for _, each := range c.ours() {
		for _, word := range []string{each.Name, each.uid} {
			if other, doubled := seen[word]; doubled {
				c.t.Errorf("%s: %q is both %d and %d", when, word, other, each.VMID)
			}
			seen[word] = each.VMID
		}
	}
}

// checkData wants what the container's data volume held to be in a container of ours,
// as long as there is one.
func (c *trial) checkData(when string) {
	c.t.Helper()
	var contents []string
	alive := false
	for _, each := range c.ours() {
		if each.Type == "lxc" {
			alive = true
			contents = append(contents, slices.Collect(maps.Values(c.target.Lab.Contents(each.VMID)))...)
		}
	}
	if alive && c.kept != "" && !slices.Contains(contents, c.kept) {
		c.t.Errorf("%s: the kept volume is in no container of ours", when)
	}
}

// checkVolumes wants each volume to belong to a guest that there is, each of ours to
// be named by its guest, and each that they name to be there.
func (c *trial) checkVolumes(when string) {
	c.t.Helper()
	guests, err := c.hand.Guests(context.Background())
	acctest.Must(c.t, err)
	there, named := map[int]bool{}, map[string]bool{}
	for _, each := range guests {
		there[each.VMID] = true
	}
	volumes, mine := c.volumes(), map[int]bool{}
	for _, each := range c.ours() {
		mine[each.VMID] = true
		for _, value := range c.inForce(each) {
			volid, _, _ := strings.Cut(value, ",")
			named[volid] = true
		}
		for key, value := range each.config {
			volid, _, _ := strings.Cut(value, ",")
			named[volid] = true
			lost := !slices.ContainsFunc(volumes, func(v volume) bool { return v.VolID == volid })
			if volumeSlot.MatchString(key) && strings.Contains(volid, ":") && !strings.Contains(volid, ":iso/") && lost {
				c.t.Errorf("%s: %s of %s %d is lost: %s", when, key, each.Type, each.VMID, value)
			}
		}
	}
	for _, each := range volumes {
		belongs := each.VMID == 0 || there[each.VMID] && (named[each.VolID] || !mine[each.VMID])
		switch {
		case belongs || c.loose[each.VolID]:
		case c.rough:
			c.loose[each.VolID] = true
		default:
			c.t.Errorf("%s: the volume %s belongs to nobody", when, each.VolID)
		}
	}
}

// inForce is the configuration with which a guest runs: what is configured may wait
// for its next start.
func (c *trial) inForce(g guest) map[string]string {
	var raw map[string]any
	acctest.Must(c.t, c.hand.Call(context.Background(), http.MethodGet, g.path()+"/config", byhand.Params{"current": 1}, &raw))
	config := map[string]string{}
	for key, value := range raw {
		config[key] = fmt.Sprint(value)
	}
	return config
}

var volumeSlot = regexp.MustCompile(`^(scsi|virtio|sata|ide|mp|unused)\d+$|^rootfs$`)

// checkSecrets wants neither the token's secret nor a write-only password in what the
// commands have printed, logged and saved.
func (c *trial) checkSecrets(when string) {
	c.t.Helper()
	texts := map[string]string{"the output": c.output}
	for _, name := range []string{logFile, "terraform.tfstate", "terraform.tfstate.backup"} {
		content, err := os.ReadFile(filepath.Join(c.workspace.Dir(), name))
		if err == nil {
			texts[name] = string(content)
		}
	}
	for where, text := range texts {
		for _, word := range []string{secret, c.target.TokenSecret} {
			if strings.Contains(text, word) {
				c.t.Errorf("%s: %s holds a secret", when, where)
			}
		}
	}
	acctest.Must(c.t, os.RemoveAll(filepath.Join(c.workspace.Dir(), logFile)))
}

// complete wants all guests that are configured and no other one of ours, each with
// its resource and each resource with its guest, and no image but theirs.
func (c *trial) complete() {
	c.t.Helper()
	state, err := c.workspace.State(context.Background())
	acctest.Must(c.t, err)
	var got []string
	for _, each := range c.ours() {
		got = append(got, each.Name)
		held, _ := state.Resource(addressOf(each.Name))
		if vmid, _ := held.Values["vmid"].(float64); int(vmid) != each.VMID || held.Values["uid"] != each.uid {
			c.t.Errorf("%s is %d, uid %s, and in the state %v, uid %v", each.Name, each.VMID, each.uid, held.Values["vmid"], held.Values["uid"])
		}
	}
	want := c.wanted.names()
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		c.t.Errorf("there are %v, want %v", got, want)
	}
	c.checkImages(state)
}

// checkImages wants each image to be of a VM of ours or of the resource, and none of
// theirs to be missing. An image that was replaced right before a kill goes with its
// VM.
func (c *trial) checkImages(state cli.State) {
	c.t.Helper()
	images := strings.Join(c.images(), " ")
	uids := slices.Clone(c.gone)
	var named []string
	if lone, ok := state.Resource("proxmox_seed_iso.it"); ok {
		uids = append(uids, fmt.Sprint(lone.Values["uid"]))
		named = append(named, fmt.Sprint(lone.Values["volume_id"]))
	}
	for _, each := range c.ours() {
		uids = append(uids, each.uid)
		named = append(named, imagesOf(each)...)
	}
	for _, volid := range named {
		if !strings.Contains(images, volid) {
			c.t.Errorf("the image %s is lost, there are %s", volid, images)
		}
	}
	for _, image := range c.images() {
		of := func(uid string) bool { return strings.Contains(image, uid) }
		if !slices.Contains(c.imagesBefore, image) && !slices.ContainsFunc(uids, of) {
			c.t.Errorf("the image %s belongs to nobody", image)
		}
	}
	if wanted := len(c.ours()); len(named) != wanted {
		c.t.Errorf("%v are named by %d VMs and one resource", named, wanted-1)
	}
}

// imagesOf are the images in a VM's drives.
func imagesOf(g guest) []string {
	var images []string
	for _, value := range g.config {
		if volid, _, _ := strings.Cut(value, ","); strings.Contains(volid, ":iso/") {
			images = append(images, volid)
		}
	}
	return images
}
