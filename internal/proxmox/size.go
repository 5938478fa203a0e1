package proxmox

import (
	"fmt"
	"regexp"
	"strconv"
)

// Size is a size in bytes, as PVE writes it in a volume's "size=".
type Size int64

const unitStep = 1024

var sizePattern = regexp.MustCompile(`^(\d+)(\.\d+)?([KMGT])?(iB)?$`)

// ParseSize parses "20G", "512M", "16582K", "0T", "1.5G" and plain bytes. PVE's
// units are powers of 1024.
func ParseSize(s string) (Size, error) {
	parts := sizePattern.FindStringSubmatch(s)
	if parts == nil || parts[4] != "" && parts[3] == "" {
		return 0, fmt.Errorf("%q is not a size such as 20G or 512M", s)
	}
	unit := unitOf(parts[3])
	whole, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil || whole > (1<<62)/unit {
		return 0, fmt.Errorf("the size %q is too large", s)
	}
	size := whole * unit
	if parts[2] == "" {
		return Size(size), nil
	}
	fraction, err := strconv.ParseFloat("0"+parts[2], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size: %w", s, err)
	}
	return Size(size + int64(fraction*float64(unit))), nil
}

func unitOf(letter string) int64 {
	switch letter {
	case "K":
		return 1 << 10
	case "M":
		return 1 << 20
	case "G":
		return 1 << 30
	case "T":
		return 1 << 40
	default:
		return 1
	}
}

// String writes the size in the largest unit, up to T, that holds it whole, as
// PVE does: "512M", "2560M", "0T".
func (s Size) String() string {
	n, unit := int64(s), ""
	for _, next := range []string{"K", "M", "G", "T"} {
		if n%unitStep != 0 {
			break
		}
		n, unit = n/unitStep, next
	}
	return strconv.FormatInt(n, 10) + unit
}

// GiB is the size in GiB, rounded down.
func (s Size) GiB() int64 { return int64(s >> 30) }

// MarshalText writes the size as String does.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what [ParseSize] does.
func (s *Size) UnmarshalText(text []byte) error {
	size, err := ParseSize(string(text))
	if err != nil {
		return err
	}
	*s = size
	return nil
}
