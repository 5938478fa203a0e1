package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	codeSpan  = regexp.MustCompile("`([^`]+)`")
	inQuotes  = regexp.MustCompile(`"[^"]*"`)
	attrWord  = regexp.MustCompile(`\b[a-z][a-z0-9_]+\b`)
	slotWord  = regexp.MustCompile(`^[a-z]+[0-9]+$`)
	ourHeader = regexp.MustCompile("^\\| there \\| here, in `(proxmox_[a-z_]+)` \\|$")
)

// TestMigrationTablesNameAttributes holds the tables of the guides for those who
// come from another provider: every word in their right columns is an attribute.
func TestMigrationTablesNameAttributes(t *testing.T) {
	t.Parallel()

	found := read(t)
	for guide, least := range map[string]int{"coming-from-bpg": 60, "coming-from-telmate": 60} {
		content, err := os.ReadFile(filepath.Join(root, "templates/guides", guide+".md"))
		if err != nil {
			t.Fatal(err)
		}
		var known map[string]bool
		seen := 0
		for line := range strings.SplitSeq(string(content), "\n") {
			switch header := ourHeader.FindStringSubmatch(line); {
			case header != nil:
				known = words(found.Resources[header[1]].Block.Attributes)
			case line == "## The provider block":
				known = words(found.Provider.Block.Attributes)
			case strings.HasPrefix(line, "## "):
				known = nil
			case known != nil && strings.HasPrefix(line, "| "):
				_, right, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
				for _, word := range attributesIn(right) {
					seen++
					if !known[word] {
						t.Errorf("%s: there is no attribute %q: %s", guide, word, line)
					}
				}
			}
		}
		if seen < least {
			t.Errorf("%s names %d attributes: this test looks in the wrong place", guide, seen)
		}
	}
}

// attributesIn are the words in code that name attributes: neither values nor slots.
func attributesIn(cell string) []string {
	var found []string
	for _, span := range codeSpan.FindAllStringSubmatch(cell, -1) {
		for _, word := range attrWord.FindAllString(inQuotes.ReplaceAllString(span[1], ""), -1) {
			if !slotWord.MatchString(word) && word != "true" && word != "false" && !strings.HasPrefix(word, "proxmox_") {
				found = append(found, word)
			}
		}
	}
	return found
}

// words are the names of attributes, at all depths.
func words(attributes map[string]attribute) map[string]bool {
	all := map[string]bool{}
	for name, each := range attributes {
		all[name] = true
		if each.NestedType == nil {
			continue
		}
		for inner := range words(each.NestedType.Attributes) {
			all[inner] = true
		}
	}
	return all
}

// theirs are the attributes of the other providers' VMs, containers and provider
// blocks (bpg 0.111.1, Telmate 3.0.2-rc09), by guide and heading.
var theirs = map[string]map[string]string{
	"coming-from-bpg": {
		"The provider block": "endpoint api_token username password otp auth_ticket csrf_prevention_token insecure min_tls ssh tmp_dir " +
			"random_vm_ids random_vm_id_start random_vm_id_end",
		"`proxmox_virtual_environment_vm`": "acpi agent amd_sev audio_device bios boot_order cdrom clone cpu description disk efi_disk hostpci hotplug " +
			"initialization keyboard_layout kvm_arguments machine memory migrate name network_device node_name numa on_boot operating_system pool_id " +
			"protection purge_on_destroy delete_unreferenced_disks_on_destroy reboot reboot_after_update rng scsi_hardware serial_device smbios started " +
			"startup stop_on_destroy tablet_device tags template timeout_create timeout_clone timeout_shutdown_vm tpm_state usb vga virtiofs vm_id " +
			"hook_script_file_id watchdog ipv4_addresses ipv6_addresses mac_addresses network_interface_names",
		"`proxmox_virtual_environment_container`": "clone console cpu description device_passthrough disk environment_variables features " +
			"hook_script_file_id idmap initialization memory mount_point network_interface node_name operating_system pool_id protection start_on_boot " +
			"started startup tags template timeout_create unprivileged vm_id wait_for_ip",
	},
	"coming-from-telmate": {
		"The provider block": "pm_api_url pm_api_token_id pm_api_token_secret pm_user pm_password pm_otp pm_tls_insecure pm_parallel pm_timeout " +
			"pm_minimum_permission_check pm_minimum_permission_list pm_log_enable pm_log_file pm_log_levels pm_debug pm_proxy_server",
		"`proxmox_vm_qemu`": "name target_node target_nodes vmid description define_connection_info bios efidisk start_at_node_boot startup_shutdown " +
			"power_state protection tablet boot bootdisk agent pxe clone clone_id full_clone hastate hagroup qemu_os memory balloon hotplug scsihw pool " +
			"tags rng tpm_state force_create os_type force_recreate_on_change_of os_network_config ssh_forward_ip ssh_user ssh_private_key ci_wait " +
			"ciuser cipassword cicustom ciupgrade searchdomain nameserver sshkeys ipconfig0 automatic_reboot automatic_reboot_severity skip_ipv4 " +
			"skip_ipv6 agent_timeout current_node cpu network disk disks vga serial pci pcis usb usbs smbios ssh_host default_ipv4_address " +
			"default_ipv6_address",
		"`proxmox_lxc`, `proxmox_lxc_guest`": "ostemplate arch bwlimit clone cmode console cores cpulimit cpuunits description features force full " +
			"hastate hagroup hookscript hostname ignore_unpack_errors lock memory mountpoint nameserver network onboot ostype password pool protection " +
			"restore rootfs searchdomain ssh_public_keys start startup swap tags target_node tty unique unprivileged vmid",
	},
}

// TestMigrationTablesAreComplete holds that whoever comes from another provider
// finds each attribute of his.
func TestMigrationTablesAreComplete(t *testing.T) {
	t.Parallel()

	for guide, sections := range theirs {
		content, err := os.ReadFile(filepath.Join(root, "templates/guides", guide+".md"))
		if err != nil {
			t.Fatal(err)
		}
		for heading, attributes := range sections {
			_, section, found := strings.Cut(string(content), "\n## "+heading+"\n")
			if !found {
				t.Errorf("%s has no section %s", guide, heading)
			}
			section, _, _ = strings.Cut(section, "\n## ")
			told := map[string]bool{}
			for _, span := range codeSpan.FindAllStringSubmatch(section, -1) {
				for _, word := range attrWord.FindAllString(span[1], -1) {
					told[word] = true
				}
			}
			for name := range strings.FieldsSeq(attributes) {
				if !told[name] {
					t.Errorf("%s, %s: nothing about %s", guide, heading, name)
				}
			}
		}
	}
}
