package framework_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// said is an answer of PVE with a text of its own.
func said(status int, text string) error {
	return &proxmox.Error{Status: status, Reason: text, Message: text, Method: "GET", Path: "/nodes/pve1/qemu/20000/config"}
}

func TestAddError(t *testing.T) {
	t.Parallel()

	upid, err := proxmox.ParseUPID("UPID:pve1:00001234:00ABCDEF:66AABBCC:qmclone:9000:terraform@pve!ci:")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		err             error
		summary, detail []string
	}{
		"unauthorized": {
			said(http.StatusUnauthorized, "Authentication failed!"),
			[]string{"token is not accepted"},
			[]string{"expired", "pveum user token list", "token_id"},
		},
		"a privilege is missing": {
			said(http.StatusForbidden, "Permission check failed (/sdn/zones/localnetwork/vmbr0, SDN.Use)"),
			[]string{"lacks SDN.Use on /sdn/zones/localnetwork/vmbr0"},
			[]string{"pveum acl modify /sdn/zones/localnetwork/vmbr0", "privilege separation", "bridge"},
		},
		"one of several privileges is missing": {
			said(http.StatusForbidden, "Permission check failed (/storage/local, Datastore.Audit|Datastore.AllocateSpace)"),
			[]string{"Datastore.Audit or Datastore.AllocateSpace on /storage/local"},
			[]string{"pveum role add"},
		},
		"an ISO image may not be deleted": {
			said(http.StatusForbidden, "Permission check failed (/storage/seeds, Datastore.Allocate)"),
			[]string{"Datastore.Allocate on /storage/seeds"},
			[]string{"Datastore.Allocate is needed to delete ISO images"},
		},
		"a tag is not for everybody": {
			said(http.StatusForbidden, "Permission check failed (/, Sys.Modify for modifying tag 'prod')"),
			[]string{`lacks Sys.Modify on /, which the tag "prod" takes`},
			[]string{"registered-tags", "user-tag-access", "another tag"},
		},
		"only root may": {
			said(http.StatusInternalServerError, "only root can set 'args' config"),
			[]string{"may not"},
			[]string{"even to one of root's"},
		},
		"a digest that no longer holds": {
			said(http.StatusInternalServerError, "checksum mismatch (file change by other user?)"),
			[]string{"somebody changed it meanwhile"},
			[]string{"Apply again"},
		},
		"a locked guest": {
			said(http.StatusInternalServerError, "VM is locked (backup)"),
			[]string{"locked by another operation"},
			[]string{"qm unlock"},
		},
		"a lock that was not to be had": {
			said(http.StatusInternalServerError, "can't lock file '/var/lock/qemu-server/lock-20000.conf' - got timeout"),
			[]string{"held the lock too long"},
			[]string{"Nothing was begun"},
		},
		"an id that is taken": {
			said(http.StatusInternalServerError, "unable to create VM 20000: config file already exists"),
			[]string{"exists already"},
			[]string{"never taken over"},
		},
		"a task that failed": {
			&proxmox.TaskError{UPID: upid, ExitStatus: "clone failed: out of luck", LogTail: []string{"creating full clone", "TASK ERROR: clone failed"}},
			[]string{"Cannot clone template 9000"},
			[]string{"out of luck", "creating full clone", "UPID:pve1:", "qmclone"},
		},
		"a task that found the storage full": {
			&proxmox.TaskError{UPID: upid, ExitStatus: "clone failed: No space left on device", LogTail: []string{"TASK ERROR"}},
			[]string{"storage is full"},
			[]string{"TASK ERROR", "Free space"},
		},
		"a bridge that is not there": {
			&proxmox.TaskError{UPID: upid, ExitStatus: "bridge 'vmbr9' does not exist"},
			[]string{"no such bridge"},
			[]string{"vmbr9", "proxmox_node"},
		},
		"a storage that is not there": {
			said(http.StatusInternalServerError, "storage 'nope' does not exist"),
			[]string{"no such storage"},
			[]string{"pvesm status"},
		},
		"a storage for other content": {
			said(http.StatusInternalServerError, "storage 'seeds' does not support vm images"),
			[]string{"does not hold this kind of content"},
			[]string{"pvesm set"},
		},
		"a node that is down": {
			said(595, "No route to host"),
			[]string{"cannot be reached"},
			[]string{"8006", "fallback_endpoints"},
		},
		"a certificate": {
			&proxmox.TLSError{Endpoint: "pve1:8006", Cause: "the node's certificate is not trusted", Problem: "it is signed by an unknown CA", Remedy: "set ca_file"},
			[]string{"certificate is not trusted"},
			[]string{"pve1:8006", "unknown CA", "Set ca_file."},
		},
		"another cluster": {
			&proxmox.ClusterMismatchError{Endpoint: "pve9:8006", Want: "dc1", Got: "dc2"},
			[]string{"another cluster"},
			[]string{"dc1", "dc2"},
		},
		"a lost answer": {
			&proxmox.LostAnswerError{Method: "POST", Path: "/nodes/pve1/qemu/9000/clone", Err: errors.New("EOF")},
			[]string{"answer was lost"},
			[]string{"POST /nodes/pve1/qemu/9000/clone", "may or may not"},
		},
		"an interrupted wait": {
			&proxmox.InterruptedError{UPID: upid, Err: context.DeadlineExceeded},
			[]string{"wait ended"},
			[]string{"UPID:pve1:", "timeouts"},
		},
		"a stranger": {
			&proxmox.OwnershipError{Standing: proxmox.Stranger, VMID: 20000, Node: "pve1", Detail: "it carries another guest's marker"},
			[]string{"not the provider's own"},
			[]string{"VM 20000", "another guest's marker", "Nothing was done"},
		},
		"a damaged marker": {
			&proxmox.OwnershipError{Standing: proxmox.Damaged, VMID: 20000, UID: "7d9c1f6e-0000-4000-8000-000000000001"},
			[]string{"marker is gone"},
			[]string{"terraform-proxmox-uid=7d9c1f6e-0000-4000-8000-000000000001/20000", "Put the line back"},
		},
		"a guest that may not be read": {
			&proxmox.OwnershipError{Standing: proxmox.Unreadable, VMID: 20000},
			[]string{"may not read"},
			[]string{"VM.Audit on /vms/20000"},
		},
		"an unfinished guest": {
			&proxmox.UnfinishedError{VMID: 20007, Node: "pve1", Name: "web", UID: "7d9c1f6e-0000-4000-8000-000000000001"},
			[]string{"left it unfinished"},
			[]string{"20007", "terraform import", "destroy VM 20007"},
		},
		"a taken id": {
			&proxmox.TakenError{VMID: 20007, Detail: "VM 20007 \"other\""},
			[]string{"id is taken"},
			[]string{"20007", "other", "another vmid"},
		},
		"an exhausted range": {
			&proxmox.ExhaustedError{Range: proxmox.VMIDRange{First: 20000, Last: 20009}, Used: 4, Highest: 20009},
			[]string{"exhausted"},
			[]string{"20000-20009", "4 of its 10", "PROXMOX_VMID_RANGE"},
		},
		"no range": {proxmox.ErrNoRange, []string{"no VMID range"}, []string{"PROXMOX_VMID_RANGE"}},
		"an id outside the range": {
			&proxmox.OutOfRangeError{VMID: 100, Range: proxmox.VMIDRange{First: 20000, Last: 20009}},
			[]string{"outside vmid_range"},
			[]string{"100", "20000-20009"},
		},
		"a protected guest": {proxmox.ErrProtected, []string{"protected"}, []string{"Nothing was stopped", "Protection off"}},
		"a held guest": {
			&proxmox.LockedError{VMID: 20007, Node: "pve1", Lock: "backup"},
			[]string{"locked by another operation"},
			[]string{"backup", "qm unlock"},
		},
		"a lock that nobody lifts": {
			&proxmox.AbandonedError{VMID: 20007, Node: "pve1", Err: &proxmox.OwnershipError{Standing: proxmox.Stub, VMID: 20007, Node: "pve1"}},
			[]string{"left it locked"},
			[]string{"qm unlock 20007", "root on node pve1"},
		},
		"anything else": {
			errors.New("something odd"),
			[]string{"Cannot clone template 9000"},
			[]string{"something odd"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			framework.AddError(&diags, "clone template 9000", fmt.Errorf("wrapped: %w", test.err))
			if diags.ErrorsCount() != 1 {
				t.Fatalf("got %v, want one error", diags)
			}
			holds(t, "summary", diags[0].Summary(), append(test.summary, "Cannot clone template 9000"))
			holds(t, "detail", diags[0].Detail(), test.detail)
		})
	}
}

func TestAddErrorOfNothing(t *testing.T) {
	t.Parallel()

	var diags diag.Diagnostics
	framework.AddError(&diags, "do it", nil)
	framework.AddWarning(&diags, "do it", nil)
	framework.AddAttributeError(&diags, path.Root("name"), "do it", nil)
	if len(diags) != 0 {
		t.Errorf("no error gives %v", diags)
	}
}

func TestAddWarningAndAttributeError(t *testing.T) {
	t.Parallel()

	var diags diag.Diagnostics
	framework.AddWarning(&diags, "do it", errors.New("odd"))
	framework.AddAttributeError(&diags, path.Root("name"), "do it", errors.New("odd"))
	if diags.WarningsCount() != 1 || diags.ErrorsCount() != 1 {
		t.Fatalf("got %v, want a warning and an error", diags)
	}
	at, ok := diags.Errors()[0].(diag.DiagnosticWithPath)
	if !ok || !at.Path().Equal(path.Root("name")) {
		t.Errorf("the error is not at the attribute: %v", diags.Errors()[0])
	}
}

func holds(t *testing.T, what, text string, parts []string) {
	t.Helper()

	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("the %s does not say %q: %s", what, part, text)
		}
	}
}
