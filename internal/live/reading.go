package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
)

// block is the provider's: all of it is in the environment.
const block = `
terraform {
  required_providers {
    proxmox = { source = "` + source + `" }
  }
}
`

// declared asks for all that can be read, and for what a VM takes. Applying it
// changes nothing on the node: a proxmox_connection without a pool only looks.
const declared = block + `
data "proxmox_nodes" "all" {}
data "proxmox_node" "here" { name = "%[1]s" }
data "proxmox_template" "source" { vmid = %[2]d }
data "proxmox_guests" "all" {}

resource "proxmox_connection" "here" {
  capabilities  = ["vm.create"]
  templates     = [%[2]d]
  require_ready = false
}

output "nodes"      { value = join(", ", data.proxmox_nodes.all.online) }
output "template"   { value = data.proxmox_template.source.name }
output "guests"     { value = length(data.proxmox_guests.all.guests) }
output "cluster"    { value = coalesce(proxmox_connection.here.identity, "unknown") }
output "ready"      { value = proxmox_connection.here.ready }
output "conditions" { value = proxmox_connection.here.conditions }
`

// reading are the steps that change nothing.
func reading(n *node, w *cli.Workspace) []step {
	var before []byhand.Guest
	outputs := map[string]any{}
	return []step{
		{name: "sign-in", do: func(ctx context.Context) (string, error) {
			var version struct {
				Version string `json:"version"`
			}
			err := n.hand.Call(ctx, http.MethodGet, "/version", nil, &version)
			return "Proxmox VE " + version.Version, err
		}},
		{name: "range", do: func(ctx context.Context) (string, error) {
			var err error
			if before, err = n.hand.Guests(ctx); err != nil {
				return "", err
			}
			held, err := n.inRange(ctx)
			return fmt.Sprintf("%d of %d ids are in use", len(held), n.last-n.first+1), err
		}},
		{name: "data sources", do: func(ctx context.Context) (string, error) {
			if err := w.Write(fmt.Sprintf(declared, n.name, n.template)); err != nil {
				return "", err
			}
			if _, err := w.Apply(ctx); err != nil {
				return "", err
			}
			state, err := w.State(ctx)
			for name, output := range state.Values.Outputs {
				outputs[name] = output.Value
			}
			return fmt.Sprintf("nodes %v, template %v, %v guests", outputs["nodes"], outputs["template"], outputs["guests"]), err
		}},
		{name: "what a VM takes", do: func(context.Context) (string, error) {
			if outputs["ready"] != true {
				return "", fmt.Errorf("the token or the cluster is not ready: %s", problems(outputs["conditions"]))
			}
			return fmt.Sprintf("all there, cluster %v", outputs["cluster"]), nil
		}},
		{name: "nothing was changed", do: func(ctx context.Context) (string, error) {
			after, err := n.hand.Guests(ctx)
			if err != nil {
				return "", err
			}
			if !slices.Equal(sorted(before), sorted(after)) {
				return "", fmt.Errorf("the guests are not what they were before: others work on the cluster, too?")
			}
			return fmt.Sprintf("the same %d guests", len(after)), nil
		}},
	}
}

// problems prints the conditions that do not hold.
func problems(conditions any) string {
	var texts []string
	list, _ := conditions.([]any)
	for _, each := range list {
		if condition, _ := each.(map[string]any); condition["status"] != "met" {
			texts = append(texts, fmt.Sprintf("%v %v: %v", condition["type"], condition["subject"], condition["reason"]))
		}
	}
	return strings.Join(texts, "; ")
}

func sorted(guests []byhand.Guest) []byhand.Guest {
	return slices.SortedFunc(slices.Values(guests), func(a, b byhand.Guest) int { return a.VMID - b.VMID })
}
