package pvelab

import (
	"crypto/sha256"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"
)

// agentCommands are the calls that ask the guest without parameters.
var agentCommands = map[string]struct {
	method string
	answer func(l *Lab, g *guest) any
}{
	"ping":                   {"POST", func(*Lab, *guest) any { return map[string]any{} }},
	"info":                   {"GET", func(*Lab, *guest) any { return agentInfo() }},
	"network-get-interfaces": {"GET", func(_ *Lab, g *guest) any { return g.interfaces() }},
	"get-osinfo":             {"GET", func(*Lab, *guest) any { return osInfo }},
	"get-host-name":          {"GET", func(_ *Lab, g *guest) any { return map[string]any{"host-name": g.run.host} }},
	"get-fsinfo":             {"GET", func(*Lab, *guest) any { return fsInfo }},
	"get-time":               {"GET", func(l *Lab, _ *guest) any { return l.clock.Now().UnixNano() }},
	"get-vcpus":              {"GET", func(_ *Lab, g *guest) any { return g.vcpus() }},
}

// agentIndex are all commands that PVE lists.
var agentIndex = []string{
	"exec", "exec-status", "file-read", "file-write", "fsfreeze-freeze", "fsfreeze-status", "fsfreeze-thaw",
	"fstrim", "get-fsinfo", "get-host-name", "get-memory-block-info", "get-memory-blocks", "get-osinfo",
	"get-time", "get-timezone", "get-users", "get-vcpus", "info", "network-get-interfaces", "ping",
	"set-user-password", "shutdown", "suspend-disk", "suspend-hybrid", "suspend-ram",
}

func (l *Lab) routeAgent(base string) {
	l.handle("GET", base, func(*call) (any, error) { return subdirs("name", agentIndex...), nil })
	l.handle("POST", base, func(c *call) (any, error) { return askAgent(c, c.params.str("command")) })
	for name, cmd := range agentCommands {
		l.handle(cmd.method, base+"/"+name, func(c *call) (any, error) { return askAgent(c, name) })
	}
	l.handle("POST", base+"/exec", agentExec)
	l.handle("GET", base+"/exec-status", agentExecStatus)
	l.handle("POST", base+"/file-write", agentFileWrite)
	l.handle("GET", base+"/file-read", agentFileRead)
}

func askAgent(c *call, command string) (any, error) {
	g, err := c.agent()
	if err != nil {
		return nil, err
	}
	cmd, ok := agentCommands[command]
	if !ok {
		return nil, fail("Agent error: The command guest-%s has been disabled for this instance", command)
	}
	return map[string]any{"result": cmd.answer(c.lab, g)}, nil
}

// agent returns the VM once its agent answers. PVE waits three seconds for one
// that does not.
func (c *call) agent() (*guest, error) {
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	if g.conf["agent"] == "" {
		return nil, fail("No QEMU guest agent configured")
	}
	if g.run == nil {
		return nil, fail("VM %d is not running", g.vmid)
	}
	if !c.lab.answers(g) {
		if err := c.sleepUnlocked(c.lab.pingWait(g)); err != nil {
			return nil, err
		}
	}
	if !c.lab.answers(g) {
		return nil, fail("QEMU guest agent is not running")
	}
	return g, nil
}

// pingWait is how long a ping of the agent takes at most: until it answers.
func (l *Lab) pingWait(g *guest) time.Duration {
	if !g.run.agent || g.run.paused || l.mute[g.vmid] {
		return pingTimeout
	}
	return min(pingTimeout, l.untilUp(g))
}

// osInfo is the operating system of the recordings' guest.
var osInfo = map[string]any{
	"id": "labguest", "name": "Lab Guest", "pretty-name": "Lab Guest 1.0", "version-id": "1.0",
	"kernel-release": "6.12.117+deb13-cloud-amd64", "machine": "x86_64",
	"kernel-version": "#1 SMP PREEMPT_DYNAMIC Debian 6.12.117-1 (2026-11-12)",
}

// fsInfo shows the one file system of the recordings' guest: its cloud-init
// image.
var fsInfo = []map[string]any{{
	"name": "sr0", "mountpoint": "/mnt", "type": "iso9660",
	"total-bytes": 376832, "used-bytes": 376832, "total-bytes-privileged": 376832,
	"disk": []map[string]any{{
		"bus": 1, "target": 0, "unit": 0, "bus-type": "ide", "dev": "/dev/sr0",
		"pci-controller": map[string]any{"domain": 0, "bus": 0, "slot": 1, "function": 1},
	}},
}}

// silentCommands end the agent, so that no success can be told.
var silentCommands = []string{"guest-shutdown", "guest-suspend-disk", "guest-suspend-hybrid", "guest-suspend-ram"}

func agentInfo() map[string]any {
	names := strings.Fields("exec exec-status file-close file-flush file-open file-read file-seek file-write " +
		"fsfreeze-freeze fsfreeze-freeze-list fsfreeze-status fsfreeze-thaw fstrim get-cpustats get-disks " +
		"get-diskstats get-fsinfo get-host-name get-load get-memory-block-info get-memory-blocks get-osinfo " +
		"get-time get-timezone get-users get-vcpus info network-get-interfaces network-get-route ping " +
		"set-memory-blocks set-time set-user-password set-vcpus shutdown ssh-add-authorized-keys " +
		"ssh-get-authorized-keys ssh-remove-authorized-keys suspend-disk suspend-hybrid suspend-ram sync " +
		"sync-delimited")
	commands := make([]map[string]any, 0, len(names))
	for _, name := range names {
		name = "guest-" + name
		commands = append(commands, map[string]any{
			"name": name, "enabled": true, "success-response": !slices.Contains(silentCommands, name),
		})
	}
	return map[string]any{"version": qemuVersion, "supported_commands": commands}
}

func (g *guest) vcpus() []map[string]any {
	count := max(1, parseCount(orDefault(g.conf["cores"], "1"))*parseCount(orDefault(g.conf["sockets"], "1")))
	list := make([]map[string]any, 0, count)
	for n := range count {
		list = append(list, map[string]any{"logical-id": n, "online": true, "can-offline": n > 0})
	}
	return list
}

// interfaces are the guest's: the loopback and one per NIC, with the addresses
// that cloud-init or DHCP gave them.
func (g *guest) interfaces() []map[string]any {
	list := []map[string]any{networkInterface("lo", "00:00:00:00:00:00",
		netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("::1/128"))}
	eth := 0
	for n := range 32 {
		value, ok := g.conf[indexed("net", n)]
		if !ok {
			continue
		}
		dev := parseNIC(value)
		list = append(list, networkInterface(indexed("eth", eth), strings.ToLower(dev["macaddr"]), g.addresses(n, dev)...))
		eth++
	}
	return list
}

func networkInterface(name, mac string, addresses ...netip.Prefix) map[string]any {
	statistics := map[string]any{}
	for _, direction := range []string{"rx", "tx"} {
		for _, what := range []string{"bytes", "packets", "errs", "dropped"} {
			statistics[direction+"-"+what] = 0
		}
	}
	i := map[string]any{"name": name, "hardware-address": mac, "statistics": statistics}
	if len(addresses) == 0 {
		return i
	}
	list := make([]map[string]any, 0, len(addresses))
	for _, a := range addresses {
		family := "ipv6"
		if a.Addr().Is4() {
			family = "ipv4"
		}
		list = append(list, map[string]any{"ip-address": a.Addr().String(), "ip-address-type": family, "prefix": a.Bits()})
	}
	i["ip-addresses"] = list
	return i
}

// addresses are those of a NIC whose link is up. A guest with a cloud-init image
// or a seed has what that says; one without asks DHCP.
func (g *guest) addresses(n int, dev nic) []netip.Prefix {
	if dev["link_down"] == "1" {
		return nil
	}
	ip, ip6 := "dhcp", ""
	if g.run.image != nil {
		ip = ""
		if index := strconv.Itoa(n); g.run.image["ipconfig"+index] != "" {
			p := g.run.image.ipConfig(index)
			ip, ip6 = p["ip"], p["ip6"]
		}
	}
	var list []netip.Prefix
	if g.run.seed != nil {
		list, ip = g.run.seed.of(dev), ""
	}
	if ip == "dhcp" {
		list = append(list, leasedAddress(dev))
	} else if a, err := netip.ParsePrefix(ip); err == nil {
		list = append(list, a)
	}
	if a, err := netip.ParsePrefix(ip6); err == nil {
		list = append(list, a)
	}
	if a, ok := linkLocal(dev["macaddr"]); ok {
		list = append(list, a)
	}
	return list
}

// leasedAddress is what a DHCP server on the bridge would give: always the same
// for one address of hardware, from a network of the bridge's own.
func leasedAddress(dev nic) netip.Prefix {
	sum := sha256.Sum256([]byte(strings.ToLower(dev["macaddr"])))
	bridge := sha256.Sum256([]byte(dev["bridge"] + "." + dev["tag"]))
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, bridge[0], sum[0], 2 + sum[1]%250}), 16)
}

// linkLocal is the address that IPv6 derives from a hardware address.
func linkLocal(mac string) (netip.Prefix, bool) {
	hw, err := net.ParseMAC(mac)
	if err != nil || len(hw) != 6 {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(netip.AddrFrom16([16]byte{
		0xfe, 0x80, 8: hw[0] ^ 2, 9: hw[1], 10: hw[2], 11: 0xff, 12: 0xfe, 13: hw[3], 14: hw[4], 15: hw[5],
	}), 64), true
}

// execResult is what a command that ran in the guest left.
type execResult struct {
	out  string
	code int
}

// systemctl answers `systemctl is-active -- UNIT` in a guest, as systemd does; ok
// is false for every other command.
func (l *Lab) systemctl(g *guest, command []string) (r execResult, ok bool) {
	if len(command) != 4 || command[0] != "systemctl" || command[1] != "is-active" {
		return execResult{}, false
	}
	state := orDefault(l.services[g.vmid][command[3]], "inactive")
	if r.out = state + "\n"; state != "active" {
		r.code = 3
	}
	return r, true
}

// agentExec runs a command in the guest; the lab's guest echoes what it does not
// know.
func agentExec(c *call) (any, error) {
	g, err := c.agent()
	if err != nil {
		return nil, err
	}
	pid := 178 + len(g.run.execs)
	r, known := c.lab.systemctl(g, c.params.list("command"))
	if !known {
		r.out = strings.Join(c.params.list("command"), " ") + "\n"
	}
	g.run.execs[pid] = r
	return map[string]any{"pid": pid}, nil
}

func agentExecStatus(c *call) (any, error) {
	g, err := c.agent()
	if err != nil {
		return nil, err
	}
	r, ok := g.run.execs[c.params.integer("pid")]
	if !ok {
		return nil, fail("Agent error: PID ld does not exist")
	}
	return map[string]any{"exited": 1, "exitcode": r.code, "out-data": r.out, "out-truncated": 0}, nil
}

func agentFileWrite(c *call) (any, error) {
	g, err := c.agent()
	if err != nil {
		return nil, err
	}
	g.run.files[c.params.str("file")] = []byte(c.params.str("content"))
	return nil, nil
}

func agentFileRead(c *call) (any, error) {
	g, err := c.agent()
	if err != nil {
		return nil, err
	}
	name := c.params.str("file")
	content, ok := g.run.files[name]
	if name == cloudInitResult {
		content, ok = c.lab.result(g)
	}
	if !ok {
		return nil, fail("Agent error: failed to open file '%s' (mode: 'r'): No such file or directory", name)
	}
	return map[string]any{"content": string(content), "bytes-read": len(content)}, nil
}
