package pvelab

// clusterState is what the endpoints of cluster and nodes keep in the lab.
type clusterState struct {
	nodes map[string]*node
}

// node is a cluster node.
type node struct {
	name   string
	online bool
}

func (l *Lab) initCluster() {
	l.nodes = map[string]*node{}
	for _, n := range l.opts.Nodes {
		l.nodes[n] = &node{name: n, online: true}
	}
}

func (l *Lab) routeCluster() {}
