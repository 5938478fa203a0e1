package internal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest/byhand"
)

// The commands of a Proxmox VE node are played by this test's own program,
// under their names: they make the same API calls, on the lab.
var standInCommands = []string{"pveum", "pvesm", "pvesh", "qm", "pveversion", "pvenode"}

// The environment of the stand-ins.
const (
	standInLab      = "STANDIN_LAB"
	standInCA       = "STANDIN_CA"
	standInPassword = "STANDIN_PASSWORD"
	standInLog      = "STANDIN_LOG"
	standInVersion  = "STANDIN_VERSION"
)

// standIn plays a command, if this process was started as one.
func standIn() {
	name := filepath.Base(os.Args[0])
	if os.Getenv(standInLab) == "" || !slices.Contains(standInCommands, name) {
		return
	}
	if err := playCommand(name, os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(0)
}

func playCommand(name string, args []string) error {
	switch name {
	case "pveversion":
		version := map[string]string{"8.4": "8.4.21", "9.2": "9.2.11"}[os.Getenv(standInVersion)]
		_, err := fmt.Fprintf(os.Stdout, "pve-manager/%s/14a22df35955d97d (running kernel: 6.17.0-1-pve)\n", version)
		return err
	case "pvesh":
		return pvesh(args)
	case "pvenode":
		return pvenode(args)
	}
	words, params := arguments(args)
	call, ok := translate(name, words, params)
	if !ok {
		return fmt.Errorf("%s: the stand-in knows no %v", name, words)
	}
	if err := record(name, args); err != nil {
		return err
	}
	return call.make(params)
}

// record writes a change into the log.
func record(name string, args []string) error {
	log, err := os.OpenFile(os.Getenv(standInLog), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(log, name, strings.Join(args, " "))
	return errors.Join(err, log.Close())
}

// apiCall is what a command does.
type apiCall struct{ method, path string }

// translate finds the call of a command. What the command takes as words goes
// into the parameters.
func translate(name string, words []string, params byhand.Params) (apiCall, bool) {
	command := name + " " + strings.Join(words[:min(2, len(words))], " ")
	last := words[len(words)-1]
	guest := func(rest string) string { return "/nodes/pve1/qemu/" + last + rest }
	switch command {
	case "pveum role add":
		params["roleid"] = last
		return apiCall{http.MethodPost, "/access/roles"}, true
	case "pveum role modify":
		return apiCall{http.MethodPut, "/access/roles/" + last}, true
	case "pveum role delete":
		return apiCall{http.MethodDelete, "/access/roles/" + last}, true
	case "pveum user add":
		params["userid"] = last
		return apiCall{http.MethodPost, "/access/users"}, true
	case "pveum user delete":
		return apiCall{http.MethodDelete, "/access/users/" + last}, true
	case "pveum user token":
		method := map[string]string{"add": http.MethodPost, "remove": http.MethodDelete}[words[2]]
		return apiCall{method, "/access/users/" + words[3] + "/token/" + words[4]}, true
	case "pveum acl modify":
		params["path"] = last
		return apiCall{http.MethodPut, "/access/acl"}, true
	case "pveum pool add", "pveum pool delete":
		params["poolid"] = last
		return apiCall{map[string]string{"add": http.MethodPost, "delete": http.MethodDelete}[words[1]], "/pools"}, true
	}
	switch {
	case name == "pvesm" && words[0] == "add":
		params["type"], params["storage"] = words[1], last
		return apiCall{http.MethodPost, "/storage"}, true
	case name == "pvesm" && words[0] == "remove":
		return apiCall{http.MethodDelete, "/storage/" + last}, true
	case name == "qm" && words[0] == "create":
		params["vmid"] = last
		return apiCall{http.MethodPost, "/nodes/pve1/qemu"}, true
	case name == "qm" && words[0] == "template":
		return apiCall{http.MethodPost, guest("/template")}, true
	case name == "qm" && words[0] == "destroy":
		return apiCall{http.MethodDelete, guest("")}, true
	}
	return apiCall{}, false
}

func (c apiCall) make(params byhand.Params) error {
	delete(params, "output-format")
	ctx := context.Background()
	hand, err := rootHand(ctx)
	if err != nil {
		return err
	}
	var answer any
	if err := hand.Call(ctx, c.method, c.path, params, &answer); err != nil {
		return err
	}
	if upid, ok := answer.(string); ok && strings.HasPrefix(upid, "UPID:") {
		return hand.Wait(ctx, upid)
	}
	return json.NewEncoder(os.Stdout).Encode(answer)
}

func rootHand(ctx context.Context) (*byhand.Hand, error) {
	ca, err := os.ReadFile(os.Getenv(standInCA))
	if err != nil {
		return nil, err
	}
	return byhand.Login(ctx, os.Getenv(standInLab), "root@pam", os.Getenv(standInPassword), ca)
}

// pvesh reads only: the script makes its changes with the other commands.
func pvesh(args []string) error {
	words, params := arguments(args)
	if len(words) != 2 || words[0] != "get" {
		return fmt.Errorf("pvesh %v changes something", words)
	}
	return apiCall{http.MethodGet, words[1]}.make(params)
}

// pvenode puts the certificate where PVE does.
func pvenode(args []string) error {
	words, _ := arguments(args)
	if err := record("pvenode", args); err != nil {
		return err
	}
	own := filepath.Join(os.Getenv("PVE_DIR"), "nodes", "pve1", "pveproxy-ssl.pem")
	switch words[1] {
	case "set":
		content, err := os.ReadFile(words[2])
		if err != nil {
			return err
		}
		return os.WriteFile(own, content, 0o600)
	case "delete":
		return os.Remove(own)
	}
	return fmt.Errorf("pvenode: the stand-in knows no %v", words)
}

// arguments splits words from "--name value".
func arguments(args []string) (words []string, params byhand.Params) {
	params = byhand.Params{}
	for i := 0; i < len(args); i++ {
		name, isOption := strings.CutPrefix(args[i], "--")
		if !isOption {
			words = append(words, args[i])
			continue
		}
		i++
		params[name] = args[i]
	}
	return words, params
}

// hand makes calls as root.
func (n *node) hand(t *testing.T) *byhand.Hand {
	t.Helper()

	hand, err := byhand.Login(context.Background(), n.lab.URL(), "root@pam", n.lab.RootPassword(), n.lab.CAPEM())
	if err != nil {
		t.Fatal(err)
	}
	return hand
}

func asJSON(t *testing.T, value any) []byte {
	t.Helper()

	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
