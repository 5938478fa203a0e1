package firewall_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/terraform"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

const first = `
  options = { enabled = true, policy_in = "DROP", policy_out = "ACCEPT", dhcp = true, log_level_in = "info" }
  ip_sets = { admins = ["10.0.9.0/24", "!10.0.9.66"] }
  aliases = { monitor = "10.0.8.1" }
  rules = [
    { direction = "in", action = "ACCEPT", macro = "HTTPS", comment = "public" },
    { direction = "in", action = "ACCEPT", protocol = "tcp", destination_port = "22", source = "+admins" },
    { direction = "in", action = "ACCEPT", protocol = "icmp", icmp_type = "echo-request", source = "monitor" },
  ]
  spoof_protection = { net0 = ["10.0.0.11"] }
`

const second = `
  options = { enabled = true, policy_in = "REJECT", policy_out = "ACCEPT", radv = false }
  ip_sets = { admins = ["10.0.9.0/24", "10.0.7.0/24"], blocked = ["192.0.2.0/24"] }
  rules = [
    { direction = "in", action = "DROP", source = "+blocked" },
    { direction = "in", action = "ACCEPT", macro = "SSH", source = "+admins", comment = "administration" },
    { direction = "in", action = "ACCEPT", macro = "HTTPS", comment = "public" },
    { direction = "out", action = "DROP", protocol = "tcp", destination_port = "25", enabled = false, interface = "net0", log_level = "nolog" },
  ]
`

func TestAccFirewall_lifecycle(t *testing.T) {
	t.Parallel()
	lifecycle(t, acctest.New(t))
}

// TestAccFirewall_lifecycle8 is the same on PVE 8.
func TestAccFirewall_lifecycle8(t *testing.T) {
	t.Parallel()
	lifecycle(t, acctest.NewLab(t, pvelab.Options{Version: "8.4"}))
}

// lifecycle goes once through everything that happens to a guest's firewall.
func lifecycle(t *testing.T, target *acctest.Target) {
	t.Helper()
	vmid := guest(t, target, filtered)
	at := place(target, vmid)
	check := func(f func()) resource.TestCheckFunc { return func(*terraform.State) error { f(); return nil } }
	empty := resource.ConfigPlanChecks{PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()}}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: acctest.Factories(),
		CheckDestroy: check(func() {
			wantRules(t, target.Hand, at)
			wantOptions(t, target.Hand, at, map[string]string{})
			for _, path := range []string{"/ipset", "/aliases"} {
				if left := namesOf(t, target.Hand, at+path, "name"); len(left) > 0 {
					t.Errorf("%s is left: %v", path, left)
				}
			}
		}),
		Steps: []resource.TestStep{
			{
				Config: firewall(target, vmid, first), ConfigPlanChecks: empty,
				Check: check(func() {
					wantRules(t, target.Hand, at, "in ACCEPT HTTPS # public", "in ACCEPT tcp 22 +admins", "in ACCEPT icmp monitor")
					wantOptions(t, target.Hand, at, map[string]string{
						"enable": "1", "policy_in": "DROP", "policy_out": "ACCEPT", "dhcp": "1", "log_level_in": "info",
					})
					if got := fmt.Sprint(namesOf(t, target.Hand, at+"/ipset", "name"), namesOf(t, target.Hand, at+"/ipset/ipfilter-net0", "cidr")); got != "[admins ipfilter-net0] [10.0.0.11]" {
						t.Errorf("the sets are %s", got)
					}
				}),
			},
			{
				ResourceName: address, ImportState: true, ImportStateVerify: true, ImportStateId: fmt.Sprintf("vm/%d", vmid),
			},
			{
				Config: firewall(target, vmid, second), ConfigPlanChecks: empty,
				Check: check(func() {
					wantRules(t, target.Hand, at, "in DROP +blocked", "in ACCEPT SSH +admins # administration", "in ACCEPT HTTPS # public", "| out DROP tcp 25 net0")
					wantOptions(t, target.Hand, at, map[string]string{"enable": "1", "policy_in": "REJECT", "policy_out": "ACCEPT", "radv": "0"})
					if got := fmt.Sprint(namesOf(t, target.Hand, at+"/ipset", "name"), namesOf(t, target.Hand, at+"/ipset/admins", "cidr")); got != "[admins blocked] [10.0.7.0/24 10.0.9.0/24]" {
						t.Errorf("the sets are %s", got)
					}
				}),
			},
			{
				PreConfig: func() {
					byHand(t, target.Hand, http.MethodPost, at+"/rules", byhand.Params{"type": "in", "action": "ACCEPT", "enable": 1, "comment": "by hand"})
					byHand(t, target.Hand, http.MethodPut, at+"/rules/3", byhand.Params{"moveto": 1})
					byHand(t, target.Hand, http.MethodPut, at+"/options", byhand.Params{"policy_in": "ACCEPT", "ndp": 0})
					byHand(t, target.Hand, http.MethodPost, at+"/ipset/blocked", byhand.Params{"cidr": "198.51.100.0/24"})
				},
				Config: firewall(target, vmid, second), ConfigPlanChecks: empty,
				Check: check(func() {
					wantRules(t, target.Hand, at, "in DROP +blocked", "in ACCEPT SSH +admins # administration", "in ACCEPT HTTPS # public", "| out DROP tcp 25 net0")
					wantOptions(t, target.Hand, at, map[string]string{"enable": "1", "policy_in": "REJECT", "policy_out": "ACCEPT", "radv": "0", "ndp": "0"})
					byHand(t, target.Hand, http.MethodPut, at+"/options", byhand.Params{"delete": "ndp"})
				}),
			},
			{
				Config: firewall(target, vmid, "options = { policy_in = \"REJECT\" }\n rules = []"), ConfigPlanChecks: empty,
				Check: check(func() {
					wantRules(t, target.Hand, at)
					wantOptions(t, target.Hand, at, map[string]string{"policy_in": "REJECT"})
				}),
			},
		},
	})
}
