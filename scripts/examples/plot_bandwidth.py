#!/usr/bin/env python3
"""Draws the bus bandwidth of a collective by the size of the slice."""
import argparse

import podsim

SLICES = ["v5e:2x2", "v5e:2x4", "v5e:4x4", "v5e:4x8", "v5e:8x8", "v5e:8x16", "v5e:16x16"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", default="all-reduce", help="default: %(default)s")
    parser.add_argument("--bytes", default="64MiB", help="default: %(default)s")
    parser.add_argument("--lowering", default="auto", help="default: %(default)s")
    parser.add_argument("--slices", nargs="+", default=SLICES, help="default: v5e from 2x2 to 16x16")
    parser.add_argument("-o", "--output", required=True, metavar="FILE.png")
    arguments = parser.parse_args()

    import matplotlib.pyplot as plt  # slow: not for --help

    points = [podsim.collective(arguments.kind, slice=spec, bytes=arguments.bytes, lowering=arguments.lowering)
              for spec in arguments.slices]
    chips = [podsim.slice(spec).chips for spec in arguments.slices]
    measured = [point["busbw_bytes_per_s"] / 1e9 for point in points]
    bounds = [speed / point["efficiency"] for speed, point in zip(measured, points)]
    plt.semilogx(chips, measured, "o-", base=2, label=arguments.lowering)
    plt.semilogx(chips, bounds, "k--", base=2, label="at the lower bound")
    plt.title(f"{arguments.kind} of {arguments.bytes}")
    plt.xlabel("chips")
    plt.ylabel("bus bandwidth [GB/s]")
    plt.ylim(bottom=0)
    plt.legend()
    plt.savefig(arguments.output)


if __name__ == "__main__":
    main()
