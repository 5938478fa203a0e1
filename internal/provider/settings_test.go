package provider

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

func TestSettings(t *testing.T) {
	t.Parallel()

	config := model{
		Endpoint:          pointer("https://pve1"),
		FallbackEndpoints: []string{"https://pve2", "https://pve3"},
		Token:             pointer(tokenID + "=" + secret),
		VMIDRange:         &vmidRangeModel{First: 20000, Last: 20999},
		Defaults:          &defaultsModel{Node: pointer("pve1"), Storage: pointer("")},
		Limits:            &limitsModel{Requests: pointer(int64(8)), TasksPerStorage: pointer(int64(1))},
		Timeouts:          &timeoutsModel{Create: pointer("90s")},
		FenceScope:        &fenceScopeModel{VMIDs: []int64{101}, Nodes: []string{"pve-dc1-02"}},
	}
	s := newSettings(config, environment{
		"PROXMOX_NODE": "other", "PROXMOX_STORAGE": "local-lvm", "PROXMOX_POOL": " terraform\n", "PROXMOX_CLUSTER": "dc1",
		"PROXMOX_CA_FILE": "ca.pem", "PROXMOX_VMID_RANGE": "1-2",
	}.get)

	var diags diag.Diagnostics
	options := s.options(&diags)
	want := proxmox.Options{
		Endpoint: "https://pve1", FallbackEndpoints: []string{"https://pve2", "https://pve3"},
		TokenID: tokenID, TokenSecret: secret, CAFile: "ca.pem", CAPEM: []byte{}, Cluster: "dc1",
		VMIDRange: proxmox.VMIDRange{First: 20000, Last: 20999}, LedgerPool: "terraform",
		FenceScope: proxmox.FenceScope{VMIDs: []int{101}, Nodes: []string{"pve-dc1-02"}},
		Limits:     proxmox.Limits{Requests: 8, TasksPerStorage: 1},
	}
	if diags.HasError() || !reflect.DeepEqual(options, want) {
		t.Errorf("options are %+v, want %+v (%v)", options, want, diags)
	}
	if got := s.defaults(); got != (framework.Defaults{Node: "pve1", Storage: "local-lvm", Pool: "terraform"}) {
		t.Errorf("defaults are %+v: the block wins, the environment fills in", got)
	}
	if got, rest := s.timeouts(&diags), framework.DefaultTimeouts(); got.Create != 90*time.Second || got.Delete != rest.Delete || got.Read != rest.Read {
		t.Errorf("timeouts are %+v", got)
	}
}

func TestSettingsOfTheEnvironment(t *testing.T) {
	t.Parallel()

	var diags diag.Diagnostics
	options := newSettings(model{}, environment{
		"PROXMOX_ENDPOINT": "https://pve1", "PROXMOX_FALLBACK_ENDPOINTS": "https://pve2, https://pve3,",
		"PROXMOX_TOKEN_ID": tokenID, "PROXMOX_TOKEN_SECRET_FILE": "/run/secret", "PROXMOX_INSECURE": "1", "PROXMOX_VMID_RANGE": "20000 - 20999",
	}.get).options(&diags)
	want := proxmox.Options{
		Endpoint: "https://pve1", FallbackEndpoints: []string{"https://pve2", "https://pve3"},
		TokenID: tokenID, TokenSecretFile: "/run/secret", Insecure: true, CAPEM: []byte{},
		VMIDRange: proxmox.VMIDRange{First: 20000, Last: 20999},
	}
	if diags.HasError() || !reflect.DeepEqual(options, want) {
		t.Errorf("options are %+v, want %+v (%v)", options, want, diags)
	}
}

// TestTuningOfTheEnvironment: the block's limits and timeouts win one by one,
// and what the environment says wrongly is told by its variable.
func TestTuningOfTheEnvironment(t *testing.T) {
	t.Parallel()

	var diags diag.Diagnostics
	s := newSettings(model{
		Limits:   &limitsModel{Requests: pointer(int64(8))},
		Timeouts: &timeoutsModel{Create: pointer("90s")},
	}, environment{
		"PROXMOX_LIMIT_REQUESTS": "4", "PROXMOX_LIMIT_TASKS_PER_NODE": "3", "PROXMOX_LIMIT_TASKS_PER_STORAGE": "many",
		"PROXMOX_TIMEOUT_CREATE": "1s", "PROXMOX_TIMEOUT_DELETE": "2m", "PROXMOX_TIMEOUT_UPDATE": "soon",
	}.get)
	if got := s.readLimits(&diags); got != (proxmox.Limits{Requests: 8, TasksPerNode: 3}) {
		t.Errorf("limits are %+v", got)
	}
	if got := s.timeouts(&diags); got.Create != 90*time.Second || got.Delete != 2*time.Minute || got.Update != framework.DefaultTimeouts().Update {
		t.Errorf("timeouts are %+v", got)
	}
	if diags.ErrorsCount() != 2 {
		t.Errorf("two variables are wrong: %v", diags)
	}
	for _, name := range []string{"PROXMOX_LIMIT_TASKS_PER_STORAGE", "PROXMOX_TIMEOUT_UPDATE"} {
		if !strings.Contains(fmt.Sprint(diags), name) {
			t.Errorf("%s is not named: %v", name, diags)
		}
	}
}

// TestInsecureTurnedOff holds that a block that says insecure = false beats the
// environment, and still takes its CA.
func TestInsecureTurnedOff(t *testing.T) {
	t.Parallel()

	var diags diag.Diagnostics
	options := newSettings(model{Insecure: pointer(false)}, environment{"PROXMOX_INSECURE": "true", "PROXMOX_CA_FILE": "ca.pem"}.get).options(&diags)
	if options.Insecure || options.CAFile != "ca.pem" || diags.HasError() {
		t.Errorf("insecure %t, CA file %q (%v)", options.Insecure, options.CAFile, diags)
	}
}

// TestCredentials: what the block names is used; where it names nothing, the
// environment's token comes before its user.
func TestCredentials(t *testing.T) {
	t.Parallel()

	token := environment{"PROXMOX_TOKEN_ID": tokenID, "PROXMOX_TOKEN_SECRET": secret}
	user := environment{"PROXMOX_USERNAME": "ops@pve", "PROXMOX_PASSWORD": " pass "}
	both := environment{}
	maps.Copy(both, token)
	maps.Copy(both, user)
	byToken := proxmox.Options{TokenID: tokenID, TokenSecret: secret, CAPEM: []byte{}}
	byUser := proxmox.Options{Username: "ops@pve", Password: " pass ", CAPEM: []byte{}}

	for name, test := range map[string]struct {
		config model
		env    environment
		want   proxmox.Options
	}{
		"a token of the environment":   {model{}, token, byToken},
		"a user of the environment":    {model{}, user, byUser},
		"both of the environment":      {model{}, both, byToken},
		"a user of the block":          {model{Username: pointer("ops@pve")}, both, byUser},
		"a password of the block":      {model{Password: pointer(" pass ")}, both, byUser},
		"a token of the block":         {model{TokenID: pointer(tokenID)}, both, byToken},
		"a password file of the block": {model{PasswordFile: pointer("/p")}, user, proxmox.Options{Username: "ops@pve", PasswordFile: "/p", CAPEM: []byte{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var diags diag.Diagnostics
			if got := newSettings(test.config, test.env.get).options(&diags); !reflect.DeepEqual(got, test.want) || diags.HasError() {
				t.Errorf("options are %+v, want %+v (%v)", got, test.want, diags)
			}
		})
	}
}

type environment map[string]string

func (e environment) get(name string) string { return e[name] }

func pointer[T any](value T) *T { return &value }
