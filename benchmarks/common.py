"""What every benchmark shares: its two flags, medians over pairs, and a last line that is the summary."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

__all__ = ["Bar", "flags", "median", "report"]


@dataclass(frozen=True, slots=True)
class Bar:
    """The most a figure may be."""

    figure: str
    most: float


def flags(description: str | None) -> argparse.Namespace:
    """`--json` prints the figures as JSON, `--assert` exits with 1 when one misses its bar."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--assert", action="store_true", dest="check")
    parser.add_argument("--rounds", type=int, default=30)
    return parser.parse_args()


def report(given: argparse.Namespace, figures: Mapping[str, float], bars: tuple[Bar, ...]) -> int:
    """Print the figures, then the summary; the exit code."""
    missed = [bar for bar in bars if figures[bar.figure] > bar.most]
    if given.json:
        print(json.dumps({name: round(value, 3) for name, value in figures.items()}))
    else:
        for name, value in figures.items():
            print(f"{name:45} {value:10.3f}")
    told = "; ".join(f"{bar.figure} is {figures[bar.figure]:.3f}, more than {bar.most:g}" for bar in missed)
    held = ", ".join(f"{bar.figure} {figures[bar.figure]:.2f} (at most {bar.most:g})" for bar in bars)
    print(f"missed: {told}" if missed else f"held: {held}", file=sys.stderr if given.json else sys.stdout)
    return 1 if missed and given.check else 0
