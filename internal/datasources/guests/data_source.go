// Package guests holds the data source proxmox_guests.
package guests

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/datasource"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

type dataSource struct {
	framework.DataSourceBase
}

var _ datasource.DataSourceWithConfigure = (*dataSource)(nil)

// NewDataSource returns the data source proxmox_guests.
func NewDataSource() datasource.DataSource { return &dataSource{} }

// Metadata names the data source.
func (d *dataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_guests"
}

// Schema describes the data source.
func (d *dataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = guestsSchema()
}

// Read lists the guests that are asked for.
func (d *dataSource) Read(ctx context.Context, req datasource.ReadRequest, resp *datasource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.Config.Get(ctx, &state)...)
	client := d.Client(&resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := d.WithReadTimeout(ctx)
	defer cancel()
	if err := state.read(ctx, client); err != nil {
		framework.AddError(&resp.Diagnostics, "list guests", err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// read lists guests. Their configurations are read one by one, and only where
// they are asked for.
func (m *model) read(ctx context.Context, client *proxmox.Client) error {
	listed, err := client.View.Guests(ctx)
	if err != nil {
		return err
	}
	listed = slices.DeleteFunc(slices.Clone(listed), func(r proxmox.Resource) bool { return !m.wants(r) })
	slices.SortFunc(listed, func(a, b proxmox.Resource) int { return a.VMID - b.VMID })
	found := make([]*guest, len(listed))
	if m.Details.ValueBool() || !m.Marked.IsNull() {
		err = readAll(ctx, client, listed, found)
	} else {
		for i, r := range listed {
			found[i] = newGuest(r)
		}
	}
	if err != nil {
		return err
	}
	m.take(found)
	return m.askHA(ctx, client)
}

// askHA adds what HA is asked for, one call for all; a token that may not know
// that leaves it open.
func (m *model) askHA(ctx context.Context, client *proxmox.Client) error {
	if len(m.Guests) == 0 {
		return nil
	}
	ha, err := client.View.HA(ctx)
	if proxmox.IsPermission(err) {
		return nil
	}
	for i := range m.Guests {
		m.Guests[i].wanted(ha.Services)
	}
	return err
}

// take keeps what was found; a guest that went meanwhile is nil.
func (m *model) take(found []*guest) {
	m.Guests = []guest{}
	for _, g := range found {
		if g == nil || !m.Marked.IsNull() && (g.Marked == nil || *g.Marked != m.Marked.ValueBool()) {
			continue
		}
		m.Guests = append(m.Guests, *g)
	}
}

// atOnce is how many configurations are asked for at a time; the client bounds
// its requests besides.
const atOnce = 16

// readAll reads the configurations of guests, a few at a time.
func readAll(ctx context.Context, client *proxmox.Client, listed []proxmox.Resource, found []*guest) error {
	slots := make(chan struct{}, atOnce)
	errs := make([]error, len(listed))
	var wg sync.WaitGroup
	for i, r := range listed {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			found[i], errs[i] = readGuest(ctx, client, r)
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// readGuest reads a guest's configuration. One on a node that does not answer is
// listed without.
func readGuest(ctx context.Context, client *proxmox.Client, r proxmox.Resource) (*guest, error) {
	g := newGuest(r)
	config, err := client.Pending(ctx, proxmox.Kind(r.Type), r.Node, r.VMID)
	switch {
	case proxmox.IsUnavailable(err):
		return g, nil
	case proxmox.IsNotFound(err):
		return nil, nil //nolint:nilnil // The guest went between two calls.
	case err != nil:
		return nil, err
	}
	g.details(config)
	return g, nil
}

// wants applies the filters that need no configuration. Templates are no guests.
func (m *model) wants(r proxmox.Resource) bool {
	kind := kindWord(r)
	return !bool(r.Template) && (m.Kind.IsNull() || m.Kind.ValueString() == kind) &&
		(m.Node.IsNull() || m.Node.ValueString() == r.Node) && (m.Pool.IsNull() || m.Pool.ValueString() == r.Pool) && m.hasTags(r)
}

func (m *model) hasTags(r proxmox.Resource) bool {
	tags := splitTags(r.Tags)
	for _, wanted := range m.Tags {
		if !slices.Contains(tags, wanted) {
			return false
		}
	}
	return true
}

func splitTags(tags string) []string {
	return strings.FieldsFunc(tags, func(r rune) bool { return strings.ContainsRune(";, ", r) })
}
