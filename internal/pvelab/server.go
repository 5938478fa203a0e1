package pvelab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

const (
	// keepAlive is how many requests pveproxy answers on one connection.
	keepAlive = 100
	// idleTimeout is how long pveproxy keeps a silent connection.
	idleTimeout = 5 * time.Second
)

// server holds the listeners of all nodes.
type server struct {
	lab       *Lab
	ca        *authority
	endpoints map[string]*endpoint
	admin     *admin
	ctx       context.Context //nolint:containedctx // ends when the lab closes.
	stop      context.CancelFunc
	wg        sync.WaitGroup
}

// endpoint is the API of one node.
type endpoint struct {
	server   *server
	node     string
	host     string
	config   *tls.Config
	listener net.Listener

	mu    sync.Mutex
	conns map[net.Conn]struct{}
}

func newServer(l *Lab) (*server, error) {
	ca, err := newAuthority()
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(l.opts.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen address: %w", err)
	}
	s := &server{lab: l, ca: ca, endpoints: map[string]*endpoint{}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	for i, n := range l.opts.Nodes {
		cert, err := ca.issue(n, host, int64(i)+2)
		if err != nil {
			return nil, err
		}
		s.endpoints[n] = &endpoint{
			server: s, node: n, host: host,
			config: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
			conns:  map[net.Conn]struct{}{},
		}
	}
	s.admin = newAdmin(l)
	return s, nil
}

func (s *server) start() error {
	for i, n := range s.lab.opts.Nodes {
		address := s.lab.opts.Listen
		if i > 0 {
			address = net.JoinHostPort(s.endpoints[n].host, "0")
		}
		if err := s.endpoints[n].listen(address); err != nil {
			return errors.Join(err, s.close())
		}
	}
	s.lab.locked(s.lab.statdRound)
	s.wg.Go(func() { s.lab.statd(s.ctx) })
	s.wg.Go(func() { s.lab.manageHA(s.ctx) })
	s.wg.Go(func() { s.lab.replicate(s.ctx) })
	return s.admin.start()
}

func (s *server) close() error {
	s.stop()
	err := s.admin.close()
	for _, e := range s.endpoints {
		if e.listener != nil {
			err = errors.Join(err, e.listener.Close())
		}
		e.dropAll()
	}
	s.wg.Wait()
	return err
}

func (s *server) url(node string) string {
	e := s.endpoints[node]
	if e == nil || e.listener == nil {
		return ""
	}
	return "https://" + e.listener.Addr().String()
}

func (s *server) fingerprint(node string) string {
	e := s.endpoints[node]
	if e == nil {
		return ""
	}
	return fingerprintOf(e.config.Certificates[0].Certificate[0])
}

func (e *endpoint) listen(address string) error {
	l, err := (&net.ListenConfig{}).Listen(e.server.ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("node %s: %w", e.node, err)
	}
	e.listener = l
	e.server.wg.Go(e.accept)
	return nil
}

func (e *endpoint) accept() {
	for {
		c, err := e.listener.Accept()
		if err != nil {
			return
		}
		if !e.server.lab.isOnline(e.node) {
			abort(c)
			continue
		}
		e.server.lab.counter.connection()
		counted := &countedConn{Conn: c, counters: e.server.lab.counter}
		e.track(counted, true)
		e.server.wg.Go(func() {
			defer e.track(counted, false)
			e.serve(counted)
		})
	}
}

// isOnline reports whether a node takes part in the cluster.
func (l *Lab) isOnline(node string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.nodes[node]
	return n != nil && n.online
}

func (e *endpoint) track(c net.Conn, open bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if open {
		e.conns[c] = struct{}{}
		return
	}
	delete(e.conns, c)
}

// dropAll cuts every connection of the node.
func (e *endpoint) dropAll() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.conns {
		abort(c)
	}
}

// abort closes a connection without a farewell, as a node does that loses power.
func abort(c net.Conn) {
	if counted, ok := c.(*countedConn); ok {
		c = counted.Conn
	}
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

// countedConn counts the bytes on the wire, TLS included.
type countedConn struct {
	net.Conn
	counters *Counters
}

func (c *countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.counters.bytes(n, 0)
	return n, err
}

func (c *countedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.counters.bytes(0, n)
	return n, err
}
