package firewall_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestMain(m *testing.M) { acctest.Main(m) }

const address = "proxmox_firewall.test"

// guest makes a VM that carries the provider's marker, and returns its id.
func guest(t *testing.T, target *acctest.Target, net0 string) int {
	t.Helper()
	return guestAt(t, target, target.First, net0)
}

func guestAt(t *testing.T, target *acctest.Target, vmid int, net0 string) int {
	t.Helper()
	ctx := context.Background()
	acctest.Must(t, target.Hand.CreateVM(ctx, target.Node, vmid, byhand.Params{
		"name": "acc-firewall", "net0": net0,
		"description": fmt.Sprintf("terraform-proxmox-uid=4b0f2c9a-5f5e-4f55-9a9b-%012d/%d", vmid, vmid),
	}))
	t.Cleanup(func() { acctest.Must(t, target.Hand.Destroy(ctx, vmid)) })
	return vmid
}

const filtered = "virtio,bridge=vmbr0,firewall=1"

// place is the path of a guest's firewall.
func place(target *acctest.Target, vmid int) string {
	return fmt.Sprintf("/nodes/%s/qemu/%d/firewall", target.Node, vmid)
}

// handRule is a rule as PVE lists it.
type handRule struct {
	Pos             int
	Type, Action    string
	Enable          int
	Macro, Proto    string
	Dport, Source   string
	Comment, Digest string
	Iface           string
}

func (r handRule) String() string {
	parts := []string{r.Type, r.Action}
	for _, part := range []string{r.Macro, r.Proto, r.Dport, r.Source, r.Iface} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if r.Enable == 0 {
		parts = append([]string{"|"}, parts...)
	}
	if r.Comment != "" {
		parts = append(parts, "#", r.Comment)
	}
	return strings.Join(parts, " ")
}

// rulesOf reads the rules of a firewall by hand.
func rulesOf(t *testing.T, hand *byhand.Hand, firewall string) []string {
	t.Helper()
	var list []handRule
	acctest.Must(t, hand.Call(context.Background(), http.MethodGet, firewall+"/rules", nil, &list))
	texts := make([]string, len(list))
	for i, rule := range list {
		texts[i] = rule.String()
	}
	return texts
}

func optionsOf(t *testing.T, hand *byhand.Hand, firewall string) map[string]string {
	t.Helper()
	var raw map[string]any
	acctest.Must(t, hand.Call(context.Background(), http.MethodGet, firewall+"/options", nil, &raw))
	delete(raw, "digest")
	found := map[string]string{}
	for key, value := range raw {
		found[key] = fmt.Sprint(value)
	}
	return found
}

func namesOf(t *testing.T, hand *byhand.Hand, path, key string) []string {
	t.Helper()
	var list []map[string]any
	acctest.Must(t, hand.Call(context.Background(), http.MethodGet, path, nil, &list))
	var found []string
	for _, each := range list {
		found = append(found, fmt.Sprint(each[key]))
	}
	slices.Sort(found)
	return found
}

func wantRules(t *testing.T, hand *byhand.Hand, firewall string, want ...string) {
	t.Helper()
	if got := rulesOf(t, hand, firewall); !slices.Equal(got, want) {
		t.Errorf("the rules of %s are\n  %s\nnot\n  %s", firewall, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func wantOptions(t *testing.T, hand *byhand.Hand, firewall string, want map[string]string) {
	t.Helper()
	if got := optionsOf(t, hand, firewall); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the options of %s are %v, not %v", firewall, got, want)
	}
}

// byHand makes a call that changes something.
func byHand(t *testing.T, hand *byhand.Hand, method, path string, params byhand.Params) {
	t.Helper()
	acctest.Must(t, hand.Call(context.Background(), method, path, params, nil))
}

// firewall renders the resource for a guest.
func firewall(target *acctest.Target, vmid int, body string) string {
	return target.Provider() + fmt.Sprintf(`
resource "proxmox_firewall" "test" {
  scope = { vm = %d }
  %s
}
`, vmid, body)
}

// mutations are the calls of a count that change a firewall.
func mutations(count pvelab.Count) int {
	n := 0
	for call, times := range count.Requests {
		if !strings.HasPrefix(call, "GET ") && strings.Contains(call, "/firewall/") {
			n += times
		}
	}
	return n
}

// manyRules renders a list of rules; extra goes before the one of that number.
func manyRules(number, before int, extra string) string {
	var b strings.Builder
	b.WriteString("rules = [\n")
	for i := range number {
		if i == before {
			b.WriteString(extra + ",\n")
		}
		fmt.Fprintf(&b, "{ direction = \"in\", action = \"ACCEPT\", protocol = \"tcp\", destination_port = \"%s\" },\n", strconv.Itoa(1000+i))
	}
	b.WriteString("]\n")
	return b.String()
}
