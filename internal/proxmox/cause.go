package proxmox

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// PVE tells most of its errors apart by text alone. This file is the one place
// that reads those texts; they were taken from answers of PVE 9.2 and 8.4.
var (
	textNotFound = regexp.MustCompile(`Configuration file '[^']*' does not exist` +
		`|unable to find configuration file for (VM|CT)` +
		`|(volume|pool|storage|disk) '[^']*' does not exist` +
		`|parent '[^']*' of pool '[^']*' does not exist` +
		`|interface does not exist` +
		`|\b[Nn]o such (task|storage|resource|user|token|job|replication job|alias|IPSet|security group|cluster node)\b`)
	textLocked      = regexp.MustCompile(`\b(VM|CT)( \d+)? is locked\b`)
	textLockTimeout = regexp.MustCompile(`can't lock file '[^']*' - got timeout|got lock request timeout`)
	// A worker that writes the configuration of an id that is taken on another
	// node fails with the cluster file system's EEXIST.
	textExists = regexp.MustCompile(`\balready exists\b|\balready defined\b|\bFile exists\b`)
	textDigest = regexp.MustCompile(`checksum mismatch \(file change by other user\?\)` +
		`|detected modified configuration`)
	textRootOnly   = regexp.MustCompile(`(?i)\bonly root (can|may)\b`)
	textPermission = regexp.MustCompile(`Permission check failed \((/[^,]*|), ([A-Za-z.|]+)(?: for modifying tag '([^']*)')?\)`)
	textNoPool     = regexp.MustCompile(`pool '[^']*' does not exist`)
	// A node that is not, or no longer, a member of the cluster.
	textNoNode   = regexp.MustCompile(`hostname lookup '[^']*' failed|no such cluster node '`)
	textNoQuorum = regexp.MustCompile(`\bno quorum\b`)
	textNoWorker = regexp.MustCompile(`got (no|strange) worker upid|starting worker failed`)
	textRunning  = regexp.MustCompile(`\b(VM|CT) \d+ is running\b|\balready running\b|container is running` +
		`|the source CT is running`)
	textStopped = regexp.MustCompile(`\b(VM|CT) \d+ not running\b`)
	textAgent   = regexp.MustCompile(`(?i)QEMU guest agent is not running|No QEMU guest agent configured` +
		`|VM \d+ (is )?not running` +
		// One that restarts, as in an upgrade of its package, leaves a command
		// without an answer (PVE 8 says qmp, PVE 9 qga).
		`|VM \d+ (qmp|qga) command 'guest-[^']*' failed - |unable to connect to VM \d+ qga socket`)
	// What an agent itself answers: guests of the RHEL family let it open no files.
	textAgentRefused = regexp.MustCompile(`^Agent error: `)
	textNoTicket     = regexp.MustCompile(`No ticket`)
	textCSRF         = regexp.MustCompile(`csrf`)
	textNoAgentFile  = regexp.MustCompile(`Agent error: failed to open file '.*': No such file or directory`)
	textUnknownParam = regexp.MustCompile(`^property is not defined in schema`)

	textNoStorage = regexp.MustCompile(`storage '[^']*' (does not exist|is disabled|is not available on node|is not online)` +
		`|\bNo such storage\b`)
	textContentRefused = regexp.MustCompile(`does not support (vm images|container directories|'[^']*' content|content[- ]type)` +
		`|content type needs to be|has wrong type '[^']*' - needs to be`)
	textNoBridge = regexp.MustCompile(`bridge '[^']*' does not exist|no sdn vnet ID specified`)
	textNoSpace  = regexp.MustCompile(`(?i)no space left on device|not enough (free )?space|insufficient free space` +
		`|exceeds the size of thin pool|out of space`)
)

// Logs are read for two things.
var (
	// textCloneTarget is the first line of a clone's log: its UPID names the
	// source only.
	textCloneTarget = regexp.MustCompile(`^creating a clone of VM \d+ with ID (\d+)$`)
	// textCloneVolume is what the storage says of a new volume. PVE 8 tells of no
	// target before that, and nothing where the storage is silent (ZFS, Ceph).
	textCloneVolume = regexp.MustCompile(`^(?:Formatting '.*/|\s*Logical volume ")vm-(\d+)-`)
	// textEmptyLog is the one line of a log that is empty or not there.
	textEmptyLog = regexp.MustCompile(`^(no content$|unable to open file - )`)
)

// texts are all that PVE says in an error: message, parameters' errors, a
// task's exit status and the end of its log.
func texts(err error) []string {
	found := reasons(err)
	var task *TaskError
	if errors.As(err, &task) {
		found = append(found, task.LogTail...)
	}
	return found
}

// reasons are the texts that name the cause: the log of a task is left out,
// which may tell of things that were overcome.
func reasons(err error) []string {
	var found []string
	if e, ok := answer(err); ok {
		found = append(found, e.Message, e.Reason)
		for _, text := range e.Params {
			found = append(found, text)
		}
	}
	var task *TaskError
	if errors.As(err, &task) {
		found = append(found, task.ExitStatus)
	}
	return found
}

func says(texts []string, pattern *regexp.Regexp) bool {
	return slices.ContainsFunc(texts, pattern.MatchString)
}

// IsNotFound reports whether PVE said that something does not exist. It may be
// the object itself or another one that the call named.
func IsNotFound(err error) bool {
	return hasStatus(err, http.StatusNotFound) || says(reasons(err), textNotFound)
}

// IsLocked reports whether the guest is locked, by its configuration ("VM is
// locked (clone)") or because another call held its lock file too long. Also
// true of a task that ended so.
func IsLocked(err error) bool { return says(reasons(err), textLocked) || IsLockTimeout(err) }

// IsLockTimeout reports whether a lock could not be had in time: the same may
// be tried again. Also true of a task that ended so.
func IsLockTimeout(err error) bool { return says(reasons(err), textLockTimeout) }

// IsPermission reports whether PVE refused for lack of a privilege, or because
// only root may do it.
func IsPermission(err error) bool {
	if says(reasons(err), textRootOnly) {
		return true
	}
	// An unknown pool is a 403 too.
	return hasStatus(err, http.StatusForbidden) && !says(reasons(err), textNoPool)
}

// IsExists reports whether what was to be made exists already: somebody
// else's, until proven otherwise. Also true of a task that ended so.
func IsExists(err error) bool { return says(reasons(err), textExists) }

// IsRunning reports whether PVE refused because the guest runs. Also true of a
// task that ended so.
func IsRunning(err error) bool { return says(reasons(err), textRunning) }

// IsStopped reports whether PVE refused because the guest does not run.
func IsStopped(err error) bool { return says(reasons(err), textStopped) }

// IsUnavailable reports whether nobody could answer: the endpoint or the node
// behind it cannot be reached, or is no member of the cluster. It says nothing
// about the object.
func IsUnavailable(err error) bool {
	if isConnection(err) {
		return true
	}
	e, ok := answer(err)
	return ok && (isGateway(e.Status) || says(reasons(err), textNoNode))
}

func isConnection(err error) bool {
	var e *ConnectionError
	return errors.As(err, &e)
}

// isGateway tells the statuses of a proxy that got no answer: PVE's own between
// nodes (595 no connection, 596 to 599 a connection that failed later; they
// stem from the AnyEvent library), or one in front of PVE.
func isGateway(status int) bool {
	switch status {
	case statusNoConnection, 596, 597, 598, 599,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	default:
		return false
	}
}

// statusNoConnection is PVE's proxy saying that it could not connect to the
// node that was to answer, so that nothing has begun.
const statusNoConnection = 595

// IsUnauthorized reports whether PVE did not accept the credentials.
func IsUnauthorized(err error) bool { return hasStatus(err, http.StatusUnauthorized) }

// IsDigestMismatch reports whether the configuration was changed by somebody
// else after it had been read.
func IsDigestMismatch(err error) bool { return says(reasons(err), textDigest) }

// IsNotImplemented reports whether this version of PVE knows no such call.
func IsNotImplemented(err error) bool { return hasStatus(err, http.StatusNotImplemented) }

// IsLostAnswer reports whether the error is a [*LostAnswerError].
func IsLostAnswer(err error) bool {
	var e *LostAnswerError
	return errors.As(err, &e)
}

// IsNotBegun reports whether a call is known not to have begun although it
// failed for no fault of its own: nobody could be reached, a lock could not be had
// in time, or it was not sent for it had waited too long. A mutation may be
// repeated, after ownership was checked again. A task that ran is begun.
func IsNotBegun(err error) bool {
	var late *LateError
	if errors.As(err, &late) {
		return true
	}
	if IsLostAnswer(err) {
		return false
	}
	var connection *ConnectionError
	if errors.As(err, &connection) {
		return !connection.Sent
	}
	e, ok := answer(err)
	return ok && (e.Status == statusNoConnection || IsLockTimeout(e))
}

// IsNoWorker reports whether PVE could not start the worker of a task ("got no
// worker upid", seen on parallel deletes). Nothing had begun when it was seen;
// look, check ownership again, then repeat.
func IsNoWorker(err error) bool { return says(reasons(err), textNoWorker) }

// IsNoQuorum reports whether the node that was to act is not in touch with most
// of the cluster, so that it changes nothing.
func IsNoQuorum(err error) bool { return says(reasons(err), textNoQuorum) }

// IsAgentUnavailable reports whether the guest's agent gave no answer: it is not
// configured, not running, or the guest is off.
func IsAgentUnavailable(err error) bool { return says(reasons(err), textAgent) }

// IsAgentRefusal reports whether the guest's agent answered that it does not do
// what it was asked for.
func IsAgentRefusal(err error) bool { return says(reasons(err), textAgentRefused) }

// IsNoAgentFile reports whether the guest has no file of the name that its agent
// was to read.
func IsNoAgentFile(err error) bool { return says(reasons(err), textNoAgentFile) }

// IsNoStorage reports whether a storage does not exist, or not on that node, or
// is disabled.
func IsNoStorage(err error) bool { return says(texts(err), textNoStorage) }

// IsContentRefused reports whether a storage may not hold that kind of content.
func IsContentRefused(err error) bool { return says(texts(err), textContentRefused) }

// IsNoBridge reports whether a bridge or VNet does not exist.
func IsNoBridge(err error) bool { return says(texts(err), textNoBridge) }

// IsNoSpace reports whether a storage is full.
func IsNoSpace(err error) bool { return says(texts(err), textNoSpace) }

// PermissionOf names the path and the privileges that a refusal asked for. Of
// several privileges one suffices.
func PermissionOf(err error) (path string, privs []string, ok bool) {
	var lack *LackError
	if errors.As(err, &lack) {
		return lack.Lacks[0].Path, []string{lack.Lacks[0].Privilege}, true
	}
	for _, text := range reasons(err) {
		if found := textPermission.FindStringSubmatch(text); found != nil {
			return found[1], strings.Split(found[2], "|"), true
		}
	}
	return "", nil, false
}

// RefusedTag names the tag that a refusal was for: one that the cluster has
// registered, or that it does not let its users give.
func RefusedTag(err error) (string, bool) {
	for _, text := range reasons(err) {
		if found := textPermission.FindStringSubmatch(text); found != nil && found[3] != "" {
			return found[3], true
		}
	}
	return "", false
}

// UnknownParams names the parameters that this version of PVE does not know,
// sorted.
func UnknownParams(err error) []string {
	e, ok := answer(err)
	if !ok {
		return nil
	}
	var names []string
	for name, text := range e.Params {
		if textUnknownParam.MatchString(text) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// isTransient reports whether a read may be made again: no answer, or one that
// says nothing about the object.
func isTransient(err error) bool {
	var tls *TLSError
	if errors.As(err, &tls) || errors.Is(err, context.Canceled) {
		return false
	}
	e, ok := answer(err)
	return isConnection(err) || ok && (isGateway(e.Status) || IsLockTimeout(e))
}
