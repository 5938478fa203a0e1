package vm

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework/settings"
)

var updateGuide = flag.Bool("update", false, "write the guide of settings from the table")

// TestGuide holds the guide against the table that the resource works by.
func TestGuide(t *testing.T) {
	t.Parallel()
	file := filepath.Join("..", "..", "..", "templates", "guides", "vm-settings.md")
	want := guide() + guideKeys(t)
	if *updateGuide {
		must(t, os.WriteFile(file, []byte(want), 0o600))
		return
	}
	got, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(got), want); diff != "" {
		t.Errorf("run go generate, for the table has changed: %s", diff)
	}
}

const guideHead = `---
page_title: "Settings of a VM"
subcategory: "Guests"
description: |-
  What becomes of each setting of proxmox_vm: inherited, removed, changed while the VM runs.
---

# Settings of a VM

This page is generated from the table that ` + "`proxmox_vm`" + ` works by.

**Inherited.** What the configuration does not mention keeps the template's value, or whatever it is set to in Proxmox VE, and never shows as a difference. Of ` + "`disks`, `network`" + ` and the other maps the configuration names the slots that it is about; all others stay as they are.

**Configured.** What is configured is written when it is new, even where it is PVE's default. From then on a difference is repaired by the next apply.

**No longer configured.** What was applied from the configuration and is no longer in it returns to what the third column says, never to the template's value. After an import nothing counts as applied until the first apply.

**Running.** "At once" takes effect in a running VM. A feature such as ` + "`disk`" + ` has to be in the VM's ` + "`hotplug`" + `, and the guest has to play along; otherwise the change waits like "next start": ` + "`reboot_required`" + ` names PVE's keys that wait, and ` + "`reboot = \"auto\"`" + ` restarts the VM for them, which the plan announces. A change that PVE refuses is taken back, and is an error.

**Moved, grown.** Disks, EFI variables and the TPM's state move to another storage in place, and the source is removed; disks grow in place. Both work while the VM runs.

**root@pam.** What only root@pam may set, signed in by password, is refused in the plan for everybody else.
`

// guide is the page in full.
func guide() string {
	var page strings.Builder
	page.WriteString(guideHead)
	page.WriteString("\n## The VM\n")
	guideTable(&page, table, "")
	for _, g := range table.Groups {
		guideGroup(&page, g, "", groupKey(g))
	}
	return page.String()
}

func guideGroup(page *strings.Builder, g *settings.Group, at, key string) {
	if g.AllLocal() {
		return
	}
	if at == "" {
		fmt.Fprintf(page, "\n## `%s`\n", g.Name)
		switch {
		case g.Slots != nil:
			fmt.Fprintf(page, "\nA device that comes or goes: %s. One that is no longer configured is taken away%s.\n", running(g.Live), withVolume(g))
		case g.Device != "":
			fmt.Fprintf(page, "\nThe device comes and goes with the next start. One that is no longer configured is taken away%s.\n", withVolume(g))
		}
	}
	here := at + g.Name + "."
	if g.Slots != nil {
		here = at + g.Name + "[slot]."
	}
	if len(g.Settings) > 0 {
		guideTable(page, g, key)
	}
	for _, sub := range g.Groups {
		fmt.Fprintf(page, "\n`%s`\n", here+sub.Name)
		subkey := key
		if sub.Slots != nil {
			subkey = groupKey(sub)
		}
		guideGroup(page, sub, here, subkey)
	}
}

func withVolume(g *settings.Group) string {
	if g == disksGroup || g == efiGroup || g == tpmGroup {
		return ", and its volume is kept as an unused disk, or destroyed with `on_removal = \"destroy\"`" + boot(g)
	}
	if g == networkGroup {
		return "; the first one cannot be removed"
	}
	return ""
}

func boot(g *settings.Group) string {
	if g == disksGroup {
		return "; the boot disk cannot be removed"
	}
	return ""
}

// key is what a group's devices are called in PVE's configuration.
func groupKey(g *settings.Group) string {
	switch {
	case g == disksGroup, g.Slots == cdromSlots:
		return "scsiN, virtioN, sataN, ideN"
	case g.Name == "interfaces":
		return "ipconfigN"
	case g.Slots == networkSlots:
		return "netN"
	case g.Device != "":
		return g.Device
	case g == pciGroup:
		return "hostpciN"
	case g == numaGroup:
		return "numaN"
	case g.Slots != nil:
		return g.Name + "N"
	}
	return ""
}

func guideTable(page *strings.Builder, g *settings.Group, key string) {
	page.WriteString("\n| attribute | in PVE | no longer configured | running |\n|---|---|---|---|\n")
	for i := range g.Settings {
		s := &g.Settings[i]
		if s.Source == settings.Local || s.Source == settings.Reported {
			continue
		}
		fmt.Fprintf(page, "| `%s` | %s | %s | %s |\n", s.Name, where(s, key), removed(s), running(s.Live)+onlyRoot(s))
	}
}

func where(s *settings.Setting, key string) string {
	if s.Key != "" {
		key = s.Key
	}
	if s.Source == settings.Secret {
		return "`cipassword`"
	}
	property := ""
	switch place := s.Place.(type) {
	case settings.Prop:
		property = place.Name
	case bootOrder:
		property = place.Name
	case smbiosText:
		property = place.Name
	case settings.IPAddress:
		property = place.Name
	case settings.IPMethod:
		property = place.Name
	case nicModel:
		property = "model"
	case nicMAC:
		property = "macaddr"
	}
	if property == "" {
		return "`" + key + "`"
	}
	return fmt.Sprintf("`%s`: `%s`", key, property)
}

func removed(s *settings.Setting) string {
	switch {
	case s.Source == settings.Required:
		return "is required"
	case s.Source == settings.Structural, s.Kept:
		return "stays as it is"
	case s.Absent == nil:
		return "not set"
	}
	return "`" + word(s.Absent) + "`"
}

// word is a value as a configuration writes it.
func word(value attr.Value) string {
	switch value := value.(type) {
	case types.String:
		return `"` + value.ValueString() + `"`
	case types.Float64:
		return strconv.FormatFloat(value.ValueFloat64(), 'f', -1, 64)
	case types.Set:
		return `["` + strings.Join(settings.ItemsOf(value), `", "`) + `"]`
	}
	return value.String()
}

func running(l settings.Live) string {
	switch l {
	case settings.AtOnce:
		return "at once"
	case settings.Unnoticed:
		return "next start, which PVE does not tell"
	case settings.MostlyAtOnce:
		return "mostly at once, see its description"
	case settings.HotplugDisk:
		return "at once with `disk`, for `scsi` and `virtio`; else next start"
	case settings.HotplugNetwork:
		return "at once with `network`; else next start"
	case settings.HotplugUSB:
		return "at once with `usb`, for `l26` and Windows 8 and later; else next start"
	case settings.HotplugCPU:
		return "at once with `cpu`; else next start"
	case settings.HotplugMemory:
		return "at once with `memory`; else next start"
	case settings.AtRestart:
	}
	return "next start"
}

func onlyRoot(s *settings.Setting) string {
	var notes []string
	if s.Root != nil {
		if s.Root("socket") && s.Root("spice") {
			notes = append(notes, "root@pam only")
		} else {
			notes = append(notes, "a device of the node: root@pam only")
		}
	}
	if s.Since > 0 {
		notes = append(notes, fmt.Sprintf("PVE %d and later", s.Since))
	}
	if s.Fixed {
		notes = append(notes, "fixed once it is made")
	}
	if s.Buses != nil {
		notes = append(notes, strings.Join(s.Buses, ", ")+" only")
	}
	if len(notes) == 0 {
		return ""
	}
	return "; " + strings.Join(notes, "; ")
}
