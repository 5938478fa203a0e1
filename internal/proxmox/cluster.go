package proxmox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// ClusterService reads what concerns the whole cluster.
type ClusterService struct {
	c *Client

	versionRead *once
	version     Version
}

// Version is PVE's version.
type Version struct {
	Major, Minor, Patch int
	// Release is what PVE calls "release", for instance "9.2".
	Release string
	raw     string
}

var versionPattern = regexp.MustCompile(`^(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(?:[-~+].*)?$`)

// ParseVersion parses a version such as "9.2.11", "8.4.21", "8.1" or
// "9.0.0~11".
func ParseVersion(s string) (Version, error) {
	parts := versionPattern.FindStringSubmatch(s)
	if parts == nil {
		return Version{}, fmt.Errorf("%.100q is not a version of PVE", s)
	}
	v := Version{raw: s, Release: parts[1] + "." + parts[2]}
	for i, number := range []*int{&v.Major, &v.Minor, &v.Patch} {
		if parts[i+1] == "" {
			continue
		}
		n, err := strconv.Atoi(parts[i+1])
		if err != nil {
			return Version{}, fmt.Errorf("%.100q is not a version of PVE: %w", s, err)
		}
		*number = n
	}
	return v, nil
}

// AtLeast reports whether the version is major.minor or newer.
func (v Version) AtLeast(major, minor int) bool {
	return v.Major > major || v.Major == major && v.Minor >= minor
}

func (v Version) String() string { return v.raw }

// ClusterStatus is the membership of the cluster. Name is empty for a node that
// is in none, and then it counts as quorate.
type ClusterStatus struct {
	Name    string
	Quorate bool
	Nodes   []ClusterNode
}

// ClusterNode is a member. Local marks the node that answered.
type ClusterNode struct {
	Name   string
	IP     string
	Online bool
	Local  bool
}

// standalonePrefix begins the identity of a node that is in no cluster.
const standalonePrefix = "standalone:"

// Identity is the cluster's name, or "standalone:<node>" for a node that is in
// no cluster.
func (s ClusterStatus) Identity() string {
	if s.Name != "" {
		return s.Name
	}
	for _, node := range s.Nodes {
		if node.Local {
			return standalonePrefix + node.Name
		}
	}
	return ""
}

// Is reports whether the cluster is the one of that identity. A node that was
// alone and then joined a cluster is still itself.
func (s ClusterStatus) Is(identity string) bool {
	if s.Identity() == identity {
		return true
	}
	alone, ok := strings.CutPrefix(identity, standalonePrefix)
	if !ok || s.Name == "" {
		return false
	}
	for _, node := range s.Nodes {
		if node.Name == alone {
			return true
		}
	}
	return false
}

// UnmarshalJSON reads PVE's list, in which cluster and nodes stand side by side.
func (s *ClusterStatus) UnmarshalJSON(data []byte) error {
	var entries []struct {
		Type    string `json:"type"`
		Name    string `json:"name"`
		IP      string `json:"ip"`
		Quorate Bool   `json:"quorate"`
		Online  Bool   `json:"online"`
		Local   Bool   `json:"local"`
	}
	if err := json.Unmarshal(data, &entries); err != nil {
		return err
	}
	*s = ClusterStatus{Quorate: true}
	for _, e := range entries {
		if e.Type == "cluster" {
			s.Name, s.Quorate = e.Name, bool(e.Quorate)
			continue
		}
		s.Nodes = append(s.Nodes, ClusterNode{Name: e.Name, IP: e.IP, Online: bool(e.Online), Local: bool(e.Local)})
	}
	return nil
}

// Resource is an entry of /cluster/resources. It is what pvestatd last
// broadcast, up to about ten seconds old: a new guest may lack its name.
type Resource struct {
	// Type is "qemu", "lxc", "storage", "node" or "sdn".
	Type string `json:"type"`
	ID   string `json:"id"`
	Node string `json:"node"`
	VMID int    `json:"vmid"`
	Name string `json:"name"`
	// Status is "running", "stopped", "online", "available", "unknown" …
	Status   string `json:"status"`
	Template Bool   `json:"template"`
	// Tags are separated by ";".
	Tags    string `json:"tags"`
	Pool    string `json:"pool"`
	Lock    string `json:"lock"`
	HAState string `json:"hastate"`

	Storage string `json:"storage"`
	Content string `json:"content"`
	Shared  Bool   `json:"shared"`

	// Sizes are in bytes.
	MaxCPU Float `json:"maxcpu"`
	MaxMem Int   `json:"maxmem"`
	Disk   Int   `json:"disk"`
}

// Version reads the version of the node that answers, once per client.
func (s *ClusterService) Version(ctx context.Context) (Version, error) {
	err := s.versionRead.do(ctx, func() (err error) {
		s.version, err = s.c.version(ctx, at("version"))
		return err
	})
	if err != nil {
		return Version{}, err
	}
	return s.version, nil
}

func (c *Client) version(ctx context.Context, path string) (Version, error) {
	var answer struct {
		Version string `json:"version"`
		Release string `json:"release"`
	}
	if err := c.get(ctx, path, nil, &answer); err != nil {
		return Version{}, err
	}
	v, err := ParseVersion(answer.Version)
	if err != nil {
		return Version{}, err
	}
	v.Release = answer.Release
	return v, nil
}

// Status reads the membership; it needs Sys.Audit on /.
func (s *ClusterService) Status(ctx context.Context) (ClusterStatus, error) {
	var status ClusterStatus
	err := s.c.get(ctx, at("cluster", "status"), nil, &status)
	return status, err
}

// Identity is the cluster's name, or "standalone:<node>" for a node that is in
// no cluster. It needs Sys.Audit on /.
func (s *ClusterService) Identity(ctx context.Context) (string, error) {
	status, err := s.Status(ctx)
	return status.Identity(), err
}

// checkIdentity asks one endpoint which cluster it belongs to.
func (c *Client) checkIdentity(ctx context.Context, chain http.RoundTripper, host, want string) error {
	// The call that led here may be under a deadline, but not under its guard.
	req, err := c.request(ctx, host, http.MethodGet, at("cluster", "status"), nil)
	if err != nil {
		return err
	}
	answer, err := roundTrip(chain, req)
	if IsPermission(err) {
		return fmt.Errorf("cannot tell which cluster %s belongs to, which needs Sys.Audit on /: %w", host, err)
	}
	if err != nil {
		return err
	}
	var status ClusterStatus
	if err := json.Unmarshal(answer.Data, &status); err != nil {
		return fmt.Errorf("cannot tell which cluster %s belongs to: %w", host, err)
	}
	if !status.Is(want) {
		return &ClusterMismatchError{Endpoint: host, Want: want, Got: status.Identity()}
	}
	return nil
}

// Resources lists what the token may see, of one kind ("vm", "node",
// "storage", "sdn") or, with "", of all.
func (s *ClusterService) Resources(ctx context.Context, kind string) ([]Resource, error) {
	query := url.Values{}
	if kind != "" {
		query.Set("type", kind)
	}
	var resources []Resource
	err := s.c.get(ctx, at("cluster", "resources"), query, &resources)
	return resources, err
}

// VMIDFree reports whether no guest has the id, in the whole cluster. It needs
// no privilege and so is the one proof of a guest's absence: a 403 or a missing
// list entry prove nothing.
func (s *ClusterService) VMIDFree(ctx context.Context, vmid int) (bool, error) {
	query := url.Values{"vmid": {strconv.Itoa(vmid)}}
	err := s.c.get(ctx, at("cluster", "nextid"), query, nil)
	if IsExists(err) {
		return false, nil
	}
	return err == nil, err
}
