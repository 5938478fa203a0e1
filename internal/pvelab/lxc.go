package pvelab

import (
	"maps"
	"strconv"
	"strings"
)

func (l *Lab) routeLXC() {
	const cts = "/nodes/{node}/lxc"
	const ct = cts + "/{vmid}"
	l.handle("GET", cts, listCTs)
	l.handle("POST", cts, createCT)
	l.handle("GET", ct, index("config", "pending", "status", "vncproxy", "termproxy", "vncwebsocket", "spiceproxy",
		"migrate", "clone", "rrd", "rrddata", "firewall", "snapshot", "resize", "interfaces"))
	l.handle("DELETE", ct, destroyCT)
	l.handle("GET", ct+"/config", ctConfig)
	l.handle("PUT", ct+"/config", updateCT)
	l.handle("GET", ct+"/pending", ctPending)
	l.handle("PUT", ct+"/resize", resizeMount)
	l.handle("POST", ct+"/move_volume", moveVolume)
	l.handle("POST", ct+"/clone", cloneCT)
	l.handle("POST", ct+"/migrate", migrateCT)
	l.handle("POST", ct+"/template", makeCTTemplate)
	l.handle("GET", ct+"/feature", ctFeature)
	l.handle("GET", ct+"/interfaces", ctInterfaces)
	l.routeCTPower(ct + "/status")
	l.routeSnapshots(ct + "/snapshot")
}

// ct returns the container that a call names, if its configuration is on the node.
func (c *call) ct() (*guest, error) { return c.lab.ctOn(c.node, c.params.integer("vmid")) }

func (l *Lab) ctOn(node string, vmid int) (*guest, error) {
	g := l.guests[vmid]
	if g == nil || g.kind != kindLXC || g.node != node {
		return nil, fail("Configuration file 'nodes/%s/lxc/%d.conf' does not exist", node, vmid)
	}
	return g, nil
}

// runsCT reports whether a container runs; PVE asks the host, not the configuration.
func (c *call) runsCT() bool {
	g := c.lab.guests[c.params.integer("vmid")]
	return g != nil && g.kind == kindLXC && g.node == c.node && g.run != nil
}

const (
	kindQemu = "qemu"
	kindLXC  = "lxc"
)

// taskPrefix begins the types of tasks about a guest.
var taskPrefix = map[string]string{kindQemu: "qm", kindLXC: "vz"}

// starters make the worker that starts a guest.
var starters = map[string]func(vmid int, node string) func(*task) error{kindQemu: startWorker, kindLXC: startCTWorker}

// kind is the kind of guest that the call's path is about.
func (c *call) kind() string {
	if strings.HasPrefix(c.path, "/nodes/"+c.node+"/lxc/") {
		return kindLXC
	}
	return kindQemu
}

// namedGuest returns the guest of the path's kind that a call names.
func (c *call) namedGuest() (*guest, error) {
	return c.lab.guestOn(c.kind(), c.node, c.params.integer("vmid"))
}

func (l *Lab) guestOn(kind, node string, vmid int) (*guest, error) {
	if kind == kindLXC {
		return l.ctOn(node, vmid)
	}
	return l.vmOn(node, vmid)
}

// volumeKeys lists the options of a configuration of the guest's kind that hold a
// volume, sorted.
func (g *guest) volumeKeys(conf guestConfig) []string {
	if g.kind == kindLXC {
		return conf.mounts()
	}
	return conf.drives()
}

func (l *Lab) canSnapshot(g *guest) bool {
	if g.kind == kindLXC {
		return l.ctHasFeature(g.conf, "snapshot", "")
	}
	return l.hasFeature(g.conf, "snapshot", "")
}

func (l *Lab) isCT(vmid int) bool { return l.guests[vmid] != nil && l.guests[vmid].kind == kindLXC }

// checkUnused refuses an id that any guest of the cluster has.
func (l *Lab) checkUnused(vmid int) error {
	if old := l.guests[vmid]; old != nil {
		return fail("%s %d already exists on node '%s'", old.typeName(), vmid, old.node)
	}
	return nil
}

func listCTs(c *call) (any, error) {
	list := []map[string]any{}
	for _, vmid := range sortedKeys(c.lab.guests) {
		g := c.lab.guests[vmid]
		if g.kind == kindLXC && g.node == c.node && c.can(guestPath(vmid), "VM.Audit") {
			list = append(list, c.lab.ctStatus(g))
		}
	}
	return list, nil
}

func ctConfig(c *call) (any, error) {
	if c.params.has("snapshot") && c.params.boolean("current") {
		const text = "cannot use 'snapshot' parameter with 'current'"
		return nil, badParams(map[string]string{"snapshot": text, "current": text})
	}
	g, err := c.ct()
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
	out := g.show(c.readable(g, conf))
	out["digest"] = g.digest()
	return out, nil
}

func ctPending(c *call) (any, error) {
	g, err := c.ct()
	if err != nil {
		return nil, err
	}
	list := g.pendingList()
	if c.can(guestPath(g.vmid), "VM.Config.Options") {
		return list, nil
	}
	shown := list[:0]
	for _, item := range list {
		if item["key"] != "env" {
			shown = append(shown, item)
		}
	}
	return shown, nil
}

// readable leaves out what VM.Audit alone does not show.
func (c *call) readable(g *guest, conf guestConfig) guestConfig {
	if c.can(guestPath(g.vmid), "VM.Config.Options") {
		return conf
	}
	conf = maps.Clone(conf)
	delete(conf, "env")
	return conf
}

// show is a container's configuration as PVE's JSON shows it.
func (g *guest) show(conf guestConfig) map[string]any {
	out := make(map[string]any, len(conf)+1)
	for key, value := range conf {
		out[key] = g.optionValue(key, value)
	}
	return out
}

// optionValue is a value as PVE's JSON shows it: of a container integers and
// booleans are numbers, memory among them, and cpulimit is a string.
func (g *guest) optionValue(key, value string) any {
	if g.kind != kindLXC {
		return optionValue(key, value)
	}
	if ctNumeric[key] {
		if n, err := strconv.ParseInt(value, 10, 64); err == nil {
			return n
		}
	}
	return value
}

var ctNumeric = map[string]bool{
	"console": true, "cores": true, "cpuunits": true, "debug": true, "memory": true, "onboot": true,
	"protection": true, "snaptime": true, "swap": true, "template": true, "tty": true, "unprivileged": true,
}

// ctDescription is a description as a container's configuration file gives it
// back: line by line, each with its newline; newlines alone leave nothing.
func ctDescription(text string) string {
	if text = strings.TrimRight(text, "\n"); text == "" {
		return ""
	}
	return text + "\n"
}

// ctName is the container's name in lists.
func (g *guest) ctName() string {
	return orDefault(strings.ReplaceAll(g.conf["hostname"], " ", ""), "CT"+strconv.Itoa(g.vmid))
}

// Contents tells what data the volumes of a guest hold, by the key of its
// configuration: two volumes with one id hold the same, and a volume keeps its id
// when it is renamed or moved.
func (l *Lab) Contents(vmid int) map[string]string {
	out := map[string]string{}
	l.locked(func() {
		g := l.guests[vmid]
		if g == nil {
			return
		}
		for key, value := range g.conf {
			if !g.isVolumeKey(key) && !unusedRE.MatchString(key) {
				continue
			}
			if v, err := l.volume(g.node, parseDrive(value).file()); err == nil {
				out[key] = v.contentID
			}
		}
	})
	return out
}
