#!/usr/bin/env bash
# scripts/run.sh [podsim arguments]: builds build/release/podsim if needed and runs
# it. Without arguments: two examples. stdout is podsim's alone.
set -euo pipefail

root="$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"
podsim="$root/build/release/podsim"
"$root/scripts/build.sh" release podsim

if (($# > 0)); then
  exec "$podsim" "$@"
fi

# example ARGUMENTS...: says what it runs, and runs it.
example() {
  echo "\$ scripts/run.sh $*" >&2
  "$podsim" "$@"
  echo >&2
}

cd "$root"
example compare all-reduce --bytes 64MiB --slice v5p:4x4x4
example simulate workloads/fsdp_two_layers.json
cat >&2 <<'END'
More:
  scripts/run.sh topology v5p:8x8x16
  scripts/run.sh collective all-gather --bytes 1KiB..1GiB --slice v5e:16x16
  scripts/run.sh --help
END
