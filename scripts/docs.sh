#!/bin/sh
# Generates docs/, or the folder given, from the provider's schema, templates/
# and examples/. No CLI is needed, and nothing is downloaded.
set -eu

website=${1:-docs}
cd "$(dirname -- "$0")/.."

# tfplugindocs takes its templates from below the provider's folder only.
work=bin/docgen
rm -rf "$work"
mkdir -p "$work"
trap 'rm -rf "$work"' EXIT

go run ./internal/docgen templates "$work"
go tool -modfile=tools/go.mod tfplugindocs generate \
	--provider-name proxmox --rendered-provider-name 'Proxmox VE' \
	--providers-schema "$work/schema.json" --website-source-dir "$work/templates" --rendered-website-dir "$website"

# What the registry asks of pages: front matter, sizes, names, one for each thing.
report=$(go tool -modfile=tools/go.mod tfplugindocs validate --provider-name proxmox --providers-schema "$work/schema.json" 2>&1) || {
	printf '%s\n' "$report" >&2
	exit 1
}
