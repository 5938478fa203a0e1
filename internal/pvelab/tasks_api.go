package pvelab

func (l *Lab) routeTasks() {}
