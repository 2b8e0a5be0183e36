#!/usr/bin/env bash
# scripts/bench.sh [--quick]: builds build/release if needed, measures it and prints
# what is measured, the target and whether it is met. --quick leaves out what takes
# over 10 s. docs/benchmarks.md explains every line. CI does not run this: times
# depend on what else the machine does.
set -euo pipefail

cd -P -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
scripts/build.sh release podsim
scripts/build.sh release podsim-bench
exec python3 test/bench/bench.py build/release "$@"
