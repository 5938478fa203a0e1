package pvelab

// accessState is what the endpoints of access and pools keep in the lab, beside
// the accessControl that permission checks read.
type accessState struct {
	pools map[string]*pool
}

// pool groups guests and storages; rights on /pool/<id> hold on its members.
type pool struct {
	id, comment string
	vms         map[int]bool
	storages    map[string]bool
}

func (l *Lab) initAccess() { l.pools = map[string]*pool{} }

func (l *Lab) routeAccess() {}
