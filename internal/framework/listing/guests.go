package listing

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/proxmox"
)

// Filter is which guests are asked for. What is null filters nothing.
type Filter struct {
	Name types.String `tfsdk:"name"`
	Node types.String `tfsdk:"node"`
	Pool types.String `tfsdk:"pool"`
	Tags []string     `tfsdk:"tags"`
}

// namePattern is what a filter takes as a name.
var namePattern = regexp.MustCompile(`^[A-Za-z0-9.*-]+$`)

// FilterAttributes are the attributes of a [Filter].
func FilterAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name": schema.StringAttribute{
			Optional: true, Validators: []validator.String{stringvalidator.RegexMatches(namePattern, "must be a name, in which * stands for any text")},
			MarkdownDescription: "Only guests of this name, in which `*` stands for any text: `web-*`.",
		},
		"node": schema.StringAttribute{
			Optional: true, Validators: []validator.String{framework.NodeName()}, MarkdownDescription: "Only guests on this node.",
		},
		"pool": schema.StringAttribute{
			Optional: true, Validators: []validator.String{framework.PoolName()}, MarkdownDescription: "Only members of this pool itself.",
		},
		"tags": schema.ListAttribute{
			Optional: true, ElementType: types.StringType, Validators: []validator.List{listvalidator.ValueStringsAre(framework.Tag())},
			MarkdownDescription: "Only guests with all of these tags.",
		},
	}
}

// Guest is a guest of ours that was found.
type Guest struct {
	VMID   int
	Kind   proxmox.Kind
	Node   string
	Name   string
	Marker proxmox.Marker
}

// String is what a human knows it by.
func (g Guest) String() string {
	if g.Marker.Creating {
		return fmt.Sprintf("%s (%d, unfinished)", g.Name, g.VMID)
	}
	return fmt.Sprintf("%s (%d)", g.Name, g.VMID)
}

// Guests lists the guests of a kind that are ours: the list resource of a guest.
func Guests(ctx context.Context, req list.ListRequest, stream *list.ListResultsStream, base *framework.ResourceBase, kind proxmox.Kind, importer Importer) {
	var filter Filter
	client := Open(ctx, req, stream, base, &filter, base.Data.RequireVMIDRange)
	if client == nil {
		return
	}
	search := Search{
		Kind: importer, Doing: "list " + kind.String() + "s", Timeout: base.Data.Timeouts.Read,
		Candidates: func(ctx context.Context) ([]Candidate, error) {
			looks, err := Looks(ctx, client, base.Data.VMIDRange, filter, kind)
			return Candidates(looks, asGuest), err
		},
	}
	search.Into(ctx, req, stream)
}

// asGuest is a guest as the item of its own list resource.
func asGuest(_ context.Context, guest Guest) (*Item, error) {
	return &Item{Name: guest.String(), Identity: map[string]attr.Value{
		"vmid": types.Int64Value(int64(guest.VMID)), "uid": types.StringValue(guest.Marker.UID),
	}}, nil
}

// Look reads a guest, and reports whether it carries a marker of this provider. A
// container that holds the volumes of another, which is being reinstalled, is
// nobody's resource.
type Look func(ctx context.Context) (guest Guest, ours bool, err error)

// Looks are one for each guest of some kinds in the range that the filter lets
// pass, by rising id. Templates are none.
func Looks(ctx context.Context, client *proxmox.Client, bounds proxmox.VMIDRange, filter Filter, kinds ...proxmox.Kind) ([]Look, error) {
	guests, err := client.View.Guests(ctx)
	if err != nil {
		return nil, err
	}
	guests = slices.DeleteFunc(slices.Clone(guests), func(r proxmox.Resource) bool {
		return !slices.Contains(kinds, proxmox.Kind(r.Type)) || bool(r.Template) || !bounds.Contains(r.VMID) || !filter.wants(r)
	})
	slices.SortFunc(guests, func(a, b proxmox.Resource) int { return a.VMID - b.VMID })
	looks := make([]Look, len(guests))
	for i, r := range guests {
		looks[i] = func(ctx context.Context) (Guest, bool, error) { return look(ctx, client, r) }
	}
	return looks, nil
}

// Candidates turns guests into candidates: what one of ours is worth is up to the
// caller.
func Candidates(looks []Look, item func(context.Context, Guest) (*Item, error)) []Candidate {
	candidates := make([]Candidate, len(looks))
	for i, look := range looks {
		candidates[i] = func(ctx context.Context) (*Item, error) {
			guest, ours, err := look(ctx)
			if err != nil || !ours {
				return nil, err
			}
			return item(ctx, guest)
		}
	}
	return candidates
}

func look(ctx context.Context, client *proxmox.Client, r proxmox.Resource) (Guest, bool, error) {
	guest := Guest{VMID: r.VMID, Kind: proxmox.Kind(r.Type), Node: r.Node, Name: r.Name}
	config, err := client.Peek(ctx, guest.Kind, r.Node, r.VMID)
	if proxmox.IsNotFound(err) {
		return guest, false, nil
	}
	if err != nil {
		return guest, false, fmt.Errorf("%s %d on %s: %w", guest.Kind, r.VMID, r.Node, err)
	}
	if name := config.Name(); name != "" {
		guest.Name = name // The cluster's list may not know it yet.
	}
	marker, ours := config.Marker()
	_, holds := config.HeldFor()
	guest.Marker = marker
	return guest, ours && !holds, nil
}

// Unread says that a guest of a node could not be read: it may carry any marker.
type Unread struct {
	Node string
	Err  error
}

// UIDs are the uids of the guests of a kind in the range that carry a marker, and
// those guests whose nodes do not answer.
func UIDs(ctx context.Context, client *proxmox.Client, bounds proxmox.VMIDRange, kind proxmox.Kind) (uids map[string]bool, unread []Unread, err error) {
	looks, err := Looks(ctx, client, bounds, Filter{}, kind)
	if err != nil {
		return nil, nil, err
	}
	type seen struct {
		guest Guest
		err   error
	}
	uids = map[string]bool{}
	for each := range ordered(looks, atOnce, func(look Look) seen {
		guest, _, err := look(ctx)
		return seen{guest, err}
	}) {
		switch {
		case proxmox.IsUnavailable(each.err) && ctx.Err() == nil:
			unread = append(unread, Unread{each.guest.Node, each.err})
		case each.err != nil:
			return nil, nil, each.err
		default:
			uids[each.guest.Marker.UID] = true
		}
	}
	return uids, unread, nil
}

func (f Filter) wants(r proxmox.Resource) bool {
	return f.hasName(r.Name) && (f.Node.IsNull() || f.Node.ValueString() == r.Node) && (f.Pool.IsNull() || f.Pool.ValueString() == r.Pool) && f.hasTags(r.Tags)
}

func (f Filter) hasName(name string) bool {
	if f.Name.IsNull() {
		return true
	}
	matches, err := path.Match(f.Name.ValueString(), name)
	return err == nil && matches
}

func (f Filter) hasTags(tags string) bool {
	held := strings.FieldsFunc(tags, func(r rune) bool { return strings.ContainsRune(";, ", r) })
	return !slices.ContainsFunc(f.Tags, func(wanted string) bool { return !slices.Contains(held, wanted) })
}
