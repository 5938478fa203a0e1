package proxmox

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"time"
)

// Defaults of [Limits] and [RetryPolicy].
const (
	defaultRequests        = 16
	defaultTasksPerNode    = 4
	defaultTasksPerStorage = 2
	defaultAttempts        = 5
	defaultRetryBase       = 200 * time.Millisecond
	defaultRetryMax        = 5 * time.Second
	defaultUserAgent       = "terraform-provider-proxmox"
)

// PVE's bounds of a guest's id.
const (
	minVMID = 100
	maxVMID = 999_999_999
)

// problems gathers what is wrong with the options.
type problems struct{ list []error }

func (p *problems) add(field, problem string) {
	p.list = append(p.list, &OptionError{Field: field, Problem: problem})
}

func (p *problems) err() error { return errors.Join(p.list...) }

func (o *Options) setDefaults() {
	setDefault(&o.Limits.Requests, defaultRequests)
	setDefault(&o.Limits.TasksPerNode, defaultTasksPerNode)
	setDefault(&o.Limits.TasksPerStorage, defaultTasksPerStorage)
	setDefault(&o.Retry.Attempts, defaultAttempts)
	setDefault(&o.Retry.Base, defaultRetryBase)
	setDefault(&o.Retry.Max, defaultRetryMax)
	setDefault(&o.UserAgent, defaultUserAgent)
	if o.clock == nil {
		o.clock = systemClock{}
	}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (o *Options) checkNumbers(p *problems) {
	if o.Limits.Requests < 1 || o.Limits.TasksPerNode < 1 || o.Limits.TasksPerStorage < 1 {
		p.add("Limits", "must not be negative")
	}
	if strings.Count(o.LedgerPool, "/")+2 > maxPoolDepth {
		p.add("LedgerPool", errPoolDepth.Error())
	}
	if !o.VMIDRange.Configured() {
		return
	}
	switch r := o.VMIDRange; {
	case r.First < minVMID || r.Last > maxVMID:
		p.add("VMIDRange", "PVE's guest ids lie between 100 and 999999999")
	case r.First > r.Last:
		p.add("VMIDRange", "the first id is above the last")
	}
}

// endpoints returns the "host:port" of each endpoint, the first one first.
func (o *Options) endpoints(p *problems) []string {
	hosts := []string{parseEndpoint("Endpoint", o.Endpoint, p)}
	for _, fallback := range o.FallbackEndpoints {
		hosts = append(hosts, parseEndpoint("FallbackEndpoints", fallback, p))
	}
	return hosts
}

func parseEndpoint(field, endpoint string, p *problems) string {
	if endpoint == "" {
		p.add(field, "is missing")
		return ""
	}
	u, err := url.Parse(strings.TrimSpace(endpoint))
	if err != nil || u.Scheme != "https" {
		p.add(field, "must begin with https://, for instance https://pve1.example.com:8006")
		return ""
	}
	switch {
	case u.Hostname() == "":
		p.add(field, "names no host")
	case u.User != nil:
		p.add(field, "must not contain credentials")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		p.add(field, "must end after the host and port, without a path")
	}
	port := u.Port()
	if port == "" {
		port = DefaultPort
	}
	return net.JoinHostPort(u.Hostname(), port)
}
