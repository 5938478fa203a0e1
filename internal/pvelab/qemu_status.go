package pvelab

import (
	"fmt"
	"strconv"
	"strings"
)

const mib = 1 << 20

// vmStatus is a VM in the node's list; full adds what PVE asks QEMU.
func (l *Lab) vmStatus(g *guest, full bool) map[string]any {
	s := map[string]any{
		"vmid": g.vmid, "status": g.status(), "name": g.name(), "cpus": l.usableCPUs(g),
		"maxmem": g.memory() * mib, "maxdisk": g.bootDiskSize(),
		"disk": 0, "mem": 0, "cpu": 0, "netin": 0, "netout": 0, "uptime": 0,
	}
	if !l.is8() {
		s["memhost"] = 0
	}
	if balloon, _ := strconv.ParseInt(g.conf["balloon"], 10, 64); balloon > 0 {
		s["balloon_min"] = balloon * mib
		s["shares"] = optionValue("shares", orDefault(g.conf["shares"], "1000"))
	}
	if g.isTemplate() {
		s["template"] = 1
	}
	for _, key := range []string{"lock", "tags"} {
		if value, ok := g.conf[key]; ok {
			s[key] = value
		}
	}
	if g.hasSerial() {
		s["serial"] = 1
	}
	if g.run != nil {
		l.addRunning(g, s, full)
	}
	if full {
		s["qmpstatus"] = g.qmpStatus()
	}
	return s
}

func (l *Lab) addRunning(g *guest, s map[string]any, full bool) {
	s["pid"] = g.run.pid
	s["uptime"] = int64(l.clock.Now().Sub(g.run.started).Seconds())
	if !l.is8() {
		for _, what := range []string{"cpu", "io", "memory"} {
			s["pressure"+what+"some"], s["pressure"+what+"full"] = 0, 0
		}
	}
	if !full {
		return
	}
	nics := map[string]any{}
	for key := range g.conf {
		if index, ok := strings.CutPrefix(key, "net"); ok && isNet(key) {
			nics[fmt.Sprintf("tap%di%s", g.vmid, index)] = map[string]any{"netin": 0, "netout": 0}
		}
	}
	if len(nics) > 0 {
		s["nics"] = nics
	}
}

func (g *guest) status() string {
	if g.run == nil {
		return "stopped"
	}
	return "running"
}

func (g *guest) qmpStatus() string {
	if g.run != nil && g.run.paused {
		return "paused"
	}
	return g.status()
}

func (g *guest) name() string {
	return orDefault(g.conf["name"], fmt.Sprintf("VM %d", g.vmid))
}

func orDefault(value, otherwise string) string {
	if value == "" {
		return otherwise
	}
	return value
}

// memory is the configured size in MiB.
func (g *guest) memory() int64 { return memoryOf(g.conf["memory"]) }

func memoryOf(value string) int64 {
	size, err := strconv.ParseInt(parseProps(value, "current")["current"], 10, 64)
	if err != nil {
		return 512
	}
	return size
}

// hostCPUs caps what PVE shows as a guest's usable CPUs.
const hostCPUs = 8

func (l *Lab) usableCPUs(g *guest) int64 {
	if vcpus, _ := strconv.ParseInt(g.conf["vcpus"], 10, 64); vcpus > 0 {
		return vcpus
	}
	cpus := int64(1)
	for _, key := range []string{"sockets", "cores"} {
		if n, _ := strconv.ParseInt(g.conf[key], 10, 64); n > 0 {
			cpus *= n
		}
	}
	return min(cpus, hostCPUs)
}

func (g *guest) hasSerial() bool {
	for n := range 4 {
		if g.conf[indexed("serial", n)] != "" {
			return true
		}
	}
	return false
}

// bootDiskSize is the size of the first disk in the boot order, which PVE shows
// as the VM's disk.
func (g *guest) bootDiskSize() int64 {
	for _, slot := range g.bootDisks() {
		value, ok := g.conf[slot]
		if !ok || !isDriveSlot(slot) {
			continue
		}
		if d := parseDrive(value); !d.isCDROM() {
			return d.size()
		}
	}
	return 0
}

func (g *guest) bootDisks() []string {
	if order := bootOrder(g.conf["boot"]); order != nil {
		return order
	}
	if disk := g.conf["bootdisk"]; disk != "" {
		return []string{disk}
	}
	return nil
}

// bootOrder is the list in "order=…", nil where the option has another form.
func bootOrder(boot string) []string {
	return splitList(parseProps(strings.TrimSpace(boot), "legacy")["order"])
}

func printBootOrder(devices []string) string {
	if len(devices) == 0 {
		return ""
	}
	return "order=" + strings.Join(devices, ";")
}

// defaultBootOrder is the first disk, the first CD-ROM and the first NIC.
func (o guestConfig) defaultBootOrder() []string {
	var devices []string
	for _, cdrom := range []bool{false, true} {
		for _, slot := range bootSlots {
			if value, ok := o[slot]; ok && parseDrive(value).isCDROM() == cdrom {
				devices = append(devices, slot)
				break
			}
		}
	}
	for n := range 32 {
		if key := indexed("net", n); o[key] != "" {
			return append(devices, key)
		}
	}
	return devices
}

// vmCurrent answers …/status/current.
func vmCurrent(c *call) (any, error) {
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	s := c.lab.vmStatus(g, true)
	s["ha"] = c.lab.haStatus(g)
	if vga, ok := g.conf["vga"]; ok {
		p := parseProps(vga, "type")
		s["clipboard"] = nil
		if clipboard := p["clipboard"]; clipboard != "" {
			s["clipboard"] = clipboard
		}
		if strings.HasPrefix(p["type"], "virtio") || strings.HasPrefix(p["type"], "qxl") {
			s["spice"] = 1
		}
	}
	if g.agentEnabled() {
		s["agent"] = 1
	}
	return s, nil
}

func (g *guest) agentEnabled() bool {
	p := parseProps(g.conf["agent"], "enabled")
	p.normalise(map[string]bool{"enabled": true})
	return p["enabled"] == "1"
}
