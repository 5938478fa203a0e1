package firewall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/proxmox"
	"terraform-provider-proxmox/internal/resources/firewall/plan"
)

// job brings one firewall to what is wanted. It begins anew from what is there
// whenever somebody else was faster, or an answer was lost: each beginning keeps
// the promise that nothing is open in between.
type job struct {
	client  *proxmox.Client
	scope   proxmox.FirewallScope
	foreign bool
	// guest is the one that a guest's firewall belongs to.
	guest proxmox.Guest
	own   marker
	// want is to be, was is what the resource had: what it no longer wants goes.
	want, was ruleset
	diags     *diag.Diagnostics

	cur current
	// made is set when the security group was made here.
	made bool
	// warned is set once the network devices were looked at.
	warned bool
}

// current is what the firewall has.
type current struct {
	rules   proxmox.FirewallRules
	options proxmox.FirewallOptions
	// sets are those of the resource that exist.
	sets    map[string]map[string]proxmox.FirewallMember
	aliases map[string]proxmox.FirewallAlias
	// group tells whether the security group exists.
	group   bool
	comment string
}

const (
	// tries bounds how often a job begins anew.
	tries     = 20
	firstWait = 50 * time.Millisecond
	longWait  = 2 * time.Second
)

// errMoved says that the rules are not as they were left.
var errMoved = errors.New("somebody else changes the rules at the same time, or PVE keeps them otherwise than they were written")

// run does the job.
func (j *job) run(ctx context.Context) error {
	release, err := j.client.Firewall.Hold(ctx, j.scope)
	if err != nil {
		return err
	}
	defer release()
	wait := firstWait
	for attempt := 1; ; attempt++ {
		err := j.once(ctx)
		if err == nil || !again(err) || attempt == tries {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(wait):
		}
		wait = min(2*wait, longWait)
	}
}

// again reports whether an error means to look at the firewall and go on.
func again(err error) bool {
	return errors.Is(err, errMoved) || proxmox.IsDigestMismatch(err) || proxmox.IsLostAnswer(err) ||
		proxmox.IsNotBegun(err) || proxmox.IsLockTimeout(err) || proxmox.IsExists(err)
}

// change makes one mutation, with a permission of its own.
func (j *job) change(ctx context.Context, call func(proxmox.FirewallPermission) error) error {
	if !j.scope.OfGuest() {
		shared, err := j.client.Gate.SharedFirewall(j.scope, j.foreign)
		if err != nil {
			return err
		}
		return call(shared)
	}
	own, err := j.client.Gate.Own(ctx, j.guest)
	if err != nil {
		return err
	}
	j.scope.Node, j.guest.Node = own.Node(), own.Node()
	j.lookAt(own.Config())
	return call(own)
}

// lookAt warns of network devices that the firewall does not see.
func (j *job) lookAt(config *proxmox.GuestConfig) {
	if j.warned || config == nil || j.want.options[keyEnable] != "1" {
		return
	}
	j.warned = true
	warnOfNICs(j.scope, config, j.diags)
}

func warnOfNICs(scope proxmox.FirewallScope, config *proxmox.GuestConfig, diags *diag.Diagnostics) {
	if slots := config.UnfilteredNICs(); len(slots) > 0 {
		diags.AddWarning(fmt.Sprintf("The firewall of %s does not see %s", scope, strings.Join(slots, ", ")),
			"A guest's firewall is in force on those network devices only whose own flag is on: set firewall = true in the guest's network.")
	}
}

// once reads the firewall and makes all changes.
func (j *job) once(ctx context.Context) error {
	if err := j.read(ctx); err != nil {
		return err
	}
	if err := j.group(ctx); err != nil {
		return err
	}
	changes := j.optionChanges()
	on := inForce(j.scope.Kind, j.cur.options.Values)
	after := inForce(j.scope.Kind, changes.apply(j.cur.options.Values))
	switch {
	case on && after:
		return j.live(ctx)
	case on:
		// First on the way out.
		return sequence(ctx, j.setOptions(always...), j.idle)
	default:
		// Last on the way in.
		return sequence(ctx, j.idle, j.setOptions(always...))
	}
}

type work func(context.Context) error

func sequence(ctx context.Context, all ...work) error {
	for _, do := range all {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// idle changes what is not in force: in any order, as long as names exist while
// rules use them.
func (j *job) idle(ctx context.Context) error {
	return sequence(ctx, j.makeNames, j.changeNames(always...),
		j.order(j.want.rules, plan.Options{}), j.dropNames)
}

// live changes what is in force.
func (j *job) live(ctx context.Context) error {
	names := j.nameChanges()
	if !j.rulesDiffer() && len(names) == 0 && !j.newNames() {
		return sequence(ctx, j.setOptions(always...), j.dropNames)
	}
	exact := plan.Options{Live: true, Exact: !j.scope.OfGuest()}
	mixed := names.mixed()
	turn := exact
	turn.Turn = names.at(turning) || j.optionChanges().at(turning)

	all := []work{j.setOptions(early)}
	if len(mixed) > 0 {
		all = append(all, j.order(paused(j.owned(j.cur.rules.Rules), mixed), exact))
	}
	all = append(all, j.makeNames, j.changeNames(early))
	all = append(all, j.order(paused(j.want.rules, mixed), turn, j.changeNames(turning), j.setOptions(turning)))
	all = append(all, j.changeNames(late))
	if len(mixed) > 0 {
		all = append(all, j.order(j.want.rules, exact))
	}
	return sequence(ctx, append(all, j.setOptions(late), j.dropNames)...)
}

// paused turns off the rules that allow traffic by a name which others refuse by,
// while its meaning changes.
func paused(rules []proxmox.FirewallRule, names map[string]bool) []proxmox.FirewallRule {
	out := slices.Clone(rules)
	for i, rule := range out {
		if rule.Action == accepts && (names[referenceOf(rule.Source)] || names[referenceOf(rule.Destination)]) {
			out[i].Enabled = false
		}
	}
	return out
}

// owned are the rules of the resource in a list.
func (j *job) owned(list []proxmox.FirewallRule) []proxmox.FirewallRule {
	var out []proxmox.FirewallRule
	for _, rule := range list {
		if j.own.has(rule) {
			out = append(out, rule)
		}
	}
	return out
}

func (j *job) rulesDiffer() bool {
	return j.want.managed && !slices.Equal(j.owned(j.cur.rules.Rules), j.want.rules)
}

// order brings the rules to a list; turn is done when the plan turns.
func (j *job) order(wanted []proxmox.FirewallRule, o plan.Options, turn ...work) work {
	return func(ctx context.Context) error {
		if !j.want.managed {
			return sequence(ctx, turn...)
		}
		if j.own != "" {
			o.Owned = j.own.has
		}
		return j.follow(ctx, plan.Rules(j.cur.rules.Rules, wanted, o), turn)
	}
}

// follow makes the steps of a plan. Before each call that takes a digest the
// list is read, and has to be what the steps so far make of it.
func (j *job) follow(ctx context.Context, steps []plan.Step, turn []work) error {
	expected, stale := j.cur.rules.Rules, false
	for _, step := range steps {
		if step.Kind == plan.Turn {
			if err := sequence(ctx, turn...); err != nil {
				return err
			}
			continue
		}
		if stale && step.Kind != plan.Insert {
			if err := j.reread(ctx, expected); err != nil {
				return err
			}
		}
		if err := j.step(ctx, step); err != nil {
			return err
		}
		expected, stale = step.Apply(expected), true
	}
	if stale {
		return j.reread(ctx, expected)
	}
	return nil
}

func (j *job) reread(ctx context.Context, expected []proxmox.FirewallRule) error {
	rules, err := j.client.Firewall.Rules(ctx, j.scope)
	if err != nil {
		return err
	}
	j.cur.rules = rules
	if !slices.Equal(rules.Rules, expected) {
		return errMoved
	}
	return nil
}

func (j *job) step(ctx context.Context, step plan.Step) error {
	list, firewall := j.cur.rules, j.client.Firewall
	return j.change(ctx, func(p proxmox.FirewallPermission) error {
		switch step.Kind {
		case plan.Insert:
			return firewall.Insert(ctx, p, j.scope, step.Rule)
		case plan.Move:
			return firewall.Move(ctx, p, j.scope, step.At, step.Before, list.Digest)
		case plan.Replace:
			return firewall.Replace(ctx, p, j.scope, step.At, list.Rules[step.At], step.Rule, list.Digest)
		case plan.Remove:
			return firewall.Remove(ctx, p, j.scope, step.At, list.Digest)
		case plan.Turn:
		}
		return nil
	})
}
