package seed_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/seed"
)

// readSeed has cloud-init's own NoCloud reader read the folder cloud/seed/nocloud.
const readSeed = `
import json, sys
from cloudinit import helpers, util
from cloudinit.net import network_state
from cloudinit.sources import DataSourceNoCloud
paths = helpers.Paths({"cloud_dir": sys.argv[1], "run_dir": sys.argv[1]})
source = DataSourceNoCloud.DataSourceNoCloud({"datasource": {"NoCloud": {"fs_label": None}}}, None, paths)
found = source._get_data()
state = network_state.parse_net_config_data(source.network_config)
json.dump({"found": found, "instance": source.get_instance_id(), "host": source.metadata["local-hostname"],
  "user": source.userdata_raw.decode(), "vendor": util.decode_binary(source.vendordata_raw),
  "interfaces": {i["name"]: [i["mac_address"]] + [s.get("address", s["type"]) for s in i["subnets"]] for i in state.iter_interfaces()}}, sys.stdout)
`

// TestYAMLIsReadAsWritten: what is a text here is one for cloud-init, whose parser
// has ideas of its own about dates, booleans and numbers on base 60.
func TestYAMLIsReadAsWritten(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("cloud-init"); err != nil {
		t.Skip("cloud-init is not installed: apt-get install cloud-init")
	}
	texts := []any{
		"12:34:56:01:02:03", "1:20", "on", "Yes", "n", "null", "~", "", "0755", "0o17", "0x1f", "1_000", "1e3", ".5", "2001-01-01", "2001-01-01 10:00:00",
		"<<", "a: b", "- a", "#c", "x #c", "é", "line\nline\n", " blank ", "%", "@", "*a", "!a", "true", ".inf",
	}
	value := map[string]any{"texts": texts, "number": int64(1500), "fraction": 0.5, "flag": true, "none": []any{}, "yes": "a key"}
	written, err := seed.YAML(value)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", "import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)")
	cmd.Stdin = strings.NewReader(written)
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("it is not read: %v\n%s", err, written)
	}
	var got map[string]any
	if err := json.Unmarshal(output, &got); err != nil {
		t.Fatal(err)
	}
	value["number"] = 1500.0
	if !reflect.DeepEqual(got, value) {
		t.Errorf("it is read as %q, written was\n%s", got, written)
	}
}

// TestCloudInit has the real cloud-init judge what is written here.
func TestCloudInit(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("cloud-init"); err != nil {
		t.Skip("cloud-init is not installed: apt-get install cloud-init")
	}
	network, err := seed.NetworkConfig([]seed.Interface{
		{Name: "eth0", MAC: "bc:24:11:00:00:01", Addresses: []string{"10.0.0.11/24"}, Gateway4: "10.0.0.1"},
		{Name: "eth1", MAC: "12:34:56:01:02:03", DHCP4: true},
	}, []string{"10.0.0.53"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := seed.Files{UserData: example.UserData, VendorData: example.VendorData, NetworkConfig: network}
	id := seed.InstanceID("", files)
	if files.MetaData, err = seed.MetaData(id, "web-1"); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	image := filepath.Join(folder, "seed.iso")
	if err := os.WriteFile(image, read(t, files), 0o600); err != nil {
		t.Fatal(err)
	}
	nocloud := filepath.Join(folder, "seed", "nocloud")
	run(t, "xorriso", "-osirrox", "on", "-indev", image, "-extract", "/", nocloud)

	run(t, "cloud-init", "schema", "--config-file", filepath.Join(nocloud, "user-data"))

	// The package's own Python: another one does not know cloud-init.
	cmd := exec.CommandContext(t.Context(), "/usr/bin/python3", "-c", readSeed, folder)
	var complaint strings.Builder
	cmd.Stderr = &complaint
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("cloud-init cannot read the seed: %v\n%s", err, complaint.String())
	}
	var got struct {
		Found                        bool
		Instance, Host, User, Vendor string
		Interfaces                   map[string][]string
	}
	if err := json.Unmarshal(output, &got); err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
	if !got.Found || got.Instance != id || got.Host != "web-1" || got.User != files.UserData || got.Vendor != files.VendorData {
		t.Errorf("cloud-init reads %+v", got)
	}
	if eth0 := strings.Join(got.Interfaces["eth0"], " "); eth0 != "bc:24:11:00:00:01 10.0.0.11" && eth0 != "bc:24:11:00:00:01 10.0.0.11/24" {
		t.Errorf("eth0 is %q", eth0)
	}
	if eth1 := strings.Join(got.Interfaces["eth1"], " "); !strings.HasPrefix(eth1, "12:34:56:01:02:03 dhcp") {
		t.Errorf("eth1 is %q", eth1)
	}
}
