#!/bin/sh
# Writes the bill of materials (CycloneDX) of a program of this module.
# Usage: scripts/sbom.sh PACKAGE FILE
set -eu

cd "$(dirname "$0")/.."
case $2 in
/*) document=$2 ;;
*) document=dist/$2 ;;
esac
# As the release builds it.
export CGO_ENABLED=0
exec go tool -modfile=tools/release/go.mod cyclonedx-gomod app -json -licenses -std -main "$1" -output "$document" .
