package acctest

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
)

// Facts are what a test has to know about the template and the node, since a
// real one has its own slots, sizes and bridges.
type Facts struct {
	// BootDisk is the slot of the template's boot disk, such as scsi0.
	BootDisk string
	// Storage holds it.
	Storage string
	// SizeGiB is its size in GiB, rounded up.
	SizeGiB int
	// Bridges are the node's, sorted; at least one.
	Bridges []string
}

// Facts asks the API.
func (target *Target) Facts(t *testing.T) Facts {
	t.Helper()

	config, err := target.Hand.Config(context.Background(), target.Template)
	must(t, err)
	var facts Facts
	for _, device := range strings.Split(strings.TrimPrefix(config["boot"], "order="), ";") {
		if isDisk.MatchString(device) && !strings.Contains(config[device], "media=cdrom") {
			facts.BootDisk = device
			break
		}
	}
	if facts.BootDisk == "" {
		t.Fatalf("template %d boots from no disk: boot is %q", target.Template, config["boot"])
	}
	facts.Storage, _, _ = strings.Cut(config[facts.BootDisk], ":")
	facts.SizeGiB = sizeGiB(t, config[facts.BootDisk])
	facts.Bridges = target.bridges(t)

	return facts
}

var (
	isDisk = regexp.MustCompile(`^(scsi|virtio|sata|ide)\d+$`)
	size   = regexp.MustCompile(`size=(\d+)([KMGT])`)
)

// sizeGiB reads the size that PVE writes into a drive, rounded up to GiB.
func sizeGiB(t *testing.T, drive string) int {
	t.Helper()

	match := size.FindStringSubmatch(drive)
	if match == nil {
		t.Fatalf("no size in %q", drive)
	}
	number, err := strconv.Atoi(match[1])
	must(t, err)
	kib := map[string]int{"K": 1, "M": 1 << 10, "G": 1 << 20, "T": 1 << 30}[match[2]] * number

	return (kib + 1<<20 - 1) >> 20
}

func (target *Target) bridges(t *testing.T) []string {
	t.Helper()

	var interfaces []struct {
		Name string `json:"iface"`
	}
	path := "/nodes/" + target.Node + "/network"
	must(t, target.Hand.Call(context.Background(), http.MethodGet, path, byhand.Params{"type": "bridge"}, &interfaces))
	var names []string
	for _, each := range interfaces {
		names = append(names, each.Name)
	}
	if len(names) == 0 {
		t.Fatalf("node %s has no bridge", target.Node)
	}
	slices.Sort(names)

	return names
}
