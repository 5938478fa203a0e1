package pvelab

// storageState is what the storage endpoints keep in the lab.
type storageState struct{}

func (l *Lab) initStorage() {}

func (l *Lab) routeStorage() {}
