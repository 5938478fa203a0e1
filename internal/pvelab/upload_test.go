package pvelab

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// part is a form field, or the file where name is empty.
type part struct{ name, value string }

func uploadBody(t *testing.T, fileField string, parts ...part) (contentType string, body *bytes.Buffer) {
	t.Helper()
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	for _, p := range parts {
		if p.name != "" {
			if err := w.WriteField(p.name, p.value); err != nil {
				t.Fatal(err)
			}
			continue
		}
		f, err := w.CreateFormFile(fileField, "x.iso")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write([]byte(p.value)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), body
}

func TestUploadNeedsPVEsOrder(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	data := strings.Repeat("--iso\r\n", 3) + "\n"
	file := part{value: data}
	content, algorithm, sum := part{"content", "iso"}, part{"checksum-algorithm", "sha256"}, part{"checksum", "abc"}
	for _, tc := range []struct {
		name   string
		field  string
		parts  []part
		params map[string]string
		status int
		reason string
	}{
		{"as PVE wants it", "filename", []part{content, algorithm, sum, file}, map[string]string{
			"content": "iso", "checksum-algorithm": "sha256", "checksum": "abc", "filename": "x.iso",
		}, 0, ""},
		// What follows the file up to the last boundary becomes part of it.
		{"file first", "filename", []part{file, content}, map[string]string{"filename": "x.iso"}, 0, ""},
		{"checksum before its algorithm", "filename", []part{content, sum, algorithm, file}, nil, 400, "Bad Request"},
		{"another field's file", "file", []part{content, file}, nil, 500, "wrong field name 'file' for file upload, " +
			"expected 'filename' at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1325."},
		{"no file", "filename", []part{content}, nil, 500, "upload failed at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 1370."},
	} {
		typ, body := uploadBody(t, tc.field, tc.parts...)
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/upload", body)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", typ)
		params, up, resp := l.server.endpoints["pve1"].readUpload(req)
		if resp != nil {
			if resp.status != tc.status || resp.reason != tc.reason {
				t.Errorf("%s: %d %q", tc.name, resp.status, resp.reason)
			}
			continue
		}
		if tc.status != 0 || len(params) != len(tc.params) {
			t.Errorf("%s: parameters %v", tc.name, params)
		}
		for k, v := range tc.params {
			if params[k] != v {
				t.Errorf("%s: %s is %v", tc.name, k, params[k])
			}
		}
		if !strings.HasPrefix(string(up.content), data) || tc.parts[0] == content && string(up.content) != data {
			t.Errorf("%s: content %q", tc.name, up.content)
		}
	}
}

func TestUploadIsRefusedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	l := startLab(t, Options{})
	addToken(l, "alice@pve", "tok", "s", true)
	c := newClient(t, l, "PVEAPIToken=alice@pve!tok=s")
	typ, body := uploadBody(t, "filename", part{"content", "iso"}, part{value: "x"})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.URL()+apiPrefix+"/nodes/pve1/storage/seed/upload", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", typ)
	a, err := c.do(req)
	if err != nil {
		t.Fatal(err)
	}
	if a.status != 403 || a.reason != "Permission check failed (/storage/seed, Datastore.AllocateTemplate)" || a.raw != "" {
		t.Errorf("%d %q %q", a.status, a.reason, a.raw)
	}
}
