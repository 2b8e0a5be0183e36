#!/usr/bin/env bash
# Runs a sweep as an array of Slurm jobs, a shard each, and joins their outputs.
#
#   scripts/sweep_slurm.sh SWEEP.json SHARDS -o OUT.csv|OUT.json [--jobs J] [flags of podsim sweep]
#
# J: CPUs of each job and processes at once. What else jobs need is sbatch's to
# be told: SBATCH_PARTITION, SBATCH_TIMELIMIT, SBATCH_MEM_PER_NODE and so on.
# PODSIM: the binary (default: build/release/podsim of this checkout); it, the
# sweep and the folder of OUT must be where the nodes see them.
#
# Shards, journals and logs are in OUT.shards until OUT is complete. A shard that
# fails is tried 3 times. Interrupt it, and its jobs are cancelled; the same
# command goes on where the finished points end. Exit status: 0 done; 1 a shard
# kept failing, or a point failed; 2 usage or input; 130 interrupted.
set -euo pipefail

tries=3
longest_pause=15 # seconds between two looks at the queue

say() { printf 'sweep_slurm.sh: %s\n' "$*" >&2; }
fail() {
  say "error: $*"
  exit 2
}

# --- The command line.

sweep="" shards="" output="" jobs=1
flags=()  # that decide the rows
limits=() # that do not
while (($# > 0)); do
  case "$1" in
    -h | --help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    --shard | --shard=* | --resume | --html | --html=* | --progress | --progress=*)
      fail "${1%%=*}: not here; the shards, their resuming and reports are up to this script"
      ;;
    -o | --output | --jobs | --max-memory | --only | --except)
      (($# > 1)) || fail "$1: expected a value"
      set -- "$1=$2" "${@:3}"
      continue
      ;;
    -o=* | --output=*) output="${1#*=}" ;;
    --jobs=*) jobs="${1#*=}" ;;
    --max-memory=*) limits+=("$1") ;;
    -o*) fail "$1: expected -o OUT" ;;
    -*) flags+=("$1") ;;
    *)
      if [[ -z $sweep ]]; then
        sweep="$1"
      elif [[ -z $shards ]]; then
        shards="$1"
      else
        fail "\"$1\": expected SWEEP.json SHARDS -o OUT; see --help"
      fi
      ;;
  esac
  shift
done
[[ -n $sweep && -n $shards && -n $output ]] || fail "expected SWEEP.json SHARDS -o OUT; see --help"
[[ -f $sweep && -r $sweep ]] || fail "$sweep: cannot be read; expected a podsim-sweep/1 file"
[[ $shards =~ ^[1-9][0-9]{0,5}$ ]] || fail "\"$shards\": expected the number of shards, such as 8"
[[ $jobs =~ ^[1-9][0-9]{0,3}$ ]] || fail "--jobs: expected a number such as 4, got \"$jobs\""
case "$output" in
  *.csv) suffix=csv ;;
  *.json) suffix=json ;;
  *) fail "-o $output: expected a file .csv or .json" ;;
esac
[[ -d $(dirname -- "$output") ]] || fail "-o $output: its folder does not exist"
for command in sbatch squeue scancel flock; do
  command -v "$command" >/dev/null || fail "$command: not found; this needs Slurm's commands and util-linux"
done

checkout="$(CDPATH='' cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"
podsim="${PODSIM:-$checkout/build/release/podsim}"
[[ -x $podsim && -f $podsim ]] || fail "$podsim: no such binary; build it with scripts/build.sh release, or set PODSIM"
podsim="$(realpath -- "$podsim")"
sweep="$(realpath -- "$sweep")"
output="$(realpath -- "$(dirname -- "$output")")/$(basename -- "$output")"
[[ ! $output -ef $sweep ]] || fail "-o $output: is the sweep itself"

# --- The folder of the shards, which belong to one request.

folder="$output.shards"
mkdir -p -- "$folder"
exec 9>"$folder/lock"
flock --nonblock 9 || fail "$folder: in use by another run of this script"

# What decides the rows. The files that a sweep names are among its strings, and
# stand relative to it or to the current folder.
request() {
  printf '%s\n' "$shards shards" "$("$podsim" --version)" "in $PWD" "${flags[@]}"
  cksum <"$podsim"
  cksum <"$sweep"
  { grep -o '"[^"]*"' -- "$sweep" || true; } | tr -d '"' | sort -u | while IFS= read -r name; do
    for path in "$name" "$(dirname -- "$sweep")/$name"; do
      if [[ -f $path ]]; then cksum <"$path"; fi
    done
  done
}
if [[ ! -e $folder/request ]]; then
  request >"$folder/request.new"
  mv -- "$folder/request.new" "$folder/request"
elif ! request | cmp -s - "$folder/request"; then
  fail "$folder: holds shards of another sweep, build, folder or flags; remove it to begin again"
fi

# --- Jobs. They are known by name: their number may get lost in an interrupt.

job_name="podsim-$(printf '%s' "$folder" | cksum | tr -d ' ')"

log_of() { printf '%s' "$folder/$1.log"; }

quote() { printf '%q ' "$@"; }

write_job() {
  {
    echo '#!/bin/bash'
    echo "cd $(quote "$PWD") || exit 2"
    # shellcheck disable=SC2016  # expanded in the job
    echo 'k=$SLURM_ARRAY_TASK_ID'
    echo "folder=$(quote "$folder")"
    echo "$(quote "$podsim" sweep "$sweep" --resume --progress off --jobs "$jobs" "${flags[@]}" "${limits[@]}")" \
      "--shard \"\$k/$shards\" -o \"\$folder/\$k.$suffix\""
    # shellcheck disable=SC2016
    echo 'status=$?; echo "$status" >"$folder/$k.status"; exit "$status"'
  } >"$folder/job.sh"
}

# The shards whose output is not there, separated by commas.
unfinished() {
  local k list=""
  for ((k = 1; k <= shards; ++k)); do
    [[ -e $folder/$k.$suffix ]] || list+="${list:+,}$k"
  done
  printf '%s' "$list"
}

# Pauses so that an interrupt is heard at once.
pause() {
  sleep "$1" 9>&- >/dev/null 2>&1 &
  wait $! || true
}

# Whether jobs are queued or running. Without an answer of Slurm we do not know.
in_queue() {
  local names complained=""
  while ! names="$(squeue --noheader --user="$(id -un)" --name="$job_name" --format=%j 2>&1)"; do
    [[ -n $complained ]] || say "squeue: $names; asking again"
    complained=yes
    pause "$longest_pause"
  done
  [[ -n $names ]]
}

await_jobs() {
  local seconds=1
  while in_queue; do
    pause "$seconds"
    seconds=$((seconds * 2 < longest_pause ? seconds * 2 : longest_pause))
  done
}

interrupted() {
  trap '' INT TERM HUP
  scancel --user="$(id -un)" --name="$job_name" || say "scancel failed; see squeue --name=$job_name"
  say "interrupted; jobs cancelled, finished points are kept in $folder, and the same command continues"
  exit 130
}
trap interrupted INT TERM HUP

submit() {
  local k number
  for k in ${1//,/ }; do rm -f -- "$folder/$k.status"; done
  # %a is the shard; every % of the folder's name is to stay one.
  number="$(sbatch --parsable --job-name="$job_name" --array="$1" --cpus-per-task="$jobs" \
    --output="${folder//%/%%}/%a.log" --open-mode=append -- "$folder/job.sh")" ||
    fail "sbatch refused the jobs; its reason is above"
  say "job ${number%%;*}: shards $1 of $shards"
}

# How the try of a shard ended that left no output.
how_it_ended() {
  local status
  if ! read -r status 2>/dev/null <"$folder/$1.status"; then
    printf 'killed, cancelled or lost'
  else
    printf 'exit status %s' "$status"
  fi
}

# Whether podsim refused the input of all of these: trying again is no use.
all_refused() {
  local k
  for k in ${1//,/ }; do
    [[ "$(how_it_ended "$k")" == "exit status 2" ]] || return 1
  done
}

# --- The work.

write_job
if in_queue; then
  say "jobs of an earlier run are in the queue: waiting for them"
  await_jobs
fi
left="$(unfinished)"
for ((try = 1; try <= tries; ++try)); do
  [[ -n $left ]] || break
  submit "$left"
  await_jobs
  left="$(unfinished)"
  for k in ${left//,/ }; do
    again=""
    if ((try < tries)) && ! all_refused "$left"; then again=": try $((try + 1)) of $tries"; fi
    say "shard $k/$shards failed ($(how_it_ended "$k"))$again; log: $(log_of "$k")"
  done
  if [[ -n $left ]] && all_refused "$left"; then break; fi
done
if [[ -n $left ]]; then
  for k in ${left//,/ }; do
    if [[ -s $(log_of "$k") ]]; then say "shard $k: $(tail -n 1 -- "$(log_of "$k")")"; fi
  done
  say "shards $left of $shards keep failing; finished points are kept in $folder, and the same command continues"
  exit 1
fi

parts=()
failed=()
for ((k = 1; k <= shards; ++k)); do
  parts+=("$folder/$k.$suffix")
  if [[ "$(how_it_ended "$k")" == "exit status 1" ]]; then failed+=("$k"); fi
done
if ! "$podsim" merge "${parts[@]}" -o "$output"; then
  fail "the shards in $folder cannot be joined; remove it to begin again"
fi
for k in "${failed[@]}"; do say "$(tail -n 1 -- "$(log_of "$k")") (shard $k/$shards)"; done
rm -rf -- "$folder"
say "$output written"
((${#failed[@]} == 0))
