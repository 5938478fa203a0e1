package proxmox

import (
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	uidA = "7d9c1f6e-0000-4000-8000-000000000001"
	uidB = "7d9c1f6e-0000-4000-8000-000000000002"
)

func TestParseMarker(t *testing.T) {
	t.Parallel()

	line := "terraform-proxmox-uid=" + uidA + "/110"
	owned := Marker{UID: uidA, VMID: 110}
	tests := map[string]struct {
		description string
		want        Marker
		none        bool
	}{
		"alone":                    {description: line, want: owned},
		"last":                     {description: "web server\n\n" + line, want: owned},
		"first":                    {description: line + "\nedited by hand", want: owned},
		"between, CRLF":            {description: "a\r\n" + line + "\r\nb", want: owned},
		"indented by hand":         {description: "  " + line + "\t", want: owned},
		"creating":                 {description: "x\n\n" + line + " creating", want: Marker{UID: uidA, VMID: 110, Creating: true}},
		"with its source":          {description: line + " creating 0abc", want: Marker{UID: uidA, VMID: 110, Creating: true, Source: "0abc"}},
		"resting":                  {description: line + " creating 0abc stopped", want: Marker{UID: uidA, VMID: 110, Creating: true, Source: "0abc", Rests: true}},
		"a source of that name":    {description: line + " creating stopped", want: Marker{UID: uidA, VMID: 110, Creating: true, Source: "stopped"}},
		"empty":                    {description: "", none: true},
		"a copy":                   {description: "terraform-proxmox-uid=" + uidA + "/111", none: true},
		"ours beside a copy":       {description: line + "\nterraform-proxmox-uid=" + uidB + "/111", none: true},
		"doubled":                  {description: line + "\n" + line, none: true},
		"contradicting":            {description: line + "\nterraform-proxmox-uid=" + uidB + "/110", none: true},
		"finished and creating":    {description: line + "\n" + line + " creating", none: true},
		"ours beside a broken one": {description: line + "\nterraform-proxmox-uid=", none: true},
		"not at a line's start":    {description: "see " + line, none: true},
		"without a vmid":           {description: "terraform-proxmox-uid=" + uidA, none: true},
		"leading zero":             {description: "terraform-proxmox-uid=" + uidA + "/0110", none: true},
		"signed":                   {description: "terraform-proxmox-uid=" + uidA + "/+110", none: true},
		"more after the vmid":      {description: line + "0 x", none: true},
		"other word":               {description: line + " created", none: true},
		"doubled blank":            {description: line + "  creating", none: true},
		"upper case":               {description: strings.ToUpper(line), none: true},
		"no UUID":                  {description: "terraform-proxmox-uid=web/110", none: true},
		"stub of a clone":          {description: " qmclone temporary file", none: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := ParseMarker(test.description, 110)
			if ok == test.none || got != test.want {
				t.Errorf("got %+v, %v; want %+v, %v", got, ok, test.want, !test.none)
			}
		})
	}
}

func TestJoinDescription(t *testing.T) {
	t.Parallel()

	m := Marker{UID: uidA, VMID: 110, Creating: true}
	tests := map[string]struct{ user, want string }{
		"empty":          {"", m.String()},
		"only blanks":    {" \n\n", m.String()},
		"text":           {"hello", "hello\n\n" + m.String()},
		"trailing lines": {"hello \n\n", "hello\n\n" + m.String()},
		"leading blanks": {"  hello", "  hello\n\n" + m.String()},
	}
	for name, test := range tests {
		got, err := JoinDescription(test.user, m)
		if err != nil || got != test.want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, test.want)
		}
	}
}

func TestJoinDescriptionRefuses(t *testing.T) {
	t.Parallel()

	m := Marker{UID: uidA, VMID: 110}
	room := MaxDescription - len("\n\n"+m.String())
	if _, err := JoinDescription(strings.Repeat("é", room), m); err != nil {
		t.Errorf("a description that just fits: %v", err)
	}
	if _, err := JoinDescription(strings.Repeat("é", room+1), m); err == nil || !strings.Contains(err.Error(), "1 more") {
		t.Errorf("a description one character too long: %v", err)
	}
	if _, err := JoinDescription("a\n terraform-proxmox-uid=mine", m); err == nil {
		t.Error("a user's text with a marker line was accepted")
	}
	if _, err := JoinDescription("a", Marker{UID: "web", VMID: 110}); err == nil {
		t.Error("a marker without a UUID was accepted")
	}
}

func TestSplitDescription(t *testing.T) {
	t.Parallel()

	line := Marker{UID: uidA, VMID: 110}.String()
	tests := map[string]struct{ description, want string }{
		"empty":            {"", ""},
		"only the marker":  {line, ""},
		"marker last":      {"hello\n\n" + line, "hello"},
		"marker first":     {line + "\nhello", "hello"},
		"marker between":   {"a\n\n" + line + "\nb", "a\n\nb"},
		"copy and broken":  {"a\nterraform-proxmox-uid=\n" + line + "1\nb", "a\nb"},
		"trailing newline": {"a\n", "a"},
		"no marker":        {" a\r\nb", " a\r\nb"},
	}
	for name, test := range tests {
		if got := SplitDescription(test.description); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestNewUID(t *testing.T) {
	t.Parallel()

	first, second := NewUID(), NewUID()
	if first == second || !uidPattern.MatchString(first) || first[14] != '4' {
		t.Errorf("got %q and %q, want two different random UUIDs", first, second)
	}
}

func FuzzParseMarker(f *testing.F) {
	f.Add("hello\n\nterraform-proxmox-uid="+uidA+"/110 creating", 110)
	f.Add("terraform-proxmox-uid="+uidA+"/110\nterraform-proxmox-uid="+uidA+"/110", 110)
	f.Add("terraform-proxmox-uid=/", 0)
	f.Add("terraform-proxmox-uid="+uidA+"/110 creating 0abc stopped", 110)
	f.Add("terraform-proxmox-uid="+uidA+"/110 creating  stopped", 110)
	f.Fuzz(func(t *testing.T, description string, vmid int) {
		m, ok := ParseMarker(description, vmid)
		if !ok {
			return
		}
		if m.VMID != vmid {
			t.Fatalf("a marker of %d in the description of %d", m.VMID, vmid)
		}
		again, ok := ParseMarker(m.String(), vmid)
		if !ok || again != m {
			t.Fatalf("%+v is written %q and read %+v", m, m.String(), again)
		}
		if _, ok := ParseMarker(description, vmid+1); ok {
			t.Fatal("the marker counts for another vmid too")
		}
	})
}

func FuzzJoinDescription(f *testing.F) {
	f.Add("hello\r\n\n# Title", 110, false)
	f.Add("\n\n", 1, true)
	f.Fuzz(func(t *testing.T, user string, vmid int, creating bool) {
		m := Marker{UID: uidA, VMID: vmid, Creating: creating}
		whole, err := JoinDescription(user, m)
		if err != nil {
			return
		}
		if utf8.RuneCountInString(whole) > MaxDescription {
			t.Fatal("longer than PVE accepts")
		}
		if got, want := SplitDescription(whole), strings.TrimRight(user, blanks); got != want {
			t.Fatalf("the user's text %q comes back as %q", want, got)
		}
		if got, ok := ParseMarker(whole, vmid); vmid > 0 && (!ok || got != m) {
			t.Fatalf("the marker %+v comes back as %+v, %v", m, got, ok)
		}
	})
}
