package proxmox

// Int is a number that PVE sends as a number or as a string.
type Int int64

// Float is a number that PVE sends as a number or as a string.
type Float float64

// Bool is a truth that PVE sends as 0, 1, "", "0", "1", true or false.
type Bool bool

// Text is a text that PVE may send as a number.
type Text string

// OnOff is a switch of a property string that reads "on" or "ignore"/"off".
type OnOff bool
