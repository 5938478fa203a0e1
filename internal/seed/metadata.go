package seed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"
)

// InstanceID derives an instance id from what runs once per instance: the
// others may change without cloud-init taking the guest for a new one. Scope is
// what else tells instances apart, such as the guest's own id; it may be empty.
func InstanceID(scope string, f Files) string {
	digest := sha256.New()
	for _, part := range []string{scope, f.UserData, f.VendorData} {
		_, _ = fmt.Fprintf(digest, "%d:", len(part))
		_, _ = io.WriteString(digest, part)
	}
	return "iid-" + hex.EncodeToString(digest.Sum(nil))[:16]
}

// MetaData writes the usual meta data. A host name may be empty.
func MetaData(instanceID, hostName string) (string, error) {
	return YAML(struct {
		InstanceID string `yaml:"instance-id"`
		HostName   string `yaml:"local-hostname,omitempty"`
	}{instanceID, hostName})
}

// Interface is a network interface as the guest is to set it up.
type Interface struct {
	// Name is what the guest calls it ("eth0"), MAC how it finds it.
	Name, MAC string
	// Addresses are static, with their prefix lengths; gateways may be empty.
	Addresses          []string
	Gateway4, Gateway6 string
	// DHCP4 and DHCP6 ask for addresses, Auto6 takes the router's word.
	DHCP4, DHCP6, Auto6 bool
}

type netplan struct {
	Version   int                 `yaml:"version"`
	Ethernets map[string]ethernet `yaml:"ethernets"`
}

type ethernet struct {
	Match       map[string]string `yaml:"match"`
	SetName     string            `yaml:"set-name"`
	DHCP4       bool              `yaml:"dhcp4"`
	DHCP6       bool              `yaml:"dhcp6"`
	AcceptRA    *bool             `yaml:"accept-ra,omitempty"`
	Addresses   []string          `yaml:"addresses,omitempty"`
	Routes      []route           `yaml:"routes,omitempty"`
	Nameservers *nameservers      `yaml:"nameservers,omitempty"`
}

type route struct {
	To  string `yaml:"to"`
	Via string `yaml:"via"`
}

type nameservers struct {
	Addresses []string `yaml:"addresses,omitempty"`
	Search    []string `yaml:"search,omitempty"`
}

// NetworkConfig writes a network configuration of version 2. Interfaces are
// matched by their addresses and named: not every system's renderer keeps the
// kernel's name for one that is only matched.
func NetworkConfig(interfaces []Interface, servers, search []string) (string, error) {
	plan := netplan{Version: 2, Ethernets: map[string]ethernet{}}
	for _, each := range interfaces {
		e := ethernet{
			Match: map[string]string{"macaddress": each.MAC}, SetName: each.Name,
			DHCP4: each.DHCP4, DHCP6: each.DHCP6, Addresses: each.Addresses,
		}
		if each.Auto6 {
			accept := true
			e.AcceptRA = &accept
		}
		// "default" is a word that older cloud-inits do not know.
		if each.Gateway4 != "" {
			e.Routes = append(e.Routes, route{"0.0.0.0/0", each.Gateway4})
		}
		if each.Gateway6 != "" {
			e.Routes = append(e.Routes, route{"::/0", each.Gateway6})
		}
		if len(servers)+len(search) > 0 {
			e.Nameservers = &nameservers{servers, search}
		}
		plan.Ethernets[each.Name] = e
	}
	return YAML(plan)
}

// YAML writes a value; the keys of maps are sorted.
func YAML(value any) (string, error) {
	text, err := yaml.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("writing YAML: %w", err)
	}
	return string(text), nil
}
