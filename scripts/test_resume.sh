#!/usr/bin/env bash
# scripts/test_resume.sh PODSIM [KILLS]: kills a sweep KILLS times (default 200)
# with SIGKILL at random moments (seeded), resumes each until it ends, and
# compares its output with the uninterrupted one, byte for byte.
set -euo pipefail

podsim="$(realpath "$1")"
kills="${2:-200}"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
RANDOM=1

cat >sweep.json <<'JSON'
{"format": "podsim-sweep/1", "collective": ["all-reduce", "all-gather"],
 "slice": ["v5e:4x4", "v5p:2x2x2", "ideal:8"], "bytes": "1KiB..16MiB x4",
 "lowering": ["bucket", "direct", "auto"]}
JSON
begin=$(date +%s%N)
"$podsim" sweep sweep.json -o whole.csv --jobs 2
longest=$((($(date +%s%N) - begin) / 1000000)) # ms of a whole sweep

killed=0
resumed=0 # runs that found finished points
while ((killed < kills)); do
  "$podsim" sweep sweep.json -o part.csv --resume --jobs 2 2>err &
  pause=$((RANDOM * longest / 32768))
  sleep "$((pause / 1000)).$(printf '%03d' $((pause % 1000)))"
  if kill -KILL $! 2>/dev/null; then killed=$((killed + 1)); fi
  wait $! 2>/dev/null || true
  if [[ -s part.csv.journal ]]; then resumed=$((resumed + 1)); fi
  if [[ -e part.csv ]]; then
    cmp part.csv whole.csv
    rm part.csv
  fi
done
"$podsim" sweep sweep.json -o part.csv --resume
cmp part.csv whole.csv
echo "$killed kills, $resumed left a journal, every output equal"
[[ $resumed -gt 0 ]]
