package proxmox

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// VMService reads and changes VMs.
type VMService struct{ guestService }

// CloneRequest asks for a clone.
type CloneRequest struct {
	// TemplateNode is where the template is, Template its vmid.
	TemplateNode string
	Template     int
	NewID        int
	Name         string
	Description  string
	// Target is the node for the clone, "" for the template's own; another
	// node needs the template on a shared storage.
	Target string
	// Storage and Format apply to full clones.
	Storage string
	Pool    string
	Full    bool
	Format  string
}

// Clone starts a clone. No guest of that id may exist, so it needs no
// permission of the gate; an id outside the client's range is refused before
// any call. The task carries the template's vmid, not the clone's.
func (s *VMService) Clone(ctx context.Context, r CloneRequest) (UPID, error) {
	if allowed := s.c.VMIDRange(); !allowed.Contains(r.NewID) {
		return UPID{}, &OutOfRangeError{VMID: r.NewID, Range: allowed}
	}
	params := url.Values{"newid": {strconv.Itoa(r.NewID)}, "full": {formatBool(r.Full)}}
	for name, value := range map[string]string{
		"name": r.Name, "description": r.Description, "target": r.Target,
		"storage": r.Storage, "pool": r.Pool, "format": r.Format,
	} {
		if value != "" {
			params.Set(name, value)
		}
	}
	defer s.c.View.Drop(r.TemplateNode)
	defer s.c.View.Drop(r.Target)
	return s.c.startTask(ctx, http.MethodPost, s.path(r.TemplateNode, r.Template, "clone"), params)
}
