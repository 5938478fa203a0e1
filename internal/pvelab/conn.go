package pvelab

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// response is what goes back to the client. PVE writes its own reason phrases,
// which net/http cannot, so the lab writes its responses itself.
type response struct {
	status int
	reason string
	// contentType is empty for what PVE's HTTP server answers by itself.
	contentType string
	body        []byte
	// delay is waited before the answer, in PVE's time.
	delay time.Duration
	// protected answers come from pvedaemon, whose "Connection: close" pveproxy
	// passes on beside its own Keep-Alive.
	protected bool
	// final answers end the connection, whatever their status.
	final bool
	// fate is a fault's doing.
	fate fate
}

// fate tells what becomes of an answer.
type fate int

const (
	fateSend fate = iota
	fateDrop      // the connection is cut before the answer.
	fateCut       // the connection is cut in the middle of the body.
)

// bare is an answer without a body.
func bare(status int, reason string) *response {
	return &response{status: status, reason: reason}
}

// spoken is an answer whose body repeats the reason.
func spoken(status int, reason string) *response {
	return &response{status: status, reason: reason, body: []byte(reason)}
}

// serve answers the requests of one connection.
func (e *endpoint) serve(raw net.Conn) {
	defer func() { _ = raw.Close() }()
	c := tls.Server(raw, e.config)
	_ = c.SetDeadline(time.Now().Add(idleTimeout))
	if err := c.HandshakeContext(e.server.ctx); err != nil {
		return
	}
	in := bufio.NewReader(c)
	for left := keepAlive - 1; ; left-- {
		_ = c.SetReadDeadline(time.Now().Add(idleTimeout))
		if _, err := in.Peek(1); err != nil {
			return
		}
		if !e.exchange(raw, c, in, left > 0) {
			linger(c, in)
			return
		}
	}
}

// lingerTime is how long a client may take to read the last answer.
const lingerTime = time.Second

// linger ends a connection after the last answer and reads what the client still
// sends, lest the kernel throw the answer away with it.
func linger(c *tls.Conn, in io.Reader) {
	_ = c.CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(lingerTime))
	_, _ = io.Copy(io.Discard, in)
	_ = c.Close()
}

// exchange reads one request and answers it; it reports whether the connection
// stays.
func (e *endpoint) exchange(raw, c net.Conn, in *bufio.Reader, keep bool) bool {
	req, err := http.ReadRequest(in)
	if err != nil {
		_ = e.write(c, spoken(http.StatusBadRequest, "bad request"), "HTTP/1.0", false, false)
		return false
	}
	_ = c.SetDeadline(time.Time{})
	if strings.EqualFold(req.Header.Get("Expect"), "100-continue") {
		_, _ = c.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	}
	resp := e.respond(req)
	if resp.delay > 0 && e.server.lab.clock.Sleep(e.server.ctx, resp.delay) != nil {
		return false
	}
	if resp.fate == fateDrop {
		abort(raw)
		return false
	}
	keep = keep && !req.Close && !resp.final && resp.status < http.StatusBadRequest
	squeeze := strings.Contains(req.Header.Get("Accept-Encoding"), "gzip")
	if err := e.write(c, resp, req.Proto, keep, squeeze); err != nil {
		return false
	}
	if resp.fate == fateCut {
		abort(raw)
		return false
	}
	return keep && !resp.protected
}

// compressFrom is the size above which pveproxy compresses.
const compressFrom = 1024

// write sends an answer as pveproxy does; keep and squeeze tell whether the
// connection stays and whether the client takes gzip.
func (e *endpoint) write(c net.Conn, r *response, proto string, keep, squeeze bool) error {
	body := r.body
	encoding := ""
	if squeeze && len(body) > compressFrom {
		body = compress(body)
		encoding = "gzip"
	}
	now := e.server.lab.clock.Now().UTC().Format(http.TimeFormat)
	var b bytes.Buffer
	reason, _, _ := strings.Cut(r.reason, "\n")
	if reason == "" {
		reason = http.StatusText(r.status)
	}
	fmt.Fprintf(&b, "%s %d %s\r\nCache-Control: max-age=0\r\n", proto, r.status, reason)
	if r.protected || !keep {
		b.WriteString("Connection: close\r\n")
	}
	if keep {
		b.WriteString("Connection: Keep-Alive\r\n")
	}
	fmt.Fprintf(&b, "Date: %s\r\nPragma: no-cache\r\nServer: pve-api-daemon/3.0\r\n", now)
	if encoding != "" {
		fmt.Fprintf(&b, "Content-Encoding: %s\r\n", encoding)
	}
	if len(body) > 0 || keep {
		b.WriteString("Content-Length: " + strconv.Itoa(len(body)) + "\r\n")
	}
	if r.contentType != "" {
		fmt.Fprintf(&b, "Content-Type: %s\r\n", r.contentType)
	}
	fmt.Fprintf(&b, "Expires: %s\r\n\r\n", now)
	if r.fate == fateCut {
		body = body[:len(body)/2]
	}
	b.Write(body)
	_, err := c.Write(b.Bytes())
	return err
}

func compress(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body)
	_ = w.Close()
	return b.Bytes()
}
