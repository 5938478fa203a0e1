package proxmox

// Error is an answer of PVE other than success.
type Error struct {
	// Status is the HTTP status; Reason the text beside it, where PVE puts its
	// message too.
	Status int
	Reason string
	// Message is PVE's own text, without its trailing newline.
	Message string
	// Params are the errors by parameter, of a call whose parameters PVE did
	// not accept.
	Params map[string]string
	Method string
	Path   string
}

func (e *Error) Error() string { return e.Message }

// TaskError is a task that ended with an error.
type TaskError struct {
	UPID       UPID
	ExitStatus string
	// LogTail are the last lines of the task's log, oldest first; it may be
	// empty.
	LogTail []string
}

func (e *TaskError) Error() string { return e.ExitStatus }

// LostAnswerError is a mutation whose answer was lost: PVE may or may not have
// begun it. Look at the task list and at the object before anything else.
type LostAnswerError struct {
	Method, Path string
	Err          error
}

func (e *LostAnswerError) Error() string { return e.Err.Error() }

func (e *LostAnswerError) Unwrap() error { return e.Err }

// InterruptedError says that waiting for a task ended before the task did: it
// may still be running.
type InterruptedError struct {
	UPID UPID
	// Err is the context's error.
	Err error
}

func (e *InterruptedError) Error() string { return e.Err.Error() }

func (e *InterruptedError) Unwrap() error { return e.Err }

// IsNotFound reports whether the object does not exist.
func IsNotFound(err error) bool { return false }

// IsLocked reports whether the guest is locked, by its configuration ("VM is
// locked (clone)") or because another call held its lock file too long. Also
// true of a task that ended so.
func IsLocked(err error) bool { return false }

// IsLockTimeout reports whether a lock file could not be had in time: nothing
// was begun, and the same may be tried again. Also true of a task that ended
// so.
func IsLockTimeout(err error) bool { return false }

// IsPermission reports whether PVE refused for lack of a privilege.
func IsPermission(err error) bool { return false }

// IsExists reports whether what was to be made exists already: somebody
// else's, until proven otherwise. Also true of a task that ended so.
func IsExists(err error) bool { return false }

// IsUnavailable reports whether nobody could answer: the endpoint or the node
// behind it cannot be reached. It says nothing about the object.
func IsUnavailable(err error) bool { return false }

// IsUnauthorized reports whether PVE did not accept the credentials.
func IsUnauthorized(err error) bool { return false }

// IsDigestMismatch reports whether the configuration was changed by somebody
// else after it had been read.
func IsDigestMismatch(err error) bool { return false }

// IsNotImplemented reports whether this version of PVE knows no such call.
func IsNotImplemented(err error) bool { return false }

// IsLostAnswer reports whether the error is a [*LostAnswerError].
func IsLostAnswer(err error) bool { return false }

// IsNotBegun reports whether a mutation is known not to have begun although it
// failed for no fault of its own: nobody could be reached, or a lock file could
// not be had in time. It may be repeated, after ownership was checked again.
func IsNotBegun(err error) bool { return false }

// IsNoWorker reports whether PVE could not start the worker of a task ("got no
// worker upid", seen on parallel deletes). Nothing had begun when it was seen;
// look, check ownership again, then repeat.
func IsNoWorker(err error) bool { return false }

// PermissionOf names the path and the privileges that a refusal asked for. Of
// several privileges one suffices.
func PermissionOf(err error) (path string, privs []string, ok bool) { return "", nil, false }
