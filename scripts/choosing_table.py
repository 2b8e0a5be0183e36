#!/usr/bin/env python3
"""scripts/choosing_table.py [PODSIM]: writes docs/choosing.md.

Runs `podsim lowerings --choose` on the slices that most jobs have.
"""
import json
import subprocess
import sys

PODSIM = sys.argv[1] if len(sys.argv) > 1 else "build/release/podsim"
KINDS = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast"]
SLICES = ["v5e:2x2", "v5e:2x4", "v5e:4x4", "v5e:8x8", "v5e:16x16", "v5p:2x2x2",
          "v5p:2x2x4", "v5p:4x4x4", "v5p:8x8x8"]
SIZES = "1KiB..64MiB x4"
HEAD = """# Choosing a lowering

What `auto` takes, by slice and payload S (nccl-tests), and how close to the lower bound that is: time in us, bound / time.
Written by `scripts/choosing_table.py`; `podsim lowerings --choose --slice S` prints the same for any slice, with runner-ups,
and with other constants (`--set ici.issue=200ns`).

How to read it: find the slice, the row of the payload, the column of the collective. `podsim collective all-reduce --slice
v5e:4x4 --bytes 64KiB` says why: bound, runner-up, proof. In short:

- A few KiB: one round of messages to everyone (`one-shot`, `direct`, `fx` with cut=0), the farthest first.
- Tens to hundreds of KiB: `fx`, one round per axis, in one part per axis; the larger, the more rounds are cut in two phases.
- MiB and more: neighbours only. Rings around wrapped axes (`bucket-rotated`, `bfb`), packed trees on meshes and around faults.
- All-to-all: `direct`; `detour` around a dead cable or chip.
- With an issue cost (`ici.issue`) fewer, larger messages: more rounds earlier.

"""


def choose(slice_spec):
    command = [PODSIM, "lowerings", "--choose", "--slice", slice_spec,
               "--bytes", SIZES, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["points"]


def size(count):
    for unit, bytes_ in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= bytes_:
            return f"{count // bytes_} {unit}"
    return f"{count} B"


def name(lowering):
    base, _, rest = lowering.partition(":")
    return f"fx {rest.removeprefix('plan=')}" if base == "fx" else base


def main():
    text = HEAD
    for spec in SLICES:
        points = choose(spec)
        text += f"## {spec}\n\n| S | " + " | ".join(KINDS) + " |\n"
        text += "|---|" + "---|" * len(KINDS) + "\n"
        by = {(p["payload_bytes"], p["collective"]): p for p in points}
        for payload in sorted({p["payload_bytes"] for p in points}):
            cells = []
            for kind in KINDS:
                point = by[payload, kind]
                cells.append(f"{point['time_s'] * 1e6:.1f}, "
                             f"{point['efficiency']:.2f}: "
                             f"{name(point['lowering'])}")
            text += f"| {size(payload)} | " + " | ".join(cells) + " |\n"
        text += "\n"
    with open("docs/choosing.md", "w", encoding="utf-8") as file:
        file.write(text.rstrip() + "\n")


main()
