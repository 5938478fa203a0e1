#!/bin/sh
# Prints the CLI configuration with which Terraform and OpenTofu use the
# provider that `make install` put into Go's bin folder.
set -eu

bin=$(go env GOBIN)
bin=${bin:-$(go env GOPATH)/bin}
address=$("$bin/terraform-provider-proxmox" -version | cut -d ' ' -f 1)

cat <<EOF
Installed into $bin. To use it, put this into ~/.terraformrc or ~/.tofurc:

provider_installation {
  dev_overrides {
    "${address#*/}" = "$bin"
  }
  direct {}
}
EOF
