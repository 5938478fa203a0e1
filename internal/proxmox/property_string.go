package proxmox

// Prop is one "key=value" of a property string.
type Prop struct {
	Key, Value string
	// Bare is a value that was written without its key.
	Bare bool
}

// Props is a property string as it was written: order and unknown keys are
// kept. Embedded in a struct, it lets [MarshalProps] rewrite what
// [UnmarshalProps] read without losing a setting.
type Props struct{ list []Prop }

// UnmarshalProps reads a property string into the struct that v points to.
func UnmarshalProps(s string, v any) error { return nil }

// MarshalProps writes a struct as a property string.
func MarshalProps(v any) (string, error) { return "", nil }

// ParseProps splits a property string.
func ParseProps(s string) (Props, error) { return Props{}, nil }

// Get returns the value of a key.
func (p *Props) Get(key string) (string, bool) { return "", false }

// Set changes a key's value in place, or appends it.
func (p *Props) Set(key, value string) {}

// Delete removes a key.
func (p *Props) Delete(key string) {}

// String writes the properties in their order.
func (p *Props) String() string { return "" }
