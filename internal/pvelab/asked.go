package pvelab

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// Question is one that the access control was asked on behalf of a client:
// whether it holds one of some privileges on a path. What only filters a list is
// none.
type Question struct {
	// Agent is what the client calls itself (User-Agent).
	Agent string
	Path  string
	// Privileges are separated by "|": one of them suffices.
	Privileges string
}

// questions remembers each distinct question.
type questions struct {
	mu    sync.Mutex
	asked map[Question]bool
}

func (q *questions) note(agent, path string, privs []string) {
	if agent == "" {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.asked == nil {
		q.asked = map[Question]bool{}
	}
	q.asked[Question{Agent: agent, Path: path, Privileges: strings.Join(privs, "|")}] = true
}

// Questions are the distinct questions that the access control was asked until
// now, in the order of their paths.
func (l *Lab) Questions() []Question {
	l.questions.mu.Lock()
	defer l.questions.mu.Unlock()
	return slices.SortedFunc(maps.Keys(l.questions.asked), func(a, b Question) int {
		return strings.Compare(a.Path+" "+a.Privileges+" "+a.Agent, b.Path+" "+b.Privileges+" "+b.Agent)
	})
}
