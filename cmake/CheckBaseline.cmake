# Runs the sweep test/baselines/core.json and compares its times with those on record, both ways.
#
#   cmake -DPODSIM=build/release/podsim -DOUTPUT=build/release/core.csv -P cmake/CheckBaseline.cmake
#
# From the root of the repository. If a change of times is meant: scripts/update_baselines.sh, in the same commit.

cmake_minimum_required(VERSION 3.25)

execute_process(
  COMMAND "${PODSIM}" sweep test/baselines/core.json --jobs 2 -o "${OUTPUT}"
  COMMAND_ERROR_IS_FATAL ANY)
# 1e-9: rounding may differ between compilers and build types.
execute_process(
  COMMAND "${PODSIM}" check "${OUTPUT}" test/baselines/core.csv --tolerance 0.0000001% --either-way
  COMMAND_ERROR_IS_FATAL ANY)
