package vm_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
)

// poolToken makes a pool, a user whose rights come from that pool alone, save
// for the template, the storage and the bridges, and a token of that user.
func poolToken(t *testing.T, target *acctest.Target, pool string) *acctest.Target {
	t.Helper()
	ctx := context.Background()
	hand := target.Hand
	facts := target.Facts(t)
	user := pool + "@pve"

	acctest.Must(t, hand.Call(ctx, http.MethodPost, "/pools", byhand.Params{"poolid": pool}, nil))
	t.Cleanup(func() {
		acctest.Must(t, hand.Call(ctx, http.MethodDelete, "/pools", byhand.Params{"poolid": pool}, nil))
	})
	acctest.Must(t, hand.Call(ctx, http.MethodPost, "/access/users", byhand.Params{"userid": user}, nil))
	t.Cleanup(func() { acctest.Must(t, hand.Call(ctx, http.MethodDelete, "/access/users/"+user, nil, nil)) })
	for path, role := range map[string]string{
		"/pool/" + pool:                         "PVEVMAdmin",
		fmt.Sprintf("/vms/%d", target.Template): "PVETemplateUser",
		"/storage/" + facts.Storage:             "PVEDatastoreUser",
		"/sdn/zones/localnetwork":               "PVESDNUser",
	} {
		acctest.Must(t, hand.Call(ctx, http.MethodPut, "/access/acl", byhand.Params{"path": path, "roles": role, "users": user}, nil))
	}
	var answer struct {
		ID    string `json:"full-tokenid"`
		Value string `json:"value"`
	}
	acctest.Must(t, hand.Call(ctx, http.MethodPost, "/access/users/"+user+"/token/acc", byhand.Params{"privsep": 0}, &answer))

	limited := *target
	limited.TokenID, limited.TokenSecret = answer.ID, answer.Value

	return &limited
}

// TestAccVM_poolOnly runs with a token whose rights come from one pool. They
// end with the guest, which must then be read as gone and not as unreadable.
func TestAccVM_poolOnly(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	pool := "acc-pool"
	limited := poolToken(t, target, pool)
	facts := target.Facts(t)
	body := fmt.Sprintf("pool = %q\nstorage = %q", pool, facts.Storage)

	workspace, vm := applied(t, limited, plain(limited, "acc-pooled", body))
	if changes, output, err := workspace.Plan(ctx); err != nil || changes {
		t.Errorf("the second plan is not empty: %v\n%s", err, output)
	}

	acctest.Must(t, target.Hand.Destroy(ctx, vmidOf(vm)))
	_, output, err := workspace.Plan(ctx)
	acctest.Must(t, err)
	said(t, output, "will be created")
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	target.One(t, "acc-pooled")
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
	acctest.Must(t, target.CheckGone("acc-pooled")(nil))
}

// TestAccVM_noRights has a privilege-separated token that was given nothing.
func TestAccVM_noRights(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	ctx := context.Background()
	user, _, _ := strings.Cut(target.TokenID, "!")
	name := "acc-nothing"
	path := "/access/users/" + user + "/token/" + name
	var answer struct {
		ID    string `json:"full-tokenid"`
		Value string `json:"value"`
	}
	acctest.Must(t, target.Hand.Call(ctx, http.MethodPost, path, byhand.Params{"privsep": 1}, &answer))
	t.Cleanup(func() { acctest.Must(t, target.Hand.Call(ctx, http.MethodDelete, path, nil, nil)) })

	powerless := *target
	powerless.TokenID, powerless.TokenSecret = answer.ID, answer.Value
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(plain(&powerless, "acc-powerless", "")))
	output, err := workspace.Apply(ctx)
	if err == nil {
		t.Errorf("a token without rights made a VM:\n%s", output)
	}
	said(t, output, "no privileges at all", "privilege separation", "--privsep 0", "VM.Clone on")
	acctest.Must(t, target.CheckGone("acc-powerless")(nil))
}
