#!/usr/bin/env python3
"""Draws how close lowerings of a collective come to the bound, by payload."""
import argparse

import podsim

PAYLOADS = [1 << power for power in range(10, 31, 2)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kind", default="all-reduce", help="default: %(default)s")
    parser.add_argument("--slice", default="v5p:4x4x4", help="default: %(default)s")
    parser.add_argument("--lowering", nargs="+", default=["bucket", "direct", "auto"], help="default: %(default)s")
    parser.add_argument("-o", "--output", required=True, metavar="FILE.png")
    arguments = parser.parse_args()

    import matplotlib.pyplot as plt  # slow: not for --help

    for lowering in arguments.lowering:
        points = [podsim.collective(arguments.kind, slice=arguments.slice, bytes=payload, lowering=lowering)
                  for payload in PAYLOADS]
        plt.semilogx(PAYLOADS, [100 * point["efficiency"] for point in points], "o-", base=2, label=lowering)
    plt.axhline(100, color="black", linestyle="--", label="lower bound")
    plt.title(f"{arguments.kind} on {arguments.slice}")
    plt.xlabel("payload [bytes]")
    plt.ylabel("lower bound / time [%]")
    plt.ylim(bottom=0)
    plt.legend()
    plt.savefig(arguments.output)


if __name__ == "__main__":
    main()
