#!/usr/bin/env bash
# scripts/update_baselines.sh [PODSIM]: records test/baselines/core.csv anew, from
# the sweep core.json. PODSIM defaults to build/release/podsim, built if needed.
# Review the diff: every time that moved belongs in the commit message.
set -euo pipefail

cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
podsim="${1:-build/release/podsim}"
if (($# == 0)); then
  scripts/build.sh release podsim
fi

"$podsim" sweep test/baselines/core.json --jobs "$(nproc)" -o test/baselines/core.csv
