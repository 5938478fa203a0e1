package proxmox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Client talks to one PVE cluster. It is safe for concurrent use.
type Client struct {
	Cluster *ClusterService
	Nodes   *NodeService
	VMs     *VMService
	// Containers are the other kind of guests.
	Containers *ContainerService
	Storage    *StorageService
	Access     *AccessService
	Pools      *PoolService
	Tasks      *TaskService
	// Firewall is that of guests, nodes and the cluster.
	Firewall *FirewallService
	// HA is the cluster's HA manager, Replication its replication jobs.
	HA          *HAService
	Replication *ReplicationService
	// View is the shared, cached picture of the cluster.
	View *View
	// Gate grants the permissions that mutations of guests need.
	Gate *Gate
	// IDs allocates guest ids.
	IDs *Allocator

	options Options
	clock   clock
	limits  *limiter
	http    http.RoundTripper
	// host stands in a request's URL until an endpoint is chosen.
	host string
}

// New checks the options and builds a client. It makes no request. All
// problems are returned at once, joined, each an [*OptionError].
func New(o Options) (*Client, error) {
	o.setDefaults()
	var p problems
	hosts := o.endpoints(&p)
	c := &Client{options: o, clock: o.clock}
	credentials := newCredentials(c, &p)
	config := o.tlsConfig(&p)
	o.checkNumbers(&p)
	if err := p.err(); err != nil {
		return nil, err
	}
	c.limits, c.host = newLimiter(o.Limits), hosts[0]
	c.Cluster = &ClusterService{c: c, versionRead: newOnce()}
	c.Nodes = &NodeService{c: c}
	c.VMs = &VMService{guestService{c: c, kind: KindVM}}
	c.Containers = &ContainerService{guestService{c: c, kind: KindContainer}}
	c.HA = &HAService{c: c}
	c.Replication = &ReplicationService{c: c}
	c.Storage = &StorageService{c: c}
	c.Access = &AccessService{c: c}
	c.Pools = &PoolService{c: c}
	c.Tasks = &TaskService{c: c}
	c.Firewall = &FirewallService{c: c}
	c.View = newView(c)
	c.Gate = newGate(c)
	c.IDs = newAllocator(c)
	c.http = c.chain(hosts, newWire(config, o.Limits), credentials)
	return c, nil
}

// chain is what a request passes, the outermost first: repetition, choice of
// the endpoint, errors, credentials, the bound of requests in flight, the log.
func (c *Client) chain(hosts []string, transport http.RoundTripper, credentials credentials) http.RoundTripper {
	transport = &logging{next: transport, log: c.options.Log, clock: c.clock}
	transport = &limiting{next: transport, slots: make(chan struct{}, c.options.Limits.single()), clock: c.clock}
	transport = &authorizing{next: transport, credentials: credentials}
	transport = &explaining{next: transport}
	failover := &failingOver{next: transport, hosts: hosts}
	if want := c.options.Cluster; want != "" {
		failover.check = func(ctx context.Context, host string) error {
			return c.checkIdentity(ctx, failover.next, host, want)
		}
	}
	return &retrying{next: failover, policy: c.options.Retry, clock: c.clock}
}

// VMIDRange is the range that the client was given.
func (c *Client) VMIDRange() VMIDRange { return c.options.VMIDRange }

// FenceScope is what the client may fence though it is not ours.
func (c *Client) FenceScope() FenceScope { return c.options.FenceScope }

// envelope is what PVE wraps its answers in.
type envelope struct {
	Data  json.RawMessage `json:"data"`
	Total Int             `json:"total"`
}

// at joins the segments of an API path, each escaped.
func at(segments ...string) string {
	var b strings.Builder
	for _, segment := range segments {
		b.WriteByte('/')
		b.WriteString(url.PathEscape(segment))
	}
	return b.String()
}

// get reads path into out.
func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.call(ctx, http.MethodGet, path, query, out)
}

// call makes a request and decodes the answer's data into out, unless that is
// nil. A mutation with an answer that cannot be read has begun: that answer is
// as good as lost.
func (c *Client) call(ctx context.Context, method, path string, params url.Values, out any) error {
	req, err := c.request(ctx, c.host, method, path, params)
	if err != nil {
		return err
	}
	content, err := send(c.http, req)
	if err != nil {
		return err
	}
	if out == nil {
		out = new(json.RawMessage)
	}
	if err := readData(content, out); err != nil {
		return unreadable(method, path, err)
	}
	return nil
}

// readData decodes what an answer has under "data", without keeping it as text
// in between: that is most of what a refresh of many guests has to do.
func readData(content []byte, out any) error {
	answer, found := json.NewDecoder(bytes.NewReader(content)), false
	if start, err := answer.Token(); err != nil || start != json.Delim('{') {
		return cmp.Or(err, errNoData)
	}
	for answer.More() {
		name, err := answer.Token()
		if err != nil {
			return err
		}
		into := any(new(json.RawMessage))
		if name == "data" {
			into, found = out, true
		}
		if err := answer.Decode(into); err != nil {
			return err
		}
	}
	if _, err := answer.Token(); err != nil {
		return err
	}
	if !found {
		return errNoData
	}
	return nil
}

var errNoData = errors.New("it is no object with data")

func unreadable(method, path string, err error) error {
	if method != http.MethodGet {
		return &LostAnswerError{Method: method, Path: path, Err: err}
	}
	return fmt.Errorf("%s %s: the answer is not one of PVE's API: %w", method, path, err)
}

// startTask makes a request that PVE answers with the id of a task.
func (c *Client) startTask(ctx context.Context, method, path string, params url.Values) (UPID, error) {
	var upid UPID
	err := c.call(ctx, method, path, params, &upid)
	if err == nil && upid.IsZero() {
		err = unreadable(method, path, errors.New("it names no task"))
	}
	return upid, err
}

func (c *Client) exchange(ctx context.Context, method, path string, params url.Values) (envelope, error) {
	req, err := c.request(ctx, c.host, method, path, params)
	if err != nil {
		return envelope{}, err
	}
	return roundTrip(c.http, req)
}

// roundTrip sends a request and reads what PVE has wrapped its answer in.
func roundTrip(chain http.RoundTripper, req *http.Request) (envelope, error) {
	content, err := send(chain, req)
	if err != nil {
		return envelope{}, err
	}
	var answer envelope
	if err := json.Unmarshal(content, &answer); err != nil {
		return envelope{}, unreadable(req.Method, apiPath(req), err)
	}
	return answer, nil
}

// send sends a request down a chain of round trippers, the wire at its end, which
// has read the answer whole.
func send(chain http.RoundTripper, req *http.Request) ([]byte, error) {
	resp, err := chain.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := readWhole(resp.Body, resp.ContentLength)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", req.Method, apiPath(req), err)
	}
	return content, nil
}

const formType = "application/x-www-form-urlencoded"

// request builds a request. PVE reads the parameters of GET and DELETE from the
// query, of POST and PUT from a form.
func (c *Client) request(ctx context.Context, host, method, path string, params url.Values) (*http.Request, error) {
	target := "https://" + host + apiPrefix + path
	var body io.Reader
	switch method {
	case http.MethodPost, http.MethodPut:
		body = strings.NewReader(params.Encode())
	default:
		if len(params) > 0 {
			target += "?" + params.Encode()
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body) //nolint:gosec // The host is one of the configured endpoints.
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", formType)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.options.UserAgent)
	return req, nil
}
