package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"terraform-provider-proxmox/internal/acctest/byhand"
)

// deed is what somebody else does in Proxmox VE while a run goes on, or right before
// it. It may fail; undo is done when the run has ended.
type deed struct {
	name  string
	early bool
	do    func(*trial, *rand.Rand) (undo func() error, err error)

	random *rand.Rand
	after  time.Duration
}

var errNobody = errors.New("there is none")

var deeds = []deed{
	{name: "migrate", do: migrate},
	{name: "copy by hand", do: copyByHand},
	{name: "destroy by hand", do: destroyByHand},
	{name: "take the id", early: true, do: takeID},
	{name: "bring back a copy", early: true, do: bringBackCopy},
	{name: "write the notes", do: writeNotes},
	{name: "take the marker", do: takeMarker},
	{name: "change cores", do: changeCores},
	{name: "stop", do: power("stop")},
	{name: "start", do: power("start")},
	{name: "protect", do: protect},
	{name: "manage by HA", do: manageByHA},
	{name: "start what is fenced", early: true, do: startFenced},
	{name: "lose a node", do: loseNode},
	{name: "take the rights", do: takeRights},
	{name: "take a storage away", do: storage((*trial).storageAway)},
	{name: "fill a storage", do: storage((*trial).storageFull)},
	{name: "delete a seed", do: deleteSeed},
}

// doEarly does what is done before the run, and returns what undoes it.
func (c *trial) doEarly(deeds []deed) (undo func()) {
	var undos []func()
	for _, each := range deeds {
		if each.early {
			undos = append(undos, c.perform(each))
		}
	}
	return func() { inReverse(undos) }
}

// doLate does the others, in their order, as long as the run goes on.
func (c *trial) doLate(deeds []deed, ended <-chan struct{}) (undo func()) {
	var undos []func()
	late := slices.DeleteFunc(slices.Clone(deeds), func(d deed) bool { return d.early })
	slices.SortStableFunc(late, func(a, b deed) int { return int(a.after - b.after) })
	begun := time.Now()
	for _, each := range late {
		select {
		case <-ended:
			return func() { inReverse(undos) }
		case <-time.After(time.Until(begun.Add(each.after))):
			undos = append(undos, c.perform(each))
		}
	}
	return func() { inReverse(undos) }
}

func inReverse(undos []func()) {
	for _, undo := range slices.Backward(undos) {
		undo()
	}
}

func (c *trial) perform(d deed) (undo func()) {
	back, err := d.do(c, d.random)
	c.note("%s: %v", d.name, err)
	if err == nil {
		c.mu.Lock()
		c.tally[d.name]++
		c.mu.Unlock()
	}
	if back == nil {
		return func() {}
	}
	return func() {
		if err := back(); err != nil {
			c.note("undo %s: %v", d.name, err)
		}
	}
}

// one draws one of ours, of a kind or of any.
func (c *trial) one(random *rand.Rand, kind string) (guest, error) {
	all := slices.DeleteFunc(c.ours(), func(g guest) bool { return kind != "" && g.Type != kind })
	if len(all) == 0 {
		return guest{}, errNobody
	}
	slices.SortFunc(all, func(a, b guest) int { return a.VMID - b.VMID })
	return all[random.IntN(len(all))], nil
}

func (g guest) path() string { return fmt.Sprintf("/nodes/%s/%s/%d", g.Node, g.Type, g.VMID) }

func (c *trial) configure(g guest, params byhand.Params) error {
	return c.hand.Call(context.Background(), http.MethodPut, g.path()+"/config", params, nil)
}

func migrate(c *trial, random *rand.Rand) (func() error, error) {
	g, err := c.one(random, "")
	if err != nil {
		return nil, err
	}
	params := byhand.Params{"target": nodes[random.IntN(len(nodes))]}
	if c.status(g.Guest) == "running" {
		params["online"] = 1
	}
	if _, online := params["online"]; online && g.Type == "lxc" {
		params = byhand.Params{"target": params["target"], "restart": 1}
	}
	return nil, c.hand.Task(context.Background(), http.MethodPost, g.path()+"/migrate", params)
}

// copyByHand clones a VM of ours with all its notes: the copy is a stranger.
func copyByHand(c *trial, random *rand.Rand) (func() error, error) {
	g, err := c.one(random, "qemu")
	if err != nil {
		return nil, err
	}
	return nil, c.makeCopy(g, c.freeID())
}

func (c *trial) makeCopy(g guest, vmid int) error {
	ctx := context.Background()
	err := c.hand.Task(ctx, http.MethodPost, g.path()+"/clone", byhand.Params{"newid": vmid, "name": g.Name, "full": 1})
	if err != nil {
		return err
	}
	copied := guest{Guest: byhand.Guest{VMID: vmid, Node: g.Node, Type: g.Type}}
	// As long as it names the seed of the other one that is not deleted.
	if err := c.configure(copied, byhand.Params{"protection": 0}); err != nil {
		return err
	}
	for slot, value := range c.readable(copied.Guest) {
		if strings.Contains(value, ":iso/") {
			err = errors.Join(err, c.configure(copied, byhand.Params{"delete": slot}))
		}
	}
	c.addStranger(copied.Guest)
	return err
}

// freeID is an id for another stranger, below those that ours get.
func (c *trial) freeID() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for vmid := c.target.First; ; vmid++ {
		if _, taken := c.strangers[vmid]; !taken {
			return vmid
		}
	}
}

// destroyByHand destroys a guest of ours.
func destroyByHand(c *trial, random *rand.Rand) (func() error, error) {
	g, err := c.one(random, "")
	if err != nil {
		return nil, err
	}
	return nil, c.destroy(g)
}

func (c *trial) destroy(g guest) error {
	ctx := context.Background()
	if g.Type == "lxc" {
		c.kept = "" // Whoever does that wants the data gone.
	}
	if g.config["protection"] == "1" {
		if err := c.configure(g, byhand.Params{"protection": 0}); err != nil {
			return err
		}
	}
	if c.status(g.Guest) != "stopped" {
		if err := c.hand.Task(ctx, http.MethodPost, g.path()+"/status/stop", nil); err != nil {
			return err
		}
	}
	c.gone = append(c.gone, g.uid)
	return c.hand.Task(ctx, http.MethodDelete, g.path(), byhand.Params{"destroy-unreferenced-disks": 1})
}

// takeID destroys a VM of ours and makes another one of its name under its id.
func takeID(c *trial, random *rand.Rand) (func() error, error) {
	g, err := c.one(random, "qemu")
	if err != nil {
		return nil, err
	}
	if err := c.destroy(g); err != nil {
		return nil, err
	}
	ctx := context.Background()
	if err := c.hand.CreateVM(ctx, g.Node, g.VMID, byhand.Params{"name": g.Name, "scsi0": "local-lvm:1"}); err != nil {
		return nil, err
	}
	if random.IntN(2) == 0 {
		if err := c.hand.Power(ctx, g.VMID, "start"); err != nil {
			return nil, err
		}
	}
	c.addStranger(byhand.Guest{VMID: g.VMID, Node: g.Node, Type: "qemu"})
	return nil, nil
}

// bringBackCopy destroys a VM of ours and brings a copy of it back under its id,
// notes included: that is ours again.
func bringBackCopy(c *trial, random *rand.Rand) (func() error, error) {
	g, err := c.one(random, "qemu")
	if err != nil {
		return nil, err
	}
	vmid := c.freeID()
	if err := c.makeCopy(g, vmid); err != nil {
		return nil, err
	}
	if err := c.destroy(g); err != nil {
		return nil, err
	}
	path := fmt.Sprintf("/nodes/%s/qemu/%d/clone", g.Node, vmid)
	return nil, c.hand.Task(context.Background(), http.MethodPost, path, byhand.Params{"newid": g.VMID, "name": g.Name, "full": 1})
}

func writeNotes(c *trial, random *rand.Rand) (func() error, error) {
	g, err := c.one(random, "")
	if err != nil {
		return nil, err
	}
	notes := fmt.Sprintf("note %d\n\n%s", random.IntN(100), strings.TrimSpace(g.config["description"]))
	return nil, c.configure(g, byhand.Params{"description": notes, "digest": g.config["digest"]})
}

// takeMarker takes the marker out of the notes, and puts it back in the end.
func takeMarker(c *trial, random *rand.Rand) (func() error, error) {
	g, err := c.one(random, "")
	if err != nil {
		return nil, err
	}
	if strings.Contains(g.config["description"], " creating") {
		return nil, errors.New("it is not finished")
	}
	back := func() error { return c.configure(g, byhand.Params{"description": g.config["description"]}) }
	return back, c.configure(g, byhand.Params{"description": "cleaned up", "digest": g.config["digest"]})
}

func changeCores(c *trial, random *rand.Rand) (func() error, error) {
	g, err := c.one(random, "")
	if err != nil {
		return nil, err
	}
	return nil, c.configure(g, byhand.Params{"cores": 1 + random.IntN(4)})
}

func power(command string) func(*trial, *rand.Rand) (func() error, error) {
	return func(c *trial, random *rand.Rand) (func() error, error) {
		g, err := c.one(random, "")
		if err != nil {
			return nil, err
		}
		return nil, c.hand.Task(context.Background(), http.MethodPost, g.path()+"/status/"+command, nil)
	}
}

func protect(c *trial, random *rand.Rand) (func() error, error) {
	g, err := c.one(random, "")
	if err != nil {
		return nil, err
	}
	back := func() error { return c.configure(g, byhand.Params{"delete": "protection"}) }
	return back, c.configure(g, byhand.Params{"protection": 1})
}

func manageByHA(c *trial, random *rand.Rand) (func() error, error) {
	g, err := c.one(random, "")
	if err != nil {
		return nil, err
	}
	sid := map[string]string{"qemu": "vm:", "lxc": "ct:"}[g.Type] + strconv.Itoa(g.VMID)
	ctx := context.Background()
	back := func() error { return c.hand.Call(ctx, http.MethodDelete, "/cluster/ha/resources/"+sid, nil, nil) }
	return back, c.hand.Call(ctx, http.MethodPost, "/cluster/ha/resources", byhand.Params{"sid": sid, "state": "started"}, nil)
}

func startFenced(c *trial, _ *rand.Rand) (func() error, error) {
	return nil, c.hand.Power(context.Background(), fenced, "start")
}

// loseNode takes a node out of the cluster for a while, and with it its tasks: the one
// that is asked, or another one.
func loseNode(c *trial, random *rand.Rand) (func() error, error) {
	node := nodes[random.IntN(2)] // What is done by hand goes through the third one.
	lab := c.target.Lab.Faults()
	if err := lab.NodeOffline(node); err != nil {
		return nil, err
	}
	time.Sleep(time.Duration(50+random.IntN(1500)) * time.Millisecond)
	return nil, lab.NodeOnline(node)
}

// takeRights takes all rights from the token, for a while or until the run has ended.
func takeRights(c *trial, random *rand.Rand) (func() error, error) {
	user, name, _ := strings.Cut(c.target.TokenID, "!")
	set := func(separated int) error {
		return c.hand.Call(context.Background(), http.MethodPut, "/access/users/"+user+"/token/"+name, byhand.Params{"privsep": separated}, nil)
	}
	back := func() error { return set(0) }
	if err := set(1); err != nil || random.IntN(2) == 0 {
		return back, err
	}
	time.Sleep(time.Duration(random.IntN(500)) * time.Millisecond)
	return back, set(0)
}

func (c *trial) storageAway(id string, away bool) { c.target.Lab.Faults().StorageAway(id, away) }
func (c *trial) storageFull(id string, full bool) { c.target.Lab.Faults().FillStorage(id, full) }

// storage does something to a storage, for a while or until the run has ended.
func storage(set func(*trial, string, bool)) func(*trial, *rand.Rand) (func() error, error) {
	return func(c *trial, random *rand.Rand) (func() error, error) {
		id := []string{"local-lvm", "shared-nfs", "seeds"}[random.IntN(3)]
		back := func() error {
			set(c, id, false)
			return nil
		}
		set(c, id, true)
		if random.IntN(2) == 0 {
			time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
			return nil, back()
		}
		return back, nil
	}
}

func deleteSeed(c *trial, random *rand.Rand) (func() error, error) {
	images, err := c.hand.Images(context.Background(), "pve1", c.wanted.seeds)
	if err != nil {
		return nil, err
	}
	images = slices.DeleteFunc(images, func(i byhand.Image) bool { return slices.Contains(c.imagesBefore, "pve1 "+i.VolID) })
	if len(images) == 0 {
		return nil, errNobody
	}
	return nil, c.hand.DeleteImage(context.Background(), "pve1", images[random.IntN(len(images))].VolID)
}
