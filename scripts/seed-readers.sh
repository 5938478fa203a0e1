#!/bin/sh
# Installs what the tests of seeds read images with beside code of ours: xorriso,
# isoinfo and cloud-init itself, from Debian's packages. Where that cannot be, it
# says why and succeeds: the tests that miss them are skipped, and say so.
set -eu

missing() {
	for tool in xorriso isoinfo cloud-init; do
		command -v "$tool" >/dev/null || printf ' %s' "$tool"
	done
}

give_up() {
	echo "seed-readers: $1: tests that need$(missing) are skipped" >&2
	exit 0
}

[ -n "$(missing)" ] || exit 0
command -v apt-get >/dev/null || give_up "there is no apt-get"
sudo=
[ "$(id -u)" = 0 ] || sudo="sudo -n"
$sudo true 2>/dev/null || give_up "neither root nor sudo without a password"
# shellcheck disable=SC2086 # It is no word or two.
install() { timeout 300 $sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o Acquire::Retries=1 "$@" >/dev/null; }
install update || give_up "the package lists cannot be read"
install install --no-install-recommends xorriso genisoimage cloud-init || give_up "the packages cannot be installed"
