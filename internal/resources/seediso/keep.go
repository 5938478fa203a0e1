package seediso

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/seeds"
	"terraform-provider-proxmox/internal/proxmox"
	"terraform-provider-proxmox/internal/seed"
)

// compose makes the image that is configured and completes the plan with what
// is known of it then.
func compose(config model, plan *model) (*seed.Image, seeds.Name, error) {
	made, id, err := config.Image(seeds.Context{})
	if err != nil {
		return nil, seeds.Name{}, err
	}
	digest, err := made.SHA256()
	if err != nil {
		return nil, seeds.Name{}, err
	}
	if plan.UID.IsUnknown() {
		plan.UID = types.StringValue(proxmox.NewUID())
	}
	name := seeds.Name{Storage: plan.Storage.ValueString(), UID: plan.UID.ValueString(), SHA256: digest}
	plan.Settle(name, id, made.Size())
	return made, name, nil
}

// keeper uploads and deletes images.
type keeper struct {
	client *proxmox.Client
	diags  *diag.Diagnostics
}

// replace uploads the image that is configured and returns the images that are
// outdated then.
func (k keeper) replace(ctx context.Context, config, state model, plan *model, outdated []image) []image {
	made, name, err := compose(config, plan)
	if err != nil {
		k.diags.AddError("The seed cannot be made", err.Error())
		return outdated
	}
	fresh := image{plan.Node.ValueString(), name.String()}
	if _, err := seeds.Put(ctx, k.client, fresh.Node, name, made); err != nil {
		framework.AddError(k.diags, "upload the seed "+fresh.VolID, err)
		if !proxmox.IsStoreRefused(err) {
			outdated = append(outdated, fresh)
		}
		return outdated
	}
	if held, there := state.current(); there {
		outdated = append(outdated, held)
	}
	return slices.DeleteFunc(outdated, func(each image) bool { return each == fresh })
}

// collect deletes the outdated images that no VM names any more, and returns
// the others.
func (k keeper) collect(ctx context.Context, outdated []image) []image {
	return slices.DeleteFunc(outdated, func(each image) bool {
		users, err := k.users(ctx, each)
		if err == nil && len(users) == 0 {
			err = k.client.Storage.Delete(ctx, each.Node, each.VolID)
		}
		framework.AddWarning(k.diags, "delete the outdated seed "+each.VolID, err)
		return err == nil && len(users) == 0
	})
}

// remove deletes an image. VMs that were made here and hold it still have it
// taken out of their drives first; any other VM that holds it stops the
// deletion.
func (k keeper) remove(ctx context.Context, held image) {
	action := "delete the seed " + held.VolID
	users, err := k.users(ctx, held)
	if err != nil {
		framework.AddError(k.diags, action, err)
		return
	}
	for _, user := range users {
		if user.UID == "" {
			continue
		}
		if err := k.client.Eject(ctx, user, held.VolID); err != nil {
			framework.AddError(k.diags, fmt.Sprintf("take the seed %s out of %s", held.VolID, user), err)
			return
		}
	}
	if len(users) > 0 {
		users, err = k.users(ctx, held)
	}
	switch {
	case err != nil:
	case len(users) > 0:
		seeds.AddInUse(k.diags, held.VolID, users)
		return
	default:
		err = k.client.Storage.Delete(ctx, held.Node, held.VolID)
	}
	framework.AddError(k.diags, action, err)
}

// strays are images of the resource that no state knows: of an update that was killed
// before its upload was written into one. Their names have the resource's own uid.
func (k keeper) strays(ctx context.Context, state model, known []image) []image {
	node := state.Node.ValueString()
	images, err := k.client.Storage.Content(ctx, node, state.Storage.ValueString(), "iso")
	if err != nil && !proxmox.IsNoStorage(err) {
		framework.AddWarning(k.diags, "look for images that an interrupted run left", err)
	}
	var strays []image
	for _, each := range images {
		found, ok := seeds.ParseName(each.VolID)
		stray := image{node, each.VolID}
		if ok && found.UID == state.UID.ValueString() && !slices.Contains(known, stray) {
			strays = append(strays, stray)
		}
	}
	return strays
}

func (k keeper) users(ctx context.Context, held image) ([]proxmox.VolumeUser, error) {
	return seeds.Users(ctx, k.client, held.Node, held.VolID)
}
