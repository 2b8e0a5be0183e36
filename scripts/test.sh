#!/usr/bin/env bash
# scripts/test.sh [ctest arguments]: builds everything in build/release if needed
# and runs the tests. Example: scripts/test.sh -R topology
set -euo pipefail

root="$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"
"$root/scripts/build.sh" release
exec ctest --test-dir "$root/build/release" --output-on-failure --no-tests=error -j2 "$@"
