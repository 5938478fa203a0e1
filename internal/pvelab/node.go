package pvelab

import (
	"fmt"
	"maps"
	"time"
)

// node is a cluster node.
type node struct {
	lab    *Lab
	name   string
	id     int
	ip     string
	online bool
	// leaving is set while the node shuts down, and until it boots again.
	leaving bool
	booted  time.Time
	network interfaces
	// changed is the network configuration that waits for a reload, or nil.
	changed *interfaces
	// active are the interfaces that are up.
	active map[string]bool
}

const (
	nodeCPUs   = 8
	nodeMemory = 32 << 30
	nodeDisk   = 252 << 30
)

func newNode(l *Lab, name string, id int) *node {
	n := &node{
		lab: l, name: name, id: id, ip: fmt.Sprintf("10.99.0.%d", id), online: true,
		booted: l.clock.Now().Add(-time.Hour),
	}
	n.initNetwork()
	return n
}

// uptime is in whole seconds.
func (n *node) uptime() int64 { return int64(n.lab.clock.Now().Sub(n.booted).Seconds()) }

// memory is what the node's guests and its own system take, in bytes.
func (n *node) memory() int64 {
	used := int64(1272999936)
	for _, g := range n.lab.guests {
		if g.node == n.name && g.run != nil {
			used += g.memory() * mib
		}
	}
	return min(used, nodeMemory)
}

// figures are the node's values in a broadcast.
func (n *node) figures() map[string]any {
	return map[string]any{
		"uptime": n.uptime(), "cpu": 0.01, "maxcpu": nodeCPUs, "mem": n.memory(), "maxmem": int64(nodeMemory),
		"disk": int64(baseUsed), "maxdisk": int64(nodeDisk),
	}
}

func (l *Lab) routeNodes() {
	l.handle("GET", "/nodes", nodeList)
	l.handle("GET", "/nodes/{node}", nodeIndex)
	l.handle("GET", "/nodes/{node}/status", nodeStatus)
	l.handle("GET", "/nodes/{node}/version", versionRead)
	l.handle("GET", "/nodes/{node}/time", nodeTime)
}

func nodeList(c *call) (any, error) {
	out := []map[string]any{}
	for _, name := range sortedKeys(c.lab.nodes) {
		entry := c.lab.nodeResource(c.lab.nodes[name], c.can("/nodes/"+name, "Sys.Audit"))
		entry["ssl_fingerprint"] = c.lab.NodeFingerprint(name)
		out = append(out, entry)
	}
	return out, nil
}

func nodeIndex(c *call) (any, error) {
	only9 := " query-oci-repo-tags"
	if c.lab.is8() {
		only9 = ""
	}
	return subdirs("name", words("aplinfo apt capabilities ceph certificates config disks dns firewall hardware hosts journal lxc"+
		" migrateall netstat network qemu query-url-metadata replication report rrd rrddata scan sdn services spiceshell"+
		" startall status stopall storage subscription suspendall syslog tasks termproxy time version vncshell vzdump wakeonlan"+only9)...), nil
}

func nodeTime(c *call) (any, error) {
	now := c.lab.clock.Now().Unix()
	out := map[string]any{"time": now, "localtime": now, "timezone": "Etc/UTC"}
	if c.lab.is8() {
		out["timezone"] = nil
	}
	return out, nil
}

// kernels of the versions' default kernel packages.
var kernels = map[string]string{"9.2": "7.0.6-2-pve", "8.4": "6.8.12-18-pve"}

func nodeStatus(c *call) (any, error) {
	l := c.lab
	n := l.nodes[c.node]
	release := l.release()
	kernel := map[string]any{
		"sysname": "Linux", "machine": "x86_64", "release": kernels[l.opts.Version], "version": "#1 SMP PREEMPT_DYNAMIC PMX",
	}
	memory := map[string]any{"total": int64(nodeMemory), "used": n.memory(), "free": nodeMemory - n.memory()}
	cpu := map[string]any{
		"cores": nodeCPUs, "cpus": nodeCPUs, "sockets": 1, "model": "AMD EPYC", "mhz": "2596.134", "hvm": "1", "user_hz": 100,
		"flags": "fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 clflush mmx fxsr sse sse2 ht svm aes avx avx2",
	}
	if !l.is8() {
		maps.Copy(cpu, map[string]any{"family": "25", "vendor": "AuthenticAMD"})
		memory["available"] = memory["free"]
	}
	return map[string]any{
		"uptime": n.uptime(), "cpu": 0.01, "wait": 0, "idle": 0, "loadavg": []string{"0.10", "0.12", "0.09"},
		"cpuinfo": cpu, "memory": memory, "swap": map[string]any{"total": 0, "used": 0, "free": 0}, "ksm": map[string]any{"shared": 0},
		"rootfs":     map[string]any{"total": int64(nodeDisk), "used": int64(baseUsed), "free": nodeDisk - int64(baseUsed), "avail": nodeDisk - int64(baseUsed)},
		"pveversion": fmt.Sprintf("pve-manager/%s/%s", release["version"], release["repoid"]),
		"kversion":   fmt.Sprintf("Linux %s %s", kernel["release"], kernel["version"]), "current-kernel": kernel,
		"boot-info": map[string]any{"mode": "legacy-bios"},
	}, nil
}
