package vm

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// tagList is how PVE writes tags: it also accepts commas and blanks, and sorts.
var tagList = listSpelling{
	split: func(text string) ([]string, error) {
		tags := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";, ", r) })
		slices.Sort(tags)
		return slices.Compact(tags), nil
	},
	join: func(tags []string) string { return strings.Join(tags, ";") },
	fold: strings.ToLower,
}

// blankList is how PVE writes name servers and search domains.
var blankList = listSpelling{
	split: func(text string) ([]string, error) {
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";, ", r) }), nil
	},
	join: func(items []string) string { return strings.Join(items, " ") },
}

// keyList is how PVE writes SSH keys: one a line, percent-encoded as a whole
// inside the form's own encoding.
var keyList = listSpelling{
	split: func(text string) ([]string, error) {
		decoded, err := url.PathUnescape(text)
		if err != nil {
			return nil, fmt.Errorf("SSH keys: %w", err)
		}
		var keys []string
		for line := range strings.Lines(decoded) {
			if key := strings.TrimSpace(line); key != "" {
				keys = append(keys, key)
			}
		}
		return keys, nil
	},
	join: func(keys []string) string {
		lines := make([]string, 0, len(keys))
		for _, key := range keys {
			lines = append(lines, strings.TrimSpace(key))
		}
		// PVE's format allows only unreserved characters and % here, so that a
		// blank must not become "+".
		return strings.ReplaceAll(url.QueryEscape(strings.Join(lines, "\n")), "+", "%20")
	},
	fold: strings.TrimSpace,
}

// semicolonList is how PVE writes several values inside a property string.
var semicolonList = listSpelling{
	split: func(text string) ([]string, error) {
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("; ", r) }), nil
	},
	join: func(items []string) string { return strings.Join(items, ";") },
}

// hotplugDefault is what 1, and no value at all, stand for.
var hotplugDefault = []string{"network", "disk", "usb"}

// hotplugList is how PVE writes what may be plugged: 0 is nothing.
var hotplugList = listSpelling{
	split: func(text string) ([]string, error) {
		switch text {
		case "0":
			return nil, nil
		case "1":
			return hotplugDefault, nil
		}
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";, ", r) }), nil
	},
	join: func(items []string) string {
		if len(items) == 0 {
			return "0"
		}
		return strings.Join(items, ",")
	},
}
