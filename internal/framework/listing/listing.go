// Package listing is what list resources share: `terraform query` asks them for
// the guests, seeds and firewalls that are the provider's own.
package listing

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/list"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// Item is one resource that was found.
type Item struct {
	// Name is what a human knows it by.
	Name string
	// Identity are the values of the resource's identity.
	Identity map[string]attr.Value
}

// Candidate looks whether something is a resource of ours. It returns nil where it
// is not, and where it is gone meanwhile.
type Candidate func(ctx context.Context) (*Item, error)

// Search is one listing.
type Search struct {
	// Kind is the resource that is listed.
	Kind Importer
	// Doing says what is done, for an error: "list VMs".
	Doing string
	// Timeout bounds the whole listing.
	Timeout time.Duration
	// Candidates are found out when the results are asked for.
	Candidates func(ctx context.Context) ([]Candidate, error)
}

// Gap is a candidate in whose place something could not be read, which a warning
// names: the rest is listed, and nobody takes it for all there is.
func Gap(err error) Candidate {
	return func(context.Context) (*Item, error) { return nil, &gapError{err} }
}

type gapError struct{ error }

func (e *gapError) Unwrap() error { return e.error }

func isGap(err error) bool {
	var gap *gapError
	return errors.As(err, &gap) || proxmox.IsUnavailable(err)
}

// Open reads what a list block asks for, and returns the client. It is nil where
// nothing can be listed, or a check fails: then the stream tells why.
func Open(
	ctx context.Context, req list.ListRequest, stream *list.ListResultsStream, base *framework.ResourceBase, filter any, checks ...func(*diag.Diagnostics) bool,
) *proxmox.Client {
	diags := req.Config.Get(ctx, filter)
	client := base.Client(&diags)
	for _, passes := range checks {
		if client != nil && !passes(&diags) {
			client = nil
		}
	}
	if client == nil || diags.HasError() {
		stream.Results = list.ListResultsStreamDiagnostics(diags)
		return nil
	}
	return client
}

// Into streams what is found, as many as are asked for and in the candidates'
// order. What sits on a node that does not answer is named in a warning: whose it
// is cannot be told.
func (s Search) Into(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream) {
	stream.Results = func(push func(list.ListResult) bool) {
		ctx, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		candidates, err := s.Candidates(ctx)
		if err != nil {
			push(s.failed(err))
			return
		}
		sent := int64(0)
		for result := range ordered(candidates, window(req.Limit), func(look Candidate) *list.ListResult { return s.result(ctx, req, look) }) {
			if result == nil {
				continue
			}
			if !push(*result) || result.Diagnostics.HasError() {
				return
			}
			if result.Identity == nil {
				continue // A warning counts for nothing.
			}
			if sent++; req.Limit > 0 && sent >= req.Limit {
				return
			}
		}
	}
}

// result is what becomes of a candidate, nil for one that is not listed.
func (s Search) result(ctx context.Context, req list.ListRequest, look Candidate) *list.ListResult {
	item, err := look(ctx)
	switch {
	case isGap(err) && ctx.Err() == nil:
		result := list.ListResult{}
		framework.AddWarning(&result.Diagnostics, s.Doing, err)
		return &result
	case err != nil:
		return new(s.failed(err))
	case item == nil:
		return nil
	}
	result := req.NewListResult(ctx)
	result.DisplayName = item.Name
	framework.SetIdentity(ctx, result.Identity, item.Identity, &result.Diagnostics)
	if req.IncludeResource && !result.Diagnostics.HasError() {
		return read(ctx, s.Kind, result)
	}
	return &result
}

func (s Search) failed(err error) list.ListResult {
	var diags diag.Diagnostics
	framework.AddError(&diags, s.Doing, err)
	return list.ListResult{Diagnostics: diags}
}

// atOnce is how many candidates are looked at at a time.
const atOnce = 8

// window is how many candidates are looked at ahead: no more than are wanted.
func window(limit int64) int {
	if limit > 0 && limit < atOnce {
		return int(limit)
	}
	return atOnce
}

// ordered maps items a few at a time, and keeps their order. Items behind the one
// at which the caller stops are not begun, but for those of the window.
func ordered[T, R any](items []T, window int, f func(T) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		begun := make([]chan R, 0, len(items))
		begin := func() {
			if len(begun) == len(items) {
				return
			}
			item, done := items[len(begun)], make(chan R, 1)
			begun = append(begun, done)
			go func() { done <- f(item) }()
		}
		for range window {
			begin()
		}
		for i := range items {
			if !yield(<-begun[i]) {
				return
			}
			begin()
		}
	}
}
