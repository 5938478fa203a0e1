package pvelab

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// call is one request on its way through a handler.
type call struct {
	lab    *Lab
	ctx    context.Context //nolint:containedctx // a call lives no longer than its request.
	auth   principal
	method string
	// userAgent is what the client calls itself.
	userAgent string
	// path is the request's path below /api2/json.
	path   string
	params params
	// node is the {node} of the path, or the node that answers.
	node string
	// via is the node whose endpoint was asked.
	via string
	// upload is the file of a multipart request.
	upload *upload

	// later is what unlocked asked for.
	later []func()
}

// unlocked asks for something to be done after the handler, without the lab's
// lock, before the answer goes out.
func (c *call) unlocked(f func()) { c.later = append(c.later, f) }

// handler answers a call whose parameters and permissions were checked. Its
// value becomes "data".
type handler func(c *call) (any, error)

// route is one method of one path of the API.
type route struct {
	method, template string
	segments         []string
	run              handler
}

type router struct {
	routes []*route
	root   *pathNode
}

// pathNode is a position in the tree of paths; PVE prefers a fixed name to a
// placeholder.
type pathNode struct {
	fixed   map[string]*pathNode
	any     *pathNode
	name    string
	methods map[string]*route
}

// greedy placeholders take the rest of the path, slashes included.
var greedy = map[string]bool{"volume": true, "cidr": true}

func newRouter() *router { return &router{root: &pathNode{}} }

// Reads are the paths that the lab answers to GET, with placeholders as PVE's schema
// writes them ("/nodes/{node}/qemu"), sorted.
func (l *Lab) Reads() []string {
	var paths []string
	for _, rt := range l.router.routes {
		if rt.method == http.MethodGet {
			paths = append(paths, rt.template)
		}
	}
	slices.Sort(paths)
	return paths
}

// routes registers every endpoint that the lab serves.
func (l *Lab) routes() {
	l.handle("GET", "/", apiIndex)
	l.routeTasks()
	l.routeAccess()
	l.routeCluster()
	l.routeFirewall()
	l.routeStorage()
	l.routeQemu()
	l.routeLXC()
	l.routeHA()
	l.routeReplication()
	l.routeNodePower()
}

func apiIndex(*call) (any, error) {
	return subdirs("subdir", "version", "cluster", "nodes", "storage", "access", "pools"), nil
}

// handle registers the handler of a method and a path as the schema writes it.
func (l *Lab) handle(method, template string, h handler) {
	l.router.add(&route{method: method, template: template, segments: splitPath(template), run: h})
}

func (r *router) add(rt *route) {
	r.routes = append(r.routes, rt)
	n := r.root
	for _, seg := range rt.segments {
		n = n.child(seg)
	}
	if n.methods == nil {
		n.methods = map[string]*route{}
	}
	n.methods[rt.method] = rt
}

func (n *pathNode) child(seg string) *pathNode {
	if name, ok := placeholder(seg); ok {
		if n.any == nil {
			n.any = &pathNode{name: name}
		}
		return n.any
	}
	if n.fixed == nil {
		n.fixed = map[string]*pathNode{}
	}
	if n.fixed[seg] == nil {
		n.fixed[seg] = &pathNode{}
	}
	return n.fixed[seg]
}

// find returns the route of a path and the values of its placeholders, or nil.
func (r *router) find(method, path string) (*route, map[string]string) {
	values := map[string]string{}
	n := r.root
	segs := splitPath(path)
	for i, seg := range segs {
		if next := n.fixed[seg]; next != nil {
			n = next
			continue
		}
		n = n.any
		if n == nil {
			return nil, nil
		}
		if greedy[n.name] {
			values[n.name] = strings.Join(segs[i:], "/")
			break
		}
		values[n.name] = seg
	}
	rt := n.methods[method]
	if rt == nil {
		return nil, nil
	}
	return rt, values
}

func splitPath(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

func placeholder(seg string) (string, bool) {
	if strings.HasPrefix(seg, "{") && strings.HasSuffix(seg, "}") {
		return seg[1 : len(seg)-1], true
	}
	return "", false
}

// Endpoints lists what the lab serves, as "METHOD /path" in the schema's
// spelling. The embedded extract of the schema holds these.
func Endpoints() []string {
	l := &Lab{router: newRouter()}
	l.routes()
	out := make([]string, 0, len(l.router.routes))
	for _, r := range l.router.routes {
		if key := r.method + " " + r.template; key != rootIndex {
			out = append(out, key)
		}
	}
	return out
}
