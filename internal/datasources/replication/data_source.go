// Package replication holds the data source proxmox_replication.
package replication

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

type dataSource struct {
	framework.DataSourceBase
}

var _ datasource.DataSourceWithConfigure = (*dataSource)(nil)

// NewDataSource returns the data source proxmox_replication.
func NewDataSource() datasource.DataSource { return &dataSource{} }

// Metadata names the data source.
func (d *dataSource) Metadata(_ context.Context, req datasource.MetadataRequest, resp *datasource.MetadataResponse) {
	resp.TypeName = req.ProviderTypeName + "_replication"
}

// Schema describes the data source.
func (d *dataSource) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = replicationSchema()
}

// Read reads the jobs and judges them.
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
		framework.AddError(&resp.Diagnostics, "read replication jobs", err)
		return
	}
	resp.Diagnostics.Append(resp.State.Set(ctx, &state)...)
}

// read lists the jobs that are asked for, each with the state that its node keeps.
func (m *model) read(ctx context.Context, client *proxmox.Client) error {
	configured, err := client.View.ReplicationJobs(ctx)
	if err != nil {
		return err
	}
	maxLag, _ := time.ParseDuration(m.MaxLag.ValueString())
	nodes := map[string]*nodeJobs{}
	ready := true
	m.Jobs = []job{}
	for _, c := range configured {
		if !m.wants(c) {
			continue
		}
		node := c.Source
		if guest, listed, err := client.View.Guest(ctx, int(c.Guest)); err == nil && listed {
			node = guest.Node
		}
		if nodes[node] == nil {
			if nodes[node], err = readNode(ctx, client, node); err != nil {
				return err
			}
		}
		one := nodes[node].judge(c, maxLag)
		ready = ready && one.Ready
		m.Jobs = append(m.Jobs, one)
	}
	m.Ready = types.BoolValue(ready && len(m.Jobs) > 0)
	return nil
}

func (m *model) wants(j proxmox.ReplicationJob) bool {
	return (m.VMID.IsNull() || m.VMID.ValueInt64() == int64(j.Guest)) && (m.Job.IsNull() || m.Job.ValueString() == j.ID)
}

// nodeJobs are the states of a node's jobs with its clock, or why they cannot be
// had.
type nodeJobs struct {
	name    string
	now     time.Time
	states  map[string]proxmox.ReplicationJob
	problem error
}

func readNode(ctx context.Context, client *proxmox.Client, node string) (*nodeJobs, error) {
	n := &nodeJobs{name: node, states: map[string]proxmox.ReplicationJob{}}
	jobs, err := client.Replication.OnNode(ctx, node, 0)
	if err == nil {
		n.now, err = client.Replication.Now(ctx, node)
	}
	if proxmox.IsUnavailable(err) {
		n.problem = err
		return n, nil
	}
	for _, j := range jobs {
		n.states[j.ID] = j
	}
	return n, err
}

// judge says whether a job's replica can be relied on. Without the state of a
// job it cannot.
func (n *nodeJobs) judge(configured proxmox.ReplicationJob, maxLag time.Duration) job {
	state, known := n.states[configured.ID]
	switch {
	case n.problem != nil:
		return newJob(configured, nil, fmt.Sprintf("node %s, which keeps the state of job %s, cannot be reached", n.name, configured.ID))
	case !known:
		return newJob(configured, nil, fmt.Sprintf("node %s keeps no state of job %s", n.name, configured.ID))
	}
	var lag *int64
	if age, ok := state.Lag(n.now); ok {
		seconds := int64(age / time.Second)
		lag = &seconds
	}
	return newJob(state, lag, state.Problems(n.now, maxLag)...)
}
