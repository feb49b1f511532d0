"""The bench: raw floors, rivals and the product, interleaved in one run on one machine; ratios.

    python bench/run.py [--quick] [--only calls,slow] [--results FOLDER]

A ratio compares medians of pairs measured right after each other. The bars are the least that is
wanted; a run on a busy machine says little, so the load is printed too. Everything measured goes
to ``bench/results``: JSON, and a page with plots. Exit code 1: a bar was missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from types import ModuleType

import report
from kept import FULL, QUICK, Kept, Ratio
from parts import calls, footprint, million, others, postgres, proxy, recovery, sessions, slow

HERE = Path(__file__).resolve().parent

PARTS: dict[str, ModuleType] = {
    "calls": calls,
    "footprint": footprint,
    "sessions": sessions,
    "slow": slow,
    "recovery": recovery,
    "proxy": proxy,
    "others": others,
    "postgres": postgres,
    "million": million,
}


def parts_of(text: str) -> list[str]:
    """The parts that were asked for.

    :raises ArgumentTypeError: there is no such part.
    """
    asked = [name.strip() for name in text.split(",") if name.strip()]
    if unknown := [name for name in asked if name not in PARTS]:
        raise argparse.ArgumentTypeError(
            f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}"
        )
    return asked


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description="Raw floors, rivals and the product in one run.",
        epilog="examples: python bench/run.py --quick\n          python bench/run.py --only calls",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="one short round, for a first look")
    parser.add_argument(
        "--only", type=parts_of, default=list(PARTS), metavar="PARTS",
        help=f"some of {','.join(PARTS)}",
    )  # fmt: skip
    parser.add_argument(
        "--results", type=Path, default=HERE / "results", help="folder for JSON, page and plots"
    )
    asked = parser.parse_args(arguments)
    kept, ratios, left_out = Kept(), list[Ratio](), dict[str, str]()
    began, load = time.monotonic(), os.getloadavg()[0]
    for name in asked.only:
        part = PARTS[name]
        why = part.missing() if hasattr(part, "missing") else ""
        if why:
            left_out[name] = why
            continue
        part.measure(kept, QUICK if asked.quick else FULL)
        ratios += part.ratios(kept)
    run = report.Run(
        kept=kept, ratios=ratios, left_out=left_out, quick=asked.quick, load=load,
        took_s=time.monotonic() - began,
    )  # fmt: skip
    print(report.as_text(run))
    print(f"\nwritten to {report.write(run, asked.results)}")
    return 0 if all(ratio.met for ratio in ratios) and not left_out else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
