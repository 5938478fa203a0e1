// Command pvelab plays a small Proxmox VE cluster on this machine: the HTTPS API
// of its nodes, with guests, tasks, permissions and faults, all in memory. It
// prints the variables to export and serves until it is interrupted.
//
// "pvelab record" compares the lab's answers with those of a real node.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"terraform-provider-proxmox/internal/pvelab"
)

const (
	// templateVMID is the default lab's first template.
	templateVMID = "9000"
	// vmidRange is where the lab suggests to make guests.
	vmidRange = "20000-20999"
	// guestPool is the one that the lab has for guests and their ids.
	guestPool = "terraform"
	// maxNodes bounds --nodes: each has a listener of its own.
	maxNodes = 32
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		_, _ = fmt.Fprintln(os.Stderr, "pvelab:", err)
		os.Exit(1)
	}
}

// command does what the first argument says.
func command(ctx context.Context, args []string, out, messages io.Writer) error {
	if len(args) > 0 && args[0] == "record" {
		return record(ctx, args[1:], os.Getenv, out, messages)
	}
	return run(ctx, args, out, messages)
}

// run starts a lab, writes its variables to out and serves until ctx ends.
func run(ctx context.Context, args []string, out, messages io.Writer) (err error) {
	options, err := parse(args, messages)
	if err != nil {
		return err
	}
	lab, err := pvelab.New(options)
	if err != nil {
		return err
	}
	if err := lab.Start(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lab.Close()) }()

	dir, err := os.MkdirTemp("", "pvelab-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ca := filepath.Join(dir, "ca.pem")
	if err := os.WriteFile(ca, lab.CAPEM(), 0o600); err != nil { //nolint:gosec // a directory of our own.
		return err
	}
	if err := printVariables(out, lab, options, ca); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(messages, "Proxmox VE %s, %d nodes: serving until Ctrl-C. Watch it in a browser at %s/\n", options.Version, len(lab.Nodes()), lab.URL())
	<-ctx.Done()
	return nil
}

// parse reads the flags.
func parse(args []string, messages io.Writer) (pvelab.Options, error) {
	flags := flag.NewFlagSet("pvelab", flag.ContinueOnError)
	flags.SetOutput(messages)
	nodes := flags.Int("nodes", 3, "number of nodes, pve1 and so on; 1 is a node without a cluster")
	templates := flags.Bool("templates", true, "furnish the lab with the VM templates 9000 and 9001")
	speed := flags.Float64("speed", 10, "how many times faster than PVE tasks run")
	version := flags.String("version", "9.2", "the version to play: 9.2 or 8.4")
	listen := flags.String("listen", "127.0.0.1:8006", "address of the first node; the others take free ports of the same host")
	if err := flags.Parse(args); err != nil {
		return pvelab.Options{}, err
	}
	if flags.NArg() > 0 {
		return pvelab.Options{}, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if *nodes < 1 || *nodes > maxNodes {
		return pvelab.Options{}, fmt.Errorf("--nodes is between 1 and %d", maxNodes)
	}
	o := pvelab.Options{
		Version: *version, Standalone: *nodes == 1, Listen: *listen, Speed: *speed, NoTemplates: !*templates,
	}
	for i := range *nodes {
		o.Nodes = append(o.Nodes, "pve"+strconv.Itoa(i+1))
	}
	return o, nil
}

// printVariables writes what a shell can evaluate: the variables of the provider
// and those of the lab's own endpoint for faults and counters.
func printVariables(out io.Writer, lab *pvelab.Lab, options pvelab.Options, ca string) error {
	id, secret := lab.Token("full")
	w := bufio.NewWriter(out)
	export := func(name, value string) { _, _ = fmt.Fprintf(w, "export %s='%s'\n", name, value) }
	export("PROXMOX_ENDPOINT", lab.URL())
	export("PROXMOX_TOKEN_ID", id)
	export("PROXMOX_TOKEN_SECRET", secret)
	export("PROXMOX_CA_FILE", ca)
	export("PROXMOX_NODE", options.Nodes[0])
	if !options.NoTemplates {
		export("PROXMOX_TEMPLATE_VMID", templateVMID)
	}
	export("PROXMOX_VMID_RANGE", vmidRange)
	export("PROXMOX_POOL", guestPool)
	export("PVELAB_ADMIN_URL", lab.AdminURL())
	export("PVELAB_ADMIN_TOKEN", lab.AdminToken())
	return w.Flush()
}
