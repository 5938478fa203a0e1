package firewall_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"terraform-provider-proxmox/internal/acctest"
	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/pvelab"
)

var (
	rulesFirst = []string{"in ACCEPT HTTPS # public", "in ACCEPT tcp 22 +admins", "in ACCEPT icmp monitor"}
	rulesAfter = []string{"in DROP +blocked", "in ACCEPT SSH +admins # administration", "in ACCEPT HTTPS # public", "| out DROP tcp 25 net0"}
)

// TestAccFirewall_killed kills the provider in the middle of a create and of an
// update, at some of the calls; the next apply finishes what was begun. (Each
// call is tried where the job is tested by itself.)
func TestAccFirewall_killed(t *testing.T) {
	if testing.Short() {
		t.Skip("kills many providers")
	}
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	vmid := guest(t, target, filtered)
	at := place(target, vmid)
	for _, skip := range []int{0, 1, 3} {
		for _, method := range []string{http.MethodPost, http.MethodPut} {
			workspace := target.Workspace(t)
			for _, step := range []struct {
				body string
				want []string
			}{{first, rulesFirst}, {second, rulesAfter}} {
				acctest.Must(t, workspace.Write(firewall(target, vmid, step.body)))
				killAt(t, target, workspace.Start, workspace.KillProvider, method, skip)
				acctest.MustRun(t, workspace, "apply", "-auto-approve", "-lock=false")
				wantRules(t, target.Hand, at, step.want...)
				noChanges(t, workspace)
			}
			acctest.MustRun(t, workspace, "destroy", "-auto-approve", "-lock=false")
			wantRules(t, target.Hand, at)
			wantOptions(t, target.Hand, at, map[string]string{})
		}
	}
}

// killAt applies, and kills the provider while it waits for the answer to a
// call. An apply that makes fewer calls just ends.
func killAt[P interface{ Wait() (string, error) }](t *testing.T, target *acctest.Target,
	start func(context.Context, ...string) (P, error), kill func() error, method string, skip int,
) {
	t.Helper()
	faults := target.Lab.Faults()
	id, err := faults.Add(pvelab.Fault{Method: method, Path: ".*/firewall/.*", Skip: skip, Hold: true})
	acctest.Must(t, err)
	defer faults.Remove(id)
	process, err := start(context.Background(), "apply", "-auto-approve", "-lock=false")
	acctest.Must(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = process.Wait()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	reached := make(chan error, 1)
	go func() { reached <- faults.Reached(ctx, id) }()
	select {
	case err := <-reached:
		acctest.Must(t, err)
		acctest.Must(t, kill())
		<-ended
	case <-ended:
	}
}

// TestAccFirewall_twoWriters applies two configurations to one firewall at once,
// while somebody works on it by hand: both applies end, and the list is whole.
func TestAccFirewall_twoWriters(t *testing.T) {
	t.Parallel()
	target := acctest.New(t)
	vmid := guest(t, target, filtered)
	at := place(target, vmid)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	one, two := target.Workspace(t), target.Workspace(t)
	for tag, workspace := range map[string]interface{ Write(string) error }{"one": one, "two": two} {
		body := "ownership = \"tagged\"\ntag = \"" + tag + "\"\n" + manyRules(12, -1, "")
		acctest.Must(t, workspace.Write(firewall(target, vmid, body)))
	}
	byHand(t, target.Hand, http.MethodPost, at+"/rules", byhand.Params{"type": "out", "action": "DROP", "comment": "first by hand"})
	results := make(chan error, 2)
	for _, apply := range []func(context.Context, ...string) (string, error){one.Apply, two.Apply} {
		go func() {
			_, err := apply(ctx)
			results <- err
		}()
	}
	for i := range 10 {
		time.Sleep(50 * time.Millisecond)
		byHand(t, target.Hand, http.MethodPost, at+"/rules", byhand.Params{"type": "out", "action": "DROP", "comment": "by hand"})
		if i%2 == 0 {
			// Whoever is faster wins: PVE refuses a stale digest.
			_ = target.Hand.Call(ctx, http.MethodDelete, at+"/rules/0", byhand.Params{"digest": "0000"}, nil)
		}
	}
	for range 2 {
		acctest.Must(t, <-results)
	}
	noChanges(t, one)
	noChanges(t, two)
	counts := map[string]int{}
	for _, rule := range rulesOf(t, target.Hand, at) {
		_, comment, _ := strings.Cut(rule, "# ")
		counts[comment]++
	}
	for comment, want := range map[string]int{"[terraform:one]": 12, "[terraform:two]": 12, "by hand": 10, "first by hand": 1} {
		if counts[comment] != want {
			t.Errorf("%d rules %q, not %d", counts[comment], comment, want)
		}
	}
	acctest.MustRun(t, one, "destroy", "-auto-approve")
	acctest.MustRun(t, two, "destroy", "-auto-approve")
	if left := rulesOf(t, target.Hand, at); len(left) != 11 {
		t.Errorf("what was made by hand is %v", left)
	}
}

// TestAccFirewall_nodeAway reads a guest's firewall while its node is away: it is
// the cluster's file. Nothing is planned, and nothing changed.
func TestAccFirewall_nodeAway(t *testing.T) {
	t.Parallel()
	target := acctest.NewLab(t, pvelab.Options{})
	elsewhere := *target
	elsewhere.Node = "pve2"
	vmid := guest(t, &elsewhere, filtered)
	workspace := target.Workspace(t)
	acctest.Must(t, workspace.Write(firewall(target, vmid, first)))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	acctest.Must(t, target.Lab.Faults().NodeOffline("pve2"))
	noChanges(t, workspace)
	acctest.Must(t, workspace.Write(firewall(target, vmid, second)))
	if output, err := workspace.Apply(context.Background()); err == nil {
		t.Errorf("a guest that cannot be seen was changed:\n%s", output)
	}
	acctest.Must(t, target.Lab.Faults().NodeOnline("pve2"))
	acctest.MustRun(t, workspace, "apply", "-auto-approve")
	wantRules(t, target.Hand, place(&elsewhere, vmid), rulesAfter...)
	acctest.MustRun(t, workspace, "destroy", "-auto-approve")
}
