package pvelab

import (
	"strconv"
	"strings"
)

// guestStatus is a guest as its node knows it, whatever its kind.
func (l *Lab) guestStatus(g *guest) map[string]any {
	if g.kind == kindLXC {
		return l.ctStatus(g)
	}
	return l.vmStatus(g, false)
}

// ctStatus is a container in its node's list.
func (l *Lab) ctStatus(g *guest) map[string]any {
	s := map[string]any{
		"vmid": g.vmid, "status": g.status(), "name": g.ctName(), "type": kindLXC, "cpus": g.ctCPUs(),
		"maxmem": ctMiB(g.conf["memory"], defaultMiB), "maxswap": ctMiB(g.conf["swap"], 0), "maxdisk": g.rootSize(),
		"disk": 0, "mem": 0, "swap": 0, "cpu": 0, "netin": 0, "netout": 0, "diskread": 0, "diskwrite": 0, "uptime": 0,
	}
	if g.isTemplate() {
		s["template"] = 1
	}
	for _, key := range []string{"lock", "tags"} {
		if value, ok := g.conf[key]; ok {
			s[key] = value
		}
	}
	if g.run == nil {
		return s
	}
	s["pid"] = g.run.pid
	s["disk"] = usedDisk
	s["uptime"] = int64(l.clock.Now().Sub(g.run.started).Seconds())
	if !l.is8() {
		for _, what := range []string{"cpu", "io", "memory"} {
			s["pressure"+what+"some"], s["pressure"+what+"full"] = "0.00", "0.00"
		}
	}
	return s
}

const (
	// defaultMiB is a container's memory and swap where none is given.
	defaultMiB = 512
	// usedDisk is what a running container's root file system is said to hold.
	usedDisk = 300 << 20
	// defaultRootSize is what PVE assumes of a root volume without a size.
	defaultRootSize = 4 * gib
)

func ctMiB(value string, otherwise int64) int64 {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		n = otherwise
	}
	return n * mib
}

func (g *guest) ctCPUs() any {
	if n := parseCount(g.conf["cores"]); n > 0 {
		return n
	}
	if limit := g.conf["cpulimit"]; limit != "" && limit != "0" {
		return limit
	}
	return hostCPUs
}

func (g *guest) rootSize() int64 {
	if bytes, _, ok := parseSize(parseMount(g.conf["rootfs"])["size"]); ok {
		return bytes
	}
	return defaultRootSize
}

func ctCurrent(c *call) (any, error) {
	g, err := c.ct()
	if err != nil {
		return nil, err
	}
	s := c.lab.ctStatus(g)
	s["ha"] = c.lab.haStatus(g)
	return s, nil
}

// ctInterfaces answers …/interfaces: null for a container that does not run.
func ctInterfaces(c *call) (any, error) {
	g, err := c.ct()
	if err != nil {
		return nil, err
	}
	if g.run == nil {
		return nil, nil
	}
	list := []map[string]any{ctInterface("lo", "00:00:00:00:00:00", "127.0.0.1/8", "::1/128")}
	for _, key := range sortedKeys(g.conf) {
		if isNet(key) {
			list = append(list, leasedInterface(parseProps(g.conf[key], "")))
		}
	}
	return list, nil
}

// leasedInterface has the configured addresses, or those that DHCP gave.
func leasedInterface(p props) map[string]any {
	mac := strings.ToLower(p["hwaddr"])
	if p["link_down"] == "1" {
		return ctInterface(p["name"], mac)
	}
	var addresses []string
	switch ip := p["ip"]; {
	case ip == "dhcp":
		addresses = append(addresses, leasedAddress(nic{"macaddr": mac, "bridge": p["bridge"], "tag": p["tag"]}).String())
	case strings.Contains(ip, "/"):
		addresses = append(addresses, ip)
	}
	if ip := p["ip6"]; strings.Contains(ip, "/") {
		addresses = append(addresses, ip)
	}
	if local, ok := linkLocal(mac); ok {
		addresses = append(addresses, local.String())
	}
	return ctInterface(p["name"], mac, addresses...)
}

// ctInterface is an entry of …/interfaces; addresses are in CIDR form.
func ctInterface(name, mac string, addresses ...string) map[string]any {
	out := map[string]any{"name": name, "hwaddr": mac, "hardware-address": mac}
	list := []map[string]any{}
	for _, cidr := range addresses {
		address, prefix, _ := strings.Cut(cidr, "/")
		family := "inet"
		if strings.Contains(address, ":") {
			family = "inet6"
		}
		out[family] = cidr
		list = append(list, map[string]any{"ip-address": address, "ip-address-type": family, "prefix": prefix})
	}
	out["ip-addresses"] = list
	return out
}
