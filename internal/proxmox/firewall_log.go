package proxmox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"time"
)

// FirewallLogQuery says which lines of a log to read. Zero times are no bounds.
type FirewallLogQuery struct {
	Since, Until time.Time
	// Start is the number of lines to leave out, Limit the most to read; 0 reads
	// all.
	Start, Limit int
}

// FirewallLogLine is a line of a firewall's log.
type FirewallLogLine struct {
	// Number counts from 1.
	Number int
	Text   string
}

// Log reads a part of the log of a guest or node, and tells how many lines there
// are. A guest's lines are those of the node that it is on.
func (s *FirewallService) Log(ctx context.Context, scope FirewallScope, q FirewallLogQuery) ([]FirewallLogLine, int, error) {
	query := url.Values{"start": {strconv.Itoa(q.Start)}, "limit": {strconv.Itoa(q.Limit)}}
	if !q.Since.IsZero() {
		query.Set("since", strconv.FormatInt(q.Since.Unix(), 10))
	}
	if !q.Until.IsZero() {
		query.Set("until", strconv.FormatInt(q.Until.Unix(), 10))
	}
	answer, err := s.c.exchange(ctx, http.MethodGet, scope.path("log"), query)
	if err != nil {
		return nil, 0, err
	}
	// PVE 8 answers an object instead of a list where there is no log yet.
	if !bytes.HasPrefix(answer.Data, []byte("[")) {
		return nil, 0, nil
	}
	var raw []struct {
		Number Int    `json:"n"`
		Text   string `json:"t"`
	}
	if err := json.Unmarshal(answer.Data, &raw); err != nil {
		return nil, 0, unreadable(http.MethodGet, scope.path("log"), err)
	}
	if len(raw) == 1 && textEmptyLog.MatchString(raw[0].Text) {
		return nil, 0, nil
	}
	lines := make([]FirewallLogLine, len(raw))
	for i, each := range raw {
		lines[i] = FirewallLogLine{Number: int(each.Number), Text: each.Text}
	}
	return lines, int(answer.Total), nil
}

// FirewallLogTimeForm is how the time of a line is written.
const FirewallLogTimeForm = "02/Jan/2006:15:04:05 -0700"

// LocalAddress is the address from which this machine reaches the endpoint. What
// a router in between makes of it is not known here.
func (c *Client) LocalAddress(ctx context.Context) (netip.Addr, error) {
	// Nothing is sent: this asks the kernel for its route.
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", c.host)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("find the way to %s: %w", c.host, err)
	}
	defer func() { _ = conn.Close() }()
	local, ok := conn.LocalAddr().(*net.UDPAddr)
	if !ok {
		return netip.Addr{}, fmt.Errorf("find the way to %s: the local address is %s", c.host, conn.LocalAddr())
	}
	return local.AddrPort().Addr().Unmap(), nil
}
