// Package pvelab is a stateful Proxmox VE in one process: the HTTPS API of a
// small cluster with guests, storages, tasks, permissions and faults on demand.
//
// Its behaviour follows PVE's published API schema and recorded exchanges, never
// a client's expectations: nothing here imports the client.
package pvelab

//go:generate go run ./schema/generate

import (
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
)

// Options describe the cluster that New builds.
type Options struct {
	// Version is "9.2" (the default) or "8.4".
	Version string
	// Nodes are the node names; the first one answers at URL. Default pve1 to pve3.
	Nodes []string
	// Standalone leaves out the cluster: one node, no name in /cluster/status.
	Standalone bool
	// Listen is the address of the first node's API. Default 127.0.0.1:0.
	Listen string
	// Speed divides every duration the lab waits: 1 is real time, 100 a hundred
	// times faster. Default 1.
	Speed float64
	// NoTemplates leaves out the VM templates 9000 and 9001.
	NoTemplates bool
	// Empty leaves out all that the default lab is furnished with: storages,
	// templates, files, and the tokens named in Token.
	Empty bool
	// RootPassword is the password of root@pam. Default a random one.
	RootPassword string
}

// Lab is a running or startable cluster. All exported methods may be called
// concurrently.
type Lab struct {
	opts    Options
	schema  *schema
	router  *router
	clock   *clock
	faults  *Faults
	counter *Counters
	recent  requestLog
	server  *server
	// questions are what clients' privileges were asked for.
	questions questions

	// mu guards everything below. Handlers run with it held; task workers take
	// it for each step through locked.
	mu      sync.Mutex
	access  *accessControl
	tasks   *taskStore
	secrets map[string]tokenSecret
	// ticketKey signs tickets.
	ticketKey ticketKey

	qemuState
	firewallState
	haState
	replicationState
	storageState
	clusterState
	accessState
}

// New builds a lab. It fails on an unknown version or node name.
func New(o Options) (*Lab, error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	s, err := loadSchema(o.Version)
	if err != nil {
		return nil, err
	}
	l := &Lab{
		opts:    o,
		schema:  s,
		router:  newRouter(),
		clock:   newClock(o.Speed),
		counter: newCounters(),
		access:  newAccessControl(o.Version),
		tasks:   newTaskStore(),
		secrets: map[string]tokenSecret{},
	}
	if l.ticketKey, err = newTicketKey(); err != nil {
		return nil, err
	}
	l.faults = newFaults(l)
	l.initCluster()
	l.initStorage()
	l.initQemu()
	l.initFirewall()
	l.initHA()
	l.initReplication()
	l.initAccess()
	l.routes()
	if l.server, err = newServer(l); err != nil {
		return nil, err
	}
	l.access.users[rootUser].password = l.opts.RootPassword
	if o.Empty {
		return l, nil
	}
	return l, l.seed()
}

func (o *Options) fill() error {
	if o.Version == "" {
		o.Version = "9.2"
	}
	if !slices.Contains([]string{"9.2", "8.4"}, o.Version) {
		return fmt.Errorf("unknown version %q: the lab plays 9.2 and 8.4", o.Version)
	}
	if o.Standalone && len(o.Nodes) == 0 {
		o.Nodes = []string{"pve1"}
	}
	if len(o.Nodes) == 0 {
		o.Nodes = []string{"pve1", "pve2", "pve3"}
	}
	if o.Standalone && len(o.Nodes) > 1 {
		return fmt.Errorf("a standalone lab has one node, not %d", len(o.Nodes))
	}
	for _, n := range o.Nodes {
		if !nodeNameRE.MatchString(n) {
			return fmt.Errorf("%q is no node name", n)
		}
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.Speed == 0 {
		o.Speed = 1
	}
	if o.RootPassword == "" {
		o.RootPassword = rand.Text()
	}
	if o.Speed < 0 {
		return fmt.Errorf("speed %v is negative", o.Speed)
	}
	return nil
}

// Start opens the listeners: one per node, the first at Options.Listen.
func (l *Lab) Start() error { return l.server.start() }

// Close stops the listeners and every running task, and waits for both.
func (l *Lab) Close() error {
	err := l.server.close()
	l.stopTasks()
	return err
}

// URL is the API endpoint of the first node, without a path.
func (l *Lab) URL() string { return l.server.url(l.opts.Nodes[0]) }

// NodeURL is the API endpoint of a node, without a path; "" for an unknown node.
func (l *Lab) NodeURL(node string) string { return l.server.url(node) }

// CAPEM is the certificate of the authority that signed every node's
// certificate, PEM encoded.
func (l *Lab) CAPEM() []byte { return l.server.ca.pem }

// Fingerprint is the SHA-256 of the first node's certificate, in PVE's form:
// upper-case pairs of hex digits joined by colons.
func (l *Lab) Fingerprint() string { return l.NodeFingerprint(l.opts.Nodes[0]) }

// NodeFingerprint is a node's certificate fingerprint; "" for an unknown node.
func (l *Lab) NodeFingerprint(node string) string { return l.server.fingerprint(node) }

// Token returns the id and secret of a token of the default lab: "full",
// "least" (exactly what the provider needs) or "nothing" (privilege-separated
// without rights). Both are "" for another name.
func (l *Lab) Token(name string) (id, secret string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.secrets[name]
	return t.id, t.secret
}

// RootPassword is the password of root@pam, for tickets.
func (l *Lab) RootPassword() string { return l.opts.RootPassword }

// Nodes are the names of the cluster's nodes.
func (l *Lab) Nodes() []string { return slices.Clone(l.opts.Nodes) }

// Faults is the place to ask for misbehaviour.
func (l *Lab) Faults() *Faults { return l.faults }

// Counters count what was asked of the lab.
func (l *Lab) Counters() *Counters { return l.counter }

// is8 reports whether the lab plays PVE 8.
func (l *Lab) is8() bool { return l.opts.Version == "8.4" }

// locked runs one step of a task worker under the lab's lock.
func (l *Lab) locked(step func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	step()
}
