package proxmox

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
)

// cloudInitResult is what cloud-init writes when it has come to its end, at each
// boot: the directory is empty before.
const cloudInitResult = "/run/cloud-init/result.json"

// CloudInitError is what cloud-init in a guest says of its failure.
type CloudInitError struct {
	VMID   int
	Errors []string
}

func (e *CloudInitError) Error() string {
	text := fmt.Sprintf("cloud-init failed in VM %d", e.VMID)
	for _, each := range e.Errors {
		text += "\n  " + each
	}
	return text
}

// CloudInitDone asks the guest's agent whether cloud-init has come to its end
// since the guest booted. What failed there is a [*CloudInitError]. It needs
// VM.GuestAgent.FileRead (PVE 8: VM.Monitor).
func (s *VMService) CloudInitDone(ctx context.Context, node string, vmid int) (bool, error) {
	content, err := s.agentFile(ctx, node, vmid, cloudInitResult)
	if IsNoAgentFile(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var result struct {
		V1 struct {
			Errors []string `json:"errors"`
		} `json:"v1"`
	}
	if !json.Valid([]byte(content)) {
		return false, nil // It is being written.
	}
	if err := json.Unmarshal([]byte(content), &result); err != nil {
		return false, fmt.Errorf("%s of VM %d: %w", cloudInitResult, vmid, err)
	}
	if len(result.V1.Errors) > 0 {
		return true, &CloudInitError{VMID: vmid, Errors: result.V1.Errors}
	}
	return true, nil
}

func (s *VMService) agentFile(ctx context.Context, node string, vmid int, file string) (string, error) {
	var answer struct {
		Content string `json:"content"`
	}
	err := s.c.get(ctx, s.path(node, vmid, "agent", "file-read"), url.Values{"file": {file}}, &answer)
	return answer.Content, err
}
