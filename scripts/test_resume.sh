#!/usr/bin/env bash
# scripts/test_resume.sh PODSIM [KILLS]: kills a sweep KILLS times (default 200)
# with SIGKILL at random moments (seeded), resumes each until it ends, and
# compares its output with the uninterrupted one, byte for byte. Then does so
# after signals, a full disk and in a folder that may not be written.
set -euo pipefail

podsim="$(realpath "$1")"
kills="${2:-200}"
folder="$(mktemp -d)"
as_nobody=()
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

fail() {
  echo "$1" >&2
  exit 1
}

# refused MESSAGE: part.csv is as before, and err says MESSAGE.
refused() {
  [[ $(cat part.csv) == earlier ]] || fail "the earlier output is gone"
  grep -qF -- "$1" err || fail "expected \"$1\", found: $(cat err)"
}

# resumes: what there is of a journal leads to the whole output.
resumes() {
  "$podsim" sweep sweep.json -o part.csv --resume
  cmp part.csv whole.csv
}

for signal in INT TERM HUP; do
  echo earlier >part.csv
  # A background job of a script ignores INT.
  env --default-signal "$podsim" sweep sweep.json -o part.csv --jobs 2 2>err &
  until [[ $(wc -l 2>/dev/null <part.csv.journal) -gt 2 ]]; do sleep 0.01; done
  kill -"$signal" $!
  if wait $! 2>/dev/null; then fail "SIG$signal: exit status 0"; fi
  refused "finished points are kept in part.csv.journal"
  resumes
  echo "SIG$signal: ok"
done

# A file that must not grow past 8 KiB fails as a full disk does, within a line.
echo earlier >part.csv
if (
  trap '' XFSZ
  ulimit -f 8
  "$podsim" sweep sweep.json -o part.csv --jobs 2 2>err
); then fail "full disk: exit status 0"; fi
refused "part.csv.journal: cannot be written"
resumes
echo "full disk: ok"

mkdir shut
echo earlier >shut/part.csv
chmod 555 shut
chmod 755 .
if [[ $(id -u) -eq 0 ]]; then # whom nothing stops
  cp "$podsim" nobodys_podsim
  as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  podsim="$folder/nobodys_podsim"
fi
if "${as_nobody[@]}" "$podsim" sweep sweep.json -o shut/part.csv 2>err; then
  fail "read-only folder: exit status 0"
fi
cp shut/part.csv part.csv
refused "-o shut/part.csv: cannot be written: Permission denied"
echo "read-only folder: ok"
