package proxmox

import (
	"context"
	"fmt"
	"time"
)

// DefaultPort is where PVE's API listens (pveproxy).
const DefaultPort = "8006"

// Options says how to reach a cluster, as whom, and within which bounds.
type Options struct {
	// Endpoint is the node to talk to, "https://host" or "https://host:port".
	// Plain HTTP is refused, port 8006 is filled in.
	Endpoint string
	// FallbackEndpoints are further nodes of the same cluster, tried in order
	// while the ones before them cannot be reached.
	FallbackEndpoints []string

	// TokenID is the API token's id, "user@realm!tokenid".
	TokenID string
	// TokenSecret is the token's secret, a UUID.
	TokenSecret string
	// TokenSecretFile names a file with the secret; it is read by New and
	// again when a call answers 401, so that a rotated token needs no restart.
	TokenSecretFile string

	// Username, "user@realm", signs in with a password instead of a token. The
	// ticket that PVE gives lives in memory and is renewed in time. An account
	// with a second factor cannot be used.
	Username string
	// Password is the user's password.
	Password string
	// PasswordFile names a file that holds it; it is read by New and again when
	// PVE does not accept the ticket.
	PasswordFile string

	// CAPEM, CAFile, Fingerprint and Insecure decide whom to trust instead of
	// the system's roots; at most one may be set. Fingerprint is the SHA-256 of
	// the node's own certificate, in hex with or without colons; those of several
	// endpoints have commas between them.
	CAPEM       []byte
	CAFile      string
	Fingerprint string
	Insecure    bool

	// Cluster is the identity that every endpoint must have (see
	// [ClusterService.Identity]). Empty means not checked: no call is made.
	Cluster string
	// VMIDRange bounds the guests that this client may make or change.
	VMIDRange VMIDRange
	// FenceScope lists what may be fenced though it is not ours.
	FenceScope FenceScope
	// LedgerPool is the pool in which guest ids are reserved, so that none is used
	// twice. Empty means that the highest id in use is all there is to go by.
	LedgerPool string
	// Limits bounds what runs at once.
	Limits Limits

	// UserAgent is sent with each request.
	UserAgent string
	// Log receives one event per request. Secrets never reach it.
	Log LogFunc
	// Retry bounds the repetitions of a call.
	Retry RetryPolicy

	clock clock
}

// LogFunc receives an event with its fields.
type LogFunc func(ctx context.Context, msg string, fields map[string]any)

// VMIDRange is an inclusive range of guest ids. Its zero value means that none
// is configured.
type VMIDRange struct{ First, Last int }

// Limits bounds concurrency. A zero field takes its default.
type Limits struct {
	// Requests is the number of HTTP requests in flight (16).
	Requests int
	// TasksPerNode is the number of heavy tasks that run on one node (4).
	TasksPerNode int
	// TasksPerStorage is the number of heavy tasks that use one storage (2).
	TasksPerStorage int
}

// RetryPolicy bounds repetition. A zero field takes its default.
type RetryPolicy struct {
	// Attempts is how often a call is made in all (5).
	Attempts int
	// Base is the pause before the first repetition (200 ms); it doubles each
	// time, with jitter.
	Base time.Duration
	// Max is the longest pause (5 s).
	Max time.Duration
}

// OptionError is one problem with one option.
type OptionError struct {
	// Field is the name of the field of [Options].
	Field string
	// Problem says what is wrong with it; it never contains a secret.
	Problem string
}

func (e *OptionError) Error() string { return fmt.Sprintf("%s: %s", e.Field, e.Problem) }

// Configured reports whether a range was given at all.
func (r VMIDRange) Configured() bool { return r != VMIDRange{} }

// Contains reports whether a guest id lies inside the range. No id lies inside
// a range that is not configured.
func (r VMIDRange) Contains(vmid int) bool {
	return r.Configured() && r.First <= vmid && vmid <= r.Last
}

// Size is the number of ids in the range.
func (r VMIDRange) Size() int {
	if !r.Configured() {
		return 0
	}
	return r.Last - r.First + 1
}

func (r VMIDRange) String() string { return fmt.Sprintf("%d-%d", r.First, r.Last) }
