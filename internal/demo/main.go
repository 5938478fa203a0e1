// Command demo shows the provider at work on the embedded lab: a real apply, an
// empty second plan, a change by hand that the plan finds, and a destroy. It
// runs from the repository's root, after `make build`.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"terraform-provider-proxmox/internal/acctest/byhand"
	"terraform-provider-proxmox/internal/acctest/cli"
	"terraform-provider-proxmox/internal/pvelab"
)

const (
	source  = "holdfast/proxmox"
	example = "examples/demo/main.tf"
	// speed shortens the lab's clones and boots to a fraction of a second.
	speed = 20
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout)
	stop()
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// demo is one run: the lab, an operator's hand in it, and the CLI.
type demo struct {
	out       io.Writer
	lab       *pvelab.Lab
	hand      *byhand.Hand
	workspace *cli.Workspace
}

func run(ctx context.Context, out io.Writer) error {
	if err := cli.Forget("PROXMOX_"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "proxmox-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()

	d := &demo{out: out}
	if err := d.startLab(); err != nil {
		return err
	}
	defer func() { _ = d.lab.Close() }()
	if err := d.prepare(dir); err != nil {
		return err
	}

	began := time.Now()
	steps := []func(context.Context) error{d.apply, d.planIsEmpty, d.changeByHand, d.repair, d.destroy}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	d.summary(time.Since(began))

	return nil
}

func (d *demo) startLab() error {
	lab, err := pvelab.New(pvelab.Options{Speed: speed})
	if err != nil {
		return err
	}
	d.lab = lab
	if err := lab.Start(); err != nil {
		return err
	}
	d.say("The lab plays a Proxmox VE cluster of three nodes at %s.", lab.URL())

	return nil
}

func (d *demo) prepare(dir string) error {
	id, secret := d.lab.Token("full")
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, d.lab.CAPEM(), 0o600); err != nil {
		return err
	}
	hand, err := byhand.New(d.lab.URL(), id, secret, d.lab.CAPEM())
	if err != nil {
		return err
	}
	d.hand = hand

	configuration, err := os.ReadFile(example)
	if err != nil {
		return err
	}
	d.workspace, err = cli.New(cli.Options{
		Dir:      filepath.Join(dir, "work"),
		CLI:      os.Getenv("TF_CLI_PATH"),
		Provider: filepath.Join("bin", "terraform-provider-proxmox"),
		Source:   source,
		Output:   func(line []byte) { _, _ = d.out.Write(line) },
		Env: []string{
			"PROXMOX_ENDPOINT=" + d.lab.URL(), "PROXMOX_CA_FILE=" + ca,
			"PROXMOX_TOKEN_ID=" + id, "PROXMOX_TOKEN_SECRET=" + secret,
			"PROXMOX_NODE=pve1", "PROXMOX_VMID_RANGE=20000-20999",
		},
	})
	if err != nil {
		return err
	}

	return d.workspace.Write(string(configuration))
}

func (d *demo) apply(ctx context.Context) error {
	d.say("Applying %s: three VMs cloned from a template, grown, configured, started.", example)
	_, err := d.workspace.Apply(ctx)

	return err
}

func (d *demo) planIsEmpty(ctx context.Context) error {
	d.say("Planning again: nothing may be left to do.")
	changes, _, err := d.workspace.Plan(ctx)
	if err != nil {
		return err
	}
	if changes {
		return fmt.Errorf("the second plan is not empty")
	}

	return nil
}

func (d *demo) changeByHand(ctx context.Context) error {
	vmid, err := d.vmid(ctx, "demo-small")
	if err != nil {
		return err
	}
	d.say("Changing demo-small (VM %d) by hand through the API: another description and the tag of somebody else.", vmid)

	config, err := d.hand.Config(ctx, vmid)
	if err != nil {
		return err
	}
	changes := byhand.Params{"tags": "by-hand", "description": "edited by hand\n" + config["description"]}
	if err := d.hand.Configure(ctx, vmid, changes); err != nil {
		return err
	}

	d.say("The plan shows what differs from the configuration, and nothing else.")
	changed, _, err := d.workspace.Plan(ctx)
	if err != nil {
		return err
	}
	if !changed {
		return fmt.Errorf("the plan missed the change by hand")
	}

	return nil
}

func (d *demo) repair(ctx context.Context) error {
	d.say("Applying once more puts it back, in place.")
	_, err := d.workspace.Apply(ctx)

	return err
}

func (d *demo) destroy(ctx context.Context) error {
	d.say("Destroying.")
	if _, err := d.workspace.Destroy(ctx); err != nil {
		return err
	}
	guests, err := d.hand.Guests(ctx)
	if err != nil {
		return err
	}
	for _, guest := range guests {
		if strings.HasPrefix(guest.Name, "demo-") {
			return fmt.Errorf("%s is still there", guest.Name)
		}
	}

	return nil
}

func (d *demo) vmid(ctx context.Context, name string) (int, error) {
	guests, err := d.hand.Guests(ctx)
	if err != nil {
		return 0, err
	}
	for _, guest := range guests {
		if guest.Name == name {
			return guest.VMID, nil
		}
	}

	return 0, fmt.Errorf("there is no VM %s", name)
}

func (d *demo) summary(took time.Duration) {
	d.say("That was, in %s:", took.Round(time.Second))
	for i, line := range []string{
		"three VMs cloned, grown, configured and started, with their addresses as outputs;",
		"a second plan, which was empty;",
		"a change by hand, which the next plan showed and the next apply put back in place;",
		"a destroy, which left nothing behind and the templates untouched.",
	} {
		_, _ = fmt.Fprintln(d.out, "  "+strconv.Itoa(i+1)+". "+line)
	}
}

func (d *demo) say(format string, args ...any) {
	_, _ = fmt.Fprintf(d.out, "\n== "+format+"\n", args...)
}
