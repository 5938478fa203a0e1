package pvelab

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
)

var netModels = map[string]bool{
	"e1000": true, "e1000-82540em": true, "e1000-82544gc": true, "e1000-82545em": true,
	"e1000e": true, "i82551": true, "i82557b": true, "i82559er": true, "ne2k_isa": true,
	"ne2k_pci": true, "pcnet": true, "rtl8139": true, "virtio": true, "vmxnet3": true,
}

var netBooleans = map[string]bool{"firewall": true, "link_down": true, "host-tunnel": true}

// nic is a parsed netN option, the model's alias (virtio=MAC) resolved.
type nic props

func parseNIC(value string) nic {
	p := parseProps(value, "model")
	for key, v := range p {
		if netModels[key] {
			p["model"], p["macaddr"] = key, v
			delete(p, key)
		}
	}
	p.normalise(netBooleans)
	return nic(p)
}

// print writes model=MAC first and the rest sorted.
func (n nic) print() string {
	rest := props{}
	for key, v := range n {
		if key != "model" && key != "macaddr" {
			rest[key] = v
		}
	}
	rest["model"] = n["model"] + "=" + n["macaddr"]
	return rest.print("model")
}

// withMAC gives the NIC an address of Proxmox' own range where it has none.
func (n nic) withMAC() nic {
	if n["macaddr"] == "" {
		n["macaddr"] = randomMAC()
	}
	return n
}

func randomMAC() string {
	b := make([]byte, 3)
	rand.Read(b)
	return fmt.Sprintf("BC:24:11:%02X:%02X:%02X", b[0], b[1], b[2])
}

func newUUID() string {
	b := make([]byte, 16)
	rand.Read(b)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func indexed(name string, n int) string { return name + strconv.Itoa(n) }

// trunkTags are the VLANs of a trunks list, ranges resolved.
func trunkTags(trunks string) []string {
	var tags []string
	for _, part := range splitList(trunks) {
		low, high, ok := strings.Cut(part, "-")
		if !ok {
			high = low
		}
		a, errA := strconv.Atoi(low)
		b, errB := strconv.Atoi(high)
		if errA != nil || errB != nil {
			continue
		}
		for n := a; n <= b; n++ {
			tags = append(tags, strconv.Itoa(n))
		}
	}
	return tags
}
