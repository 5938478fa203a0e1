package byhand

import (
	"bytes"
	"context"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
)

// Image is one line of a storage's list of ISO images. Size is in bytes.
type Image struct {
	VolID string `json:"volid"`
	Size  int64  `json:"size"`
}

// Images lists the ISO images of a storage.
func (h *Hand) Images(ctx context.Context, node, storage string) ([]Image, error) {
	var images []Image
	err := h.Call(ctx, http.MethodGet, "/nodes/"+node+"/storage/"+storage+"/content", Params{"content": "iso"}, &images)
	return images, err
}

// DeleteImage deletes an ISO image.
func (h *Hand) DeleteImage(ctx context.Context, node, volid string) error {
	storage, _, _ := strings.Cut(volid, ":")
	return h.Task(ctx, http.MethodDelete, "/nodes/"+node+"/storage/"+storage+"/content/"+url.PathEscape(volid), nil)
}

// UploadImage puts a file where the image of that volume id is, or would be.
func (h *Hand) UploadImage(ctx context.Context, node, volid string, content []byte) error {
	storage, name, _ := strings.Cut(volid, ":")
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	if err := form.WriteField("content", "iso"); err != nil {
		return err
	}
	file, err := form.CreateFormFile("filename", strings.TrimPrefix(name, "iso/"))
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.endpoint+"/api2/json/nodes/"+node+"/storage/"+storage+"/upload", &body)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", form.FormDataContentType())
	var upid string
	if err := h.do(request, &upid); err != nil {
		return err
	}
	return h.Wait(ctx, upid)
}
