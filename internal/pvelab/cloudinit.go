package pvelab

import (
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

func (l *Lab) routeCloudInit(base string) {
	l.handle("GET", base, cloudInitPending)
	l.handle("PUT", base, cloudInitRegenerate)
	l.handle("GET", base+"/dump", cloudInitDump)
}

// recordImage notes that an option now differs from what the guest's cloud-init
// image was made with, or does so no longer. A nil value is a deletion.
func (g *guest) recordImage(key string, value *string) {
	if !isCloudInitOption[key] && !ipconfigRE.MatchString(key) && key != "name" && !isNet(key) {
		return
	}
	old, had := g.conf[key]
	recorded, known := g.imageValues[key]
	switch {
	case value == nil && !had:
	case value == nil && g.imageAdded[key]:
		delete(g.imageAdded, key)
	case value == nil && !known:
		g.imageValues[key] = old
	case value != nil && known && *value == recorded:
		delete(g.imageValues, key)
		delete(g.imageAdded, key)
	case value != nil && !known && !g.imageAdded[key]:
		if had {
			g.imageValues[key] = old
		} else {
			g.imageAdded[key] = true
		}
	}
}

func (g *guest) imageIsStale() bool { return len(g.imageValues)+len(g.imageAdded) > 0 }

// cloudInitPending shows, per option, what the image was made with and what it
// would be made with now.
func cloudInitPending(c *call) (any, error) {
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	list := []map[string]any{}
	for _, key := range sortedKeys(g.imageAdded) {
		list = append(list, map[string]any{"key": key, "pending": shownValue(key, g.conf[key])})
	}
	for _, key := range strings.Fields(cloudInitOptions) {
		value := g.conf[key]
		if value == "" || value == "0" || g.imageAdded[key] {
			continue
		}
		item := map[string]any{"key": key, "value": shownValue(key, value)}
		if old := g.imageValues[key]; old != "" {
			item["value"], item["pending"] = shownValue(key, old), shownValue(key, value)
		}
		list = append(list, item)
	}
	for _, key := range sortedKeys(g.imageValues) {
		if g.conf[key] == "" {
			list = append(list, map[string]any{"key": key, "delete": 1})
		}
	}
	return list, nil
}

func shownValue(key, value string) any {
	if key == "cipassword" {
		return maskedPassword
	}
	return optionValue(key, value)
}

func cloudInitRegenerate(c *call) (any, error) {
	vmid := c.params.integer("vmid")
	return nil, c.withLock(vmid, func() error {
		g, err := c.vm()
		if err != nil {
			return err
		}
		if err := g.checkLock(); err != nil {
			return err
		}
		return c.lab.regenerateImage(g)
	})
}

// regenerateImage makes the image anew and puts it into the drive. A guest
// reads it at its next boot.
func (l *Lab) regenerateImage(g *guest) error {
	if g.conf.cloudInitSlot("") == "" {
		return nil
	}
	return l.makeImage(g)
}

// makeImage fails where a snippet that cicustom names is missing.
func (l *Lab) makeImage(g *guest) error {
	for _, volid := range parseProps(strings.TrimSpace(g.conf["cicustom"]), "user") {
		name, err := l.parseVolume(volid)
		if err != nil {
			return err
		}
		if name.content != "snippets" {
			return fail("%s is not in the snippets directory", volid)
		}
		if _, err := l.volume(g.node, volid); err != nil {
			return err
		}
	}
	g.imageValues, g.imageAdded = guestConfig{}, map[string]bool{}
	g.image = guestConfig{"name": g.name()}
	for key, value := range g.conf {
		if isCloudInitOption[key] || ipconfigRE.MatchString(key) {
			g.image[key] = value
		}
	}
	return nil
}

// bootSystem lets the guest's system read what is in its drives. A reset makes no new
// cloud-init image: the system reads the one that is there.
func (l *Lab) bootSystem(g *guest) {
	g.run.booted, g.run.image = l.clock.Now(), nil
	if g.conf.cloudInitSlot("") != "" {
		g.run.image = maps.Clone(g.image)
	}
	g.run.host = orDefault(g.run.image["name"], g.name())
	l.bootSeed(g)
}

func cloudInitDump(c *call) (any, error) {
	g, err := c.vm()
	if err != nil {
		return nil, err
	}
	user := g.userData(!c.can(guestPath(g.vmid), "VM.Config.Cloudinit"))
	network := g.networkConfig()
	switch c.params.str("type") {
	case "user":
		return user, nil
	case "network":
		return network, nil
	}
	sum := sha1.Sum([]byte(g.userData(false) + network))
	id := hex.EncodeToString(sum[:])
	if g.imageFormat() == "nocloud" {
		return fmt.Sprintf("instance-id: %s\n", id), nil
	}
	return fmt.Sprintf("{\n     \"uuid\": \"%s\",\n     \"network_config\": { \"content_path\": \"/content/0000\" }\n}\n", id), nil
}

func (g *guest) imageFormat() string {
	if format := g.conf["citype"]; format != "" {
		return format
	}
	if isWindows(g.conf["ostype"]) {
		return "configdrive2"
	}
	return "nocloud"
}

func (g *guest) userData(masked bool) string {
	host := orDefault(g.conf["name"], fmt.Sprintf("VM%d", g.vmid))
	fqdn := host
	if short, _, ok := strings.Cut(host, "."); ok {
		host = short
	} else if domain := g.conf["searchdomain"]; domain != "" {
		fqdn = host + "." + domain
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#cloud-config\nhostname: %s\nmanage_etc_hosts: true\nfqdn: %s\n", host, fqdn)
	user, hasUser := g.conf["ciuser"]
	if hasUser {
		fmt.Fprintf(&b, "user: %s\n", user)
	}
	if user == "root" {
		b.WriteString("disable_root: False\n")
	}
	if password, ok := g.conf["cipassword"]; ok {
		if masked {
			password = maskedPassword
		}
		fmt.Fprintf(&b, "password: %s\n", password)
	}
	if keys, ok := g.conf["sshkeys"]; ok {
		b.WriteString("ssh_authorized_keys:\n")
		for _, key := range sshKeyLines(keys) {
			fmt.Fprintf(&b, "  - %s\n", key)
		}
	}
	b.WriteString("chpasswd:\n  expire: False\n")
	if user != "root" {
		b.WriteString("users:\n  - default\n")
	}
	if g.conf["ciupgrade"] != "0" {
		b.WriteString("package_upgrade: true\n")
	}
	return b.String()
}

// nics are the indices of NICs with an ipconfig, in PVE's order, which is that
// of their names.
func (g *guest) configuredNICs() []string {
	var list []string
	for _, key := range sortedKeys(g.conf) {
		if index, ok := strings.CutPrefix(key, "net"); ok && isNet(key) && g.conf["ipconfig"+index] != "" {
			list = append(list, index)
		}
	}
	return list
}

// ipConfig reads an ipconfigN option, which asks DHCP where it names no address.
func (o guestConfig) ipConfig(index string) props {
	p := parseProps(strings.TrimSpace(o["ipconfig"+index]), "ip")
	if p["ip"] == "" && p["ip6"] == "" {
		p["ip"], p["ip6"] = "dhcp", "dhcp"
	}
	return p
}

func (g *guest) networkConfig() string {
	if g.imageFormat() == "nocloud" {
		return g.noCloudNetwork()
	}
	return g.debianNetwork()
}

func (g *guest) noCloudNetwork() string {
	var b strings.Builder
	b.WriteString("version: 1\nconfig:\n")
	for _, index := range g.configuredNICs() {
		p := g.conf.ipConfig(index)
		mac := strings.ToLower(parseNIC(g.conf["net"+index])["macaddr"])
		fmt.Fprintf(&b, "    - type: physical\n      name: eth%s\n      mac_address: '%s'\n      subnets:\n", index, mac)
		switch ip := p["ip"]; ip {
		case "":
		case "dhcp":
			b.WriteString("      - type: dhcp4\n")
		default:
			addr, mask := dotted(ip)
			fmt.Fprintf(&b, "      - type: static\n        address: '%s'\n        netmask: '%s'\n", addr, mask)
			writeIf(&b, "        gateway: '%s'\n", p["gw"])
		}
		switch ip := p["ip6"]; ip {
		case "":
		case "dhcp":
			b.WriteString("      - type: dhcp6\n")
		case "auto":
			b.WriteString("      - type: ipv6_slaac\n")
		default:
			fmt.Fprintf(&b, "      - type: static6\n        address: '%s'\n", ip)
			writeIf(&b, "        gateway: '%s'\n", p["gw6"])
		}
	}
	b.WriteString("    - type: nameserver\n")
	writeList(&b, "      address:\n", g.conf["nameserver"])
	writeList(&b, "      search:\n", g.conf["searchdomain"])
	return b.String()
}

func writeIf(b *strings.Builder, format, value string) {
	if value != "" {
		fmt.Fprintf(b, format, value)
	}
}

func writeList(b *strings.Builder, head, values string) {
	list := strings.Fields(values)
	if len(list) == 0 {
		return
	}
	b.WriteString(head)
	for _, value := range list {
		fmt.Fprintf(b, "      - '%s'\n", value)
	}
}

func (g *guest) debianNetwork() string {
	var b strings.Builder
	b.WriteString("auto lo\niface lo inet loopback\n\n")
	writeIf(&b, "        dns_nameservers %s\n", strings.Join(strings.Fields(g.conf["nameserver"]), " "))
	writeIf(&b, "        dns_search %s\n", strings.Join(strings.Fields(g.conf["searchdomain"]), " "))
	for _, index := range g.configuredNICs() {
		p, dev := g.conf.ipConfig(index), "eth"+index
		fmt.Fprintf(&b, "auto %s\n", dev)
		switch ip := p["ip"]; ip {
		case "":
		case "dhcp":
			fmt.Fprintf(&b, "iface %s inet dhcp\n", dev)
		default:
			addr, mask := dotted(ip)
			fmt.Fprintf(&b, "iface %s inet static\n        address %s\n        netmask %s\n", dev, addr, mask)
			writeIf(&b, "        gateway %s\n", p["gw"])
		}
		switch ip := p["ip6"]; ip {
		case "":
		case "dhcp", "auto":
			fmt.Fprintf(&b, "iface %s inet6 %s\n", dev, ip)
		default:
			addr, bits, _ := strings.Cut(ip, "/")
			fmt.Fprintf(&b, "iface %s inet6 static\n        address %s\n        netmask %s\n", dev, addr, bits)
			writeIf(&b, "        gateway %s\n", p["gw6"])
		}
	}
	return b.String()
}

// dotted splits a CIDR into its address and its mask.
func dotted(cidr string) (address, mask string) {
	p, err := netip.ParsePrefix(cidr)
	if err != nil {
		return cidr, ""
	}
	return p.Addr().String(), net.IP(net.CIDRMask(p.Bits(), 32)).String()
}

func sshKeyLines(encoded string) []string {
	plain, err := url.PathUnescape(encoded)
	if err != nil {
		plain = encoded
	}
	return slices.DeleteFunc(strings.Split(plain, "\n"), func(line string) bool { return strings.TrimSpace(line) == "" })
}

// checkSSHKeys refuses what ssh-keygen cannot read as public keys, one a line.
func checkSSHKeys(encoded string) error {
	for _, line := range sshKeyLines(encoded) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "#") || slices.ContainsFunc(fields, func(f string) bool { return isKeyData(f, fields) }) {
			continue
		}
		return fail("SSH public key validation error")
	}
	return nil
}

// isKeyData recognises the base64 of a public key: strings with their lengths
// before them, of which the first is the type that the line names.
func isKeyData(field string, line []string) bool {
	raw, err := base64.StdEncoding.DecodeString(field)
	if err != nil {
		return false
	}
	var parts []string
	for len(raw) >= 4 {
		n := int(binary.BigEndian.Uint32(raw))
		if raw = raw[4:]; n > len(raw) {
			return false
		}
		parts, raw = append(parts, string(raw[:n])), raw[n:]
	}
	return len(raw) == 0 && len(parts) > 1 && slices.Contains(line, parts[0])
}
