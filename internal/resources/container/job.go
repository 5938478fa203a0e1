package container

import (
	"context"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/guests"
	"terraform-provider-proxmox/internal/framework/settings"
	"terraform-provider-proxmox/internal/proxmox"
)

// job brings a container to what is planned.
type job struct{ *guests.Job }

// Load reads nothing.
func (j *job) Load(context.Context, framework.PrivateReader) {}

// Create makes the container and finishes it.
func (j *job) Create(ctx context.Context) error {
	spec, err := j.containerSpec(ctx)
	if err != nil {
		return err
	}
	spec.UID, spec.VMID = proxmox.NewUID(), j.Plan.Integer("vmid")
	created, err := j.Client.CreateContainer(ctx, spec)
	j.Take(created, err)
	if err != nil {
		return err
	}
	return j.Finish(ctx, j)
}

// Update changes the container, reinstalls it, or finishes what an earlier run did
// not finish.
func (j *job) Update(ctx context.Context) error {
	switch {
	case j.First:
		return j.resume(ctx)
	case !j.Plan.Values["reinstallation"].Equal(j.State.Values["reinstallation"]), j.sourceChanges():
		return j.reinstall(ctx)
	}
	return j.Change(ctx, j)
}

// resume finishes a container that an earlier run did not finish: its creation, or
// its reinstallation.
func (j *job) resume(ctx context.Context) error {
	holders, err := j.Client.Holders(ctx, j.Guest)
	if err != nil {
		return err
	}
	if len(holders) > 0 || j.sourceChanges() {
		return j.reinstall(ctx)
	}
	return j.Resume(ctx, j)
}

// sourceChanges reports whether the plan is about another template or trigger.
func (j *job) sourceChanges() bool {
	if settings.IsNull(j.Plan.Values["reinstall"]) || j.State.Text("template") == "" {
		return false
	}
	had := settings.Fields(j.State.Values["reinstall"])["trigger"]
	want := settings.Fields(j.Plan.Values["reinstall"])["trigger"]
	triggered := settings.IsKnown(had) && settings.IsKnown(want) && !had.Equal(want)
	return triggered || !j.Plan.Values["template"].Equal(j.State.Values["template"])
}

// containerSpec says what to make.
func (j *job) containerSpec(ctx context.Context) (proxmox.ContainerSpec, error) {
	node := j.Plan.Text("node")
	if node == "" {
		return proxmox.ContainerSpec{}, errNoNode
	}
	values, err := j.firstSettings()
	if err != nil {
		return proxmox.ContainerSpec{}, err
	}
	delete(values, "hostname")
	delete(values, "description")
	return proxmox.ContainerSpec{
		Node: node, Template: j.Plan.Text("template"), Settings: values, Pool: j.Plan.Text("pool"),
		Name: j.Plan.Text("hostname"), Description: j.Plan.Text("description"), Source: sourceOf(j.Plan),
		Password: settings.TextOf(j.Config.Values["password_wo"]), SSHKeys: j.Plan.List("ssh_keys"),
		Privileged: !settings.IsTrue(j.Plan.Values["unprivileged"]), Progress: j.Progress(ctx),
	}, nil
}

// Leave does nothing.
func (j *job) Leave(context.Context) error { return nil }

// Write grows the volumes and writes the configuration: in this order, since a
// volume's size is part of what is written.
func (j *job) Write(ctx context.Context, config *proxmox.GuestConfig) error {
	if err := j.Grow(ctx, config, wantedSizes(j.Config)); err != nil {
		return err
	}
	if err := j.Configure(ctx, j.update); err != nil {
		return err
	}
	return j.destroyVolumes(ctx)
}

// Written does nothing.
func (j *job) Written(context.Context) error { return nil }

// Wait waits for nothing.
func (j *job) Wait(context.Context) error { return nil }

// Waited is false: a container that has just been started has leased no address yet.
func (j *job) Waited() bool { return false }

// Updated has nothing to clean up.
func (j *job) Updated(context.Context) {}

// Save has nothing of its own.
func (j *job) Save(context.Context, settings.Document) {}

// SavePrivate has nothing of its own.
func (j *job) SavePrivate(context.Context, framework.PrivateWriter) {}
