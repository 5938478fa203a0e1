package pvelab

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// get reads a path of the web interface, without signing in.
func get(t *testing.T, l *Lab, path string) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.URL()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := rootClient(t, l).http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(body)
}

func TestPage(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	c := rootClient(t, l)
	c.create("vmid=110", "name=web", "tags=a;b", "description=terraform-proxmox-uid=x/110", "cipassword=hidden-word")
	c.task("POST", "/nodes/pve1/qemu/110/status/start")
	l.locked(func() { l.guests[110].conf["name"] = "<script>" })
	if a := c.call("GET", "/nodes/pve1/qemu/999/config", nil); a.status < 400 {
		t.Fatal("there is a VM 999")
	}
	if err := l.Faults().NodeOffline("pve3"); err != nil {
		t.Fatal(err)
	}
	before := l.Counters().Snapshot().Total

	status, header, body := get(t, l, "/")
	if status != http.StatusOK || !strings.HasPrefix(header.Get("Content-Type"), "text/html") {
		t.Fatalf("got %d %v", status, header)
	}
	for _, want := range []string{
		`<td>pve3</td><td><span class="bad">offline`,
		`<td>110</td><td>VM</td><td>&lt;script&gt;</td><td>pve1</td><td><span class="good">running</span></td><td>yes</td><td>a;b</td>`,
		`<td>qmstart 110</td><td>root@pam!tok</td><td class="long"><span class="good">OK`,
		`GET /nodes/pve1/qemu/999/config</td><td><span class="bad">500`,
		`<!DOCTYPE html>`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %q in\n%s", want, body)
		}
	}
	if strings.Contains(body, "hidden-word") {
		t.Error("a password is shown")
	}
	if outside := regexp.MustCompile(`(?:src|href)=|@import|url\(`).FindString(body); outside != "" {
		t.Errorf("it needs a network: %s", outside)
	}
	if after := l.Counters().Snapshot().Total; after != before {
		t.Errorf("the page counts as %d requests of the API", after-before)
	}
	if _, _, part := get(t, l, "/?part"); strings.Contains(part, "<html") || !strings.Contains(part, `<table id="guests">`) {
		t.Errorf("the changing part is\n%s", part)
	}
}

// TestPage_browser looks at the page with a real browser, which has to show what
// changed after it was loaded.
func TestPage_browser(t *testing.T) {
	t.Parallel()
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium")
	}
	l := startLab(t, Options{})
	rootClient(t, l).create("vmid=110", "name=before")
	var once sync.Once
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		resp := l.server.endpoints["pve1"].pageOf(r.URL.Query())
		w.Header().Set("Content-Type", resp.contentType)
		_, _ = w.Write(resp.body)
		once.Do(func() { l.locked(func() { l.guests[110].conf["name"] = "after" }) })
	}))
	t.Cleanup(server.Close)

	dir := t.TempDir()
	picture := filepath.Join(dir, "page.png")
	arguments := []string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--user-data-dir=" + filepath.Join(dir, "profile"),
		"--virtual-time-budget=5000", "--window-size=1280,900",
	}
	dom := browse(t, browser, append(arguments, "--dump-dom", server.URL+"/")...)
	if !strings.Contains(dom, "<td>after</td>") {
		t.Errorf("the page does not follow what changes:\n%s", dom)
	}
	if kept := os.Getenv("PVELAB_SCREENSHOT"); kept != "" {
		picture = kept
	}
	browse(t, browser, append(arguments, "--screenshot="+picture, server.URL+"/")...)
	if info, err := os.Stat(picture); err != nil || info.Size() < 5000 {
		t.Errorf("there is no picture: %v %v", info, err)
	}
}

func browse(t *testing.T, browser string, arguments ...string) string {
	t.Helper()
	out, err := exec.CommandContext(context.Background(), browser, arguments...).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}
