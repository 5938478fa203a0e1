package pvelab

import (
	"fmt"
	"slices"
	"strings"
)

// checkTags asks for what changing a guest's tags needs: VM.Config.Options on the
// guest itself, for which the pool that it is to be made in does not count, and
// Sys.Modify on / for tags that are registered or not among those that users may
// give.
func (c *call) checkTags(vmid int, old, tags string) error {
	if err := c.requireVM(vmid, "", "VM.Config.Options"); err != nil || c.can("/", "Sys.Modify") {
		return err
	}
	before, after := splitList(old), splitList(tags)
	for _, tag := range append(slices.Clone(before), after...) {
		if slices.Contains(before, tag) != slices.Contains(after, tag) && !c.mayTag(tag) {
			return deniedText(fmt.Sprintf("/, Sys.Modify for modifying tag '%s'", tag))
		}
	}
	return nil
}

// mayTag reports whether those without Sys.Modify may give and take a tag.
func (c *call) mayTag(tag string) bool {
	options := c.lab.clusterState.options
	access := map[string]string{}
	for _, pair := range strings.Split(options["user-tag-access"], ",") {
		name, value, _ := strings.Cut(pair, "=")
		access[name] = value
	}
	if slices.Contains(splitList(options["registered-tags"]), tag) {
		return false
	}
	listed := slices.Contains(splitList(access["user-allow-list"]), tag)
	switch access["user-allow"] {
	case "none":
		return false
	case "list":
		return listed
	case "existing":
		return listed || c.seesTag(tag)
	}
	return true
}

// seesTag reports whether a guest that the caller may read has a tag.
func (c *call) seesTag(tag string) bool {
	for vmid, g := range c.lab.guests {
		if c.can(guestPath(vmid), "VM.Audit") && slices.Contains(splitList(g.conf["tags"]), tag) {
			return true
		}
	}
	return false
}
