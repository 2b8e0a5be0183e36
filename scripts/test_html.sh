#!/usr/bin/env bash
# Opens the HTML reports in a headless Chromium: plots, hover, keys, sorting,
# filtering, no errors, no request beyond the file; screenshots for the eye in
# build/html/. Needs node; installs Debian's chromium and, into build/html/,
# playwright-core; where it cannot it says so and tests nothing.
#
#   scripts/test_html.sh [PODSIM]   (default: build/release/podsim)
set -euo pipefail

playwright=1.65.2

cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
podsim=$(realpath "${1:-build/release/podsim}")
folder=build/html
mkdir -p "$folder"

skip() { echo "test_html.sh: skipped: $*"; exit 0; }

command -v node >/dev/null && command -v npm >/dev/null || skip "node and npm are not installed"
if ! command -v chromium >/dev/null; then
  (apt-get install -y --no-install-recommends chromium >"$folder/apt.log" 2>&1) || skip "chromium cannot be installed"
fi
if [[ ! -d $folder/node_modules/playwright-core ]]; then
  npm install --silent --no-save --prefix "$folder" "playwright-core@$playwright" >"$folder/npm.log" 2>&1 ||
    skip "playwright-core cannot be installed"
fi

"$podsim" compare all-reduce --bytes '1KiB..64MiB x4' --slice v5e:4x4 --html "$folder/compare.html" >/dev/null
"$podsim" collective all-reduce --bytes 64MiB --slice v5p:4x4x4 --fold off --html "$folder/collective.html" >/dev/null
"$podsim" simulate workloads/gradient_buckets.json --html "$folder/simulate.html" >/dev/null
cat >"$folder/sweep.json" <<'JSON'
{"format": "podsim-sweep/1", "collective": ["all-reduce", "all-gather"], "slice": ["v4:4x4x4", "v4:4x4x8"],
 "bytes": ["64KiB", "1MiB", "16MiB"], "lowering": ["auto", "bfb", "bucket"]}
JSON
"$podsim" sweep "$folder/sweep.json" -o "$folder/sweep.csv" --html "$folder/sweep.html"
node scripts/test_html.mjs "$folder" "$(command -v chromium)" "$folder"
