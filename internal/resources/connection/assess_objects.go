package connection

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// judgeCapability says what is missing, or that nothing is granted at all.
func (a *assessment) judgeCapability(name string, found privilegeModel) {
	switch {
	case len(found.Missing) == 0 && len(found.Inferred) == 0:
		a.met("capability", name)
	case len(found.Missing) == 0:
		a.add("capability", name, met, "held on some objects: %s", strings.Join(found.Inferred, ", "))
	case a.held.Empty():
		a.add("capability", name, unmet, "the token holds no privileges at all. %s", framework.Separation)
	default:
		a.add("capability", name, unmet, "missing: %s", strings.Join(found.Missing, ", "))
	}
}

// examineStorages looks at each declared storage on every node that is online.
func (a *assessment) examineStorages(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(a.storages)) {
		verdict := newVerdict()
		for _, node := range a.online {
			list, err := a.client.View.Storages(ctx, node)
			if err != nil {
				verdict.unknown(node, "does not answer")
				continue
			}
			a.judgeStorage(ctx, verdict, node, list, a.storages[name])
		}
		verdict.conclude(a, "storage", name)
	}
}

func (a *assessment) judgeStorage(ctx context.Context, v *verdict, node string, list []proxmox.NodeStorage, class storageClass) {
	i := slices.IndexFunc(list, func(s proxmox.NodeStorage) bool { return s.Storage == class.Storage })
	if i < 0 {
		if a.seesStorage(class.Storage) {
			v.unmet(node, fmt.Sprintf("there is no storage %q", class.Storage))
		} else {
			v.unknown(node, fmt.Sprintf("storage %q is not there, or the token may not see it: Datastore.Audit on /storage/%s would tell", class.Storage, class.Storage))
		}
		return
	}
	switch s := list[i]; {
	case !bool(s.Enabled):
		v.unmet(node, fmt.Sprintf("storage %q is %s", class.Storage, framework.WhyNotEnabled(ctx, a.client, class.Storage)))
	case !bool(s.Active):
		v.unmet(node, fmt.Sprintf("storage %q is not active", class.Storage))
	default:
		for _, content := range class.Content {
			if !s.Allows(content) {
				v.unmet(node, fmt.Sprintf("storage %q does not allow %s, only %s", class.Storage, content, strings.Join(s.Content, ", ")))
			}
		}
	}
}

func (a *assessment) seesStorage(storage string) bool {
	return a.holdsAny("/storage/"+storage, "Datastore.Audit", "Datastore.AllocateSpace")
}

// holdsAny reports whether one of the privileges is held on a path.
func (a *assessment) holdsAny(path string, privileges ...string) bool {
	return slices.ContainsFunc(privileges, func(privilege string) bool {
		proof, _ := a.held.CheckNeeds([]proxmox.Need{{Path: path, Privilege: privilege}}, nil, a.version)
		return proof == proxmox.Proven
	})
}

// examineNetworks looks for each declared bridge on every node that is online.
func (a *assessment) examineNetworks(ctx context.Context) {
	for _, name := range slices.Sorted(maps.Keys(a.networks)) {
		bridge := a.networks[name].Bridge
		verdict := newVerdict()
		for _, node := range a.online {
			list, err := a.client.View.Bridges(ctx, node)
			if err != nil {
				verdict.unknown(node, "does not answer")
				continue
			}
			i := slices.IndexFunc(list, func(each proxmox.Interface) bool { return each.Name == bridge })
			switch {
			case i < 0 && a.holdsAny("/sdn/zones/localnetwork/"+bridge, "SDN.Use", "SDN.Audit"):
				verdict.unmet(node, fmt.Sprintf("there is no bridge %q", bridge))
			case i < 0:
				verdict.unknown(node, fmt.Sprintf("bridge %q is not there, or the token may not see it: SDN.Use on /sdn/zones/localnetwork/%s would tell", bridge, bridge))
			case list[i].Type == "vnet":
				a.vnets[bridge] = true
			case !list[i].Active:
				verdict.unmet(node, fmt.Sprintf("bridge %q is not active", bridge))
			}
		}
		verdict.conclude(a, "network", name)
	}
}

// examineTemplates looks whether each declared id is a template.
func (a *assessment) examineTemplates(ctx context.Context) {
	if len(a.templates) == 0 {
		return
	}
	guests, err := a.client.Cluster.Resources(ctx, "vm")
	if err != nil {
		framework.AddError(a.diags, "list the cluster's guests", err)
		return
	}
	for _, vmid := range a.templates {
		status, reason := a.judgeTemplate(ctx, vmid, guests)
		a.add("template", fmt.Sprint(vmid), status, "%s", reason)
	}
}

func (a *assessment) judgeTemplate(ctx context.Context, vmid int, guests []proxmox.Resource) (status, reason string) {
	if a.bounds.Contains(vmid) {
		return unmet, fmt.Sprintf("it lies inside the vmid_range %s, whose guests are made and destroyed here", a.bounds)
	}
	i := slices.IndexFunc(guests, func(g proxmox.Resource) bool { return g.VMID == vmid })
	if i < 0 {
		free, err := a.client.Cluster.VMIDFree(ctx, vmid)
		switch {
		case err != nil:
			return unknown, err.Error()
		case free:
			return unmet, "there is no such guest"
		default:
			return unknown, fmt.Sprintf("the token may not see it: VM.Audit on /vms/%d would tell", vmid)
		}
	}
	switch guest := guests[i]; {
	case guest.Type != string(proxmox.KindVM):
		return unmet, fmt.Sprintf("%q is a container", guest.Name)
	case !bool(guest.Template):
		return unmet, fmt.Sprintf("%q is a VM and no template: convert it with `qm template %d`", guest.Name, vmid)
	}
	return met, ""
}

// verdict is what was found about one class, by reason, on which nodes.
type verdict struct{ failures, doubts map[string][]string }

func newVerdict() *verdict {
	return &verdict{failures: map[string][]string{}, doubts: map[string][]string{}}
}

func (v *verdict) unmet(node, reason string) { v.failures[reason] = append(v.failures[reason], node) }

func (v *verdict) unknown(node, reason string) { v.doubts[reason] = append(v.doubts[reason], node) }

// conclude adds the class's condition.
func (v *verdict) conclude(a *assessment, kind, name string) {
	switch {
	case len(v.failures) > 0:
		a.add(kind, name, unmet, "%s", byNode(v.failures))
	case len(v.doubts) > 0:
		a.add(kind, name, unknown, "%s", byNode(v.doubts))
	default:
		a.met(kind, name)
	}
}

// byNode tells reasons with their nodes.
func byNode(reasons map[string][]string) string {
	var parts []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		parts = append(parts, strings.Join(reasons[reason], ", ")+": "+reason)
	}
	return strings.Join(parts, "; ")
}
