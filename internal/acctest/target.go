// Package acctest runs the provider with a real Terraform or OpenTofu against
// a Proxmox VE: the embedded lab, or a real node named by the environment.
//
// What a test asserts it reads back over the API, so that the same tests hold
// on both. Only faults, call counts and clocks need the lab; see [Target.Lab].
package acctest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/privileges"
	"terraform-provider-proxmox/internal/pvelab"
)

// Target is the Proxmox VE that a test runs against.
type Target struct {
	Endpoint    string
	TokenID     string
	TokenSecret string
	CAFile      string
	// Node is where guests are made, Template what they are cloned from.
	Node     string
	Template int
	// First and Last bound the ids that this test may use. No other test uses
	// them at the same time.
	First, Last int
	// Lab is nil on a real node.
	Lab *pvelab.Lab
	// Hand makes bare API calls with the same token.
	Hand *byhand.Hand
}

// labSpeed makes a lab's clone of a few seconds take some tens of milliseconds.
const labSpeed = 50

// New returns the target named by PROXMOX_ENDPOINT and its companions, or
// starts a lab of its own for this test. Without TF_ACC the test is skipped.
func New(t *testing.T) *Target {
	t.Helper()

	return start(t, pvelab.Options{Speed: labSpeed})
}

// NewLab is [New] for tests that need a lab, with the options given; on a real
// node they are skipped.
func NewLab(t *testing.T, options pvelab.Options) *Target {
	t.Helper()
	if os.Getenv("PROXMOX_ENDPOINT") != "" {
		t.Skip("needs the lab: faults, call counts or other versions cannot be had of a real node")
	}

	return start(t, options)
}

func start(t *testing.T, options pvelab.Options) *Target {
	t.Helper()
	if os.Getenv("TF_ACC") == "" {
		t.Skip("TF_ACC is not set")
	}
	if os.Getenv("PROXMOX_ENDPOINT") != "" {
		return realNode(t)
	}

	return startLab(t, options)
}

func startLab(t *testing.T, options pvelab.Options) *Target {
	t.Helper()

	if options.Speed == 0 {
		options.Speed = labSpeed
	}
	lab, err := pvelab.New(options)
	must(t, err)
	must(t, lab.Start())
	t.Cleanup(func() {
		privileges.Check(t, lab)
		if err := lab.Close(); err != nil {
			t.Errorf("closing the lab: %v", err)
		}
	})

	ca := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(ca, lab.CAPEM(), 0o600))
	id, secret := lab.Token("full")

	return withHand(t, &Target{
		Endpoint: lab.URL(), TokenID: id, TokenSecret: secret, CAFile: ca,
		Node: "pve1", Template: 9000, First: 20000, Last: 20999, Lab: lab,
	}, lab.CAPEM())
}

func realNode(t *testing.T) *Target {
	t.Helper()

	template, err := strconv.Atoi(required(t, "PROXMOX_TEMPLATE_VMID"))
	if err != nil {
		t.Fatalf("PROXMOX_TEMPLATE_VMID: %v", err)
	}
	first, last := slice(t, required(t, "PROXMOX_VMID_RANGE"))
	target := &Target{
		Endpoint:    required(t, "PROXMOX_ENDPOINT"),
		TokenID:     required(t, "PROXMOX_TOKEN_ID"),
		TokenSecret: required(t, "PROXMOX_TOKEN_SECRET"),
		CAFile:      os.Getenv("PROXMOX_CA_FILE"),
		Node:        required(t, "PROXMOX_NODE"),
		Template:    template, First: first, Last: last,
	}

	var ca []byte
	if target.CAFile != "" {
		target.CAFile, err = filepath.Abs(target.CAFile)
		must(t, err)
		ca, err = os.ReadFile(target.CAFile)
		must(t, err)
	}
	withHand(t, target, ca)
	target.refuseUsed(t)
	t.Cleanup(func() { target.sweep(t) })

	return target
}

func withHand(t *testing.T, target *Target, ca []byte) *Target {
	t.Helper()

	hand, err := byhand.New(target.Endpoint, target.TokenID, target.TokenSecret, ca)
	must(t, err)
	target.Hand = hand

	return target
}

// refuseUsed fails the test where a guest has one of its ids on a real node
// already: the sweep would destroy it.
func (target *Target) refuseUsed(t *testing.T) {
	t.Helper()

	guests, err := target.Hand.Guests(context.Background())
	must(t, err)
	for _, guest := range guests {
		if guest.VMID >= target.First && guest.VMID <= target.Last {
			t.Fatalf("guest %d %q has an id of PROXMOX_VMID_RANGE, where tests destroy what they find: "+
				"name an unused range, or destroy it", guest.VMID, guest.Name)
		}
	}
}

// sweep removes what a failed test left in its ids on a real node.
func (target *Target) sweep(t *testing.T) {
	t.Helper()

	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	guests, err := target.Hand.Guests(ctx)
	if err != nil {
		t.Errorf("sweeping: %v", err)
		return
	}
	for _, guest := range guests {
		if guest.VMID < target.First || guest.VMID > target.Last {
			continue
		}
		if err := target.Hand.Destroy(ctx, guest.VMID); err != nil {
			t.Errorf("sweeping guest %d: %v", guest.VMID, err)
		}
	}
}

// Foreign is an id inside the range for a stranger's guest. It lies in the
// middle: ids are given upward from the highest in use, so that a stranger at
// the end would leave none.
func (target *Target) Foreign(offset int) int { return target.First + idsPerTest/2 + offset }

// Provider renders the provider block. extra holds further attributes.
func (target *Target) Provider(extra ...string) string {
	ca := ""
	if target.CAFile != "" {
		ca = fmt.Sprintf("ca_file      = %q", target.CAFile)
	}

	return fmt.Sprintf(`
terraform {
  required_providers {
    proxmox = { source = %q }
  }
}

provider "proxmox" {
  endpoint     = %q
  token_id     = %q
  token_secret = %q
  %s
  vmid_range   = { first = %d, last = %d }
  defaults     = { node = %q }
  %s
}
`, Source, target.Endpoint, target.TokenID, target.TokenSecret, ca,
		target.First, target.Last, target.Node, strings.Join(extra, "\n  "))
}

// Sites renders the variable sites of examples/two-sites: how each target is reached.
func Sites(targets map[string]*Target) string {
	var sites []string
	for name, site := range targets {
		sites = append(sites, fmt.Sprintf("%s={endpoint=%q,token_id=%q,token_secret=%q,ca_file=%q}",
			name, site.Endpoint, site.TokenID, site.TokenSecret, site.CAFile))
	}

	return "{" + strings.Join(sites, ",") + "}"
}

func required(t *testing.T, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s has to be set beside PROXMOX_ENDPOINT", name)
	}

	return value
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
