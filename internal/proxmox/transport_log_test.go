package proxmox

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestSecretParams(t *testing.T) {
	t.Parallel()
	const value = "correct-horse"
	for name, secret := range map[string]bool{
		"password": true, "cipassword": true, "sshkeys": true, "ssh-public-keys": true, "key": true, "keyring": true,
		"keyboard": false, "name": false, "description": false,
	} {
		params := url.Values{name: {value}}
		hidden := hide(params)[name] == redacted
		scrubbed := !strings.Contains(scrub("it repeats "+value, params), value)
		if hidden != secret || scrubbed != secret {
			t.Errorf("%s: hidden %t, scrubbed %t, want %t", name, hidden, scrubbed, secret)
		}
	}
}

// TestKeyboardLeavesTextsAlone matters since PVE's texts are what errors are told
// apart by, and "is" is a keyboard's layout.
func TestKeyboardLeavesTextsAlone(t *testing.T) {
	t.Parallel()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPut, apiPrefix+"/nodes/pve1/qemu/100/config", nil)
	req.URL.RawQuery = url.Values{"keyboard": {"is"}}.Encode()
	answered := httptest.NewRecorder()
	answered.WriteHeader(http.StatusInternalServerError)
	_, _ = answered.WriteString(`{"message":"VM 100 is locked (backup)\n","data":null}`)
	if err := readError(req, answered.Result()); !IsLocked(err) {
		t.Errorf("the lock is not seen: %v", err)
	}
}
