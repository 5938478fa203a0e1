#!/bin/sh
# Generates docs/, or the folder given, from the provider's schema, templates/
# and examples/. The schema comes from the CLI that scripts/terraform-cli.sh
# chooses, and nothing is downloaded.
set -eu

website=${1:-docs}
cd "$(dirname -- "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# tfplugindocs looks the provider up under this address only.
address=registry.terraform.io/hashicorp/proxmox

go build -o "$work/terraform-provider-proxmox" .
cat >"$work/cli.tfrc" <<EOF
provider_installation {
  dev_overrides {
    "$address" = "$work"
  }
}
EOF
mkdir "$work/module"
cat >"$work/module/main.tf" <<EOF
terraform {
  required_providers {
    proxmox = { source = "$address" }
  }
}
EOF

cli=$(scripts/terraform-cli.sh)
(cd "$work/module" && CHECKPOINT_DISABLE=1 TF_CLI_CONFIG_FILE="$work/cli.tfrc" \
	"$cli" providers schema -json >"$work/schema.json")
go tool -modfile=tools/go.mod tfplugindocs generate \
	--provider-name proxmox --rendered-provider-name 'Proxmox VE' \
	--providers-schema "$work/schema.json" --rendered-website-dir "$website"
