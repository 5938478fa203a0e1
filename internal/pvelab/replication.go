package pvelab

import (
	"strconv"
	"strings"
)

// replicationState is replication.cfg and what each job's runs left behind.
type replicationState struct {
	replications map[string]*replication
	// failing are the texts that jobs are to fail with, by id.
	failing map[string]string
}

// replication is a job that copies a guest's volumes to another node. Its id is
// the guest's with a number, such as 110-0.
type replication struct {
	guest, number int
	conf          section
	// lastTry and lastSync are Unix times, 0 for never; lastSync is when the last
	// run that succeeded began.
	lastTry, lastSync int64
	failures          int
	failure           string
	// duration is in seconds, negative before the first run.
	duration float64
	busy     bool
	log      []string
}

func (l *Lab) initReplication() {
	l.replications, l.failing = map[string]*replication{}, map[string]string{}
}

func (l *Lab) routeReplication() {
	const jobs, job = "/cluster/replication", "/cluster/replication/{id}"
	const runs, run = "/nodes/{node}/replication", "/nodes/{node}/replication/{id}"
	l.handle("GET", jobs, replicationList)
	l.handle("POST", jobs, replicationCreate)
	l.handle("GET", job, replicationRead)
	l.handle("PUT", job, replicationUpdate)
	l.handle("DELETE", job, replicationDelete)
	l.handle("GET", runs, replicationRuns)
	l.handle("GET", run, func(*call) (any, error) { return subdirs("name", "schedule_now", "log", "status"), nil })
	l.handle("GET", run+"/status", replicationStatus)
	l.handle("GET", run+"/log", replicationLog)
	l.handle("POST", run+"/schedule_now", replicationNow)
}

// requireReplicate demands the right to change a guest's jobs; PVE 8 has checked
// its own by now.
func (c *call) requireReplicate(vmid int) error {
	if c.lab.is8() {
		return nil
	}
	return c.require(guestPath(vmid), "VM.Replicate")
}

// parseJobID splits a verified id.
func parseJobID(id string) (guest, number int) {
	first, second, _ := strings.Cut(id, "-")
	guest, _ = strconv.Atoi(first)
	number, _ = strconv.Atoi(second)
	return guest, number
}

// showReplication shows a job. PVE takes the guest and the number out of the id,
// and as it has made text of them they are sent so.
func (l *Lab) showReplication(id string) map[string]any {
	j := l.replications[id]
	out := j.conf.show("disable", "rate")
	out["id"], out["guest"], out["jobnum"] = id, strconv.Itoa(j.guest), strconv.Itoa(j.number)
	return out
}

func replicationList(c *call) (any, error) {
	out := []map[string]any{}
	for _, id := range sortedKeys(c.lab.replications) {
		if c.can(guestPath(c.lab.replications[id].guest), "VM.Audit") {
			out = append(out, c.lab.showReplication(id))
		}
	}
	return out, nil
}

// job is the job that a call names.
func (c *call) job(otherwise string) (*replication, error) {
	j := c.lab.replications[c.params.str("id")]
	if j == nil {
		return nil, fail(otherwise, c.params.str("id"))
	}
	return j, nil
}

const noReplication = "no such replication job '%s'"

func replicationRead(c *call) (any, error) {
	j, err := c.job(noReplication)
	if err != nil {
		return nil, err
	}
	if err := c.require(guestPath(j.guest), "VM.Audit"); err != nil {
		return nil, err
	}
	out := c.lab.showReplication(c.params.str("id"))
	out["digest"] = c.lab.replicationDigest()
	return out, nil
}

func (l *Lab) replicationDigest() string {
	all := map[string]section{}
	for id, j := range l.replications {
		all[id] = j.conf
	}
	return digestOf(all)
}

func replicationCreate(c *call) (any, error) {
	l, id, target := c.lab, c.params.str("id"), c.params.str("target")
	vmid, jobNumber := parseJobID(id)
	if err := c.requireReplicate(vmid); err != nil {
		return nil, err
	}
	g := l.guests[vmid]
	switch {
	case g == nil:
		return nil, fail("Guest '%d' does not exist.", vmid)
	case l.clusterName == "" || l.nodes[target] == nil: // a standalone node has no members
		return nil, fail("Target '%s' does not exist.", target)
	case c.params.has("source") && c.params.str("source") != g.node:
		return nil, fail("Source '%s' does not match current node of guest '%d' (%s)", c.params.str("source"), vmid, g.node)
	case target == g.node:
		return nil, fail("Source and target must not be identical")
	case !l.isReplicatable(g):
		return nil, fail("No replicatable volumes found")
	case l.replications[id] != nil:
		return nil, fail("replication job '%s' already exists", id)
	}
	conf := section{"source": g.node}
	c.fill(conf, "id")
	l.replications[id] = &replication{guest: vmid, number: jobNumber, conf: conf, duration: -1}
	return nothing(c)
}

// isReplicatable reports whether a guest has a volume on ZFS, the only storage
// that PVE replicates.
func (l *Lab) isReplicatable(g *guest) bool {
	for _, key := range g.volumeKeys(g.conf) {
		id, _, ok := volumeParts(parseDrive(g.conf[key]).file())
		if s := l.storages[id]; ok && s != nil && s.kind == "zfspool" && parseDrive(g.conf[key])["replicate"] != "0" {
			return true
		}
	}
	return false
}

func replicationUpdate(c *call) (any, error) {
	guest, _ := parseJobID(c.params.str("id"))
	if err := c.requireReplicate(guest); err != nil {
		return nil, err
	}
	if digest := c.params.str("digest"); digest != "" && digest != c.lab.replicationDigest() {
		return nil, fail("detected modified configuration - file changed by other user? Try again.")
	}
	j, err := c.job("no such job '%s'")
	if err != nil {
		return nil, err
	}
	c.fill(j.conf, "id")
	return nothing(c)
}

// replicationDelete marks a job; its next run removes it.
func replicationDelete(c *call) (any, error) {
	guest, _ := parseJobID(c.params.str("id"))
	if err := c.requireReplicate(guest); err != nil {
		return nil, err
	}
	keep, force := c.params.boolean("keep"), c.params.boolean("force")
	if force {
		if keep {
			return nil, badParams(map[string]string{"keep": "conflicts with parameter 'force'"})
		}
		delete(c.lab.replications, c.params.str("id"))
		return nothing(c)
	}
	j, err := c.job("no such job '%s'")
	if err != nil {
		return nil, err
	}
	if j.conf["remove_job"] = "full"; keep {
		j.conf["remove_job"] = "local"
	}
	return nothing(c)
}
