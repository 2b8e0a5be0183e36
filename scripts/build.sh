#!/usr/bin/env bash
# scripts/build.sh PRESET [TARGET]: installs what is missing, configures
# build/PRESET once and builds TARGET (default: everything). Silent when there is
# nothing to do; everything it says goes to stderr.
set -euo pipefail
exec 1>&2

preset="$1"
target="${2:-all}"
cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
build="build/$preset"

mkdir -p "$build"
# Two builds in one directory would destroy each other.
if command -v flock >/dev/null; then
  exec 9>"$build/.lock"
  flock 9
fi

scripts/setup.sh 9>&-

# run_logged LOG COMMAND...: shows the output on a terminal, else only if it fails.
run_logged() {
  local log="$1"
  shift
  if [[ -t 1 ]]; then
    "$@"
  elif ! "$@" >"$log" 2>&1; then
    cat "$log"
    return 1
  fi
}

# A build directory that came here with a copy of the repository still builds the
# original: configure it afresh.
home="CMAKE_HOME_DIRECTORY:INTERNAL=$PWD"
if [[ ! -f $build/build.ninja ]] || ! grep -qxF "$home" "$build/CMakeCache.txt"; then
  echo "configuring podsim ($preset) ..."
  run_logged "$build/configure.log" cmake --fresh --preset "$preset" 9>&-
fi

build_command=(cmake --build "$build" --target "$target")
if [[ "$("${build_command[@]}" -- -n 2>&1 || true)" != *"no work to do"* ]]; then
  echo "building podsim ($preset) ..."
  run_logged "$build/build.log" "${build_command[@]}" 9>&-
fi
