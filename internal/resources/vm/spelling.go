package vm

import (
	"fmt"
	"net/url"
	"strings"

	"terraform-provider-proxmox/internal/framework/settings"
)

// keyList is how PVE writes SSH keys: one a line, percent-encoded as a whole
// inside the form's own encoding.
var keyList = settings.ListSpelling{
	Split: func(text string) ([]string, error) {
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
	Join: func(keys []string) string {
		lines := make([]string, 0, len(keys))
		for _, key := range keys {
			lines = append(lines, strings.TrimSpace(key))
		}
		// PVE's format allows only unreserved characters and % here, so that a
		// blank must not become "+".
		return strings.ReplaceAll(url.QueryEscape(strings.Join(lines, "\n")), "+", "%20")
	},
	Fold: strings.TrimSpace,
}

// hotplugDefault is what 1, and no value at all, stand for.
var hotplugDefault = []string{"network", "disk", "usb"}

// hotplugList is how PVE writes what may be plugged: 0 is nothing.
var hotplugList = settings.ListSpelling{
	Split: func(text string) ([]string, error) {
		switch text {
		case "0":
			return nil, nil
		case "1":
			return hotplugDefault, nil
		}
		return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(";, ", r) }), nil
	},
	Join: func(items []string) string {
		if len(items) == 0 {
			return "0"
		}
		return strings.Join(items, ",")
	},
}
