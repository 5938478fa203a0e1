package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"terraform-provider-proxmox/internal/framework"
)

// What a template has in place of a section that is generated, on a line of its
// own.
const (
	privilegesHere = "<!-- privileges -->\n"
	timeoutsHere   = "<!-- timeouts -->\n"
)

// writeTemplates copies the templates, and completes the one of each page: its
// own, or a copy of the one for all of its kind.
func writeTemplates(from, to string, all map[string][]string) error {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	for folder, names := range all {
		for _, name := range names {
			if err := writePage(to, folder, name); err != nil {
				return fmt.Errorf("%s/%s: %w", folder, name, err)
			}
		}
	}
	return nil
}

func writePage(to, folder, name string) error {
	file := filepath.Join(to, folder, strings.TrimPrefix(name, "proxmox_")+".md.tmpl")
	template, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		template, err = os.ReadFile(filepath.Join(to, folder+".md.tmpl"))
	}
	if err != nil {
		return err
	}
	complete, err := complete(string(template), folder+"/"+name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(complete), 0o600)
}

// complete puts the sections that are generated into a page's template.
func complete(template, name string) (string, error) {
	about, known := pages[name]
	if !known {
		return "", errors.New("nothing says which privileges it needs")
	}
	if strings.Count(template, privilegesHere) != 1 {
		return "", fmt.Errorf("its template has no line %q", strings.TrimSpace(privilegesHere))
	}
	privileges, err := about.privileges()
	if err != nil {
		return "", err
	}
	return strings.NewReplacer(privilegesHere, privileges, timeoutsHere, about.limits()).Replace(template), nil
}

// limits is the section on timeouts.
func (p page) limits() string {
	const head = "## Timeouts\n\n"
	if p.timeouts != "" {
		return head + p.timeouts + "\n"
	}
	t := framework.DefaultTimeouts()
	return head + fmt.Sprintf("`create` may take %s, `read` %s, `update` %s and `delete` %s. The resource's `timeouts` change that, and for all resources the provider's.\n",
		short(t.Create), short(t.Read), short(t.Update), short(t.Delete))
}

// short is a duration without its zeros: 30m.
func short(d fmt.Stringer) string { return strings.TrimSuffix(d.String(), "0s") }
