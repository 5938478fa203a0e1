package proxmox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// uploadServer takes uploads as pveproxy does, lists what it took, and can lose
// answers.
type uploadServer struct {
	*httptest.Server
	t testing.TB

	mu sync.Mutex
	troubles
	uploads     int
	order       []string
	size        int64
	sum, wanted string
	length      int64
	logged      []string
}

type troubles struct {
	// loseBefore and loseAfter are the numbers of answers to uploads that are
	// lost, before or after the file was taken.
	loseBefore, loseAfter int
	// noList refuses the content list.
	noList bool
	// shrink is what the listed size lacks.
	shrink int64
}

const uploadTask = "UPID:pve1:00000D9B:00030570:6B0CBE37:imgcopy::root@pam!lab:"

func newUploadServer(t testing.TB) *uploadServer {
	t.Helper()
	s := &uploadServer{t: t}
	s.Server = httptest.NewTLSServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *uploadServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case strings.HasSuffix(r.URL.Path, "/upload"):
		s.uploads++
		if s.loseBefore > 0 {
			s.loseBefore--
			_, _ = io.Copy(io.Discard, r.Body)
			panic(http.ErrAbortHandler)
		}
		s.take(r)
		if s.loseAfter > 0 {
			s.loseAfter--
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, `{"data":"`+uploadTask+`"}`)
	case strings.HasSuffix(r.URL.Path, "/status"):
		_, _ = io.WriteString(w, `{"data":{"status":"stopped","exitstatus":"OK"}}`)
	case strings.HasSuffix(r.URL.Path, "/content") && s.noList:
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = io.WriteString(w, `{"data":null,"message":"the list failed\n"}`)
	case strings.HasSuffix(r.URL.Path, "/content"):
		if s.size == 0 {
			_, _ = io.WriteString(w, `{"data":[]}`)
			return
		}
		_, _ = fmt.Fprintf(w, `{"data":[{"volid":"seeds:iso/a.iso","content":"iso","format":"iso","size":%d,"ctime":1}]}`, s.size-s.shrink)
	default:
		s.t.Errorf("unexpected %s %s", r.Method, r.URL.Path)
	}
}

func (s *uploadServer) take(r *http.Request) {
	s.order, s.length = nil, r.ContentLength
	if len(r.TransferEncoding) > 0 {
		s.t.Errorf("the body is sent %v, which PVE refuses", r.TransferEncoding)
	}
	reader, err := r.MultipartReader()
	if err != nil {
		s.t.Error(err)
		return
	}
	for {
		part, err := reader.NextPart()
		if err != nil {
			return
		}
		s.order = append(s.order, part.FormName())
		if part.FileName() == "" {
			value, _ := io.ReadAll(part)
			if part.FormName() == "checksum" {
				s.wanted = string(value)
			}
			continue
		}
		digest := sha256.New()
		s.size, _ = io.Copy(digest, part)
		s.sum = hex.EncodeToString(digest.Sum(nil))
	}
}

func (s *uploadServer) client(t testing.TB) *Client {
	t.Helper()
	c, err := New(Options{
		Endpoint: s.URL, TokenID: testTokenID, TokenSecret: testSecret, CAPEM: caPEM(s.Certificate()), clock: newFakeClock(),
		Log: func(_ context.Context, _ string, fields map[string]any) {
			s.logged = append(s.logged, fmt.Sprint(fields))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const seedContent = "#cloud-config\npassword: hunter2secret\n"

func seedUpload() Upload {
	sum := sha256.Sum256([]byte(seedContent))
	return Upload{
		Node: "pve1", Storage: "seeds", Content: "iso", Name: "a.iso", Size: int64(len(seedContent)),
		SHA256: hex.EncodeToString(sum[:]), Open: func() io.Reader { return strings.NewReader(seedContent) },
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		troubles
		uploads int
		says    string
	}{
		"at once":                               {uploads: 1},
		"an answer lost before the file":        {troubles: troubles{loseBefore: 1}, uploads: 2},
		"an answer lost after the file":         {troubles: troubles{loseAfter: 1}, uploads: 1},
		"every answer lost":                     {troubles: troubles{loseBefore: 99}, uploads: storeAttempts, says: "the answer was lost"},
		"a file that cannot be listed":          {troubles: troubles{noList: true}, uploads: 1, says: "the list failed"},
		"a file that is listed with other size": {troubles: troubles{shrink: 1}, uploads: 1, says: "were uploaded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newUploadServer(t)
			s.troubles = test.troubles
			volume, err := s.client(t).Storage.Store(t.Context(), seedUpload())
			if s.uploads != test.uploads {
				t.Errorf("%d uploads, want %d", s.uploads, test.uploads)
			}
			if all := strings.Join(s.logged, "\n"); strings.Contains(all, "hunter2") || len(s.logged) == 0 {
				t.Errorf("logged: %s", all)
			}
			if test.says != "" {
				if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("the error is %v", err)
				}
				if IsStoreRefused(err) {
					t.Error("it is said to be refused, but the file may be there")
				}
				return
			}
			if err != nil || volume.VolID != "seeds:iso/a.iso" || int(volume.Size) != len(seedContent) {
				t.Fatalf("stored %+v, %v", volume, err)
			}
			if want := "content checksum-algorithm checksum filename"; strings.Join(s.order, " ") != want {
				t.Errorf("the fields are %q, PVE wants %q", s.order, want)
			}
			if s.sum != s.wanted || s.length <= s.size {
				t.Errorf("the sum is %s, sent was %s; the length %d of %d", s.sum, s.wanted, s.length, s.size)
			}
		})
	}
}

func TestStoreIsRefused(t *testing.T) {
	t.Parallel()
	const call = "POST /nodes/pve1/storage/seeds/upload"
	pve := newRecordedPVE(t).on(call, failure(http.StatusForbidden, "Permission check failed (/storage/seeds, Datastore.AllocateTemplate)"))
	_, err := pve.client(t).Storage.Store(t.Context(), seedUpload())
	if path, privileges, ok := PermissionOf(err); !ok || path != "/storage/seeds" || privileges[0] != "Datastore.AllocateTemplate" {
		t.Errorf("the error is %v", err)
	}
	if n := pve.count(call); n != 1 || !IsStoreRefused(err) {
		t.Errorf("%d calls, refused: %t", n, IsStoreRefused(err))
	}
	later := newRecordedPVE(t).on("GET /nodes/pve1/storage/seeds/content", data(`[]`)).
		on(call, lost(), failure(http.StatusForbidden, "Permission check failed (/storage/seeds, Datastore.AllocateTemplate)"))
	if _, err := later.client(t).Storage.Store(t.Context(), seedUpload()); !IsPermission(err) || IsStoreRefused(err) {
		t.Errorf("refused after a lost answer: %v", err)
	}
}

func TestDeleteVolume(t *testing.T) {
	t.Parallel()
	const (
		call   = "DELETE /nodes/pve1/storage/seeds/content/seeds:iso/a.iso"
		task   = "UPID:pve1:00000DFB:000307FB:6B0CBE3E:imgdel:seed:root@pam!lab:"
		status = "GET /nodes/pve1/tasks/" + task + "/status"
	)
	pve := newRecordedPVE(t).on(call, lost(), data(`"`+task+`"`)).on(status, data(`{"status":"stopped","exitstatus":"OK"}`))
	if err := pve.client(t).Storage.Delete(t.Context(), "pve1", "seeds:iso/a.iso"); err != nil {
		t.Error(err)
	}
	if n := pve.count(call); n != 2 {
		t.Errorf("%d calls", n)
	}
	denied := newRecordedPVE(t).on(call, failure(http.StatusForbidden, "Permission check failed (/storage/seeds, Datastore.Allocate)"))
	if err := denied.client(t).Storage.Delete(t.Context(), "pve1", "seeds:iso/a.iso"); !IsPermission(err) {
		t.Errorf("denied: %v", err)
	}
	for _, volid := range []string{"local-lvm:vm-100-disk-0", "seeds", "seeds:backup/vzdump.vma", ":iso/x.iso"} {
		if err := denied.client(t).Storage.Delete(t.Context(), "pve1", volid); err == nil {
			t.Errorf("%s is deleted", volid)
		}
	}
	if n := len(denied.calls()); n != 1 {
		t.Errorf("%d calls, want the one that was denied", n)
	}
}

// zeros is an endless file.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

const largeFile = 32 << 20

func largeUpload() Upload {
	open := func() io.Reader { return io.LimitReader(zeros{}, largeFile) }
	digest := sha256.New()
	_, _ = io.Copy(digest, open())
	return Upload{
		Node: "pve1", Storage: "seeds", Content: "iso", Name: "a.iso", Size: largeFile,
		SHA256: hex.EncodeToString(digest.Sum(nil)), Open: open,
	}
}

// TestUploadIsStreamed counts what 32 MiB allocate: buffers, and no copy of the
// file.
func TestUploadIsStreamed(t *testing.T) {
	s := newUploadServer(t)
	client, file := s.client(t), largeUpload()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := client.Storage.Store(t.Context(), file); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > largeFile/4 {
		t.Errorf("an upload of %d MiB allocates %d KiB", largeFile>>20, used>>10)
	}
	if s.size != largeFile || s.sum != file.SHA256 {
		t.Errorf("%d bytes arrived", s.size)
	}
}

// BenchmarkUpload32MiB shows how much memory an upload of 32 MiB takes, the
// server's share included.
func BenchmarkUpload32MiB(b *testing.B) {
	s := newUploadServer(b)
	client, file := s.client(b), largeUpload()
	b.SetBytes(largeFile)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.Storage.Store(b.Context(), file); err != nil {
			b.Fatal(err)
		}
	}
}
