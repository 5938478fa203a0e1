package proxmox

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// predicates are all questions that can be asked of an error.
var predicates = map[string]func(error) bool{
	"NotFound": IsNotFound, "Locked": IsLocked, "LockTimeout": IsLockTimeout, "Permission": IsPermission,
	"Exists": IsExists, "Running": IsRunning, "Unavailable": IsUnavailable, "Unauthorized": IsUnauthorized,
	"Digest": IsDigestMismatch, "NotImplemented": IsNotImplemented, "NotBegun": IsNotBegun, "NoWorker": IsNoWorker,
	"Agent": IsAgentUnavailable, "NoStorage": IsNoStorage, "Content": IsContentRefused, "NoBridge": IsNoBridge,
	"NoSpace": IsNoSpace, "LostAnswer": IsLostAnswer, "transient": isTransient,
}

// TestPredicates holds answers as recorded of PVE against what they mean.
func TestPredicates(t *testing.T) {
	t.Parallel()
	param := func(name, text string) error {
		return &Error{Status: 400, Message: "Parameter verification failed.", Params: map[string]string{name: text}}
	}
	text := func(status int, message string) error {
		return &Error{Status: status, Message: message, Reason: message}
	}
	task := func(exit string, tail ...string) error { return &TaskError{ExitStatus: exit, LogTail: tail} }
	tests := []struct {
		err  error
		want string
	}{
		{text(500, "Configuration file 'nodes/pve1/qemu-server/999.conf' does not exist"), "NotFound"},
		{text(500, "unable to find configuration file for VM 999 on node 'pve1'"), "NotFound"},
		{text(500, "pool 'nope' does not exist"), "NotFound"},
		{text(403, "Permission check failed (pool 'nope' does not exist)"), "NotFound"},
		{param("upid", "no such task"), "NotFound"},
		{text(500, "storage 'nope' does not exist"), "NotFound NoStorage"},
		{param("storage", "No such storage."), "NotFound NoStorage"},
		{text(500, "storage 'tfdir' is disabled"), "NoStorage"},
		{param("storage", "storage 'seed' does not support vm images"), "Content"},
		{text(500, "unable to use volume local:vztmpl/x.tar.gz - content type needs to be 'backup'"), "Content"},
		{param("scsi0", "seed:iso/x.iso has wrong type 'iso' - needs to be 'images' or 'import'"), "Content"},
		{text(500, "VM is locked (backup)"), "Locked"},
		{text(500, "CT is locked (backup)"), "Locked"},
		{task("VM is locked (clone)"), "Locked"},
		{text(500, "can't lock file '/var/lock/qemu-server/lock-110.conf' - got timeout"), "Locked LockTimeout NotBegun transient"},
		{task("can't lock file '/var/lock/qemu-server/lock-110.conf' - got timeout"), "Locked LockTimeout"},
		{task("clone failed: error with cfs lock 'storage-nfs': got lock request timeout"), "Locked LockTimeout"},
		{task("VM quit/powerdown failed - got timeout"), ""},
		{text(403, "Permission check failed (/vms/9000, VM.Clone)"), "Permission"},
		{text(403, "Permission check failed"), "Permission"},
		{text(500, "only root can set 'args' config"), "Permission"},
		{param("skiplock", "Only root may use this option."), "Permission"},
		{param("vmid", "VM 9000 already exists"), "Exists"},
		{text(500, "create pool failed: pool 'tfpool' already exists"), "Exists"},
		{text(500, "unable to create VM 110: config file already exists"), "Exists"},
		{text(500, "create storage failed: storage ID 'tfdir' already defined"), "Exists"},
		{task("clone failed: unable to open file '/etc/pve/nodes/pve1/qemu-server/121.conf.tmp' - File exists"), "Exists"},
		{text(500, "VM 110 is running - destroy failed"), "Running"},
		{task("VM 110 already running"), "Running"},
		{text(500, "Cannot move in-use volume while the source CT is running - detach or shutdown first"), "Running"},
		{text(500, "VM 110 is not running"), "Agent"},
		{text(500, "QEMU guest agent is not running"), "Agent"},
		{text(500, "No QEMU guest agent configured"), "Agent"},
		{text(500, "checksum mismatch (file change by other user?)"), "Digest"},
		{text(500, "detected modified configuration - file changed by other user? Try again."), "Digest"},
		{task("checksum mismatch: got 'a' != expect 'b'"), ""},
		{text(501, "Method 'GET /no/such/path' not implemented"), "NotImplemented"},
		{text(500, "hostname lookup 'nope' failed - failed to get address info for: nope: Temporary failure"), "Unavailable"},
		{text(500, "no such cluster node 'pve2'"), "NotFound Unavailable"},
		{text(595, "No route to host"), "Unavailable NotBegun transient"},
		{text(596, "Connection timed out"), "Unavailable transient"},
		{text(599, "Too many redirections"), "Unavailable transient"},
		{text(503, "Service Unavailable"), "Unavailable transient"},
		{text(401, "Authentication failed!"), "Unauthorized"},
		{text(500, "got no worker upid - start worker failed"), "NoWorker"},
		{text(500, "no sdn vnet ID specified"), "NoBridge"},
		{task("bridge 'vmbr7' does not exist"), "NoBridge"},
		{task("clone failed: exit code 1", "qemu-img: error: No space left on device"), "NoSpace"},
		{&ConnectionError{Err: errors.New("refused")}, "Unavailable NotBegun transient"},
		{&ConnectionError{Sent: true, Err: errors.New("EOF")}, "Unavailable transient"},
		{&LostAnswerError{Err: errors.New("EOF")}, "LostAnswer"},
		{&LostAnswerError{Err: text(596, "Connection timed out")}, "LostAnswer Unavailable transient"},
		{&TLSError{Err: errors.New("x")}, ""},
		{&InterruptedError{Err: context.Canceled}, ""},
		{errors.New("something else"), ""},
		{nil, ""},
	}
	for _, test := range tests {
		wrapped := test.err
		if wrapped != nil {
			wrapped = fmt.Errorf("while testing: %w", test.err)
		}
		for name, is := range predicates {
			want := slices.Contains(strings.Fields(test.want), name)
			if got := is(wrapped); got != want {
				t.Errorf("%v: %s is %v", test.err, name, got)
			}
		}
	}
}

func TestPermissionOf(t *testing.T) {
	t.Parallel()
	path, privs, ok := PermissionOf(&Error{Status: 403, Message: "Permission check failed (/storage/local, Datastore.Audit|Datastore.AllocateSpace)"})
	if !ok || path != "/storage/local" || !slices.Equal(privs, []string{"Datastore.Audit", "Datastore.AllocateSpace"}) {
		t.Errorf("got %q, %q, %v", path, privs, ok)
	}
	path, privs, ok = PermissionOf(&Error{Status: 403, Message: "Permission check failed (/, Sys.Modify for modifying tag 'prod')"})
	if !ok || path != "/" || !slices.Equal(privs, []string{"Sys.Modify"}) {
		t.Errorf("got %q, %q, %v of a tag", path, privs, ok)
	}
	for _, text := range []string{"Permission check failed", "Permission check failed (user != root@pam)", "Permission check failed (pool 'nope' does not exist)", "Permission check failed (changing feature flags (except nesting) is only allowed for root@pam)"} {
		if path, privs, ok := PermissionOf(&Error{Status: 403, Message: text}); ok {
			t.Errorf("%s names %q, %q", text, path, privs)
		}
	}
}

func TestUnknownParams(t *testing.T) {
	t.Parallel()
	const text = "property is not defined in schema and the schema does not allow additional properties"
	err := &Error{Status: 400, Params: map[string]string{"foo": text, "bar": text, "memory": "too small", "net0": "invalid format - format error\nnet0.host-managed: " + text}}
	if got := UnknownParams(err); !slices.Equal(got, []string{"bar", "foo"}) {
		t.Errorf("got %q", got)
	}
}

func TestErrorText(t *testing.T) {
	t.Parallel()
	err := &Error{Status: 400, Message: "Parameter verification failed.", Params: map[string]string{"b": "wrong\n", "a": "missing"}, Method: http.MethodPut, Path: "/nodes/pve1/qemu/110/config"}
	if want := "PUT /nodes/pve1/qemu/110/config: Parameter verification failed.; a: missing; b: wrong"; err.Error() != want {
		t.Errorf("got %s", err)
	}
	refused := &Error{Status: 401, Reason: "Authentication failed!", Message: "Authentication failed!", Method: http.MethodGet, Path: "/version"}
	if got := refused.Error(); !strings.Contains(got, "Authentication failed!") || !strings.Contains(got, "secret is wrong") {
		t.Errorf("got %s", got)
	}
	missing := &Error{Status: 401, Reason: "No ticket", Method: http.MethodGet, Path: "/version"}
	if got := missing.Error(); !strings.Contains(got, "no credentials") {
		t.Errorf("got %s", got)
	}
	if !errors.Is(&InterruptedError{Err: context.DeadlineExceeded}, context.DeadlineExceeded) {
		t.Error("the context's error is not found in an interruption")
	}
}
