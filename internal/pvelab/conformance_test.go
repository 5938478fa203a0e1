package pvelab

import (
	"bytes"
	"encoding/json"
	"errors"
	cli "flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var (
	updateReport = cli.Bool("update", false, "write CONFORMANCE.md")
	onlyTopics   = cli.String("topics", "", "replay these topics only, such as 06,07")
	onlyVersion  = cli.String("version", "", "replay this version only")
)

// floors are how many recordings of each version the lab answered alike when
// this was last written down. They only ever rise.
var floors = map[string]int{"9.2": 1715, "8.4": 1711}

// TestConformance replays genuine exchanges with PVE against the lab.
//
//	go test ./internal/pvelab -run TestConformance -v -topics 06 -version 9.2
//	go test ./internal/pvelab -run TestConformance -update
func TestConformance(t *testing.T) {
	var runs []*versionRun
	for _, version := range []string{"9.2", "8.4"} {
		if *onlyVersion != "" && *onlyVersion != version {
			continue
		}
		run := &versionRun{version: version}
		t.Run(version, func(t *testing.T) { run.replay(t) })
		runs = append(runs, run)
	}
	if t.Failed() || *onlyTopics != "" || *onlyVersion != "" || len(runs[0].topics) == 0 {
		return
	}
	compareReport(t, report(runs))
}

// compareReport holds CONFORMANCE.md against what was found, or writes it.
func compareReport(t *testing.T, found string) {
	t.Helper()
	const file = "CONFORMANCE.md"
	if *updateReport {
		if err := os.WriteFile(file, []byte(found), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != found {
		t.Errorf("%s is not current: run go test ./internal/pvelab -run TestConformance -update", file)
	}
}

// versionRun is the replay of all topics of one version.
type versionRun struct {
	version string
	topics  []*topic
	results [][]result
}

func (v *versionRun) replay(t *testing.T) {
	topics := loadTopics(t, v.version)
	schema := fullSchema(t, v.version)
	if *onlyTopics != "" {
		topics = slices.DeleteFunc(topics, func(tp *topic) bool {
			return !slices.Contains(strings.Split(*onlyTopics, ","), tp.id)
		})
	}
	v.topics = topics
	v.results = make([][]result, len(topics))
	t.Run("topics", func(t *testing.T) {
		for i, tp := range topics {
			t.Run(tp.name, func(t *testing.T) {
				t.Parallel()
				v.results[i] = newReplay(t, v.version, tp, schema).run()
				v.judge(t, tp.id, v.results[i])
			})
		}
	})
	n := v.count("")
	t.Logf("PVE %s: %d recordings, %d of endpoints the lab serves, %d answered alike (%.1f %%)",
		v.version, n.all, n.served(), n.alike, n.share())
	if *onlyTopics == "" && n.alike < floors[v.version] {
		t.Errorf("PVE %s: %d recordings answered alike, %d before", v.version, n.alike, floors[v.version])
	}
}

// judge reports what differs without a reason, and reasons that no longer hold.
func (v *versionRun) judge(t *testing.T, topicID string, results []result) {
	t.Helper()
	for _, r := range results {
		why := whyDifferent(v.version, topicID, r.N)
		switch {
		case r.outcome == differs && why == "":
			t.Errorf("%s/%d %s: %s %s\n\t%s", topicID, r.N, r.Note, r.Method, r.apiPath(), strings.Join(r.diffs, "\n\t"))
		case r.outcome == alike && why != "":
			t.Errorf("%s/%d %s: alike, yet it is said to differ: %s", topicID, r.N, r.Note, why)
		case r.outcome == unserved && whyUnserved(r.endpoint) == "":
			t.Errorf("%s/%d %s: %s is left out without a reason", topicID, r.N, r.Note, r.endpoint)
		}
	}
}

// fullSchema is every method of a version, whether the lab serves it or not.
func fullSchema(t *testing.T, version string) *router {
	t.Helper()
	r := newRouter()
	for _, m := range sharedSchema(t, version) {
		r.add(&route{method: m.Method, template: m.Path, segments: splitPath(m.Path)})
	}
	return r
}

// sharedSchema reads PVE's own schema, or skips the test where it is absent.
func sharedSchema(t *testing.T, version string) []*method {
	t.Helper()
	file := filepath.Join(sharedDir, "schema-"+version[:1]+".json")
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no %s: nothing to compare with", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var methods []*method
	if err := json.NewDecoder(bytes.NewReader(raw)).Decode(&methods); err != nil {
		t.Fatal(err)
	}
	return methods
}

// tally counts outcomes.
type tally struct{ all, alike, differs, unserved, orphaned int }

func (n tally) served() int { return n.alike + n.differs }

func (n tally) share() float64 {
	if n.served() == 0 {
		return 0
	}
	return 100 * float64(n.alike) / float64(n.served())
}

// count tallies one topic, or all with "".
func (v *versionRun) count(topicID string) tally {
	var n tally
	for i, rs := range v.results {
		if topicID != "" && v.topics[i].id != topicID {
			continue
		}
		for _, r := range rs {
			n.all++
			switch r.outcome {
			case alike:
				n.alike++
			case differs:
				n.differs++
			case unserved:
				n.unserved++
			case orphaned:
				n.orphaned++
			}
		}
	}
	return n
}

func (n tally) String() string {
	return fmt.Sprintf("%d of %d", n.alike, n.served())
}
