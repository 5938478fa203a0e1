package proxmox

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// PVE is written in Perl, where a number may become a string on the way, and a
// truth is a number. These types take what comes.

// Int is a number that PVE sends as a number or as a string. A fraction is cut
// off; null and the empty string are 0.
type Int int64

// Float is a number that PVE sends as a number or as a string.
type Float float64

// Bool is a truth that PVE sends as 0, 1, "", "0", "1", true or false.
type Bool bool

// Text is a text that PVE may send as a number. Null is the empty text.
type Text string

// scalar is a JSON scalar as text.
func scalar(data []byte) (string, error) {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0 || bytes.Equal(data, []byte("null")):
		return "", nil
	case data[0] == '"':
		if plain := data[1 : len(data)-1]; !bytes.ContainsRune(plain, '\\') && utf8.Valid(plain) {
			return string(plain), nil
		}
		var s string
		err := json.Unmarshal(data, &s)
		return s, err
	case data[0] == '{' || data[0] == '[':
		return "", fmt.Errorf("expected a single value, got %.40s", data)
	default:
		return string(data), nil
	}
}

// UnmarshalJSON reads a number or a string.
func (i *Int) UnmarshalJSON(data []byte) error {
	var f Float
	s, err := scalar(data)
	if err != nil {
		return err
	}
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		*i = Int(n)
		return nil
	}
	err = f.UnmarshalJSON(data)
	*i = Int(f)
	return err
}

// UnmarshalJSON reads a number or a string.
func (f *Float) UnmarshalJSON(data []byte) error {
	s, err := scalar(data)
	if err != nil || s == "" {
		*f = 0
		return err
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("expected a number, got %.40q", s)
	}
	*f = Float(n)
	return nil
}

// UnmarshalJSON reads PVE's forms of a truth.
func (b *Bool) UnmarshalJSON(data []byte) error {
	s, err := scalar(data)
	if err != nil {
		return err
	}
	if s == "" {
		*b = false
		return nil
	}
	truth, ok := parseBool(s)
	if !ok {
		return fmt.Errorf("expected a truth value, got %.40q", s)
	}
	*b = Bool(truth)
	return nil
}

// UnmarshalJSON reads a string or a number.
func (t *Text) UnmarshalJSON(data []byte) error {
	s, err := scalar(data)
	*t = Text(s)
	return err
}

// parseBool reads a truth in all the spellings that PVE accepts in property
// strings. (As a parameter of its own PVE takes only 0 and 1.)
func parseBool(s string) (truth, ok bool) {
	switch strings.ToLower(s) {
	case "1", "on", "yes", "true":
		return true, true
	case "0", "off", "no", "false":
		return false, true
	default:
		return false, false
	}
}

// formatBool writes a truth as PVE wants it in parameters and property strings.
func formatBool(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
