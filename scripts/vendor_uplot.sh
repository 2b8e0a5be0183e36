#!/usr/bin/env bash
# Fetches uPlot from npm into src/report/html/uplot/, which is committed; for a
# new version change the line below. Needs npm.
set -euo pipefail

version=1.6.32

cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
(cd "$folder" && npm pack --silent "uplot@$version" >/dev/null && tar xzf "uplot-$version.tgz")
for file in dist/uPlot.iife.min.js dist/uPlot.min.css LICENSE; do
  install -m 644 "$folder/package/$file" src/report/html/uplot/
done
echo "uPlot $version is in src/report/html/uplot/"
