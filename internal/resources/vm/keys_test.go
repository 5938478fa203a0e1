package vm

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/framework/settings"
)

// schemaDir has what PVE's API viewer says of each method, of both versions.
const schemaDir = "../../pvelab/schema/"

// notOurs are the parameters and properties of PVE that are no attribute, and
// why.
var notOurs = map[string]string{
	"archive": "restores a backup: VMs are cloned", "live-restore": "restores a backup", "unique": "restores a backup", "force": "restores a backup, or removes volumes, which `on_removal` says",
	"bwlimit": "bounds a restore or an import", "import-working-storage": "imports a volume: VMs are cloned",
	"ha-managed": "HA has its own configuration; a VM under HA is refused to be destroyed",
	"delete":     "is how a key is deleted", "revert": "is how a pending change is taken back", "digest": "goes with each write",
	"start": "`power` says it", "skiplock": "goes past PVE's locks: root@pam only, and never right", "lock": "is PVE's own, root@pam only",
	"autostart": "PVE ignores it", "bootdisk": "the older form of `boot`", "smp": "the older form of `sockets`", "cdrom": "another name of `ide2`",
	"template": "a template is no machine", "unused[n]": "is what PVE keeps of a detached volume: shown in `devices`",
	"vmgenid": "PVE makes one for each VM, and a new one for each clone; root@pam only",

	"boot.legacy": "the older form of `order`", "cpu.reported-model": "PVE takes it for custom models only", "smbios1.base64": "how the texts are written",
	"efidisk0.ms-cert": "PVE notes there which certificates it has enrolled",
}

// notOursOfVolumes are properties of all volumes that are no attribute.
var notOursOfVolumes = map[string]string{
	"import-from": "fills a new volume: VMs are cloned", "media": "`cdrom` says it",
	"cyls": "the geometry of old disks, which PVE 9 has dropped", "heads": "the geometry of old disks", "secs": "the geometry of old disks",
	"trans": "the geometry of old disks",
	"bps":   "the same bound as `mbps`, in bytes", "bps_rd": "the same bound as `mbps_rd`, in bytes", "bps_wr": "the same bound as `mbps_wr`, in bytes",
}

// rootKeys are those that PVE takes from root@pam alone: its function
// check_vm_modify_config_perm in PVE::API2::Qemu lists them under no privilege.
var rootKeys = []string{
	"affinity", "amd-sev", "arch", "args", "hookscript", "hugepages", "intel-tdx", "ivshmem", "keephugepages", "lock", "parallel[n]", "skiplock", "spice_enhancements", "vmgenid",
}

// otherwise are parameters that have attributes outside of the table.
var otherwise = map[string]string{"vmid": "vmid", "node": "node", "pool": "pool", "storage": "storage", "cipassword": "cloud_init.password_wo"}

// pveKey is a parameter of PVE's, with the properties that its value has.
type pveKey struct {
	name       string
	properties []string
}

// pveKeys are the parameters that make a VM or change its configuration.
func pveKeys(t *testing.T, version string) []pveKey {
	t.Helper()
	raw, err := os.ReadFile(schemaDir + "formats.json")
	must(t, err)
	var named map[string]map[string]json.RawMessage
	must(t, json.Unmarshal(raw, &named))
	file, err := os.Open(schemaDir + version + ".jsonl")
	must(t, err)
	defer func() { must(t, file.Close()) }()
	found := map[string]pveKey{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var method struct {
			Path, Method string
			Parameters   struct {
				Properties map[string]struct{ Format json.RawMessage }
			}
		}
		must(t, json.Unmarshal(lines.Bytes(), &method))
		switch method.Method + " " + method.Path {
		case "POST /nodes/{node}/qemu", "PUT /nodes/{node}/qemu/{vmid}/config":
		default:
			continue
		}
		for name, parameter := range method.Parameters.Properties {
			found[name] = pveKey{name, propertiesOf(t, parameter.Format, named)}
		}
	}
	must(t, lines.Err())
	return slices.SortedFunc(maps.Values(found), func(a, b pveKey) int { return strings.Compare(a.name, b.name) })
}

// propertiesOf are the properties of a format, without other names for them.
func propertiesOf(t *testing.T, format json.RawMessage, named map[string]map[string]json.RawMessage) []string {
	t.Helper()
	var keys map[string]json.RawMessage
	var name string
	if json.Unmarshal(format, &name) == nil {
		keys = named[name]
	} else if len(format) > 0 {
		must(t, json.Unmarshal(format, &keys))
	}
	var properties []string
	for property, raw := range keys {
		var declared struct{ Alias string }
		must(t, json.Unmarshal(raw, &declared))
		if declared.Alias == "" {
			properties = append(properties, property)
		}
	}
	slices.Sort(properties)
	return properties
}

// placed is a setting of the table, and where PVE has it.
type placed struct {
	path       string
	keys       []string
	properties []string
	setting    *settings.Setting
}

var digits = regexp.MustCompile(`\d+$`)

// eachPlaced visits the settings that PVE has.
func eachPlaced(g *settings.Group, at string, keys []string, visit func(placed)) {
	switch {
	case g == disksGroup || g == cdromGroup:
		keys = []string{"ide[n]", "sata[n]", "scsi[n]", "virtio[n]"}
	case g.Slots != nil:
		keys = []string{digits.ReplaceAllString(groupKey(g), "") + "[n]"}
		keys[0] = strings.Replace(keys[0], "N[n]", "[n]", 1)
	case g.Device != "":
		keys = []string{g.Device}
	}
	for i := range g.Settings {
		s := &g.Settings[i]
		if s.Place == nil {
			continue
		}
		here := keys
		if s.Key != "" {
			here = []string{s.Key}
		}
		visit(placed{at + s.Name, here, propertiesIn(s), s})
	}
	for _, sub := range g.Groups {
		eachPlaced(sub, at+sub.Name+".", keys, visit)
	}
}

// propertiesIn are the names of the property that a setting is; none for a whole
// value.
func propertiesIn(s *settings.Setting) []string {
	switch place := s.Place.(type) {
	case settings.Prop:
		return append([]string{place.Name}, place.Aliases...)
	case bootOrder:
		return []string{place.Name}
	case smbiosText:
		return []string{place.Name}
	case settings.IPAddress:
		return []string{place.Name}
	case settings.IPMethod:
		return []string{place.Name}
	case nicModel:
		return []string{"model"}
	case nicMAC:
		return []string{"macaddr"}
	case volumeStorage, medium:
		return []string{"file"}
	case diskFormat:
		return []string{"format"}
	}
	return nil
}

func (p placed) is(key, property string) bool {
	bus := strings.TrimSuffix(key, "[n]")
	return slices.Contains(p.keys, key) && (p.setting.Buses == nil || slices.Contains(p.setting.Buses, bus)) &&
		(p.properties == nil || property == "" || slices.Contains(p.properties, property))
}

var volumeKey = regexp.MustCompile(`^(ide|sata|scsi|virtio)\[n]$|^(efidisk|tpmstate)0$`)

// reasonFor is why a key, or one of its properties, is no attribute.
func reasonFor(key, property string) string {
	if property == "" {
		return notOurs[key]
	}
	machine := strings.HasPrefix(key, "efidisk") || strings.HasPrefix(key, "tpmstate")
	switch {
	case notOurs[key] != "":
		return notOurs[key]
	case machine && (property == "size" || property == "format"):
		return "PVE's own choice"
	case volumeKey.MatchString(key) && notOursOfVolumes[property] != "":
		return notOursOfVolumes[property]
	}
	return notOurs[key+"."+property]
}

// TestEveryKeyOfPVE: each parameter of PVE, and each property of its value, is an
// attribute or has a reason for being none, in both versions.
func TestEveryKeyOfPVE(t *testing.T) {
	t.Parallel()
	var all []placed
	eachPlaced(table, "", nil, func(p placed) { all = append(all, p) })
	has := func(key, property string) bool {
		return otherwise[key] != "" || slices.ContainsFunc(all, func(p placed) bool { return p.is(key, property) })
	}
	reasons := map[string]bool{}
	known := map[string][]string{}
	for _, version := range []string{"9", "8"} {
		for _, key := range pveKeys(t, version) {
			known[key.name] = append(known[key.name], key.properties...)
			for _, property := range append(key.properties, "") {
				reason := reasonFor(key.name, property)
				reasons[key.name], reasons[key.name+"."+property] = true, true
				if has(key.name, property) == (reason != "") {
					t.Errorf("PVE %s: %s %s: an attribute: %t, a reason for none: %q", version, key.name, property, has(key.name, property), reason)
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(notOurs)) {
		if !reasons[key] {
			t.Errorf("PVE has no %s", key)
		}
	}
	for _, p := range all {
		for _, key := range p.keys {
			properties, there := known[key]
			bus := strings.TrimSuffix(key, "[n]")
			if p.setting.Buses != nil && !slices.Contains(p.setting.Buses, bus) {
				if slices.Contains(properties, p.properties[0]) {
					t.Errorf("%s is not for %s, of which PVE knows it", p.path, bus)
				}
				continue
			}
			if !there || len(properties) > 0 && !slices.ContainsFunc(p.properties, func(each string) bool { return slices.Contains(properties, each) }) {
				t.Errorf("%s: PVE has no %s %v", p.path, key, p.properties)
			}
		}
	}
}

// TestRootsKeys: what no privilege is enough for is root's whole, and nothing
// else is.
func TestRootsKeys(t *testing.T) {
	t.Parallel()
	eachPlaced(table, "", nil, func(p placed) {
		always := p.setting.Root != nil && p.setting.Root("socket") && p.setting.Root("spice")
		ofDevice := p.keys[0] == "hostpci[n]" && always // Its host and its ROM.
		if want := slices.Contains(rootKeys, p.keys[0]); always != want && !ofDevice {
			t.Errorf("%s (%s): root only: %t, want %t", p.path, p.keys[0], always, want)
		}
	})
	for _, key := range rootKeys {
		if !slices.ContainsFunc(pveKeys(t, "9"), func(k pveKey) bool { return k.name == key }) {
			t.Errorf("PVE has no %s", key)
		}
	}
}

// guideKeys is the table of PVE's keys.
func guideKeys(t *testing.T) string {
	t.Helper()
	attributes := map[string][]string{}
	eachPlaced(table, "", nil, func(p placed) {
		for _, key := range p.keys {
			attributes[key] = append(attributes[key], p.path)
		}
	})
	page := new(strings.Builder)
	page.WriteString("\n## PVE's keys\n\nWhat each parameter of PVE that makes a VM or changes its configuration is here.\n\n| in PVE | here |\n|---|---|\n")
	for _, key := range pveKeys(t, "9") {
		fmt.Fprintf(page, "| `%s` | %s |\n", key.name, hereIs(key.name, attributes[key.name]))
	}
	return page.String()
}

func hereIs(key string, paths []string) string {
	switch {
	case otherwise[key] != "":
		return "`" + otherwise[key] + "`"
	case len(paths) == 0:
		return "no attribute: " + notOurs[key]
	}
	groups := map[string]bool{}
	for _, each := range paths {
		group, _, nested := strings.Cut(each, ".")
		if len(paths) == 1 || !nested {
			group = each
		}
		groups["`"+group+"`"] = true
	}
	text := strings.Join(slices.Sorted(maps.Keys(groups)), ", ")
	if slices.Contains(rootKeys, key) {
		text += "; root@pam only"
	}
	return text
}
