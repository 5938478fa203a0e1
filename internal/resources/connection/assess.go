package connection

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

const (
	// maxSkew is the difference between clocks from which on PVE refuses tickets
	// of another node.
	maxSkew = 5 * time.Minute
	// skewStep is how precisely a difference is told: less would change with each
	// look.
	skewStep = 10 * time.Second
)

// assessment is one look at a cluster, against what is declared.
type assessment struct {
	client *proxmox.Client
	bounds proxmox.VMIDRange
	diags  *diag.Diagnostics

	cluster      string
	pool         string
	capabilities []string
	storages     map[string]storageClass
	networks     map[string]networkClass
	templates    []int

	held proxmox.Permissions
	// vnets are the declared bridges that are VNets: they lie in a zone of their
	// own, which the lists of nodes do not tell.
	vnets map[string]bool

	identity, answering string
	version             proxmox.Version
	nodes               map[string]nodeModel
	online              []string
	privileges          map[string]privilegeModel
	conditions          []condition
}

func newAssessment(ctx context.Context, client *proxmox.Client, bounds proxmox.VMIDRange, m *model, diags *diag.Diagnostics) *assessment {
	a := &assessment{
		client: client, bounds: bounds, diags: diags, cluster: m.Cluster.ValueString(), pool: m.Pool.ValueString(),
		vnets: map[string]bool{}, nodes: map[string]nodeModel{}, privileges: map[string]privilegeModel{}, online: []string{},
	}
	diags.Append(m.Capabilities.ElementsAs(ctx, &a.capabilities, false)...)
	diags.Append(m.StorageClasses.ElementsAs(ctx, &a.storages, false)...)
	diags.Append(m.NetworkClasses.ElementsAs(ctx, &a.networks, false)...)
	diags.Append(m.Templates.ElementsAs(ctx, &a.templates, false)...)
	slices.Sort(a.capabilities)
	slices.Sort(a.templates)
	return a
}

// value reports the diagnostics of a conversion to the assessment's.
func value[T any](converted T, problems diag.Diagnostics) func(*assessment) T {
	return func(a *assessment) T {
		a.diags.Append(problems...)
		return converted
	}
}

func (a *assessment) add(kind, subject, status, format string, args ...any) {
	a.conditions = append(a.conditions, condition{Type: kind, Subject: subject, Status: status, Reason: fmt.Sprintf(format, args...)})
}

// met adds a condition that is met.
func (a *assessment) met(kind, subject string) { a.add(kind, subject, met, "") }

// identify finds out which cluster answers. Another one than was declared or
// known is an error, before anything else is asked.
func (a *assessment) identify(ctx context.Context, known string) bool {
	status, err := a.client.Cluster.Status(ctx)
	if proxmox.IsPermission(err) {
		return a.unidentified(known)
	}
	if err != nil {
		framework.AddError(a.diags, "find out which cluster answers", err)
		return false
	}
	a.identity = status.Identity()
	for _, node := range status.Nodes {
		if node.Local {
			a.answering = node.Name
		}
	}
	switch {
	case a.cluster != "" && !status.Is(a.cluster):
		a.diags.AddAttributeError(path.Root("cluster"), "Another cluster answers",
			fmt.Sprintf("Declared is %q, but behind the endpoint is %s. Nothing was done. Correct the provider's endpoint, or cluster.", a.cluster, clusterOf(status)))
		return false
	case known != "" && !status.Is(known):
		a.diags.AddError("Another cluster answers",
			fmt.Sprintf("This connection was made to %q, but behind the endpoint is %s. Nothing was done. Correct the provider's endpoint; "+
				"if the cluster was really exchanged, remove the connection from the state (`terraform state rm`).", known, clusterOf(status)))
		return false
	case known != "" && known != a.identity:
		a.diags.AddWarning("The node has joined a cluster",
			fmt.Sprintf("It was %s, and is now part of %s. It is taken for the same.", known, clusterOf(status)))
	}
	a.met("cluster", a.identity)
	if status.Quorate {
		a.met("quorum", a.identity)
	} else {
		a.add("quorum", a.identity, unmet, "the cluster is not quorate, so that nothing in it can be changed")
	}
	return true
}

// unidentified goes on with a cluster that the token may not identify, unless
// it has to be a certain one.
func (a *assessment) unidentified(known string) bool {
	const needed = "to tell which cluster answers takes Sys.Audit on /, which need not propagate"
	if a.cluster != "" {
		a.add("cluster", a.cluster, unmet, needed)
		return true
	}
	a.identity = known
	a.add("cluster", known, unknown, needed)
	return true
}

// makePool makes the pool where it is not.
func (a *assessment) makePool(ctx context.Context, pool string) {
	if a.lookForPool(ctx, pool) {
		return
	}
	err := a.client.Pools.Create(ctx, pool, "Guests and reserved guest ids of Terraform")
	a.conditions = slices.DeleteFunc(a.conditions, func(c condition) bool { return c.Type == "pool" })
	switch {
	// One that is there after all is the one that is wanted.
	case err == nil, proxmox.IsExists(err):
		a.met("pool", pool)
	case proxmox.IsPermission(err):
		a.add("pool", pool, unmet, "it is not there, or not to be seen, and to make it takes Pool.Allocate on /pool/%s", pool)
	default:
		framework.AddAttributeError(a.diags, path.Root("pool"), fmt.Sprintf("create the pool %q", pool), err)
	}
}

// lookForPool reports whether the pool is there.
func (a *assessment) lookForPool(ctx context.Context, pool string) bool {
	pools, err := a.client.Pools.List(ctx)
	if err != nil {
		framework.AddAttributeError(a.diags, path.Root("pool"), "list the pools", err)
		return false
	}
	if slices.ContainsFunc(pools, func(p proxmox.Pool) bool { return p.ID == pool }) {
		a.met("pool", pool)
		return true
	}
	a.add("pool", pool, unmet, "it is not there, or Pool.Audit on /pool/%s is missing to see it", pool)
	return false
}

// examine looks at everything but the identity and the pool.
func (a *assessment) examine(ctx context.Context) {
	if a.diags.HasError() {
		return
	}
	var err error
	if a.version, err = a.client.Cluster.Version(ctx); err != nil {
		framework.AddError(a.diags, "read the version of Proxmox VE", err)
		return
	}
	if a.held, err = a.client.Access.Permissions(ctx, ""); err != nil {
		framework.AddError(a.diags, "read the token's privileges", err)
		return
	}
	if a.version.AtLeast(8, 4) {
		a.met("version", a.version.String())
	} else {
		a.add("version", a.version.String(), unmet, "the provider needs Proxmox VE 8.4 or 9")
	}
	a.examineNodes(ctx)
	a.examineStorages(ctx)
	a.examineNetworks(ctx)
	a.examineCapabilities()
	a.examineTemplates(ctx)
}

// examineNodes looks at the nodes and their clocks.
func (a *assessment) examineNodes(ctx context.Context) {
	nodes, err := a.client.Nodes.List(ctx)
	if err != nil {
		framework.AddError(a.diags, "list the cluster's nodes", err)
		return
	}
	for _, node := range nodes {
		found := nodeModel{Online: types.BoolValue(node.Online())}
		if node.Online() {
			a.online = append(a.online, node.Node)
			a.examineNode(ctx, node.Node, &found)
		} else {
			a.add("node", node.Node, unknown, "it is %s, so that its storages and bridges were not looked at", node.Status)
		}
		a.nodes[node.Node] = found
	}
	slices.Sort(a.online)
}

func (a *assessment) examineNode(ctx context.Context, node string, found *nodeModel) {
	version, err := a.client.Nodes.Version(ctx, node)
	if err != nil {
		a.add("node", node, unknown, "it does not answer: %v", err)
		return
	}
	found.Version = types.StringValue(version.String())
	a.met("node", node)
	asked := time.Now()
	clock, err := a.client.Nodes.Time(ctx, node)
	switch {
	case proxmox.IsPermission(err):
		a.add("clock", node, unknown, "to read it takes Sys.Audit on /nodes/%s", node)
	case err != nil:
		a.add("clock", node, unknown, "it cannot be read: %v", err)
	default:
		// PVE tells whole seconds; the answer was made on the way back.
		skew := clock.Sub(asked.Add(time.Since(asked) / 2)).Truncate(skewStep)
		found.ClockSkew = types.Int64Value(int64(skew / time.Second))
		a.judgeClock(node, skew)
	}
}

func (a *assessment) judgeClock(node string, skew time.Duration) {
	if skew.Abs() < maxSkew {
		a.met("clock", node)
		return
	}
	direction := "ahead of"
	if skew < 0 {
		direction = "behind"
	}
	a.add("clock", node, unmet, "it is %s %s this machine's: certificates and tickets are judged by it", skew.Abs(), direction)
}

// examineCapabilities holds the token's privileges against what is wanted.
func (a *assessment) examineCapabilities() {
	for _, name := range a.capabilities {
		capability, _ := proxmox.CapabilityOf(name)
		proof, lacks := a.held.Check(capability, a.scope(), a.version)
		found := privilegeModel{State: proof.String(), Missing: []string{}, Inferred: []string{}}
		for _, lack := range lacks {
			if lack.Proof == proxmox.Missing {
				found.Missing = append(found.Missing, lack.String())
			} else {
				found.Inferred = append(found.Inferred, lack.String())
			}
		}
		a.privileges[name] = found
		a.judgeCapability(name, found)
	}
}

// scope are the declared objects.
func (a *assessment) scope() proxmox.Scope {
	scope := proxmox.Scope{"node": a.online}
	if a.pool != "" {
		scope["pool"] = []string{a.pool}
	}
	for _, vmid := range a.templates {
		scope["template"] = append(scope["template"], fmt.Sprint(vmid))
	}
	for _, name := range slices.Sorted(maps.Keys(a.networks)) {
		if bridge := a.networks[name].Bridge; !a.vnets[bridge] {
			scope["bridge"] = append(scope["bridge"], bridge)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a.storages)) {
		scope["storage"] = append(scope["storage"], a.storages[name].Storage)
		for _, content := range a.storages[name].Content {
			scope[content] = append(scope[content], a.storages[name].Storage)
		}
	}
	return scope
}
