#!/bin/sh
# Prints the path of the Terraform or OpenTofu binary that tests, the demo and
# the documentation use. The first of these that exists:
#
#   1. $TF_CLI, a path or a name ("terraform", "tofu")
#   2. terraform on PATH
#   3. tofu on PATH
#   4. OpenTofu, built once from its Go module (tools/tofu) and cached per user
#
# TF_CLI=tofu builds OpenTofu too, when there is none on PATH.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)

on_path() {
	command -v "$1" 2>/dev/null
}

absolute() {
	printf '%s/%s\n' "$(CDPATH='' cd -- "$(dirname -- "$1")" && pwd)" "$(basename -- "$1")"
}

built_tofu() {
	version=$(sed -n 's|.*github.com/opentofu/opentofu v\([0-9.]*\).*|\1|p' "$root/tools/tofu/go.mod")
	cache=${XDG_CACHE_HOME:-$HOME/.cache}/terraform-provider-proxmox
	binary=$cache/tofu-$version/tofu
	if [ ! -x "$binary" ]; then
		echo "Building OpenTofu $version once, into $binary (a few minutes)." >&2
		mkdir -p "$cache/tofu-$version"
		# Built beside its final name and renamed, so that an interrupted
		# build leaves nothing that looks like a binary.
		(cd "$root/tools/tofu" && GOOS='' GOARCH='' CGO_ENABLED=0 GOFLAGS='' go build -trimpath \
			-ldflags '-s -w -X github.com/opentofu/opentofu/version.dev=no' \
			-o "$binary.$$" github.com/opentofu/opentofu/cmd/tofu) >&2
		mv "$binary.$$" "$binary"
	fi
	printf '%s\n' "$binary"
}

choice=${TF_CLI:-}
case $choice in
'') on_path terraform || on_path tofu || built_tofu ;;
tofu) on_path tofu || built_tofu ;;
*/*)
	[ -x "$choice" ] || { echo "TF_CLI: $choice is no program." >&2 && exit 1; }
	absolute "$choice"
	;;
*) on_path "$choice" || { echo "TF_CLI: there is no $choice on PATH." >&2 && exit 1; } ;;
esac
