package proxmox

import (
	"strconv"
	"strings"
)

// HeldFor reports whether the guest is a container that was made to hold the
// volumes of another one which is being reinstalled, and the id of that one. It
// carries a marker of its own, so that it can be destroyed, and is nobody's
// resource. Who merely copied its description has lost its marker with that.
func (c *GuestConfig) HeldFor() (vmid int, holds bool) {
	if _, marked := c.Marker(); !marked || c.Kind != KindContainer {
		return 0, false
	}
	for line := range strings.SplitSeq(c.Description(), "\n") {
		rest, ok := strings.CutPrefix(strings.Trim(line, blanks), keepsKey)
		if !ok {
			continue
		}
		_, id, _ := strings.Cut(strings.TrimSuffix(rest, keepsRunning), "/")
		if vmid, err := strconv.Atoi(id); err == nil {
			return vmid, true
		}
	}
	return 0, false
}
