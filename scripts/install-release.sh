#!/bin/sh
# Installs the provider from the zips of a release, as a filesystem mirror, and
# has the CLI start it: a wrong name of a zip or of what is in it shows here.
# Usage: scripts/with-cli.sh scripts/install-release.sh DIST
set -eu

dist=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mirror=$work/mirror/$TF_ACC_PROVIDER_HOST/holdfast/proxmox
mkdir -p "$mirror"
cp "$dist"/terraform-provider-proxmox_*.zip "$mirror"

cat >"$work/cli.rc" <<EOF
provider_installation {
  filesystem_mirror {
    path = "$work/mirror"
  }
}
EOF
export TF_CLI_CONFIG_FILE="$work/cli.rc"

# Without a version the CLI leaves out prereleases, which snapshots are.
zip=$(basename "$(echo "$mirror"/*_linux_amd64.zip)")
version=${zip#terraform-provider-proxmox_}
cat >"$work/main.tf" <<EOF
terraform {
  required_providers {
    proxmox = {
      source  = "holdfast/proxmox"
      version = "${version%_linux_amd64.zip}"
    }
  }
}
EOF

cd "$work"
"$TF_CLI_PATH" init -input=false -no-color >init.log || { cat init.log; exit 1; }
"$TF_CLI_PATH" providers schema -json | grep -q '"proxmox_vm"'
