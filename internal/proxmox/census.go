package proxmox

import (
	"context"
	"maps"
	"slices"
	"strings"
)

// census is what the cluster's own list tells: who is there, which ids are
// reserved, and which storages can be used where.
type census struct {
	guests []Resource
	// places are where guests are in the list, by vmid.
	places   map[int]int
	reserved []int
	// storages are the kinds of content of those that their nodes reach.
	storages map[nodeStorage]string
}

// nodeStorage is a storage as one node has it.
type nodeStorage struct{ node, storage string }

// storageAvailable is the status of a storage of which its node told the cluster
// in the last five minutes: pvestatd tells of active ones only.
const storageAvailable = "available"

// census lists what the token may see, and the ledger's entries: PVE lists pools
// only where no kind is asked for.
func (c *Client) census(ctx context.Context) (census, error) {
	resources, err := c.Cluster.Resources(ctx, "")
	if err != nil {
		return census{}, err
	}
	found, online := census{places: make(map[int]int, len(resources)), storages: map[nodeStorage]string{}}, map[string]bool{}
	for _, r := range resources {
		switch r.Type {
		case "pool":
			if vmid, ok := c.IDs.ledger.idOf(r.Pool); ok {
				found.reserved = append(found.reserved, vmid)
			}
		case "node":
			online[r.Node] = r.Status == nodeOnline
		case "storage":
			if r.Status == storageAvailable {
				found.storages[nodeStorage{r.Node, r.Storage}] = r.Content
			}
		case string(KindVM), string(KindContainer):
			found.places[r.VMID] = len(found.guests)
			found.guests = append(found.guests, r)
		}
	}
	maps.DeleteFunc(found.storages, func(at nodeStorage, _ string) bool { return !online[at.node] })
	slices.Sort(found.reserved)
	return found, nil
}

// Offers reports whether the cluster's list says that a node reaches a storage,
// enabled there and open to a kind of content. That may be five minutes old; no
// means that only the node itself can tell, by [View.Storages].
func (v *View) Offers(ctx context.Context, node, storage, content string) bool {
	found, err := v.census(ctx)
	contents, available := found.storages[nodeStorage{node, storage}]
	return err == nil && available && slices.Contains(strings.Split(contents, ","), content)
}
