package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

func TestMain(m *testing.M) { acctest.Main(m) }

func TestConnect_names(t *testing.T) {
	t.Parallel()
	whole := map[string]string{
		"PROXMOX_ENDPOINT": "https://pve1:8006", "PROXMOX_TOKEN_ID": "a@pve!b", "PROXMOX_TOKEN_SECRET": "c",
		"PROXMOX_NODE": "pve1", "PROXMOX_TEMPLATE_VMID": "9000", "PROXMOX_VMID_RANGE": "20000-20999",
	}
	for name, c := range map[string]struct {
		change map[string]string
		want   string
	}{
		"whole":      {nil, ""},
		"two absent": {map[string]string{"PROXMOX_NODE": "", "PROXMOX_VMID_RANGE": ""}, "set PROXMOX_NODE, PROXMOX_VMID_RANGE"},
		"template":   {map[string]string{"PROXMOX_TEMPLATE_VMID": "debian"}, "PROXMOX_TEMPLATE_VMID is no number"},
		"range":      {map[string]string{"PROXMOX_VMID_RANGE": "20000-20001"}, "ten ids at least"},
		"CA":         {map[string]string{"PROXMOX_CA_FILE": "/nowhere/ca.pem"}, "PROXMOX_CA_FILE"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := maps.Clone(whole)
			maps.Copy(env, c.change)
			_, err := connect(func(name string) string { return env[name] })
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestTable_failed leaves out what follows a failure, and cleans up all the same.
func TestTable_failed(t *testing.T) {
	t.Parallel()
	done := func(context.Context) (string, error) { return "done", nil }
	var out bytes.Buffer
	table := &table{out: &out}
	table.run(t.Context(), []step{
		{name: "first", do: done},
		{name: "second", do: func(context.Context) (string, error) { return "", errors.New("no such thing") }},
		{name: "third", do: done},
		{name: "last", do: done, always: true},
	})
	table.print()
	for _, want := range []string{`first +ok .*done`, `second +FAILED .*no such thing`, `third +skipped`, `last +ok .*done`} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

func nodeOf(target *acctest.Target) *node {
	return &node{
		endpoint: target.Endpoint, tokenID: target.TokenID, tokenSecret: target.TokenSecret, caFile: target.CAFile,
		name: target.Node, template: target.Template, first: target.First, last: target.Last, hand: target.Hand,
	}
}

func TestAccLive(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: 50})
	n := nodeOf(target)
	var out bytes.Buffer
	if err := try(t.Context(), n, target.Workspace(t), &out, true); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}
	if rows := len(regexp.MustCompile(`(?m)^.* ok  `).FindAllString(out.String(), -1)); rows != 14 {
		t.Errorf("%d rows are ok, want 14:\n%s", rows, &out)
	}
	if strings.Contains(out.String(), target.TokenSecret) {
		t.Error("the token's secret is printed")
	}
	held, err := n.inRange(t.Context())
	if err != nil || len(held) != 0 {
		t.Errorf("left behind: %v %v", held, err)
	}
}

// TestAccLive_occupied begins nothing where a guest is in the range.
func TestAccLive_occupied(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{Speed: 50})
	n := nodeOf(target)
	vmid := target.Foreign(1)
	if err := target.Hand.CreateVM(t.Context(), n.name, vmid, byhand.Params{"name": "theirs"}); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err := try(t.Context(), n, target.Workspace(t), &out, true)
	if !errors.Is(err, errFailed) || !strings.Contains(out.String(), fmt.Sprintf("guest %d %q is in PROXMOX_VMID_RANGE", vmid, "theirs")) {
		t.Errorf("got %v\n%s", err, &out)
	}
	if node, err := target.Hand.Node(t.Context(), vmid); err != nil || node == "" {
		t.Errorf("it is gone: %v", err)
	}
}
