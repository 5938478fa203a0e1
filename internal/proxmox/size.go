package proxmox

// Size is a size in bytes, as PVE writes it in a volume's "size=".
type Size int64

// ParseSize parses "20G", "512M", "16582K", "0T" and plain bytes. PVE's units
// are powers of 1024.
func ParseSize(s string) (Size, error) { return 0, nil }

// String writes the size in the largest unit that holds it whole, as PVE does.
func (s Size) String() string { return "" }

// GiB is the size in GiB, rounded down.
func (s Size) GiB() int64 { return int64(s >> 30) }

// GiBs is a size of n GiB.
func GiBs(n int64) Size { return Size(n << 30) }
