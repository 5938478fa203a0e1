#!/bin/sh
# Makes a release in dist/ without publishing it, and checks what it made. The
# checksums are signed with a key that is thrown away; where there is no gpg they
# are not signed. The key is RSA, as the Terraform Registry takes no other kind.
set -eu

cd "$(dirname "$0")/.."
tool="go tool -modfile=tools/release/go.mod"
skip=publish,announce

if command -v gpg >/dev/null; then
	GNUPGHOME=$(mktemp -d)
	export GNUPGHOME
	trap 'gpgconf --kill all; rm -rf "$GNUPGHOME"' EXIT
	gpg --batch --quiet --no-auto-check-trustdb --passphrase '' --quick-generate-key 'Snapshot <snapshot@example.invalid>' rsa3072 sign 1d
	GPG_FINGERPRINT=$(gpg --batch --quiet --list-keys --with-colons | awk -F: '/^fpr/ { print $10; exit }')
	export GPG_FINGERPRINT
else
	echo "There is no gpg: the checksums are not signed." >&2
	skip=$skip,sign
fi

$tool goreleaser release --snapshot --clean --skip "$skip"

cd dist
sums=$(echo terraform-provider-proxmox_*_SHA256SUMS)
# The manifest is published under this name, and copied only then.
cp ../terraform-registry-manifest.json "${sums%SHA256SUMS}manifest.json"
sha256sum --check --quiet "$sums"
grep -q '_manifest\.json$' "$sums"
[ ! -e "$sums.sig" ] || gpg --batch --quiet --verify "$sums.sig" "$sums"
ls -l -- *.zip *.tar.gz *.json "$sums"*

cd ..
scripts/with-cli.sh scripts/install-release.sh dist
