// Package framework holds what the provider's resources and data sources
// share: the data that Configure hands them, custom types, validators, private
// state, logging, and the one place that turns the client's errors into
// diagnostics.
package framework
