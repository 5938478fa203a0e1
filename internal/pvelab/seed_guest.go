package pvelab

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/kdomanski/iso9660"
	"go.yaml.in/yaml/v4"
)

// guestSeed is what cloud-init in a guest made of the NoCloud seed in its CD-ROM
// drive when it booted.
type guestSeed struct {
	// instance is the seed's instance id, host the name that the guest was
	// given, "" for none.
	instance, host string
	// addresses are by MAC address in lower case, in CIDR notation or "dhcp"; nil
	// means that the seed says nothing of the network.
	addresses map[string][]string
	// errors are what cloud-init complains about.
	errors []string
}

// seedLabels are the volume labels that cloud-init looks for.
var seedLabels = []string{"cidata", "CIDATA"}

// readSeed has cloud-init in a guest read the seed that is in one of its CD-ROM
// drives; nil where there is none.
func (l *Lab) readSeed(g *guest) *guestSeed {
	for _, slot := range g.conf.drives() {
		drive := parseDrive(g.conf[slot])
		if drive["media"] != "cdrom" {
			continue
		}
		v, err := l.volume(g.node, drive.file())
		if err != nil || v.data == nil {
			continue
		}
		if files := seedFiles(v.data); files != nil {
			return applySeed(files)
		}
	}
	return nil
}

// seedFiles are the files in the root of an image that is labelled as a seed,
// nil for any other.
func seedFiles(data []byte) map[string]string {
	image, err := iso9660.OpenImage(bytes.NewReader(data))
	if err != nil {
		return nil
	}
	label, err := image.Label()
	if err != nil || !slices.Contains(seedLabels, strings.TrimRight(label, " ")) {
		return nil
	}
	root, err := image.RootDir()
	if err != nil {
		return nil
	}
	children, err := root.GetChildren()
	if err != nil {
		return nil
	}
	files := map[string]string{}
	for _, child := range children {
		content, err := io.ReadAll(child.Reader())
		if err != nil {
			return nil
		}
		name, _, _ := strings.Cut(child.Name(), ";")
		files[name] = string(content)
	}
	return files
}

// applySeed does what cloud-init does at boot. Without user data, meta data and
// an instance id there is no seed for it.
func applySeed(files map[string]string) *guestSeed {
	s := &guestSeed{}
	_, hasUser := files["user-data"]
	meta, hasMeta := files["meta-data"]
	if !hasUser || !hasMeta {
		s.errors = append(s.errors, "No datasource found: the seed lacks user-data or meta-data")
		return s
	}
	var about struct {
		InstanceID string `yaml:"instance-id"`
		HostName   string `yaml:"local-hostname"`
	}
	if err := yaml.Unmarshal([]byte(meta), &about); err != nil || about.InstanceID == "" {
		s.errors = append(s.errors, "No datasource found: failed loading meta-data")
		return s
	}
	s.instance, s.host = about.InstanceID, about.HostName
	s.network(files["network-config"])
	s.config("vendor-data", files["vendor-data"])
	s.config("user-data", files["user-data"])
	return s
}

// config applies a cloud-config. One that is not YAML is an error that leaves
// the rest as it is.
func (s *guestSeed) config(what, content string) {
	content = strings.TrimSpace(content)
	if content == "" || strings.HasPrefix(content, "#!") {
		return
	}
	first, _, _ := strings.Cut(content, "\n")
	if strings.TrimSpace(first) != "#cloud-config" {
		if !strings.HasPrefix(content, "#") && !strings.Contains(content, "MIME-Version:") {
			s.errors = append(s.errors, fmt.Sprintf("Unhandled non-multipart (text/x-not-multipart) userdata in %s", what))
		}
		return
	}
	var config map[string]any
	if err := yaml.Unmarshal([]byte(content), &config); err != nil {
		s.errors = append(s.errors, fmt.Sprintf("Failed loading yaml blob in %s: %v", what, err))
		return
	}
	for _, key := range []string{"fqdn", "hostname"} {
		if name, ok := config[key].(string); ok {
			s.host, _, _ = strings.Cut(name, ".")
		}
	}
}

// seedNetwork is a network configuration of version 1 or 2.
type seedNetwork struct {
	Network   *seedNetwork
	Version   int
	Ethernets map[string]struct {
		Match     struct{ MACAddress string }
		Addresses []string
		DHCP4     bool
	}
	Config []struct {
		Type       string
		MACAddress string `yaml:"mac_address"`
		Subnets    []struct{ Type, Address string }
	}
}

func (s *guestSeed) network(content string) {
	if content == "" {
		return
	}
	var n seedNetwork
	if err := yaml.Unmarshal([]byte(content), &n); err != nil {
		s.errors = append(s.errors, fmt.Sprintf("Failed loading yaml blob in network-config: %v", err))
		return
	}
	if n.Network != nil {
		n = *n.Network
	}
	s.addresses = map[string][]string{}
	give := func(mac, address string) {
		mac = strings.ToLower(mac)
		s.addresses[mac] = append(s.addresses[mac], address)
	}
	for _, device := range n.Ethernets {
		for _, address := range device.Addresses {
			give(device.Match.MACAddress, address)
		}
		if device.DHCP4 {
			give(device.Match.MACAddress, "dhcp")
		}
	}
	for _, device := range n.Config {
		for _, subnet := range device.Subnets {
			address := subnet.Address
			if strings.HasPrefix(subnet.Type, "dhcp") {
				address = "dhcp"
			}
			give(device.MACAddress, address)
		}
	}
}

// of are the addresses that a NIC has by the seed.
func (s *guestSeed) of(dev nic) []netip.Prefix {
	if s.addresses == nil {
		return []netip.Prefix{leasedAddress(dev)}
	}
	var list []netip.Prefix
	for _, text := range s.addresses[strings.ToLower(dev["macaddr"])] {
		if text == "dhcp" {
			list = append(list, leasedAddress(dev))
		} else if address, err := netip.ParsePrefix(text); err == nil {
			list = append(list, address)
		}
	}
	return list
}

// bootSeed lets cloud-init in a guest that boots read its seed. The result is in
// the files where cloud-init leaves it, for the agent to read.
func (l *Lab) bootSeed(g *guest) {
	if g.run.image != nil {
		return // PVE's own cloud-init drive is the seed then.
	}
	seed := l.readSeed(g)
	g.run.seed = seed
	if seed == nil {
		return
	}
	if seed.host != "" {
		g.run.host = seed.host
	}
	complaints := seed.errors
	if complaints == nil {
		complaints = []string{}
	}
	result, err := json.Marshal(map[string]any{"v1": map[string]any{
		"datasource": "DataSourceNoCloud [seed=/dev/sr0][dsmode=net]", "errors": complaints,
	}})
	if err != nil {
		return
	}
	g.run.files["/run/cloud-init/result.json"] = result
	g.run.files["/var/lib/cloud/data/instance-id"] = []byte(seed.instance + "\n")
}
