package seediso

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/seeds"
	"terraform-provider-proxmox/internal/proxmox"
)

// ImportState takes over an image by its volume id, with the node before it
// where several nodes have a storage of that name: "pve1/seeds:iso/….iso".
// What is in the image cannot be read, but its name holds its digest: an
// unchanged configuration uploads nothing.
func (r *Resource) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	client := r.Client(&resp.Diagnostics)
	if client == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.Data.Timeouts.Read)
	defer cancel()
	node, volid := splitID(req.ID)
	if req.ID == "" {
		node = framework.IdentityText(ctx, req.Identity, "node", &resp.Diagnostics)
		volid = framework.IdentityText(ctx, req.Identity, "volume_id", &resp.Diagnostics)
	}
	found, err := r.find(ctx, client, node, volid)
	if err != nil {
		framework.AddError(&resp.Diagnostics, fmt.Sprintf("import %q", volid), err)
		return
	}
	framework.SetIdentity(ctx, resp.Identity, image{found.node, found.name.String()}.identity(), &resp.Diagnostics)
	for name, value := range map[string]any{
		"node": found.node, "storage": found.name.Storage, "uid": found.name.UID, "sha256": found.name.SHA256,
		"volume_id": found.name.String(), "size": types.Int64Value(found.size),
	} {
		resp.Diagnostics.Append(resp.State.SetAttribute(ctx, path.Root(name), value)...)
	}
}

type found struct {
	node string
	name seeds.Name
	size int64
}

// splitID takes the node off an import's id, "" where there is none.
func splitID(id string) (node, volid string) {
	node, volid, named := strings.Cut(id, "/")
	if !named || strings.Contains(node, ":") {
		return "", id
	}
	return node, volid
}

func (r *Resource) find(ctx context.Context, client *proxmox.Client, node, volid string) (found, error) {
	name, ok := seeds.ParseName(volid)
	if !ok {
		return found{}, errors.New("it is no seed of this provider's: give the volume id, such as seeds:iso/<uid>-<sha256>.iso, or node/volume id")
	}
	nodes, err := r.candidates(ctx, client, node)
	if err != nil {
		return found{}, err
	}
	var problems []error
	for _, node := range nodes {
		size, err := seeds.Size(ctx, client, node, volid)
		if err == nil && size > 0 {
			return found{node, name, size}, nil
		}
		problems = append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return found{}, err
	}
	return found{}, fmt.Errorf("there is no such image on %s", strings.Join(nodes, ", "))
}

// candidates are the nodes to look on: the default one first.
func (r *Resource) candidates(ctx context.Context, client *proxmox.Client, node string) ([]string, error) {
	if node != "" {
		return []string{node}, nil
	}
	nodes, err := client.View.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	var online []string
	for _, each := range nodes {
		if each.Online() {
			online = append(online, each.Node)
		}
	}
	slices.Sort(online)
	if i := slices.Index(online, r.Data.Defaults.Node); i > 0 {
		online = slices.Insert(slices.Delete(online, i, i+1), 0, r.Data.Defaults.Node)
	}
	return online, nil
}
