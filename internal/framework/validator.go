package framework

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// MinVMID and MaxVMID bound the ids that PVE gives to guests (its format
// pve-vmid).
const (
	MinVMID = 100
	MaxVMID = 999_999_999
)

// VMID accepts the ids that a guest may have.
func VMID() validator.Int64 {
	return int64validator.Between(MinVMID, MaxVMID)
}

// DNSName accepts what PVE accepts as the name of a VM: labels of letters,
// digits and inner hyphens, with dots between them.
func DNSName() validator.String {
	return matching("a DNS name: letters, digits and hyphens, with dots between labels", dnsName.MatchString)
}

// NodeName accepts the name of a node: one DNS label.
func NodeName() validator.String {
	return matching("a node's name: letters, digits and inner hyphens", nodeName.MatchString)
}

// StorageName accepts the id of a storage.
func StorageName() validator.String {
	return matching("a storage's name: letters, digits, hyphens, underscores and dots, beginning with a letter", storageName.MatchString)
}

// PoolName accepts the id of a pool, which may lie in others: up to three
// levels with slashes between them.
func PoolName() validator.String {
	return matching("a pool's name: letters, digits, hyphens, underscores and dots, at most three levels with slashes between them", poolName.MatchString)
}

// Tag accepts one tag as PVE stores it. PVE lower-cases tags, so that a tag in
// upper case would differ from what is read back.
func Tag() validator.String {
	return matching("a tag in lower case: letters, digits, underscores, and further in also hyphens, dots and plus signs", tag.MatchString)
}

// DiskSlot accepts the slots of a VM's disks: scsi0–30, virtio0–15, sata0–5,
// ide0–3.
func DiskSlot() validator.String {
	return matching("a disk's slot: scsi0 to scsi30, virtio0 to virtio15, sata0 to sata5 or ide0 to ide3", diskSlot.MatchString)
}

// NetworkSlot accepts the slots of network interfaces, net0–31.
func NetworkSlot() validator.String {
	return matching("a network interface's slot: net0 to net31", networkSlot.MatchString)
}

// MAC accepts the address of a single interface: six pairs of hexadecimal
// digits with colons between them, and not a multicast address, which PVE
// refuses.
func MAC() validator.String {
	return matching(`a MAC address of one interface, such as "BC:24:11:00:00:01"`, func(s string) bool {
		mac, err := net.ParseMAC(s)
		return err == nil && len(mac) == 6 && strings.Count(s, ":") == 5 && mac[0]&1 == 0
	})
}

// IPv4CIDR accepts an IPv4 address with its prefix length.
func IPv4CIDR() validator.String {
	return matching(`an IPv4 address with its prefix length, such as "10.0.0.11/24"`, func(s string) bool {
		prefix, err := netip.ParsePrefix(s)
		return err == nil && prefix.Addr().Is4()
	})
}

// IPv6CIDR accepts an IPv6 address with its prefix length.
func IPv6CIDR() validator.String {
	return matching(`an IPv6 address with its prefix length, such as "2001:db8::11/64"`, func(s string) bool {
		prefix, err := netip.ParsePrefix(s)
		return err == nil && prefix.Addr().Is6()
	})
}

// IPv4 accepts an IPv4 address.
func IPv4() validator.String {
	return matching("an IPv4 address", func(s string) bool {
		address, err := netip.ParseAddr(s)
		return err == nil && address.Is4()
	})
}

// IPv6 accepts an IPv6 address without a zone.
func IPv6() validator.String {
	return matching("an IPv6 address", func(s string) bool {
		address, err := netip.ParseAddr(s)
		return err == nil && address.Is6() && address.Zone() == ""
	})
}

// IP accepts an address of either family without a zone.
func IP() validator.String {
	return matching("an IP address", func(s string) bool {
		address, err := netip.ParseAddr(s)
		return err == nil && address.Zone() == ""
	})
}

// Duration accepts a duration in Go's notation that is not negative.
func Duration() validator.String {
	return matching(`a duration, such as "90s" or "5m"`, func(s string) bool {
		duration, err := time.ParseDuration(s)
		return err == nil && duration >= 0
	})
}

var (
	dnsName     = regexp.MustCompile(`^` + dnsLabel + `(\.` + dnsLabel + `)*$`)
	nodeName    = regexp.MustCompile(`^` + dnsLabel + `$`)
	storageName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._-]*[A-Za-z0-9]$`)
	poolName    = regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+){0,2}$`)
	tag         = regexp.MustCompile(`^[a-z0-9_][a-z0-9_.+-]*$`)
	diskSlot    = regexp.MustCompile(`^(scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5])|sata[0-5]|ide[0-3])$`)
	networkSlot = regexp.MustCompile(`^net([0-9]|[12][0-9]|3[01])$`)
)

const dnsLabel = `[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?`

// matching returns a validator of strings that accepts what the function does.
func matching(want string, accepts func(string) bool) validator.String {
	return textValidator{want: want, accepts: accepts}
}

type textValidator struct {
	want    string
	accepts func(string) bool
}

func (v textValidator) Description(context.Context) string {
	return "must be " + v.want
}

func (v textValidator) MarkdownDescription(ctx context.Context) string {
	return v.Description(ctx)
}

func (v textValidator) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	value := req.ConfigValue.ValueString()
	if v.accepts(value) {
		return
	}
	resp.Diagnostics.AddAttributeError(req.Path, "Invalid value", fmt.Sprintf("%s must be %s; %q is not.", req.Path, v.want, value))
}
