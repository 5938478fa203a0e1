package firewalllog

import (
	"strconv"
	"strings"
	"time"

	"terraform-provider-proxmox/internal/proxmox"
)

// model is what is asked for and what was found.
type model struct {
	VMID     *int64  `tfsdk:"vmid"`
	Node     *string `tfsdk:"node"`
	Since    *string `tfsdk:"since"`
	Until    *string `tfsdk:"until"`
	Last     *int64  `tfsdk:"last"`
	Contains *string `tfsdk:"contains"`

	Lines []lineModel `tfsdk:"lines"`
}

// lineModel is a line. What a line has not is nil.
type lineModel struct {
	Number int64   `tfsdk:"number"`
	VMID   *int64  `tfsdk:"vmid"`
	Time   *string `tfsdk:"time"`
	Chain  *string `tfsdk:"chain"`
	Text   string  `tfsdk:"text"`
}

// lineFields are a line's parts: the guest's id or 0, the level, the chain, date
// and zone, and what happened.
const lineFields = 6

// fromLine takes a line apart. One of another form keeps its text alone.
func fromLine(line proxmox.FirewallLogLine) lineModel {
	m := lineModel{Number: int64(line.Number), Text: line.Text}
	fields := strings.SplitN(line.Text, " ", lineFields)
	if len(fields) < lineFields {
		return m
	}
	vmid, err := strconv.ParseInt(fields[0], 10, 64)
	at, err2 := time.Parse(proxmox.FirewallLogTimeForm, fields[3]+" "+fields[4])
	if err != nil || err2 != nil {
		return m
	}
	stamp := at.UTC().Format(time.RFC3339)
	m.Time, m.Chain, m.Text = &stamp, &fields[2], fields[5]
	if vmid != 0 {
		m.VMID = &vmid
	}
	return m
}
