package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"terraform-provider-proxmox/internal/framework"
	"terraform-provider-proxmox/internal/framework/fences"
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
	for _, place := range []string{privilegesHere, timeoutsHere} {
		if strings.Count(template, place) != 1 {
			return "", fmt.Errorf("its template has no line %q", strings.TrimSpace(place))
		}
	}
	privileges, err := about.privileges()
	if err != nil {
		return "", err
	}
	return strings.NewReplacer(privilegesHere, privileges, timeoutsHere, about.limits(path.Dir(name))).Replace(template), nil
}

// limits is the section on timeouts of a page in that folder.
func (p page) limits(folder string) string {
	const head = "## Timeouts\n\n"
	switch {
	case p.timeouts != "":
		return head + p.timeouts + "\n"
	case folder == "resources":
		return head + defaults() + ". The resource's `timeouts` change that, and for all resources the provider's.\n"
	case folder == "actions":
		return head + fmt.Sprintf("`timeout` bounds it, %s unless given; the provider's `timeouts` do not.\n", fences.DefaultTimeout)
	default:
		return head + fmt.Sprintf("The provider's `timeouts.read` bounds it: %s unless set.\n", short(framework.DefaultTimeouts().Read))
	}
}

// defaults are the timeouts of resources.
func defaults() string {
	t := framework.DefaultTimeouts()
	return fmt.Sprintf("`create` may take %s, `read` %s, `update` %s and `delete` %s", short(t.Create), short(t.Read), short(t.Update), short(t.Delete))
}

// short is a duration without its zeros: 30m.
func short(d fmt.Stringer) string { return strings.TrimSuffix(d.String(), "0s") }
