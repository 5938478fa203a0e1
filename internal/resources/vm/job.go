package vm

import (
	"context"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// job brings a guest to what is planned.
type job struct {
	*guests.Job
	seed seedWork
	// withoutUpgrade is set once the node turned out not to know ciupgrade.
	withoutUpgrade bool
	// writesDrive is whether the last write sets a CD-ROM drive.
	writesDrive bool
	// outdatesImage is set once something of what is in the cloud-init drive's
	// image was written.
	outdatesImage bool
}

// Load reads what the state does not say of the seed.
func (j *job) Load(ctx context.Context, private framework.PrivateReader) {
	j.seed.note = loadSeedNote(ctx, private, j.Diags)
}

// Create clones the guest and finishes it.
func (j *job) Create(ctx context.Context) error {
	template, err := readTemplate(ctx, j.Client, j.Plan.Integer("template"))
	if err != nil {
		return err
	}
	created, err := j.Client.CreateClone(ctx, j.cloneSpec(ctx, template))
	j.Take(created, err)
	if err != nil {
		return err
	}
	return j.Finish(ctx, j)
}

// Update changes the guest, or finishes one that a create did not finish.
func (j *job) Update(ctx context.Context) error {
	if j.First {
		return j.Resume(ctx, j)
	}
	return j.Change(ctx, j)
}

// Updated deletes the seeds that are no longer in use.
func (j *job) Updated(ctx context.Context) { j.dropSeeds(ctx) }

// cloneSpec says what to clone. A description that is not configured is the
// template's, which the marker would replace.
func (j *job) cloneSpec(ctx context.Context, template *proxmox.GuestConfig) proxmox.CloneSpec {
	description := j.Plan.Text("description")
	if settings.IsNull(j.Config.Values["description"]) {
		description = proxmox.SplitDescription(template.Description())
	}
	return proxmox.CloneSpec{
		TemplateNode: template.Node, Template: template.VMID,
		Node: j.Plan.Text("node"), Storage: j.Plan.Text("storage"), Pool: j.Plan.Text("pool"),
		Name: j.Plan.Text("name"), Description: description,
		UID: proxmox.NewUID(), VMID: j.Plan.Integer("vmid"),
		Progress: j.Progress(ctx),
	}
}

// Write places the seed, brings volumes to their size and storage, and writes the
// configuration: in this order, since a disk's size is part of what is written.
func (j *job) Write(ctx context.Context, config *proxmox.GuestConfig) error {
	if err := j.placeSeed(ctx, config); err != nil {
		return err
	}
	if err := j.Grow(ctx, config, j.sizes()); err != nil {
		return err
	}
	if err := j.moveVolumes(ctx, config); err != nil {
		return err
	}
	if err := j.destroyVolumes(ctx); err != nil {
		return err
	}
	return j.write(ctx)
}
