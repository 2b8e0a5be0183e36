#!/usr/bin/env python3
"""scripts/instructions.py [BUILD_DIR] [--update]: counts instructions.

Runs the commands of test/bench/instructions.json under callgrind, from main()
on, and fails if one takes over 5 % more instructions than recorded. Counts do
not depend on how fast or busy the machine is. --update records them anew: do
that in a commit that says why they changed. BUILD_DIR: default build/release,
which must be a Release build.
"""
import argparse
import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORD = "test/bench/instructions.json"
TOLERANCE = 0.05
SECONDS = 300  # per command; 2 to 10 are normal

# libc and libm choose functions by CPU: take those of every x86-64 CPU, and a
# fixed size from which copies bypass the cache. Changes counts by 0 to 1.4 %.
TUNABLES = ("glibc.cpu.x86_non_temporal_threshold=0xc0000:glibc.cpu.hwcaps="
            "-AVX2,-AVX,-AVX_Fast_Unaligned_Load,-FMA,-FMA4,-BMI1,-BMI2,-LZCNT,"
            "-MOVBE,-POPCNT,-SSE4_2,-SSE4_1,-SSSE3,-SSE3,-ERMS,-FSRM,-RTM,"
            "-XSAVE,-XSAVEC")
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "GLIBC_TUNABLES": TUNABLES}


class CannotCount(Exception):
    """Says what is missing and the remedy."""


def check_build(build):
    cache = os.path.join(build, "CMakeCache.txt")
    remedy = "build it with scripts/build.sh release"
    if not os.access(os.path.join(build, "podsim"), os.X_OK):
        raise CannotCount(f"{build}: no podsim there; {remedy}")
    with open(cache, encoding="utf-8") as file:
        found = re.search(r"^CMAKE_BUILD_TYPE:\w+=(.*)$", file.read(), re.M)
    if not found or found[1] != "Release":
        kind = found[1] if found else "none"
        raise CannotCount(f"{cache}: build type {kind}, the record is of Release; {remedy}")


def compiler_and_libc(build):
    """What counts depend on besides our sources; for people."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        compiler = re.search(r"^CMAKE_CXX_COMPILER:\w+=(.*)$", file.read(), re.M)[1]
    version = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, text=True,
                             check=True).stdout.strip()
    return f"{os.path.basename(compiler)} {version}, {' '.join(platform.libc_ver())}"


def count(podsim, command):
    with tempfile.TemporaryDirectory() as scratch:
        run = subprocess.run(
            ["valgrind", "--tool=callgrind", "--toggle-collect=main",
             f"--callgrind-out-file={scratch}/callgrind.out", podsim, *command.split()],
            cwd=ROOT, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, timeout=SECONDS, check=False)
    collected = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode != 0 or not collected or int(collected[1]) == 0:
        raise CannotCount(f"podsim {command}: exit status {run.returncode}, no count:\n{run.stderr}")
    return int(collected[1])


def count_all(podsim, cases):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda case: count(podsim, case["command"]), cases))


def write_record(record, counts, made_with):
    record["recorded_with"] = made_with
    for case, found in zip(record["cases"], counts):
        case["instructions"] = found
    with open(os.path.join(ROOT, RECORD), "w", encoding="utf-8") as file:
        file.write(json.dumps(record, indent=2) + "\n")


def verdict(ratio):
    if ratio > 1 + TOLERANCE:
        return "too many"
    return "fewer: record it" if ratio < 1 - TOLERANCE else "ok"


def compare(record, counts, made_with):
    """Prints one line per case; the exit status."""
    worse = []
    print(f"{'case':20}{'recorded':>14}{'found':>14}{'ratio':>8}")
    for case, found in zip(record["cases"], counts):
        ratio = found / case["instructions"]
        print(f"{case['name']:20}{case['instructions']:14,}{found:14,}{ratio:8.3f}  {verdict(ratio)}")
        if ratio > 1 + TOLERANCE:
            worse.append(f"podsim {case['command']}\n  recorded {case['instructions']:,} instructions, "
                         f"found {found:,}: x{ratio:.3f}, allowed x{1 + TOLERANCE:g}")
    if not worse:
        return 0
    sys.stdout.flush()
    print(*worse, sep="\n", file=sys.stderr)
    print("Make it faster (callgrind_annotate --inclusive=yes says where they go), or run\n"
          f"scripts/instructions.py --update and commit {RECORD} with the reason.", file=sys.stderr)
    if made_with != record["recorded_with"]:
        print(f"Recorded with {record['recorded_with']}, this is {made_with}: that alone may be it.",
              file=sys.stderr)
    return 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", nargs="?", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--update", action="store_true", help=f"rewrite {RECORD}")
    options = parser.parse_args()
    if platform.machine() != "x86_64":
        print(f"instructions: the record is of x86_64, this is {platform.machine()}: not compared")
        return 0
    if not shutil.which("valgrind"):
        raise CannotCount("no valgrind; install it: apt-get install valgrind")
    build = os.path.abspath(options.build)
    check_build(build)
    with open(os.path.join(ROOT, RECORD), encoding="utf-8") as file:
        record = json.load(file)
    counts = count_all(os.path.join(build, "podsim"), record["cases"])
    made_with = compiler_and_libc(build)
    if options.update:
        write_record(record, counts, made_with)
        return 0
    return compare(record, counts, made_with)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (CannotCount, OSError, subprocess.TimeoutExpired) as error:
        print(f"instructions: error: {error}", file=sys.stderr)
        sys.exit(2)
