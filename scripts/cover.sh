#!/bin/sh
# Measures how much of its statements the tests without a CLI run, package by
# package, and fails where that is less than it has to be: 90 % of the client, by
# its own tests, and 80 % of whatever is made of it. The profiles stay in
# bin/cover: go tool cover -html=bin/cover/kinds.out shows what never ran.
set -eu

module=$(go list -m)
profiles=bin/cover
client=./internal/proxmox
kinds="./internal/framework/... ./internal/resources/... ./internal/datasources/... ./internal/actions/..."

# run NAME COVERED TESTS...
run() {
	profile=$profiles/$1.out covered=$(printf '%s' "$2" | tr ' ' ',')
	shift 2
	TF_ACC='' go test -short -coverpkg="$covered" -coverprofile="$profile" "$@" >"$profile.log" 2>&1 || {
		cat "$profile.log"
		exit 1
	}
}

mkdir -p "$profiles"
run client "$client" "$client"
# shellcheck disable=SC2086 # These are words.
run kinds "$kinds" $kinds ./internal/provider

# A line is file:block statements times, once for each package whose tests may run
# the block.
awk -v client="$module/internal/proxmox" -v module="$module/" '
	$1 == "mode:" { next }
	{ size[$1] = $2; ran[$1] += $3 }
	END {
		for (block in size) {
			package = block
			sub(/\/[^\/]*$/, "", package)
			all[package] += size[block]
			if (ran[block]) covered[package] += size[block]
		}
		for (package in all) {
			percent = 100 * covered[package] / all[package]
			bar = package == client ? 90 : 80
			name = substr(package, length(module) + 1)
			printf "%-36s %6d statements %6.1f %%%s\n", name, all[package], percent, percent < bar ? "  below " bar " %" : ""
		}
	}' "$profiles/client.out" "$profiles/kinds.out" | sort >"$profiles/table.txt"

cat "$profiles/table.txt"
! grep -q below "$profiles/table.txt"
