package connection_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/protocol"
	"terraform-provider-proxmox/internal/provider"
	"terraform-provider-proxmox/internal/pvelab"
)

// newLab is a lab whose provider puts guests into a pool that is not there.
func newLab(t *testing.T, options pvelab.Options) *protocol.Lab {
	t.Helper()
	options.Speed = 500
	return protocol.NewLabOf(t, options, provider.New("test")(), "full", protocol.Object{
		"vmid_range": protocol.Object{"first": 20000, "last": 20099}, "defaults": protocol.Object{"pool": "fresh"},
	})
}

// declared is a connection that is ready, with what else is declared.
func declared(attributes protocol.Object) protocol.Object {
	config := protocol.Object{"pool": "fresh", "capabilities": []any{"vm.create"}, "templates": []any{9000}}
	maps.Copy(config, attributes)
	return config
}

func storageClass(storage string) protocol.Object {
	return protocol.Object{"a": protocol.Object{"storage": storage, "content": []any{"images"}}}
}

// wantEmpty refreshes, and wants a plan that changes nothing.
func wantEmpty(t *testing.T, r *protocol.Resource, config protocol.Object) {
	t.Helper()
	if diagnostics := r.Refresh(t); len(diagnostics) != 0 {
		t.Error(diagnostics)
	}
	if plan, diagnostics := r.Plan(t, config); plan == nil || !plan.Empty() {
		t.Errorf("the plan is not empty: %s", diagnostics)
	}
}

func pools(t *testing.T, lab *protocol.Lab) string {
	t.Helper()
	var found []struct {
		ID string `json:"poolid"`
	}
	protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodGet, "/pools", nil, &found))
	return fmt.Sprint(found)
}

// TestCourse: the pool is made once and stays, what is found is in the state, and
// what goes wrong later shows in the next plan.
func TestCourse(t *testing.T) {
	t.Parallel()
	lab := newLab(t, pvelab.Options{})
	connection := lab.Manage(t, "proxmox_connection")
	config := declared(protocol.Object{"storage_classes": storageClass("local-lvm")})
	if diagnostics := connection.Apply(t, config); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	connection.State.Want(t, protocol.Object{
		"ready": true, "identity": "lab", "answering_node": "pve1", "failure_domains": []any{"pve1", "pve2", "pve3"},
	})
	connection.State.At(t, "privileges", "vm.create").Want(t, protocol.Object{"state": "proven"})
	connection.State.At(t, "nodes", "pve2").Want(t, protocol.Object{"online": true, "version": connection.State["version"]})
	for _, each := range connection.State["conditions"].([]any) {
		if found := each.(protocol.Object); found["status"] != "met" {
			t.Errorf("not met: %v", found)
		}
	}
	if !strings.Contains(pools(t, lab), "fresh") {
		t.Errorf("the pools are %s", pools(t, lab))
	}
	wantEmpty(t, connection, config)

	protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodPut, "/storage/local-lvm", byhand.Params{"disable": 1}, nil))
	lab.NextRun(t)
	if diagnostics := connection.Refresh(t); len(diagnostics) != 0 || connection.State["ready"] != false {
		t.Errorf("a disabled storage: %v, %s", connection.State["conditions"], diagnostics)
	}
	if first := connection.State["conditions"].([]any)[0].(protocol.Object); first["status"] != "unmet" || first["type"] != "storage" {
		t.Errorf("what is unmet is not the first: %v", first)
	}
	plan, diagnostics := connection.Plan(t, config)
	if plan == nil || plan.After["ready"] != protocol.Unknown || plan.After["conditions"] != protocol.Unknown {
		t.Fatalf("no other look is planned: %s", diagnostics)
	}
	plan.Apply(t).Single(t, "The connection is not ready", "- storage a: ", `"local-lvm" is disabled`, "Everything else is as declared")
	protocol.Must(t, lab.Hand.Call(t.Context(), http.MethodPut, "/storage/local-lvm", byhand.Params{"disable": 0}, nil))
	lab.NextRun(t)
	if diagnostics := connection.Apply(t, config); len(diagnostics) != 0 {
		t.Error(diagnostics)
	}
	wantEmpty(t, connection, config)

	if diagnostics := connection.Apply(t, nil); len(diagnostics) != 0 || !strings.Contains(pools(t, lab), "fresh") {
		t.Errorf("after the destruction the pools are %s: %s", pools(t, lab), diagnostics)
	}
}

// TestNotReady: a connection that is not ready is no resource, unless that is not
// required; then nothing is left to do either.
func TestNotReady(t *testing.T) {
	t.Parallel()
	lab := newLab(t, pvelab.Options{})
	connection := lab.Manage(t, "proxmox_connection")
	wrong := protocol.Object{"storage_classes": storageClass("nowhere"), "templates": []any{9999}}
	connection.Apply(t, declared(wrong)).Single(t, "The connection is not ready", `no storage "nowhere"`, "template 9999: there is no such guest")
	if connection.State != nil {
		t.Errorf("it is there: %v", connection.State)
	}
	wrong["require_ready"] = false
	if diagnostics := connection.Apply(t, declared(wrong)); len(diagnostics) != 0 || connection.State["ready"] != false {
		t.Errorf("%v: %s", connection.State["ready"], diagnostics)
	}
	wantEmpty(t, connection, declared(wrong))
	wrong["require_ready"] = true
	connection.Apply(t, declared(wrong)).Single(t, "The connection is not ready")
	if connection.State["require_ready"] != false {
		t.Error("a failed update is in the state")
	}
}

// TestAnotherCluster: behind the endpoint of a known cluster answers another one;
// nothing is made there, and nothing of it comes into the state.
func TestAnotherCluster(t *testing.T) {
	t.Parallel()
	cluster, alone := newLab(t, pvelab.Options{}), newLab(t, pvelab.Options{Standalone: true})
	connection := cluster.Manage(t, "proxmox_connection")
	if diagnostics := connection.Apply(t, declared(nil)); len(diagnostics) != 0 {
		t.Fatal(diagnostics)
	}
	connection.In(alone.Server)
	connection.Refresh(t).Single(t, "Another cluster answers", `"lab"`, "standalone:pve1", "terraform state rm")
	plan, diagnostics := connection.Plan(t, declared(protocol.Object{"capabilities": []any{"vm.start"}}))
	if plan == nil {
		t.Fatal(diagnostics)
	}
	plan.Apply(t).Single(t, "Another cluster answers")
	if connection.State["identity"] != "lab" || strings.Contains(pools(t, alone), "fresh") {
		t.Errorf("%v; the pools are %s", connection.State["identity"], pools(t, alone))
	}

	found, diagnostics := cluster.Import(t, "proxmox_connection", "lab", nil)
	if found == nil || found.State["require_ready"] != true {
		t.Fatalf("it is not imported: %s", diagnostics)
	}
	if diagnostics := found.Apply(t, declared(protocol.Object{"cluster": "lab"})); len(diagnostics) != 0 || found.State["ready"] != true {
		t.Errorf("%v: %s", found.State, diagnostics)
	}
	diagnostics = alone.Manage(t, "proxmox_connection").Apply(t, declared(protocol.Object{"cluster": "lab"}))
	diagnostics.Single(t, "Another cluster answers", `Declared is "lab"`)
	if at := protocol.Attribute(diagnostics[0]); at != "cluster" {
		t.Errorf("it is said at %q", at)
	}
}

// TestPoolOfNobody is warned of: guests go into the provider's.
func TestPoolOfNobody(t *testing.T) {
	t.Parallel()
	lab := newLab(t, pvelab.Options{})
	plan, diagnostics := lab.Manage(t, "proxmox_connection").Plan(t, declared(protocol.Object{"pool": "other"}))
	diagnostics.Warnings().Single(t, "The pool is not the provider's", `it is "fresh", not "other"`)
	if plan == nil || len(diagnostics) != 1 || protocol.Attribute(diagnostics[0]) != "pool" {
		t.Error(diagnostics)
	}
}

// TestNoAnswer: what is part of every connection and cannot be read fails it; what
// one node does not tell is a condition that is unknown, and fails nothing.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	for path, says := range map[string]string{
		"/cluster/status":     "find out which cluster answers",
		"/pools":              "list the pools",
		"/version":            "read the version of Proxmox VE",
		"/access/permissions": "read the token's privileges",
		"/nodes":              "list the cluster's nodes",
		"/cluster/resources":  "list the cluster's guests",
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			lab := newLab(t, pvelab.Options{})
			lab.Spoil(t, pvelab.Fault{Method: http.MethodGet, Path: path, Status: http.StatusInternalServerError, Text: "no answer", Times: -1})
			connection := lab.Manage(t, "proxmox_connection")
			connection.Apply(t, declared(nil)).Errors().Single(t, says, "no answer")
			if connection.State != nil {
				t.Errorf("it is there: %v", connection.State)
			}
		})
	}
	for path, condition := range map[string]string{
		"/nodes/pve2/version": "node pve2",
		"/nodes/pve2/time":    "clock pve2",
		"/nodes/pve2/storage": "storage a",
		"/nodes/pve2/network": "network b",
	} {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			lab := newLab(t, pvelab.Options{})
			lab.Spoil(t, pvelab.Fault{Method: http.MethodGet, Path: path, Status: http.StatusInternalServerError, Text: "no answer", Times: -1})
			connection := lab.Manage(t, "proxmox_connection")
			config := declared(protocol.Object{
				"storage_classes": storageClass("local-lvm"), "network_classes": protocol.Object{"b": protocol.Object{"bridge": "vmbr0"}},
			})
			if diagnostics := connection.Apply(t, config); len(diagnostics) != 0 || connection.State["ready"] != true {
				t.Fatal(diagnostics)
			}
			var unknown []string
			for _, each := range connection.State["conditions"].([]any) {
				if found := each.(protocol.Object); found["status"] != "met" {
					unknown = append(unknown, fmt.Sprint(found["type"], " ", found["subject"], " ", found["status"]))
				}
			}
			if !slices.Equal(unknown, []string{condition + " unknown"}) {
				t.Errorf("not met is %v", unknown)
			}
		})
	}
}
