package pvelab

import (
	"encoding/json"
	"time"
)

// cloudInitTime is what cloud-init takes in a guest once that has booted.
const cloudInitTime = 4 * time.Second

// cloudInitResult is where cloud-init tells how it ended; /run is empty at boot.
const cloudInitResult = "/run/cloud-init/result.json"

// FailCloudInit makes cloud-init in a guest end with an error at each boot from
// now on; "" lets it succeed again. The guest need not exist yet.
func (f *Faults) FailCloudInit(vmid int, text string) {
	f.lab.locked(func() { f.lab.cloudInitErrors[vmid] = text })
}

// result is the content of cloud-init's result in a guest, false while there is
// none: a guest with neither a cloud-init drive nor a seed never has one.
func (l *Lab) result(g *guest) (content []byte, ok bool) {
	if g.run.image == nil && g.run.seed == nil || l.untilUp(g)+cloudInitTime > 0 {
		return nil, false
	}
	source, errors := "DataSourceNoCloud [seed=/dev/sr0]", []string{}
	if g.run.image != nil {
		source = "DataSourceNoCloud [seed=/dev/sr0][dsmode=net]"
	}
	if g.run.seed != nil {
		errors = append(errors, g.run.seed.errors...)
	}
	if text := l.cloudInitErrors[g.vmid]; text != "" {
		errors = append(errors, text)
	}
	content, err := json.MarshalIndent(map[string]any{"v1": map[string]any{"datasource": source, "errors": errors}}, "", " ")
	return content, err == nil
}
