package proxmox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
)

// Upload is a file to bring to a storage. It is streamed: no more of it than a
// buffer is in memory.
type Upload struct {
	Node, Storage string
	// Content is the kind of content: "iso", "vztmpl" or "import".
	Content string
	// Name is the file's name on the storage. A file of that name is replaced.
	Name string
	// Size is in bytes, SHA256 in hex: the node checks it before it puts the
	// file in its place.
	Size   int64
	SHA256 string
	// Open reads the file from its beginning, anew at each call.
	Open func() io.Reader
	// Progress receives the lines of the task's log. It may be nil.
	Progress func(line string)
}

// VolID is the id of the volume that the file becomes.
func (u Upload) VolID() string { return u.Storage + ":" + u.Content + "/" + u.Name }

// StoreError says that an upload did not come to its end.
type StoreError struct {
	// Refused tells that PVE refused every call that would have begun it: the
	// file is not on the storage. If not, it may be there, or come to be.
	Refused bool
	Err     error
}

func (e *StoreError) Error() string { return e.Err.Error() }

func (e *StoreError) Unwrap() error { return e.Err }

// IsStoreRefused reports whether an upload was refused before anything of it
// began.
func IsStoreRefused(err error) bool {
	var failed *StoreError
	return errors.As(err, &failed) && failed.Refused
}

// storeAttempts bounds the uploads of one file whose answers were lost.
const storeAttempts = 5

// Store uploads a file under a name that nobody else uses, waits until it is in
// its place, and checks it in the storage's content list. It needs
// Datastore.AllocateTemplate, and Datastore.Audit for the list.
//
// A lost answer is resolved by looking at that list. If the file is not there,
// it is uploaded again: the same bytes under the same name, so that a first
// upload that is late does no harm. Every error is a [*StoreError].
func (s *StorageService) Store(ctx context.Context, u Upload) (Volume, error) {
	failed := &StoreError{Refused: true}
	volume, err := s.store(ctx, u, failed)
	if err != nil {
		failed.Err = err
		return Volume{}, failed
	}
	return volume, nil
}

// store notes in failed whether PVE refused all calls.
func (s *StorageService) store(ctx context.Context, u Upload, failed *StoreError) (Volume, error) {
	release, err := s.c.limits.hold(ctx, u.Node, u.Storage)
	if err != nil {
		return Volume{}, err
	}
	defer release()
	defer s.c.View.dropImages(u.Storage)
	for attempt := 0; ; attempt++ {
		upid, err := s.send(ctx, u)
		if _, answered := answer(err); !answered || IsLostAnswer(err) {
			failed.Refused = false
		}
		if err == nil {
			_, err = s.c.Tasks.Wait(ctx, upid, WaitOptions{Progress: u.Progress})
		}
		if err == nil {
			return s.stored(ctx, u)
		}
		if ctx.Err() != nil || !mayPass(err) || attempt+1 >= storeAttempts {
			return Volume{}, err
		}
		if IsLostAnswer(err) {
			if volume, lookErr := s.stored(ctx, u); lookErr == nil {
				return volume, nil
			}
		}
		if stopped := s.c.backoff(ctx, attempt); stopped != nil {
			return Volume{}, fmt.Errorf("%w: %w", stopped, err)
		}
	}
}

// stored finds an uploaded file in the content list.
func (s *StorageService) stored(ctx context.Context, u Upload) (Volume, error) {
	volume, ok, err := s.Volume(ctx, u.Node, u.VolID())
	switch {
	case err != nil:
		return Volume{}, err
	case !ok:
		return Volume{}, fmt.Errorf("the upload of %s succeeded, but storage %q of node %s does not list it", u.VolID(), u.Storage, u.Node)
	case int64(volume.Size) != u.Size:
		return Volume{}, fmt.Errorf("%s has %d bytes on node %s, %d were uploaded", u.VolID(), int64(volume.Size), u.Node, u.Size)
	}
	return volume, nil
}

// send makes the request. Where the endpoint is another node, PVE hands the file
// on, and the task runs on the endpoint.
func (s *StorageService) send(ctx context.Context, u Upload) (UPID, error) {
	form, err := newUploadForm(u)
	if err != nil {
		return UPID{}, err
	}
	req, err := s.c.request(ctx, s.c.host, http.MethodPost, at("nodes", u.Node, "storage", u.Storage, "upload"), nil)
	if err != nil {
		return UPID{}, err
	}
	req.Header.Set("Content-Type", form.contentType)
	// PVE refuses chunked bodies with 501; 8.4 drops the connection.
	req.ContentLength = form.size()
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(form.open()), nil }
	if req.Body, err = req.GetBody(); err != nil {
		return UPID{}, err
	}
	answer, err := roundTrip(s.c.http, req)
	if err != nil {
		return UPID{}, err
	}
	var upid string
	if err := json.Unmarshal(answer.Data, &upid); err != nil {
		return UPID{}, &LostAnswerError{Method: req.Method, Path: apiPath(req), Err: err}
	}
	return ParseUPID(upid)
}

// uploadForm is a multipart body around a file.
type uploadForm struct {
	Upload
	contentType string
	head, tail  []byte
}

// newUploadForm writes what goes before and after the file. PVE's parser takes
// the fields in this order only: content, checksum-algorithm, checksum, and the
// file, whose field is called "filename".
func newUploadForm(u Upload) (*uploadForm, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	err := errors.Join(
		w.WriteField("content", u.Content),
		w.WriteField("checksum-algorithm", "sha256"),
		w.WriteField("checksum", u.SHA256),
	)
	if err != nil {
		return nil, err
	}
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", multipart.FileContentDisposition("filename", u.Name))
	header.Set("Content-Type", "application/octet-stream")
	if _, err := w.CreatePart(header); err != nil {
		return nil, err
	}
	head := b.Len()
	if err := w.Close(); err != nil {
		return nil, err
	}
	return &uploadForm{Upload: u, contentType: w.FormDataContentType(), head: b.Bytes()[:head], tail: b.Bytes()[head:]}, nil
}

func (f *uploadForm) size() int64 { return int64(len(f.head)) + f.Size + int64(len(f.tail)) }

func (f *uploadForm) open() io.Reader {
	return io.MultiReader(bytes.NewReader(f.head), f.Open(), bytes.NewReader(f.tail))
}
