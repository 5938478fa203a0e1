package framework

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"terraform-provider-proxmox/internal/proxmox"
)

// explanation is what a user needs to know of an error.
type explanation struct {
	// cause is the reason in a few words, for the summary.
	cause string
	// said is what the client or PVE says about it; the error's own text when
	// it is empty.
	said string
	// remedy says what to do, and may be empty.
	remedy string
}

// explain finds the cause of an error. The first that matches is the most
// particular one.
func explain(err error) explanation {
	for _, find := range []func(error) (explanation, bool){
		fencing, ownership, creation, keptLost, boundary, interrupted, lostAnswer, connection, signingIn, refused, conflict, missing,
	} {
		if e, ok := find(err); ok {
			e.said = withLog(err, e.said)
			return e
		}
	}
	return explanation{said: withLog(err, "")}
}

// withLog appends to what is said of a failed task the end of its log.
func withLog(err error, said string) string {
	if said == "" {
		said = err.Error()
	}
	var task *proxmox.TaskError
	if !errors.As(err, &task) || len(task.LogTail) == 0 {
		return said
	}
	return fmt.Sprintf("%s\n\nThe end of the task's log (%s):\n  %s", said, task.UPID, strings.Join(task.LogTail, "\n  "))
}

// keptLost explains what to do where there is nothing left to keep. It is the user who
// says that data are given up.
func keptLost(err error) (explanation, bool) {
	var lost *proxmox.KeptLostError
	if !errors.As(err, &lost) {
		return explanation{}, false
	}
	return explanation{
		cause: "a volume that is to be kept is gone",
		remedy: fmt.Sprintf("Somebody has destroyed the container that had %[1]s, or has taken the volume out of it; nothing was changed now. "+
			"Where it is not to be had back, take %[1]s out of reinstall.keep and apply: the container gets a new, empty volume there.", lost.Slot),
	}, true
}

func interrupted(err error) (explanation, bool) {
	var wait *proxmox.InterruptedError
	if !errors.As(err, &wait) {
		return explanation{}, false
	}
	return explanation{
		cause: "the wait ended before Proxmox VE did",
		said:  fmt.Sprintf("The task %s may still be running: %v.", wait.UPID, wait.Err),
		remedy: "Nothing is lost: the task goes on in Proxmox VE, and the next apply looks at how it ended. " +
			"If it was the deadline that ended the wait, give the operation more time in the resource's timeouts.",
	}, true
}

func lostAnswer(err error) (explanation, bool) {
	var lost *proxmox.LostAnswerError
	if !errors.As(err, &lost) {
		return explanation{}, false
	}
	return explanation{
		cause: "Proxmox VE's answer was lost",
		said:  fmt.Sprintf("%s %s was sent, but the connection ended before the answer: %v.", lost.Method, lost.Path, lost.Err),
		remedy: "It may or may not have been done. The next plan shows which; " +
			"apply again once the node can be reached.",
	}, true
}

// connection explains what kept the client from getting an answer at all.
func connection(err error) (explanation, bool) {
	var (
		certificate *proxmox.TLSError
		cluster     *proxmox.ClusterMismatchError
	)
	switch {
	case errors.As(err, &certificate):
		return explanation{
			cause:  certificate.Cause,
			said:   fmt.Sprintf("%s: %s.", certificate.Endpoint, certificate.Problem),
			remedy: sentence(certificate.Remedy),
		}, true
	case errors.As(err, &cluster):
		return explanation{
			cause:  "the endpoint belongs to another cluster",
			said:   sentence(cluster.Error()),
			remedy: "Nothing was asked of it. Correct endpoint or fallback_endpoints, or cluster if it was renamed.",
		}, true
	case proxmox.IsUnavailable(err):
		return explanation{
			cause: "the node cannot be reached",
			remedy: "Nothing is known about what is on it, so the state is left as it was. Check that the endpoint is right, that the node is up " +
				"and that port 8006 is open from here; fallback_endpoints names further nodes to ask.",
		}, true
	default:
		return explanation{}, false
	}
}

// refused explains why the token may not do it.
func refused(err error) (explanation, bool) {
	if proxmox.IsUnauthorized(err) {
		return explanation{
			cause: "the API token is not accepted",
			said:  answered(err),
			remedy: "The token was deleted or has expired, its secret was issued anew, or the id names another token or realm. " +
				"Check token_id (user@realm!name), list the tokens with `pveum user token list <user>@<realm>`, and give the secret that belongs to it.",
		}, true
	}
	if !proxmox.IsPermission(err) {
		return explanation{}, false
	}
	where, privileges, known := proxmox.PermissionOf(err)
	if !known {
		return explanation{
			cause:  "the API token may not do it",
			remedy: "What only root may do is refused to every API token, even to one of root's.\n\n" + Separation,
		}, true
	}
	if tag, ok := proxmox.RefusedTag(err); ok {
		return refusedTag(tag, where, privileges[0]), true
	}
	return explanation{
		cause:  fmt.Sprintf("the API token lacks %s on %s", strings.Join(privileges, " or "), where),
		remedy: grant(where, privileges),
	}, true
}

// refusedTag explains that not everybody gives and takes every tag.
func refusedTag(tag, where, privilege string) explanation {
	return explanation{
		cause: fmt.Sprintf("the API token lacks %s on %s, which the tag %q takes", privilege, where, tag),
		remedy: "The cluster registers the tag, or limits the tags that users may give and take (registered-tags and user-tag-access, in Proxmox VE under Datacenter, Options). " +
			"Choose another tag, have it released there, or grant the privilege, which also allows to change the cluster's own settings.\n\n" + Separation,
	}
}

// grant says what privileges are for and how to give the first of them.
func grant(where string, privileges []string) string {
	var text strings.Builder
	for _, privilege := range privileges {
		if purposes := proxmox.Purposes(where, privilege); len(purposes) > 0 {
			fmt.Fprintf(&text, "%s is needed to %s.\n", privilege, strings.Join(purposes, ", to "))
		}
	}
	fmt.Fprintf(&text, "Give the token a role that holds %s, for example:\n"+
		"  pveum role add Terraform --privs %q\n"+
		"  pveum acl modify %s --tokens '<user>@<realm>!<name>' --roles Terraform\n"+
		"(--users '<user>@<realm>' where a user signs in with a password).\n\n",
		strings.Join(privileges, " or "), privileges[0], where)
	if slices.Contains(privileges, "Datastore.Allocate") {
		text.WriteString("It also allows to delete backups, templates and disks, and to edit the storage: " +
			"grant it on a dedicated storage that holds nothing but seeds.\n\n")
	}
	if slices.Contains(privileges, "VM.Audit") {
		text.WriteString("Rights that come from a pool end when the guest leaves the pool.\n\n")
	}
	return text.String() + Separation
}

// answered repeats the bare answer of PVE.
func answered(err error) string {
	var answer *proxmox.Error
	if !errors.As(err, &answer) {
		return ""
	}
	return fmt.Sprintf("%s %s was answered with %d %s", answer.Method, answer.Path, answer.Status, sentence(answer.Reason))
}

// Separation is what surprises most about tokens, in a sentence.
const Separation = "A token with privilege separation has no rights of its own user: it holds only what is granted to the token itself, " +
	"and never more than the user holds too."

// conflict explains what somebody else did or is doing.
func conflict(err error) (explanation, bool) {
	var locked *proxmox.LockedError
	switch {
	case proxmox.IsDigestMismatch(err):
		return explanation{
			cause:  "somebody changed it meanwhile",
			remedy: "Nothing was written. Apply again: the plan then shows what is there now.",
		}, true
	case proxmox.IsLockTimeout(err):
		return explanation{
			cause:  "another operation held the lock too long",
			remedy: "Nothing was begun. Apply again; if it happens often, lower limits.tasks_per_storage or -parallelism.",
		}, true
	case errors.As(err, &locked) || proxmox.IsLocked(err):
		return explanation{
			cause: "the guest is locked by another operation",
			remedy: "A backup, clone, migration or snapshot is at work on it. Apply again when it has ended. " +
				"A lock that a crash left behind is removed on the node with `qm unlock <vmid>`.",
		}, true
	case proxmox.IsExists(err):
		return explanation{
			cause:  "it exists already and is not the provider's own",
			remedy: "What exists is never taken over. Choose another id or name, or import it if it is meant to be managed here.",
		}, true
	default:
		return explanation{}, false
	}
}

// missing explains what PVE does not have.
func missing(err error) (explanation, bool) {
	switch {
	case proxmox.IsContentRefused(err):
		return explanation{
			cause: "the storage does not hold this kind of content",
			remedy: "Choose another storage, or allow the content on it: `pvesm set <storage> --content …` sets the whole list. " +
				"Disks of VMs are images, ISO images iso, container volumes rootdir.",
		}, true
	case proxmox.IsNoStorage(err):
		return explanation{
			cause:  "the node has no such storage",
			remedy: "The storage does not exist, is disabled, or is not offered on this node. `pvesm status` on the node shows what is.",
		}, true
	case proxmox.IsNoBridge(err):
		return explanation{
			cause:  "the node has no such bridge",
			remedy: "The proxmox_node data source lists a node's bridges. Each node has its own: a guest only starts where its bridge is.",
		}, true
	case proxmox.IsNoSpace(err):
		return explanation{
			cause:  "the storage is full",
			remedy: "Free space on it, or choose another one. What was begun is removed by Proxmox VE or shows in the next plan.",
		}, true
	case proxmox.IsNotImplemented(err):
		return explanation{
			cause:  "this version of Proxmox VE does not know the call",
			remedy: "The provider needs Proxmox VE 8.4 or 9.",
		}, true
	case proxmox.IsNotFound(err):
		return explanation{cause: "it does not exist"}, true
	default:
		return explanation{}, false
	}
}
