package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"terraform-provider-proxmox/internal/proxmox"
)

// storageClones is how many heavy tasks the client runs on a storage at once.
const storageClones = 2

// clones asks for many clones on one storage at the same time, as fifty resources
// would. Beside it is that storage's own time: the same clones, as many at once as
// it is given, each begun when the one before has ended.
func (b *bench) clones(ctx context.Context, number int) error {
	client, err := b.client()
	if err != nil {
		return err
	}
	spent, err := b.cost(func() error {
		return atOnce(ctx, number, number, func(ctx context.Context, i int) error {
			_, err := client.CreateClone(ctx, proxmox.CloneSpec{
				TemplateNode: node, Template: template, Storage: storage, Name: fmt.Sprint("clone-", i), UID: proxmox.NewUID(),
			})
			return err
		})
	})
	if err != nil {
		return err
	}
	bare := b.bare()
	bare.poll = 10 * time.Millisecond
	own, err := b.cost(func() error {
		return atOnce(ctx, storageClones, number, func(ctx context.Context, i int) error {
			clone := url.Values{"newid": {fmt.Sprint(bareID + i)}, "full": {"1"}, "storage": {storage}}
			return bare.task(ctx, http.MethodPost, fmt.Sprintf("/nodes/%s/qemu/%d/clone", node, template), clone)
		})
	})
	if err != nil {
		return err
	}
	row{
		what: "clones_at_once", unit: "clone", n: number, by: byClient, ours: spent, floor: &own,
		extra: fmt.Sprintf("at_once_on_storage=%d lab_speed=%d", storageClones, slow),
	}.print()
	return nil
}
