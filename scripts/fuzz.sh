#!/usr/bin/env bash
# scripts/fuzz.sh SECONDS [NAME..]: builds each test/fuzz/NAME_fuzz.cc with clang's
# libFuzzer, ASan and UBSan, and runs it for SECONDS. Fails at the first input that
# crashes, hangs, leaks or takes over 2 GB; the input is kept in build/fuzz/NAME/.
# Seeds: workloads/NAME/ and, where PODSIM_CORPUS is set, its folder NAME/. What was
# learned is kept in build/fuzz/NAME/corpus/ for the next run.
set -euo pipefail

usage() {
  sed -n '2,6s/^# //p' "$0" >&2
  exit 2
}
[[ ${1:-} =~ ^[1-9][0-9]*$ ]] || usage
seconds="$1"
shift

cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
scripts/setup.sh

# -g1: lines in stack traces. Errors of UBSan end the run, as those of ASan do.
# shellcheck disable=SC2054  # commas of one argument
flags=(-std=c++20 -O1 -g1 -fno-omit-frame-pointer -Isrc -I.
  -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)

# build NAME FOLDER: its object files and FOLDER/fuzz.
build() {
  local entry="test/fuzz/$1_fuzz.cc" folder="$2" modules module sources source objects=()
  # "// Modules: base hlo": the folders of src/ that it needs.
  modules="$(sed -n 's|^// Modules: ||p' "$entry")"
  if [[ -z $modules ]]; then
    echo "$entry: expected a line \"// Modules: base ..\"" >&2
    return 1
  fi
  sources=("$entry")
  for module in $modules; do
    sources+=("src/$module"/*.cc)
  done
  mkdir -p "$folder/objects"
  # shellcheck disable=SC2016  # the variables are the inner shell's
  printf '%s\n' "${sources[@]}" | xargs -P "$(nproc)" -I '{}' sh -c '
    source="$1" folder="$2"
    shift 2
    exec clang++ "$@" -c "$source" -o "$folder/$(echo "$source" | tr / _).o"
  ' compile '{}' "$folder/objects" "${flags[@]}"
  for source in "${sources[@]}"; do
    objects+=("$folder/objects/${source//\//_}.o")
  done
  clang++ -fsanitize=fuzzer,address,undefined "${objects[@]}" -o "$folder/fuzz"
}

# run NAME FOLDER
run() {
  local name="$1" folder="$2" seeds=() options=() found
  for found in "workloads/$name" "${PODSIM_CORPUS:+$PODSIM_CORPUS/$name}"; do
    if [[ -n $found && -d $found ]]; then
      seeds+=("$found")
    fi
  done
  if [[ -f test/fuzz/${name}_fuzz.dict ]]; then
    options+=("-dict=test/fuzz/${name}_fuzz.dict")
  fi
  mkdir -p "$folder/corpus"
  if "$folder/fuzz" "$folder/corpus" "${seeds[@]}" "${options[@]}" \
    "-max_total_time=$seconds" -rss_limit_mb=2048 -timeout=20 -max_len=32768 \
    -print_final_stats=1 "-artifact_prefix=$folder/" >"$folder/log" 2>&1; then
    grep -E '^(Done|stat::)' "$folder/log"
    return 0
  fi
  tail -n 60 "$folder/log"
  echo
  echo "fuzz $name: FAILED; the input is kept, see the line \"Test unit written to\"."
  echo "Again: $folder/fuzz $folder/INPUT"
  return 1
}

if (($# == 0)); then
  for entry in test/fuzz/*_fuzz.cc; do
    name="${entry#test/fuzz/}"
    set -- "$@" "${name%_fuzz.cc}"
  done
fi
for name in "$@"; do
  if [[ ! -f test/fuzz/${name}_fuzz.cc ]]; then
    echo "scripts/fuzz.sh: no test/fuzz/${name}_fuzz.cc" >&2
    exit 2
  fi
  echo "=== fuzz $name: $seconds s"
  build "$name" "build/fuzz/$name"
  run "$name" "build/fuzz/$name"
done
