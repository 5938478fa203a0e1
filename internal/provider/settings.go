package provider

import (
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
)

// setting is one value of the provider's configuration as text, with where it
// came from.
type setting struct {
	at path.Path
	// env is the environment variable that stands in for the attribute.
	env     string
	value   string
	fromEnv bool
	// verbatim is set for a password, which may begin or end with a blank.
	verbatim bool
	// wrong is set once an error about it was reported: what follows from it
	// need not be reported too.
	wrong bool
}

// settings are the values of the configuration that the environment can give.
type settings struct {
	endpoint, fallbackEndpoints                  *setting
	insecure, caFile, caPEM, fingerprint         *setting
	token, tokenID, tokenSecret, tokenSecretFile *setting
	username, password, passwordFile             *setting
	cluster, vmidRange                           *setting
	node, storage, bridge, pool                  *setting

	limits                                  *setting
	requests, tasksPerNode, tasksPerStorage *setting
	create, read, update, remove            *setting

	config model
}

// newSettings takes what the provider block sets, and the environment's word
// where it does not.
//
// What belongs together is taken together: an endpoint of the block is never
// joined with fallbacks of the environment's, which may be another cluster's,
// nor a CA of the block with PROXMOX_INSECURE.
func newSettings(config model, env func(string) string) *settings {
	if config.Defaults == nil {
		config.Defaults = &defaultsModel{}
	}
	if config.Limits == nil {
		config.Limits = &limitsModel{}
	}
	if config.Timeouts == nil {
		config.Timeouts = &timeoutsModel{}
	}
	defaults, limits, timeouts := path.Root("defaults"), path.Root("limits"), path.Root("timeouts")
	s := &settings{
		config:            config,
		endpoint:          root("endpoint", "PROXMOX_ENDPOINT", config.Endpoint),
		fallbackEndpoints: root("fallback_endpoints", "PROXMOX_FALLBACK_ENDPOINTS", joined(config.FallbackEndpoints)),
		insecure:          root("insecure", "PROXMOX_INSECURE", boolText(config.Insecure)),
		caFile:            root("ca_file", "PROXMOX_CA_FILE", config.CAFile),
		caPEM:             root("ca_pem", "PROXMOX_CA_PEM", config.CAPEM),
		fingerprint:       root("tls_fingerprint", "PROXMOX_TLS_FINGERPRINT", config.TLSFingerprint),
		token:             root("token", "PROXMOX_TOKEN", config.Token),
		tokenID:           root("token_id", "PROXMOX_TOKEN_ID", config.TokenID),
		tokenSecret:       root("token_secret", "PROXMOX_TOKEN_SECRET", config.TokenSecret),
		tokenSecretFile:   root("token_secret_file", "PROXMOX_TOKEN_SECRET_FILE", config.TokenSecretFile),
		username:          root("username", "PROXMOX_USERNAME", config.Username),
		password:          root("password", "PROXMOX_PASSWORD", config.Password),
		passwordFile:      root("password_file", "PROXMOX_PASSWORD_FILE", config.PasswordFile),
		cluster:           root("cluster", "PROXMOX_CLUSTER", config.Cluster),
		vmidRange:         root("vmid_range", "PROXMOX_VMID_RANGE", rangeText(config.VMIDRange)),
		node:              nested(defaults, "node", "PROXMOX_NODE", config.Defaults.Node),
		storage:           nested(defaults, "storage", "PROXMOX_STORAGE", config.Defaults.Storage),
		bridge:            nested(defaults, "bridge", "PROXMOX_BRIDGE", config.Defaults.Bridge),
		pool:              nested(defaults, "pool", "PROXMOX_POOL", config.Defaults.Pool),
		limits:            root("limits", "", nil),
		requests:          nested(limits, "requests", "PROXMOX_LIMIT_REQUESTS", numberText(config.Limits.Requests)),
		tasksPerNode:      nested(limits, "tasks_per_node", "PROXMOX_LIMIT_TASKS_PER_NODE", numberText(config.Limits.TasksPerNode)),
		tasksPerStorage:   nested(limits, "tasks_per_storage", "PROXMOX_LIMIT_TASKS_PER_STORAGE", numberText(config.Limits.TasksPerStorage)),
		create:            nested(timeouts, "create", "PROXMOX_TIMEOUT_CREATE", config.Timeouts.Create),
		read:              nested(timeouts, "read", "PROXMOX_TIMEOUT_READ", config.Timeouts.Read),
		update:            nested(timeouts, "update", "PROXMOX_TIMEOUT_UPDATE", config.Timeouts.Update),
		remove:            nested(timeouts, "delete", "PROXMOX_TIMEOUT_DELETE", config.Timeouts.Delete),
	}
	s.password.verbatim = true
	s.readEndpoints(env)
	s.readTrust(env)
	s.readCredentials(env)
	for _, alone := range []*setting{
		s.cluster, s.vmidRange, s.node, s.storage, s.bridge, s.pool,
		s.requests, s.tasksPerNode, s.tasksPerStorage, s.create, s.read, s.update, s.remove,
	} {
		fill(env, alone)
	}
	return s
}

func (s *settings) readEndpoints(env func(string) string) {
	if !s.endpoint.given() {
		fill(env, s.fallbackEndpoints)
	}
	fill(env, s.endpoint)
}

func (s *settings) readTrust(env func(string) string) {
	if s.insecure.value == "false" {
		fill(env, s.caFile, s.caPEM, s.fingerprint)
		return
	}
	fill(env, s.insecure, s.caFile, s.caPEM, s.fingerprint)
}

// readCredentials takes a user or a token, whichever the block names. Where it
// names neither, the environment's token comes before its user.
func (s *settings) readCredentials(env func(string) string) {
	switch {
	case s.username.given():
		fill(env, s.password, s.passwordFile)
	case s.password.given(), s.passwordFile.given():
		fill(env, s.username)
	case s.token.given():
	case s.tokenID.given():
		fill(env, s.tokenSecret, s.tokenSecretFile)
	default:
		fill(env, s.token, s.tokenSecret, s.tokenSecretFile)
		fill(env, s.tokenID)
		if !s.token.given() && !s.tokenID.given() && !s.tokenSecret.given() && !s.tokenSecretFile.given() {
			fill(env, s.username, s.password, s.passwordFile)
		}
	}
}

// fill takes a group of settings from the environment, unless the provider
// block sets one of them.
func fill(env func(string) string, group ...*setting) {
	for _, s := range group {
		if s.given() {
			return
		}
	}
	for _, s := range group {
		s.value = env(s.env)
		if !s.verbatim {
			s.value = strings.TrimSpace(s.value)
		}
		s.fromEnv = s.given()
	}
}

func root(attribute, env string, value *string) *setting {
	return newSetting(path.Root(attribute), env, value)
}

func nested(parent path.Path, attribute, env string, value *string) *setting {
	return newSetting(parent.AtName(attribute), env, value)
}

func newSetting(at path.Path, env string, value *string) *setting {
	s := &setting{at: at, env: env}
	if value != nil {
		s.value = *value
	}
	return s
}

// given reports whether there is a value at all.
func (s *setting) given() bool {
	return s.value != ""
}

// name names the setting to the user who has to find it.
func (s *setting) name() string {
	if s.fromEnv {
		return s.env
	}
	return s.at.String()
}

func joined(texts []string) *string {
	text := strings.Join(texts, ",")
	return &text
}

func numberText(value *int64) *string {
	if value == nil {
		return nil
	}
	text := strconv.FormatInt(*value, 10)
	return &text
}

func boolText(value *bool) *string {
	if value == nil {
		return nil
	}
	text := strconv.FormatBool(*value)
	return &text
}

func rangeText(r *vmidRangeModel) *string {
	if r == nil {
		return nil
	}
	text := strconv.FormatInt(r.First, 10) + "-" + strconv.FormatInt(r.Last, 10)
	return &text
}
