#!/usr/bin/env bash
# Tests scripts/sweep_slurm.sh against Debian's Slurm, a controller and a node of
# its own on 127.0.0.1: shards that are killed, cancelled, interrupted or that
# keep failing. Needs root; installs slurm-wlm and munge; where it cannot it says
# so and tests nothing.
#
#   scripts/test_slurm.sh [PODSIM]   (default: build/release/podsim)
set -euo pipefail

packages=(slurm-wlm munge)

skip() { echo "test_slurm.sh: skipped: $*"; exit 0; }
fail() { echo "test_slurm.sh: failed: $*" >&2; exit 1; }

cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
PODSIM=$(realpath "${1:-build/release/podsim}")
export PODSIM
script="$PWD/scripts/sweep_slurm.sh"

# --- Slurm.

installed() { command -v munged && command -v slurmctld && command -v slurmd && command -v sbatch; } >/dev/null
install_packages() {
  command -v apt-get >/dev/null &&
    DEBIAN_FRONTEND=noninteractive timeout 120 apt-get install -y --no-install-recommends "${packages[@]}"
} >/dev/null 2>&1 </dev/null

((EUID == 0)) || skip "needs root, to run slurmd and munged"
installed || install_packages || true
installed || skip "${packages[*]} cannot be installed"

folder="$(mktemp -d)"
daemons=()
clean() {
  local daemon
  if ((${#daemons[@]} > 1)); then scancel --user=root || true; fi
  for daemon in "${daemons[@]}"; do kill "$daemon" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
}
trap clean EXIT

chmod 755 "$folder"
install -d -o munge -m 755 "$folder/munge"
mkdir "$folder/state" "$folder/spool" "$folder/log"
name="$(hostname -s)"
port=$((20000 + RANDOM % 10000))
export SLURM_CONF="$folder/slurm.conf"
cat >"$SLURM_CONF" <<EOF
ClusterName=podsim
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$folder/munge/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,batch_sched_delay=1
ReturnToService=2
KillWait=1
MailProg=/bin/true
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmdParameters=config_overrides
NodeName=$name NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$name Default=YES MaxTime=INFINITE State=UP
EOF

# Starts COMMAND.., its output in LOG.
start() {
  "${@:2}" >"$folder/log/$1" 2>&1 &
  daemons=("$!" "${daemons[@]}") # the last one stops first
}

# Waits, 20 s at most, until COMMAND.. succeeds.
await() {
  local k
  for ((k = 0; k < 200; ++k)); do
    if "$@" >/dev/null 2>&1; then return; fi
    sleep 0.1
  done
  tail -n 5 "$folder"/log/* >&2
  fail "20 s passed without: $*"
}

head -c 1024 /dev/urandom >"$folder/munge/key"
chmod 600 "$folder/munge/key"
chown munge "$folder/munge/key"
start munged setpriv --reuid=munge --regid=munge --clear-groups -- munged --foreground --num-threads=2 \
  --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munge/pid" \
  --seed-file="$folder/munge/seed" --log-file="$folder/munge/log"
await munge --no-input --socket="$folder/munge/socket"
start slurmctld slurmctld -D
start slurmd slurmd -D -N "$name"
is_idle() { [[ "$(sinfo --noheader --format=%t)" == idle ]]; }
await is_idle
echo "Slurm is up after $SECONDS s"

# --- What all tests share.

cat >"$folder/sweep.json" <<'JSON'
{"format": "podsim-sweep/1", "collective": ["all-reduce", "all-gather"],
 "slice": ["v5p:4x4x8", "v4:4x4x4"], "bytes": "1MiB..64MiB x2",
 "lowering": ["bucket", "direct", "auto"], "fold": "off"}
JSON
"$PODSIM" sweep "$folder/sweep.json" -o "$folder/whole.csv" --jobs 2
echo "local run done after $SECONDS s"
# A name that asks for quotes, and patterns of sbatch.
work="$folder/a %a'b \$c"
mkdir "$work"
cd "$work"
set -m # so that jobs of this shell hear SIGINT

has_points() { (($(wc -l <"out.csv.shards/$1.csv.journal") > 1)); }
process_of() { pgrep --oldest --full "^$PODSIM sweep $folder/sweep.json .*--shard $1/4 "; }
says() { grep -qF -- "$2" "$1" || { cat "$1" >&2; fail "$1 does not say: $2"; }; }
queue_is_empty() { [[ -z "$(squeue --noheader)" ]]; }

# --- A shard whose process is killed, and one whose job is cancelled.

"$script" ../sweep.json 4 -o out.csv 2>../killed.log &
run=$!
await has_points 2
kill -KILL "$(process_of 2)"
await has_points 3
scancel "$(squeue --noheader --array --format='%i %K' | sed -n 's/ 3$//p')"
wait "$run" || { cat ../killed.log >&2; fail "a run with two lost shards"; }
says ../killed.log "shard 2/4 failed (exit status 137): try 2 of 3"
says ../killed.log "shard 3/4 failed (killed, cancelled or lost): try 2 of 3"
cmp out.csv ../whole.csv
[[ ! -e out.csv.shards ]] || fail "out.csv.shards is left"
echo "killed and cancelled shards tried again, output equal, after $SECONDS s"

# --- An interrupt, and the same command again.

rm out.csv
"$script" ../sweep.json 4 -o out.csv 2>../interrupted.log &
run=$!
await has_points 1
kill -INT "$run"
status=0
wait "$run" || status=$?
[[ $status -eq 130 ]] || fail "an interrupt ended with status $status"
says ../interrupted.log "the same command continues"
await queue_is_empty
has_points 1
status=0
"$script" ../sweep.json 3 -o out.csv 2>../other.log || status=$?
[[ $status -eq 2 ]] || fail "shards of another request: status $status"
says ../other.log "another sweep"
"$script" ../sweep.json 4 -o out.csv 2>../continued.log
cmp out.csv ../whole.csv
echo "interrupted and continued, output equal, after $SECONDS s"

# --- A shard that never works, points that fail, and a sweep that is refused.

cat >../broken <<EOF
#!/bin/sh
case "\$*" in *"--shard 2/2"*) echo "no luck"; exit 9;; esac
exec "$PODSIM" "\$@"
EOF
chmod +x ../broken
cat >../failing.json <<'JSON'
{"format": "podsim-sweep/1", "collective": "all-reduce", "slice": ["v5e:4x4", "v5e:3x4"],
 "bytes": "1MiB", "lowering": ["bucket", "swing"]}
JSON
status=0
PODSIM=../broken "$script" ../failing.json 2 -o bad.json 2>../broken.log || status=$?
[[ $status -eq 1 && ! -e bad.json ]] || fail "a broken shard: status $status"
says ../broken.log "shard 2/2 failed (exit status 9); log: $work/bad.json.shards/2.log"
says ../broken.log "shard 2: no luck"

local_status=0
"$PODSIM" sweep ../failing.json -o ../failing.whole.json 2>/dev/null || local_status=$?
[[ $local_status -eq 1 ]] || fail "the points that should fail do not"
status=0
"$script" ../failing.json 2 -o failing.json 2>../failing.log || status=$?
[[ $status -eq 1 ]] || fail "failed points: status $status"
cmp failing.json ../failing.whole.json
says ../failing.log "points failed, first: all-reduce"

echo '{"format": "podsim-sweep/1"}' >../refused.json
status=0
"$script" ../refused.json 2 -o refused.csv 2>../refused.log || status=$?
[[ $status -eq 1 && "$(grep -c 'sweep_slurm.sh: job' ../refused.log)" -eq 1 ]] || fail "a refused sweep: status $status"
says ../refused.log 'missing key "collective"'
echo "failing shards named with their logs, after $SECONDS s"
