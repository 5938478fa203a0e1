package proxmox

import (
	"fmt"
	"slices"
	"strings"
)

// Capability is something that the provider does, with all that it needs.
type Capability struct {
	// Name is what users write, for instance "vm.create".
	Name string
	// Doc says what it is, as a sentence without its full stop.
	Doc   string
	Needs []Need
}

// Need is one privilege on the objects of one path.
type Need struct {
	// Path is the path in PVE's access control, with the object in braces, for
	// instance "/vms/{vmid}". See [Scope] for the objects.
	Path string
	// Privilege is the name in PVE 9, Privilege8 the one in PVE 8 where that
	// differs.
	Privilege, Privilege8 string
	// Instead is a privilege that PVE takes as well; "" where there is none.
	Instead string
	// Only names the attribute of the guest that asks for it; what always is
	// needed has none.
	Only string
	// Why says what the privilege is for, in the infinitive.
	Why string
}

// In is the privilege's name in a version of PVE.
func (n Need) In(v Version) string {
	if n.Privilege8 != "" && v.Major < 9 {
		return n.Privilege8
	}
	return n.Privilege
}

// Object is the word in the braces of the path, "" where there are none.
func (n Need) Object() string {
	_, rest, _ := strings.Cut(n.Path, "{")
	object, _, _ := strings.Cut(rest, "}")
	return object
}

// Capabilities lists what the provider does and needs, in the order of the
// documentation. It is the one place that says so: documentation, plan checks,
// proxmox_connection and the explanation of refusals read it.
func Capabilities() []Capability { return capabilities }

// CapabilityNames lists the names.
func CapabilityNames() []string {
	names := make([]string, len(capabilities))
	for i, c := range capabilities {
		names[i] = c.Name
	}
	return names
}

// CapabilityOf finds a capability by its name.
func CapabilityOf(name string) (Capability, bool) {
	i := slices.IndexFunc(capabilities, func(c Capability) bool { return c.Name == name })
	if i < 0 {
		return Capability{}, false
	}
	return capabilities[i], true
}

// namedPurposes is how many capabilities a purpose names.
const namedPurposes = 3

// Purposes says what a privilege on a path is for, with the first capabilities of
// each purpose: "clone the template (vm.create)". The path is one of PVE's refusals.
func Purposes(path, privilege string) []string {
	var found []string
	names := map[string][]string{}
	for _, c := range capabilities {
		for _, n := range c.Needs {
			if n.Privilege != privilege && n.Privilege8 != privilege || !matches(n.Path, path) || slices.Contains(names[n.Why], c.Name) {
				continue
			}
			if names[n.Why] == nil {
				found = append(found, n.Why)
			}
			names[n.Why] = append(names[n.Why], c.Name)
		}
	}
	for i, why := range found {
		named := names[why]
		if more := len(named) - namedPurposes; more > 0 {
			named = append(named[:namedPurposes], fmt.Sprintf("%d more", more))
		}
		found[i] = why + " (" + strings.Join(named, ", ") + ")"
	}
	return found
}

// matches reports whether a path is one of a pattern's, or lies below it: PVE
// asks for a VLAN of a bridge, and for a pool in a pool. Rights on a guest may
// be asked for on its pool.
func matches(pattern, path string) bool {
	if pattern == guestPath && strings.HasPrefix(path, "/pool/") {
		return true
	}
	before, _, open := strings.Cut(pattern, "{")
	if !open {
		return pattern == path
	}
	return strings.HasPrefix(path, before) && len(path) > len(before)
}
