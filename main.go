// Command terraform-provider-proxmox is the plugin that Terraform and OpenTofu
// start to manage Proxmox VE.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"

	"terraform-provider-proxmox/internal/provider"
)

// version is set by the linker when a release is built.
var version = "dev"

func main() {
	debug := flag.Bool("debug", false, "serve for a debugger: print how to attach, and wait")
	showVersion := flag.Bool("version", false, "print the provider's address and version, and exit")
	flag.Parse()

	if *showVersion {
		fmt.Fprintln(os.Stdout, provider.Address, version)
		return
	}

	var options []tf6server.ServeOpt
	if *debug {
		options = append(options, tf6server.WithManagedDebug())
	}
	serve := func() tfprotov6.ProviderServer { return provider.Serve(context.Background(), version) }
	if err := tf6server.Serve(provider.Address, serve, options...); err != nil {
		log.Fatal(err)
	}
}
