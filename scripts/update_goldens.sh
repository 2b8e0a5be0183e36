#!/usr/bin/env bash
# scripts/update_goldens.sh [PODSIM]: writes what the commands of
# test/golden/*.cmd print and their exit status into NAME.out and NAME.status.
# PODSIM defaults to build/release/podsim, built if needed. Review the diff.
set -euo pipefail

cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
podsim="${1:-build/release/podsim}"
if (($# == 0)); then
  scripts/build.sh release podsim
fi

for command in test/golden/*.cmd; do
  golden="${command%.cmd}"
  # One line of words; "..." is one word.
  eval "arguments=($(<"$command"))"
  status=0
  # shellcheck disable=SC2154  # eval sets it
  "$podsim" "${arguments[@]}" >"$golden.out" 2>/dev/null </dev/null || status=$?
  echo "$status" >"$golden.status"
done
