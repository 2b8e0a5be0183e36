#!/usr/bin/env python3
"""bench.py BUILD_DIR [--quick]: the table of scripts/bench.sh.

User CPU seconds and peak memory of processes, from the kernel's accounting;
the smallest of three. docs/benchmarks.md says what each line means.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass

ROUNDS = 3
TIMEOUT = 600  # seconds of one run
KIB, MIB = 1024, 1024 * 1024
# A yardstick-second is the time in which test/bench/yardstick.h does this many
# transfers of neighbour traffic on 1,024 chips: about a second where the target
# for packets was set.
YARDSTICK_TRANSFERS = 4e6

SMALL, MEDIUM, LARGE = "v5p:8x8x16", "v5p:16x16x16", "v7x:16x24x24"
UNFOLDED = ["--fold", "off", "--verify", "off"]
FOLDED = [("v5e:16x16", "64MiB"), ("v5p:4x4x4", "64MiB"), (SMALL, "64MiB"), (MEDIUM, "64MiB"),
          (LARGE, "9GiB")]
FOLDED_PAIRS = 31  # of runs; the kernel splits user from system time by ticks


@dataclass
class Run:
    user: float   # seconds
    peak: int     # bytes
    transfers: int


class TimedOut(Exception):
    pass


def row(what, measured, target="", met=None):
    verdict = "" if met is None else "yes" if met else "no"
    print(f"| {what:73} | {measured:42} | {target:18} | {verdict:3} |", flush=True)


def bounded(what, value, limit, unit, digits=2):
    row(what, f"{value:.{digits}f} {unit}".strip(), f"<= {limit:g} {unit}".strip(), value <= limit)


def spaced(size):
    """64MiB -> 64 MiB."""
    number = size.rstrip("KMGiB")
    return f"{number} {size[len(number):]}"


def transfers_of(table):
    """The column `transfers` of what podsim prints; 0 without."""
    lines = table.splitlines()
    for head, values in zip(lines, lines[1:]):
        if "transfers" in head.split():
            return int(values.split()[head.split().index("transfers")])
    return 0


def run_once(podsim, arguments):
    process = subprocess.Popen(["timeout", str(TIMEOUT), podsim, *arguments], stdout=subprocess.PIPE,
                               stdin=subprocess.DEVNULL, text=True)
    with process.stdout:
        table = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode == 124:  # timeout's
        raise TimedOut
    if process.returncode != 0:
        sys.exit(f"bench: podsim {' '.join(arguments)}: exit status {process.returncode}")
    return Run(usage.ru_utime, usage.ru_maxrss * KIB, transfers_of(table))


def run(podsim, arguments):
    runs = [run_once(podsim, arguments) for _ in range(ROUNDS)]
    return Run(min(r.user for r in runs), min(r.peak for r in runs), runs[0].transfers)


def all_reduce(spec, *lowering, size="64MiB"):
    return ["collective", "all-reduce", "--slice", spec, "--bytes", size, *lowering]


def bench_lines(build, what, *specs):
    """What podsim-bench prints; it takes the best of three itself."""
    out = subprocess.run([os.path.join(build, "podsim-bench"), what, *specs], check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line) for line in out.splitlines()]


def show_engine(build, quick):
    """Returns the yardstick's seconds per transfer on MEDIUM, equal sizes."""
    cases = bench_lines(build, "engine", SMALL, MEDIUM, *([] if quick else [LARGE]))
    for sizes, least, growth in (("equal", 1.5, 1.4), ("jitter", 0.9, 1.6)):
        mine = [case for case in cases if case["sizes"] == sizes]
        for case in mine:
            target = None if case["chips"] < 4096 else least
            row(f"engine against yardstick, {case['chips']:,} chips, {sizes}",
                f"{case['ratio']:.2f} ({case['transfers'] / case['engine_user_s'] / 1e6:.1f} M transfers/s)",
                f">= {target}" if target else "", target and case["ratio"] >= target)
        costs = [case["engine_user_s"] / case["transfers"] for case in mine]
        chips = " / ".join(f"{case['chips']:,}" for case in mine)
        row(f"engine, CPU per transfer, {chips} chips, {sizes}",
            " / ".join(f"{1e9 * cost:.0f}" for cost in costs) + " ns")
        if not quick:
            bounded(f"the same, {mine[-1]['chips']:,} against {mine[0]['chips']:,} chips",
                    costs[-1] / costs[0], growth, "")
    return next(case["yardstick_user_s"] / case["transfers"] for case in cases
                if case["chips"] == 4096 and case["sizes"] == "equal")


def show_commands(podsim, yardstick):
    whole = run(podsim, all_reduce(MEDIUM, *UNFOLDED))
    bounded(f"all-reduce 64 MiB, {MEDIUM}, {whole.transfers:,} transfers, in yardsticks",
            whole.user / (yardstick * whole.transfers), 3, "")
    ring = "bucket:axis_primitive=ring,batches=4"
    for spec, seconds, mib in ((MEDIUM, 0.6, 150), (LARGE, 2.2, 450)):
        found = run(podsim, all_reduce(spec, "--lowering", ring, *UNFOLDED))
        name = f"all-reduce 64 MiB, {spec}, ring buckets, {found.transfers:,} transfers"
        bounded(name, found.user, seconds, "s")
        bounded("the same, peak memory", found.peak / MIB, mib, "MiB", 0)
    bounded("the same, peak memory per transfer", found.peak / found.transfers, 80, "B", 1)
    rotated = run(podsim, all_reduce(LARGE, "--lowering", "bucket-rotated", *UNFOLDED, size="9GiB"))
    bounded(f"all-reduce 9 GiB, {LARGE}, rotated buckets, peak memory per transfer",
            rotated.peak / rotated.transfers, 80, "B", 1)


def show_folded(podsim):
    for spec, size in FOLDED:
        # Neighbours in time see the same load: the median of their differences.
        beyond = statistics.median(run_once(podsim, all_reduce(spec, size=size)).user
                                   - run_once(podsim, ["--version"]).user for _ in range(FOLDED_PAIRS))
        bounded(f"all-reduce {spaced(size)}, {spec}, folded, beyond --version", 1e3 * beyond, 5, "ms", 1)
    found = run(podsim, ["collective", "all-to-all", "--slice", LARGE, "--bytes", "9GiB"])
    bounded(f"all-to-all 9 GiB, {LARGE}, folded, {found.transfers:,} transfers", found.user, 1, "s")


def show_packets(build):
    for case in bench_lines(build, "network", SMALL):
        hops = case["ratio"] * YARDSTICK_TRANSFERS
        size = case["network"].split("size=")[1].split(",")[0]
        target = 8e6 if case["sizes"] == "equal" and size == "1MiB" else None
        row(f"packets of {spaced(size)}, all-to-all, 1,024 chips, {case['sizes']}",
            f"{hops / 1e6:.1f} M hops per yardstick-second ({case['hops_per_s'] / 1e6:.1f} M/s)",
            f">= {target / 1e6:g} M" if target else "", target and hops >= target)


def show_max_min(podsim, spec, size):
    arguments = ["collective", "ragged-all-to-all", "--distribution", "uniform:seed=1", "--bytes", size,
                 "--slice", spec, "--lowering", "ragged:window=8", "--verify", "off"]
    name = f"ragged all-to-all {spaced(size)}, {spec}, window 8"
    try:
        pod = run(podsim, arguments)
        row(f"{name}, {pod.transfers:,} flows",
            f"{pod.user:.2f} s ({pod.transfers / pod.user / 1e3:.1f} k flows/s)")
        reference = run(podsim, [*arguments, "--engine", "reference", "--force"])
    except TimedOut:
        row(f"{name}, or its reference", f"more than {TIMEOUT} s", "", False)
        return
    row("the same, reference against pod", f"{reference.user / pod.user:.2f} "
        f"({reference.user:.2f} s, {pod.transfers / reference.user / 1e3:.1f} k flows/s)",
        ">= 5", reference.user >= 5 * pod.user)


def main():
    parser = argparse.ArgumentParser(prog="bench")
    parser.add_argument("build")
    parser.add_argument("--quick", action="store_true", help="leave out what takes over 10 s")
    options = parser.parse_args()
    podsim = os.path.join(options.build, "podsim")
    print(f"| {'what (user CPU, smallest of 3)':73} | {'measured':42} | {'target':18} | met |")
    print(f"|{'-' * 75}|{'-' * 44}|{'-' * 20}|{'-' * 5}|")
    show_commands(podsim, show_engine(options.build, options.quick))
    show_folded(podsim)
    show_max_min(podsim, "v5e:8x8", "64MiB")
    if not options.quick:
        show_max_min(podsim, "v5e:16x16", "1GiB")
        show_packets(options.build)


main()
