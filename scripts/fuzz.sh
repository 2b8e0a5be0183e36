#!/usr/bin/env bash
# scripts/fuzz.sh SECONDS [NAME..]: builds each test/fuzz/NAME_fuzz.cc with clang's
# libFuzzer, ASan and UBSan, and runs it for SECONDS, one for each processor at once.
# Fails where an input crashes, takes a minute, leaks or takes over 2 GB; the input is
# kept in build/fuzz/NAME/. Seeds: the folders of its line "// Seeds: ..", workloads/FORMAT/
# and, where PODSIM_CORPUS is set, its folder FORMAT/; of hlo_workload the FORMAT is hlo.
# What was learned is kept in build/fuzz/NAME/corpus/ for the next run.
set -euo pipefail

usage() {
  sed -n '2,7s/^# //p' "$0" >&2
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

# Those of the system that any module uses; an entry links what it needs of them.
libraries=(-Wl,--as-needed -lpugixml -lyaml-cpp -lz -lsimgrid)

# What was compiled before, here or elsewhere, is taken from ccache where it is.
compiler=(clang++)
if command -v ccache >/dev/null; then
  compiler=(ccache clang++)
fi

objects=build/fuzz/objects
declare -A compiled=()  # by this run: entries share modules

# compile SOURCE..: their object files, where this run has not made them.
compile() {
  local source new=()
  for source in "$@"; do
    if [[ -z ${compiled[$source]:-} ]]; then
      new+=("$source")
      compiled[$source]=1
    fi
  done
  mkdir -p "$objects"
  # shellcheck disable=SC2016  # the variables are the inner shell's
  printf '%s\n' "${new[@]}" | xargs -P "$(nproc)" -I '{}' sh -c '
    source="$1" objects="$2"
    shift 2
    exec "$@" -c "$source" -o "$objects/$(echo "$source" | tr / _).o"
  ' compile '{}' "$objects" "${compiler[@]}" "${flags[@]}"
}

# listed NAME ENTRY: what follows "// NAME: " in the file, one per line.
listed() {
  sed -n "s|^// $1: ||p" "$2" | tr ' ' '\n'
}

# build NAME FOLDER: FOLDER/fuzz.
build() {
  local entry="test/fuzz/$1_fuzz.cc" folder="$2" module source
  local modules=() sources=("test/fuzz/$1_fuzz.cc") linked=()
  # "// Modules: base hlo": the folders, or files, of src/ that are instrumented;
  # "// Built: ..": others that it needs, as the Release build has them, users
  # first.
  mapfile -t modules < <(listed Modules "$entry")
  if ((${#modules[@]} == 0)); then
    echo "$entry: expected a line \"// Modules: base ..\"" >&2
    return 1
  fi
  mkdir -p "$folder"
  for module in "${modules[@]}"; do
    if [[ -d src/$module ]]; then
      sources+=("src/$module"/*.cc)
    else
      sources+=("src/$module")
    fi
    if [[ $module == topology ]]; then
      sources+=(build/fuzz/embedded_generations.cc)
      cmake -DOUTPUT=build/fuzz/embedded_generations.cc \
        "-DINPUTS=$(printf '%s\n' topologies/*.json | paste -sd ';')" \
        -DHEADER=topology/embedded_generations.h -DFUNCTION=EmbeddedGenerations \
        -DPREFIX=topologies/ -P cmake/EmbedFiles.cmake
    fi
  done
  compile "${sources[@]}"
  for source in "${sources[@]}"; do
    linked+=("$objects/${source//\//_}.o")
  done
  for module in $(listed Built "$entry"); do
    scripts/build.sh release "podsim_$module"
    linked+=("build/release/src/$module/libpodsim_$module.a")
  done
  clang++ -fsanitize=fuzzer,address,undefined "${linked[@]}" "${libraries[@]}" \
    -o "$folder/fuzz"
}

# run NAME FOLDER
run() {
  local name="$1" format="${1%%_*}" folder="$2" seeds=() options=() found
  for found in $(listed Seeds "test/fuzz/$1_fuzz.cc") "workloads/$format" \
    "${PODSIM_CORPUS:+$PODSIM_CORPUS/$format}"; do
    if [[ -n $found && -d $found ]]; then
      seeds+=("$found")
    fi
  done
  if [[ -f test/fuzz/$format.dict ]]; then
    options+=("-dict=test/fuzz/$format.dict")
  fi
  mkdir -p "$folder/corpus"
  if "$folder/fuzz" "$folder/corpus" "${seeds[@]}" "${options[@]}" \
    "-max_total_time=$seconds" -rss_limit_mb=2048 -timeout=60 -max_len=32768 \
    -print_final_stats=1 "-artifact_prefix=$folder/" >"$folder/log" 2>&1; then
    grep -E '^Done' "$folder/log" | sed "s/^/fuzz $name: /"
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
done
for name in "$@"; do
  echo "building fuzz $name"
  build "$name" "build/fuzz/$name"
done
failed=()
for ((next = 0; next < $#;)); do
  declare -A running=()
  for ((slot = 0; slot < $(nproc) && next < $#; ++slot, ++next)); do
    name="${*:next+1:1}"
    run "$name" "build/fuzz/$name" &
    running[$name]=$!
  done
  for name in "${!running[@]}"; do
    wait "${running[$name]}" || failed+=("$name")
  done
  unset running
done
if ((${#failed[@]} > 0)); then
  echo "scripts/fuzz.sh: FAILED: ${failed[*]}"
  exit 1
fi
