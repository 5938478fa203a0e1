package proxmox

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"
)

// ReplicationService reads replication jobs, which copy the volumes of guests to
// other nodes of the cluster.
type ReplicationService struct{ c *Client }

// ReplicationJob is a job; what Jobs reads lacks the state.
type ReplicationJob struct {
	// ID is the guest's id with a number, such as "101-0".
	ID string `json:"id"`
	// Guest is the guest's id, which PVE takes out of the job's and sends as text.
	Guest  Int    `json:"guest"`
	Source string `json:"source"`
	Target string `json:"target"`
	// Schedule is a calendar event; PVE's default is every 15 minutes.
	Schedule string `json:"schedule"`
	Comment  string `json:"comment"`
	Disabled Bool   `json:"disable"`
	// Removing is set on a job that its next run removes.
	Removing string `json:"remove_job"`

	// LastSync is when the last run that succeeded began, LastTry when the last
	// one did, NextSync when the next one is due: Unix times, 0 for never.
	LastSync Int `json:"last_sync"`
	LastTry  Int `json:"last_try"`
	NextSync Int `json:"next_sync"`
	// Duration is in seconds.
	Duration  Float  `json:"duration"`
	FailCount Int    `json:"fail_count"`
	Error     string `json:"error"`
	// PID is not 0 while the job runs.
	PID Int `json:"pid"`
}

// defaultSchedule is that of a job that names none.
const defaultSchedule = "*/15"

// Jobs lists the jobs' configuration, of the guests that the token may read
// (VM.Audit), whichever node they run on.
func (s *ReplicationService) Jobs(ctx context.Context) ([]ReplicationJob, error) {
	return s.list(ctx, at("cluster", "replication"), nil)
}

// ReplicationJobs are the jobs' configuration, shared by all who read it within
// the view's life.
func (v *View) ReplicationJobs(ctx context.Context) ([]ReplicationJob, error) {
	return shared(ctx, v, viewKey{what: "replication"}, v.c.Replication.Jobs)
}

// OnNode lists the jobs that run on a node, those of the guests that are there,
// with their state. Guest 0 means all.
func (s *ReplicationService) OnNode(ctx context.Context, node string, guest int) ([]ReplicationJob, error) {
	query := url.Values{}
	if guest != 0 {
		query.Set("guest", strconv.Itoa(guest))
	}
	return s.list(ctx, at("nodes", node, "replication"), query)
}

func (s *ReplicationService) list(ctx context.Context, path string, query url.Values) ([]ReplicationJob, error) {
	var jobs []ReplicationJob
	err := s.c.get(ctx, path, query, &jobs)
	for i := range jobs {
		if jobs[i].Schedule == "" {
			jobs[i].Schedule = defaultSchedule
		}
	}
	return jobs, err
}

// Job reads one job with its state. A job of another guest, one that the token
// may not read, and none at all are all the same: not found is false.
func (s *ReplicationService) Job(ctx context.Context, id string) (ReplicationJob, bool, error) {
	jobs, err := s.Jobs(ctx)
	if err != nil {
		return ReplicationJob{}, false, err
	}
	for _, job := range jobs {
		if job.ID != id {
			continue
		}
		node := job.Source
		if guest, listed, err := s.c.Gate.listed(ctx, int(job.Guest)); err == nil && listed {
			node = guest.Node
		}
		return s.withState(ctx, node, job)
	}
	return ReplicationJob{}, false, nil
}

func (s *ReplicationService) withState(ctx context.Context, node string, job ReplicationJob) (ReplicationJob, bool, error) {
	states, err := s.OnNode(ctx, node, int(job.Guest))
	if err != nil {
		return ReplicationJob{}, false, err
	}
	for _, state := range states {
		if state.ID == job.ID {
			return state, true, nil
		}
	}
	return ReplicationJob{}, false, nil
}

// Lag is how old the replica is at a time of the source node's clock; ok is false
// for a job that never succeeded. It says nothing of the data's own age.
func (j ReplicationJob) Lag(now time.Time) (lag time.Duration, ok bool) {
	if j.LastSync == 0 {
		return 0, false
	}
	return max(0, now.Sub(time.Unix(int64(j.LastSync), 0))), true
}

// Problems says why a replica is not to be relied on: none means that it is
// ready. A job that failed since its last success is not ready, whatever its lag.
// maxLag 0 sets no bound.
func (j ReplicationJob) Problems(now time.Time, maxLag time.Duration) []string {
	var problems []string
	add := func(format string, a ...any) { problems = append(problems, fmt.Sprintf("job "+j.ID+" "+format, a...)) }
	if j.Removing != "" {
		add("is being removed")
	}
	if j.Disabled {
		add("is disabled")
	}
	if j.FailCount > 0 {
		add("has failed %d times since its last success: %s", j.FailCount, j.Error)
	}
	switch lag, ok := j.Lag(now); {
	case !ok:
		add("has never succeeded")
	case maxLag > 0 && lag > maxLag:
		add("lags %s behind, more than %s", lag.Round(time.Second), maxLag)
	}
	return problems
}

// Now is the clock of the node that jobs run on, which their times are of. Where
// the token may not read it (Sys.Audit on the node), it is this machine's.
func (s *ReplicationService) Now(ctx context.Context, node string) (time.Time, error) {
	now, err := s.c.Nodes.Time(ctx, node)
	if IsPermission(err) {
		return s.c.clock.Now(), nil
	}
	return now, err
}
