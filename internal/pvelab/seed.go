package pvelab

func (l *Lab) seed() error { return nil }
