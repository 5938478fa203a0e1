// Command terraform-provider-proxmox is the plugin that Terraform and OpenTofu
// start to manage Proxmox VE.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"

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

	err := providerserver.Serve(context.Background(), provider.New(version), providerserver.ServeOpts{
		Address: provider.Address,
		Debug:   *debug,
	})
	if err != nil {
		log.Fatal(err)
	}
}
