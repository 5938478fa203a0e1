package provider

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// options turns the settings into the client's options. What is wrong in
// itself is reported here; what the client does not accept, by addErrors.
func (s *settings) options(diags *diag.Diagnostics) proxmox.Options {
	options := proxmox.Options{
		Endpoint:          s.endpoint.value,
		FallbackEndpoints: commaSeparated(s.fallbackEndpoints.value),
		TokenID:           s.tokenID.value,
		TokenSecret:       s.tokenSecret.value,
		TokenSecretFile:   s.tokenSecretFile.value,
		Username:          s.username.value,
		Password:          s.password.value,
		PasswordFile:      s.passwordFile.value,
		CAFile:            s.caFile.value,
		CAPEM:             []byte(s.caPEM.value),
		Fingerprint:       s.fingerprint.value,
		Insecure:          s.readInsecure(diags),
		Cluster:           s.cluster.value,
		VMIDRange:         s.readRange(diags),
		LedgerPool:        s.pool.value,
		FenceScope:        s.fenceScope(),
		Limits:            s.readLimits(diags),
	}
	s.splitToken(&options, diags)
	return options
}

// splitToken takes id and secret out of the one text that holds both.
func (s *settings) splitToken(options *proxmox.Options, diags *diag.Diagnostics) {
	if !s.token.given() {
		return
	}
	for _, other := range []*setting{s.tokenID, s.tokenSecret, s.tokenSecretFile} {
		if other.given() {
			s.token.fail(diags, fmt.Sprintf("holds the token's id and secret, and %s is set too; keep one of the two forms", other.name()))
			return
		}
	}
	id, secret, err := proxmox.SplitToken(s.token.value)
	if err != nil {
		s.token.fail(diags, err.Error())
		return
	}
	options.TokenID, options.TokenSecret = id, secret
}

func (s *settings) readInsecure(diags *diag.Diagnostics) bool {
	if !s.insecure.given() {
		return false
	}
	insecure, err := strconv.ParseBool(s.insecure.value)
	if err != nil {
		s.insecure.fail(diags, fmt.Sprintf("must be true or false; %q is neither", s.insecure.value))
	}
	return insecure
}

func (s *settings) readRange(diags *diag.Diagnostics) proxmox.VMIDRange {
	if !s.vmidRange.given() {
		return proxmox.VMIDRange{}
	}
	first, last, _ := strings.Cut(s.vmidRange.value, "-")
	from, errFrom := strconv.Atoi(strings.TrimSpace(first))
	to, errTo := strconv.Atoi(strings.TrimSpace(last))
	if errFrom != nil || errTo != nil {
		s.vmidRange.fail(diags, fmt.Sprintf("must be the first and the last id with a hyphen between them, such as 20000-20999; %q is not", s.vmidRange.value))
		return proxmox.VMIDRange{}
	}
	return proxmox.VMIDRange{First: from, Last: to}
}

func (s *settings) readLimits(diags *diag.Diagnostics) proxmox.Limits {
	return proxmox.Limits{
		Requests:        s.requests.limit(diags),
		TasksPerNode:    s.tasksPerNode.limit(diags),
		TasksPerStorage: s.tasksPerStorage.limit(diags),
	}
}

// limit is how much may run at once; 0 where nothing says.
func (s *setting) limit(diags *diag.Diagnostics) int {
	if !s.given() {
		return 0
	}
	number, err := strconv.Atoi(s.value)
	if err != nil || number < 1 || number > maxLimit {
		s.fail(diags, fmt.Sprintf("must be a whole number from 1 to %d; %q is not", maxLimit, s.value))
		return 0
	}
	return number
}

func (s *settings) defaults() framework.Defaults {
	return framework.Defaults{
		Node:    s.node.value,
		Storage: s.storage.value,
		Bridge:  s.bridge.value,
		Pool:    s.pool.value,
	}
}

func (s *settings) fenceScope() proxmox.FenceScope {
	scope := proxmox.FenceScope{}
	if s.config.FenceScope == nil {
		return scope
	}
	for _, vmid := range s.config.FenceScope.VMIDs {
		scope.VMIDs = append(scope.VMIDs, int(vmid))
	}
	scope.Nodes = s.config.FenceScope.Nodes
	return scope
}

// timeouts replaces the defaults that the provider block or the environment
// overrides.
func (s *settings) timeouts(diags *diag.Diagnostics) framework.Timeouts {
	timeouts := framework.DefaultTimeouts()
	for given, into := range map[*setting]*time.Duration{
		s.create: &timeouts.Create, s.read: &timeouts.Read, s.update: &timeouts.Update, s.remove: &timeouts.Delete,
	} {
		if !given.given() {
			continue
		}
		duration, err := time.ParseDuration(given.value)
		if err != nil || duration <= 0 {
			given.fail(diags, fmt.Sprintf("must be a duration such as 90s or 15m; %q is not", given.value))
			continue
		}
		*into = duration
	}
	return timeouts
}

// addErrors reports every option that the client does not accept, at the
// attribute that it came from.
func (s *settings) addErrors(err error, diags *diag.Diagnostics) {
	for _, single := range split(err) {
		var option *proxmox.OptionError
		if !errors.As(single, &option) {
			framework.AddError(diags, "configure the provider", single)
			continue
		}
		from := s.byField(option.Field)
		if from == nil {
			framework.AddError(diags, "configure the provider", single)
			continue
		}
		from.fail(diags, option.Problem)
	}
}

// byField finds the setting behind a field of [proxmox.Options].
func (s *settings) byField(field string) *setting {
	if s.token.given() && (field == "TokenID" || field == "TokenSecret") {
		return s.token
	}
	return map[string]*setting{
		"Endpoint":          s.endpoint,
		"FallbackEndpoints": s.fallbackEndpoints,
		"TokenID":           s.tokenID,
		"TokenSecret":       s.tokenSecret,
		"TokenSecretFile":   s.tokenSecretFile,
		"Username":          s.username,
		"Password":          s.password,
		"PasswordFile":      s.passwordFile,
		"CAPEM":             s.caPEM,
		"CAFile":            s.caFile,
		"Fingerprint":       s.fingerprint,
		"Insecure":          s.insecure,
		"Cluster":           s.cluster,
		"VMIDRange":         s.vmidRange,
		"LedgerPool":        s.pool,
		"Limits":            s.limits,
	}[field]
}

// fail reports what is wrong with the setting, once, and says where its value
// came from.
func (s *setting) fail(diags *diag.Diagnostics, problem string) {
	if s.wrong {
		return
	}
	s.wrong = true
	detail := fmt.Sprintf("%s: %s.", s.name(), strings.TrimSuffix(problem, "."))
	switch {
	case s.fromEnv:
		detail += fmt.Sprintf("\n\nThe value comes from the environment variable %s, which stands in for the attribute %s.", s.env, s.at)
	case !s.given() && s.env != "":
		detail += fmt.Sprintf("\n\nSet it in the provider block, or %s in the environment.", s.env)
	}
	diags.AddAttributeError(s.at, "Invalid provider configuration", detail)
}

// split undoes errors.Join.
func split(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, single := range joined.Unwrap() {
		all = append(all, split(single)...)
	}
	return all
}

// commaSeparated splits a text at its commas.
func commaSeparated(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
