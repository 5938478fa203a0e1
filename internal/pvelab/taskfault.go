package pvelab

import (
	"context"
	"errors"
	"fmt"
	"regexp"
)

// TaskFault is what shall happen to some tasks.
type TaskFault struct {
	// Type, ID and Node are regular expressions for the task's fields, such as
	// qmclone and 9000; empty ones match all. PVE gives a clone's task the id of
	// the template.
	Type string `json:"type,omitempty"`
	ID   string `json:"id,omitempty"`
	Node string `json:"node,omitempty"`
	// Skip lets so many matching tasks go by first.
	Skip int `json:"skip,omitempty"`
	// Times is how often it happens: 0 means once, a negative number always.
	Times int `json:"times,omitempty"`
	// Log is written before anything else.
	Log []string `json:"log,omitempty"`
	// Exit is the error that the task ends with; it has no effect then, except
	// with After.
	Exit  string `json:"exit,omitempty"`
	After bool   `json:"after,omitempty"`
	// Warnings are added to the log of a task that did its work.
	Warnings []string `json:"warnings,omitempty"`
	// Hold stops the task in its middle until Release or Remove.
	Hold bool `json:"hold,omitempty"`
}

// TaskLockTimeout is a task that could not take a guest's lock.
func TaskLockTimeout(typ, id string, vmid int) TaskFault {
	return TaskFault{Type: typ, ID: id, Exit: lockText(vmid)}
}

type taskFault struct {
	TaskFault
	id   int
	typ  *regexp.Regexp
	tid  *regexp.Regexp
	node *regexp.Regexp
	quota
	*holding
}

// AddTask asks for a fault of tasks and returns its number.
func (f *Faults) AddTask(fault TaskFault) (int, error) {
	t := &taskFault{TaskFault: fault, quota: newQuota(fault.Skip, fault.Times), holding: newHolding()}
	for _, field := range []struct {
		expr string
		into **regexp.Regexp
	}{{fault.Type, &t.typ}, {fault.ID, &t.tid}, {fault.Node, &t.node}} {
		if field.expr == "" {
			field.expr = ".*"
		}
		re, err := regexp.Compile("^(?:" + field.expr + ")$")
		if err != nil {
			return 0, fmt.Errorf("task fault: %w", err)
		}
		*field.into = re
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next++
	t.id = f.next
	f.tasks = append(f.tasks, t)
	return t.id, nil
}

// Reached waits until a task or an answer is held by the fault of that number.
func (f *Faults) Reached(ctx context.Context, id int) error {
	h := f.holding(id)
	if h == nil {
		return fmt.Errorf("no fault %d", id)
	}
	select {
	case <-h.reached:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isReached reports whether the fault of that number holds or held something.
func (f *Faults) isReached(id int) bool {
	h := f.holding(id)
	if h == nil {
		return false
	}
	select {
	case <-h.reached:
		return true
	default:
		return false
	}
}

// Release lets go on what the fault of that number holds.
func (f *Faults) Release(id int) {
	if h := f.holding(id); h != nil {
		h.release()
	}
}

func (f *Faults) holding(id int) *holding {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.tasks {
		if t.id == id {
			return t.holding
		}
	}
	for _, c := range f.calls {
		if c.id == id {
			return c.holding
		}
	}
	return nil
}

// taskPlan is what a task's worker does besides its work.
type taskPlan struct{ fault *taskFault }

func (f *Faults) matchTask(t *task) *taskPlan {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, tf := range f.tasks {
		if tf.typ.MatchString(t.typ) && tf.tid.MatchString(t.id) && tf.node.MatchString(t.node) && tf.take() {
			return &taskPlan{fault: tf}
		}
	}
	return &taskPlan{}
}

// begin runs before the work; its error stands for it.
func (p *taskPlan) begin(t *task) error {
	if p.fault == nil {
		return nil
	}
	for _, line := range p.fault.Log {
		t.logf("%s", line)
	}
	if p.fault.Exit == "" || p.fault.After {
		return nil
	}
	if err := p.hold(t); err != nil {
		return err
	}
	return errors.New(p.fault.Exit)
}

// hold waits for the release, once per task.
func (p *taskPlan) hold(t *task) error {
	if p.fault == nil || !p.fault.Hold || t.held {
		return nil
	}
	t.held = true
	return p.fault.stand(t.ctx)
}

// finish runs after work that succeeded.
func (p *taskPlan) finish(t *task) error {
	if p.fault == nil {
		return nil
	}
	if err := p.hold(t); err != nil {
		return err
	}
	for _, w := range p.fault.Warnings {
		t.warnf("%s", w)
	}
	if p.fault.Exit != "" {
		return errors.New(p.fault.Exit)
	}
	return nil
}
