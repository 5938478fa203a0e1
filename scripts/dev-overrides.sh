#!/bin/sh
# Writes the CLI configuration with which Terraform and OpenTofu use the provider
# that `make install` put into Go's bin folder, and says how to use it.
set -eu

cd "$(dirname -- "$0")/.."
bin=$(go env GOBIN)
bin=${bin:-$(go env GOPATH)/bin}
address=$("$bin/terraform-provider-proxmox" -version | cut -d ' ' -f 1)

mkdir -p bin
cat >bin/dev.tfrc <<EOF
provider_installation {
  dev_overrides {
    "${address#*/}" = "$bin"
  }
  direct {}
}
EOF

cat <<EOF
Installed into $bin. To use it in this shell:

  export TF_CLI_CONFIG_FILE='$PWD/bin/dev.tfrc'

or put what is in that file into ~/.terraformrc or ~/.tofurc. Then leave out init,
which would look for the provider in a registry: plan, apply and test work without
(and get fetches modules).
EOF
