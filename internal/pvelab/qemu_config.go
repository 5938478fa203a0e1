package pvelab

import (
	"fmt"
	"maps"
	"strings"
)

func vmConfig(c *call) (any, error) {
	if c.params.has("snapshot") && c.params.boolean("current") {
		const text = "cannot use 'snapshot' parameter with 'current'"
		return nil, badParams(map[string]string{"snapshot": text, "current": text})
	}
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	conf := g.merged()
	switch name := c.params.str("snapshot"); {
	case name != "":
		if conf, err = g.snapshot(name); err != nil {
			return nil, err
		}
	case c.params.boolean("current"):
		conf = g.conf
	}
	out := conf.show()
	out["digest"] = g.digest()
	return out, nil
}

func vmPending(c *call) (any, error) {
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	return g.pendingList(), nil
}

// configChange is a PUT or POST of a VM's configuration.
type configChange struct {
	c      *call
	vmid   int
	digest string
	set    guestConfig
	delete []string
	revert map[string]bool
	force  bool
	// log is the change as PVE's task log repeats it.
	log string
}

// control parameters steer a change and are no options themselves.
var control = map[string]bool{
	"node": true, "vmid": true, "digest": true, "background_delay": true, "skip_cloud_init": true,
	"import-working-storage": true, "skiplock": true, "delete": true, "revert": true, "force": true,
}

// updateVM is synchronous: PVE answers null once the change is made.
func updateVM(c *call) (any, error) {
	return nil, c.update(deleteParam(c))
}

func deleteParam(c *call) []string { return splitList(c.params.str("delete")) }

func (c *call) update(deleted []string) error {
	ch, err := c.parseChange(deleted)
	if err != nil {
		return err
	}
	if err := ch.check(); err != nil {
		return err
	}
	return c.withLock(ch.vmid, func() error { return ch.apply(discardLog) })
}

// unlinkDisks is a config change that deletes disks.
func unlinkDisks(c *call) (any, error) {
	deleted := splitList(c.params.str("idlist"))
	delete(c.params, "idlist")
	return nil, c.update(deleted)
}

// updateVMAsync leaves the change to a worker and answers its UPID.
func updateVMAsync(c *call) (any, error) {
	ch, err := c.parseChange(deleteParam(c))
	if err != nil {
		return nil, err
	}
	if err := ch.check(); err != nil {
		return nil, err
	}
	upid := c.lab.startTask(c, c.node, "qmconfig", fmt.Sprint(ch.vmid), func(t *task) error {
		return t.withLock(ch.vmid, func() error {
			t.logf("update VM %d: %s", ch.vmid, ch.log)
			if err := t.sleep(allocTime); err != nil {
				return err
			}
			return t.step(func() error { return ch.apply(t.logf) })
		})
	})
	return upid, nil
}

// step runs part of a worker with the lab's lock held.
func (t *task) step(run func() error) error {
	var err error
	t.lab.locked(func() { err = run() })
	return err
}

// logger receives the lines that PVE prints while it works: the task's log, or
// nowhere for a synchronous call.
type logger func(format string, a ...any)

func discardLog(string, ...any) {}

// parseChange verifies what can be told from the parameters alone and rewrites
// the values as PVE stores them.
func (c *call) parseChange(deleted []string) (*configChange, error) {
	ch := &configChange{
		c: c, vmid: c.params.integer("vmid"), digest: c.params.str("digest"),
		force: c.params.boolean("force"), revert: map[string]bool{},
	}
	if err := c.refuseForToken("skiplock"); err != nil {
		return nil, err
	}
	ch.set = c.settings()
	ch.log = changeLine(ch.set, deleted, c.params.str("revert"))
	if keys := ch.set["sshkeys"]; keys != "" {
		if err := checkSSHKeys(keys); err != nil {
			return nil, err
		}
	}
	if len(deleted) == 0 && !c.params.has("revert") && len(ch.set) == 0 {
		return nil, fail("no options specified")
	}
	if err := ch.parseRevert(); err != nil {
		return nil, err
	}
	if err := ch.parseDelete(deleted); err != nil {
		return nil, err
	}
	if err := c.rewriteDrives(ch.set); err != nil {
		return nil, err
	}
	if err := ch.rewriteRest(); err != nil {
		return nil, err
	}
	if err := c.checkOptions(ch.vmid, "", ch.delete); err != nil {
		return nil, err
	}
	if err := c.checkOptions(ch.vmid, "", sortedKeys(ch.set)); err != nil {
		return nil, err
	}
	if err := c.checkStorageAccess(ch.vmid, ch.set, ""); err != nil {
		return nil, err
	}
	return ch, c.checkBridges(ch.set)
}

// settings are the call's parameters that are options of the configuration.
func (c *call) settings() guestConfig {
	set := guestConfig{}
	for _, name := range c.params.names() {
		if !control[name] {
			set[name] = c.params.str(name)
		}
	}
	if value, ok := set["cdrom"]; ok {
		delete(set, "cdrom")
		if !strings.Contains(value, "media=") {
			value += ",media=cdrom"
		}
		set["ide2"] = value
	}
	if value, ok := set["cpuunits"]; ok {
		set["cpuunits"] = clampShares(value)
	}
	return set
}

func changeLine(set guestConfig, deleted []string, revert string) string {
	all := maps.Clone(set)
	if len(deleted) > 0 {
		all["delete"] = strings.Join(deleted, ",")
	}
	if revert != "" {
		all["revert"] = revert
	}
	if _, ok := all["cipassword"]; ok {
		all["cipassword"] = "<hidden>"
	}
	var parts []string
	for _, key := range sortedKeys(all) {
		parts = append(parts, "-"+key, all[key])
	}
	return strings.Join(parts, " ")
}

func (ch *configChange) parseRevert() error {
	for _, key := range splitList(ch.c.params.str("revert")) {
		if !optionExists(key) {
			return badParams(map[string]string{"revert": fmt.Sprintf("unknown option '%s'", key)})
		}
		if _, ok := ch.set[key]; ok {
			text := fmt.Sprintf("you can't use '-%s' and -revert %s' at the same time", key, key)
			return badParams(map[string]string{"delete": text})
		}
		ch.revert[key] = true
	}
	return nil
}

func (ch *configChange) parseDelete(deleted []string) error {
	for _, key := range deleted {
		if key == "cdrom" {
			key = "ide2"
		}
		if _, ok := ch.set[key]; ok {
			text := fmt.Sprintf("you can't use '-%s' and -delete %s' at the same time", key, key)
			return badParams(map[string]string{"delete": text})
		}
		if ch.revert[key] {
			text := fmt.Sprintf("you can't use '-delete %s' and -revert %s' at the same time", key, key)
			return badParams(map[string]string{"revert": text})
		}
		if !optionExists(key) {
			return badParams(map[string]string{"delete": fmt.Sprintf("unknown option '%s'", key)})
		}
		ch.delete = append(ch.delete, key)
	}
	return nil
}

// rewriteDrives prints every drive in PVE's order, or refuses what its parser
// cannot make sense of.
func (c *call) rewriteDrives(set guestConfig) error {
	for _, key := range set.drives() {
		d := parseDrive(set[key])
		if !d.consistent(key) {
			return badParams(map[string]string{key: "unable to parse drive options"})
		}
		if _, ok := d["import-from"]; ok {
			if _, size, isNew := d.newDisk(); !isNew || size != "0" {
				text := "'import-from' requires special syntax - use <storage ID>:0,import-from=<source>"
				return badParams(map[string]string{key: text})
			}
		}
		if d["media"] == "" && (d.file() == "none" || d.file() == "cdrom") {
			d["media"] = "cdrom"
		}
		if err := c.checkISOMedia(key, d); err != nil {
			return err
		}
		set[key] = d.print()
	}
	return nil
}

func (c *call) checkISOMedia(key string, d drive) error {
	_, name, ok := volumeParts(d.file())
	if _, _, isNew := d.newDisk(); !ok || isNew || name == "cloudinit" {
		return nil
	}
	v, err := c.lab.parseVolume(d.file())
	if err != nil {
		return err
	}
	if v.content == "iso" && !d.isCDROM() {
		return badParams(map[string]string{key: "explicit 'media=cdrom' is required for iso images"})
	}
	return nil
}

func (ch *configChange) rewriteRest() error {
	for _, key := range sortedKeys(ch.set) {
		value := ch.set[key]
		switch {
		case isNet(key):
			ch.set[key] = parseNIC(value).withMAC().print()
		case key == "vmgenid" && value == "1":
			ch.set[key] = newUUID()
		case key == "hookscript":
			if _, err := ch.c.lab.volume(ch.c.node, value); err != nil {
				return badParams(map[string]string{key: fmt.Sprintf("script '%s' does not exist\n", value)})
			}
		}
	}
	return nil
}

// check is done before the answer and, since the configuration may have
// changed, again under its lock.
func (ch *configChange) check() error {
	_, err := ch.load()
	return err
}

func (ch *configChange) load() (*guest, error) {
	g, err := ch.c.vm()
	if err != nil {
		return nil, err
	}
	if err := g.checkDigest(ch.digest); err != nil {
		return nil, err
	}
	if !ch.c.params.boolean("skiplock") {
		if err := g.checkLock(); err != nil {
			return nil, err
		}
	}
	return g, ch.checkBalloon(g)
}

func (ch *configChange) checkBalloon(g *guest) error {
	memory, setsMemory := ch.set["memory"]
	_, setsBalloon := ch.set["balloon"]
	if !setsMemory && !setsBalloon {
		return nil
	}
	conf := g.merged()
	if !setsMemory {
		memory = conf["memory"]
	}
	balloon := orDefault(ch.set["balloon"], conf["balloon"])
	if parseCount(balloon) > memoryOf(memory) {
		return fail("balloon value too large (must be smaller than assigned memory)")
	}
	return nil
}
