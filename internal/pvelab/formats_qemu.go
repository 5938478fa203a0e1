package pvelab

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// registerQemuFormats registers those of qemu-server and pve-container.
func registerQemuFormats() {
	registerFormat("pve-volume-id-or-absolute-path", checkVolumeOrPath)
	registerFormat("pve-volume-id-or-qm-path", func(value string) error {
		if value == "none" || value == "cdrom" {
			return nil
		}
		return checkVolumeOrPath(value)
	})
	registerPattern("pve-cpuset", `\d+(-\d+)?(,\d+(-\d+)?)*`, "unable to parse cpuset option")
	registerFormat("pve-hotplug-features", checkHotplug)
	registerFormat("pve-qm-bootdisk", func(value string) error {
		if knownDrive(value) {
			return nil
		}
		return refusal("invalid boot disk '%s'", value)
	})
	registerFormat("pve-qm-bootdev", func(value string) error {
		if knownDrive(value) || isSlot(value, "net", "usb", "hostpci") {
			return nil
		}
		return refusal("invalid boot device '%s'", value)
	})
	registerFormat("pve-phys-bits", func(value string) error {
		n, err := strconv.Atoi(value)
		if value == "host" || err == nil && n >= 8 && n <= 64 {
			return nil
		}
		return errors.New("value must be an integer between 8 and 64 or 'host'")
	})
	propertyChecks["pve-vm-cpu-conf"] = func(cpu map[string]string) error { return checkCPU(cpu, cpuFlags9) }
	propertyChecks["pve-vm-cpu-conf"+suffix8] = func(cpu map[string]string) error { return checkCPU(cpu, cpuFlags8) }
	registerFormat("pve-lxc-mp-string", checkMountPath)
	registerFormat("pve-ct-timezone", checkTimezone)
	registerPattern("pve-lxc-dev-string", `/dev/.+`, "%s is not a valid device path")
}

func checkVolumeOrPath(value string) error {
	if strings.HasPrefix(value, "/") {
		return nil
	}
	return formats["pve-volume-id"](value)
}

var hotplugRE = regexp.MustCompile(`^(network|disk|cpu|memory|usb|cloudinit)$`)

func checkHotplug(value string) error {
	if value == "0" || value == "1" {
		return nil
	}
	for _, f := range splitList(value) {
		if !hotplugRE.MatchString(f) {
			return refusal("invalid hotplug feature '%s'", f)
		}
	}
	return nil
}

func knownDrive(name string) bool { return isSlot(name, "ide", "sata", "scsi", "virtio") }

// isSlot reports whether a name is an existing slot of one of the buses.
func isSlot(name string, buses ...string) bool {
	m := indexedRE.FindStringSubmatch(name)
	if m == nil || !slices.Contains(buses, m[1]) {
		return false
	}
	n, err := strconv.Atoi(m[2])
	return err == nil && n < slots[m[1]]
}

func checkMountPath(value string) error {
	if strings.Contains(value, "/./") || slices.Contains(strings.Split(value, "/"), "..") {
		return refusal("%s contains illegal character sequences", value)
	}
	return nil
}

// cpuFlags are what a VM may switch, in the order in which PVE names them.
var (
	cpuFlags9 = split("aes amd-no-ssb amd-ssbd hv-evmcs hv-tlbflush ibpb md-clear nested-virt pcid " +
		"pdpe1gb spec-ctrl ssbd virt-ssbd")
	cpuFlags8 = split("pcid spec-ctrl ibpb ssbd virt-ssbd amd-ssbd amd-no-ssb pdpe1gb md-clear hv-tlbflush " +
		"hv-evmcs aes")
)

// cpuModels are QEMU's and PVE's own CPU types.
var cpuModels = split(`486 pentium pentium2 pentium3 coreduo core2duo Conroe Penryn Nehalem Nehalem-IBRS Westmere
Westmere-IBRS SandyBridge SandyBridge-IBRS IvyBridge IvyBridge-IBRS Haswell Haswell-IBRS Haswell-noTSX
Haswell-noTSX-IBRS Broadwell Broadwell-IBRS Broadwell-noTSX Broadwell-noTSX-IBRS Skylake-Client Skylake-Client-IBRS
Skylake-Client-noTSX-IBRS Skylake-Client-v4 Skylake-Server Skylake-Server-IBRS Skylake-Server-noTSX-IBRS
Skylake-Server-v4 Skylake-Server-v5 Cascadelake-Server Cascadelake-Server-v2 Cascadelake-Server-noTSX
Cascadelake-Server-v4 Cascadelake-Server-v5 Cooperlake Cooperlake-v2 KnightsMill Icelake-Client Icelake-Client-noTSX
Icelake-Server Icelake-Server-noTSX Icelake-Server-v3 Icelake-Server-v4 Icelake-Server-v5 Icelake-Server-v6
Icelake-Server-v7 SapphireRapids SapphireRapids-v2 SapphireRapids-v3 SapphireRapids-v4 GraniteRapids GraniteRapids-v2
GraniteRapids-v3 SierraForest SierraForest-v2 SierraForest-v3 ClearwaterForest athlon phenom Opteron_G1 Opteron_G2
Opteron_G3 Opteron_G4 Opteron_G5 EPYC EPYC-IBPB EPYC-v3 EPYC-v4 EPYC-v5 EPYC-Rome EPYC-Rome-v2 EPYC-Rome-v3
EPYC-Rome-v4 EPYC-Rome-v5 EPYC-Milan EPYC-Milan-v2 EPYC-Milan-v3 EPYC-Genoa EPYC-Genoa-v2 EPYC-Turin kvm32 kvm64
qemu32 qemu64 max host x86-64-v2 x86-64-v2-AES x86-64-v3 x86-64-v4`)

func checkCPU(cpu map[string]string, allowed []string) error {
	model := cpu["cputype"]
	if model == "" {
		return errors.New("CPU is missing cputype")
	}
	if custom, ok := strings.CutPrefix(model, "custom-"); ok {
		return refusal("Custom cputype '%s' not found", custom)
	}
	if !slices.Contains(cpuModels, model) {
		return refusal("Built-in cputype '%s' is not defined (missing 'custom-' prefix?)", model)
	}
	for _, flag := range strings.Split(cpu["flags"], ";") {
		if flag != "" && !slices.Contains(allowed, flag[1:]) {
			return errors.New("VM-specific CPU flags must be a subset of: " + strings.Join(allowed, ", "))
		}
	}
	if cpu["reported-model"] != "" {
		return errors.New("Property 'reported-model' not allowed in VM-specific CPU config.")
	}
	return nil
}
