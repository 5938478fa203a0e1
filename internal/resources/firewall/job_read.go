package firewall

import (
	"context"
	"maps"
	"slices"

	"terraform-provider-proxmox/internal/proxmox"
)

// read reads what the job is about: one call for the rules, one for the options,
// one for each set, and one for all aliases.
func (j *job) read(ctx context.Context) error {
	j.cur = current{
		options: proxmox.FirewallOptions{Values: map[string]string{}},
		sets:    map[string]map[string]proxmox.FirewallMember{}, aliases: map[string]proxmox.FirewallAlias{}, group: true,
	}
	if j.scope.Kind == proxmox.FirewallGroup {
		groups, err := j.client.Firewall.Groups(ctx)
		if err != nil {
			return err
		}
		if j.cur.comment, j.cur.group = groups[j.scope.Group]; !j.cur.group {
			return nil
		}
	}
	return sequence(ctx, j.readRules, j.readOptions, j.readSets, j.readAliases)
}

func (j *job) readRules(ctx context.Context) (err error) {
	if j.want.managed || len(j.want.sets)+len(j.was.sets)+len(j.want.aliases)+len(j.was.aliases) > 0 {
		j.cur.rules, err = j.client.Firewall.Rules(ctx, j.scope)
	}
	return err
}

func (j *job) readOptions(ctx context.Context) (err error) {
	if j.scope.Kind != proxmox.FirewallGroup {
		j.cur.options, err = j.client.Firewall.Options(ctx, j.scope)
	}
	return err
}

// names are those of the resource, now or before.
func names[T any](want, was map[string]T) []string {
	all := slices.AppendSeq(slices.Collect(maps.Keys(want)), maps.Keys(was))
	slices.Sort(all)
	return slices.Compact(all)
}

func (j *job) readSets(ctx context.Context) error {
	for _, name := range names(j.want.sets, j.was.sets) {
		if _, err := j.readSet(ctx, name); err != nil && !proxmox.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// readSet reads a set's members and returns its digest.
func (j *job) readSet(ctx context.Context, name string) (string, error) {
	list, digest, err := j.client.Firewall.Members(ctx, j.scope, name)
	if err != nil {
		return "", err
	}
	j.cur.sets[name] = map[string]proxmox.FirewallMember{}
	for _, member := range list {
		j.cur.sets[name][member.CIDR] = member
	}
	return digest, nil
}

func (j *job) readAliases(ctx context.Context) error {
	if len(j.want.aliases)+len(j.was.aliases) == 0 {
		return nil
	}
	_, err := j.aliasDigest(ctx)
	return err
}

// aliasDigest reads the aliases and returns their digest.
func (j *job) aliasDigest(ctx context.Context) (string, error) {
	list, digest, err := j.client.Firewall.Aliases(ctx, j.scope)
	if err != nil {
		return "", err
	}
	j.cur.aliases = make(map[string]proxmox.FirewallAlias, len(list))
	for _, alias := range list {
		j.cur.aliases[alias.Name] = alias
	}
	return digest, nil
}

// group makes the security group, or gives it its comment.
func (j *job) group(ctx context.Context) error {
	if j.scope.Kind != proxmox.FirewallGroup || j.cur.group && j.cur.comment == j.commentWanted() {
		return nil
	}
	err := j.change(ctx, func(p proxmox.FirewallPermission) error {
		if j.cur.group {
			return j.client.Firewall.CommentGroup(ctx, p, j.scope, j.want.comment)
		}
		return j.client.Firewall.CreateGroup(ctx, p, j.scope, j.want.comment)
	})
	if err == nil && !j.cur.group {
		j.made = true
	}
	j.cur.group = err == nil
	return err
}

// commentWanted leaves a comment alone that never was a matter of the resource.
func (j *job) commentWanted() string {
	if j.want.comment == "" && j.was.comment == "" {
		return j.cur.comment
	}
	return j.want.comment
}

// optionChanges are the options that are to be other than they are.
type optionChanges struct {
	set   map[string]string
	unset []string
}

func (j *job) optionChanges() optionChanges {
	changes := optionChanges{set: map[string]string{}}
	for key, value := range j.want.options {
		if j.cur.options.Values[key] != value {
			changes.set[key] = value
		}
	}
	for key := range j.was.options {
		_, wanted := j.want.options[key]
		if _, has := j.cur.options.Values[key]; has && !wanted {
			changes.unset = append(changes.unset, key)
		}
	}
	return changes
}

// apply are the options after the changes.
func (c optionChanges) apply(values map[string]string) map[string]string {
	after := maps.Clone(values)
	maps.Copy(after, c.set)
	for _, key := range c.unset {
		delete(after, key)
	}
	return after
}

// only are the changes that are due at some moments.
func (c optionChanges) only(moments ...moment) optionChanges {
	some := optionChanges{set: map[string]string{}}
	for key, value := range c.set {
		if slices.Contains(moments, optionOf(key).moment(value)) {
			some.set[key] = value
		}
	}
	for _, key := range c.unset {
		if slices.Contains(moments, optionOf(key).moment("")) {
			some.unset = append(some.unset, key)
		}
	}
	return some
}

func (c optionChanges) at(m moment) bool { return !c.only(m).empty() }

func (c optionChanges) empty() bool { return len(c.set)+len(c.unset) == 0 }

// setOptions changes those options that are due, in one call.
func (j *job) setOptions(moments ...moment) work {
	return func(ctx context.Context) error {
		due := j.optionChanges().only(moments...)
		if due.empty() {
			return nil
		}
		err := j.change(ctx, func(p proxmox.FirewallPermission) error {
			return j.client.Firewall.SetOptions(ctx, p, j.scope, due.set, due.unset, j.cur.options.Digest)
		})
		if err != nil || len(moments) == len(always) {
			return err
		}
		return j.readOptions(ctx)
	}
}
