"""What every benchmark shares: its flags, medians over pairs, and a last line that is the summary."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

__all__ = ["Bar", "flags", "median", "parser", "report"]


@dataclass(frozen=True, slots=True)
class Bar:
    """The most a figure may be."""

    figure: str
    most: float


def parser(description: str | None) -> argparse.ArgumentParser:
    """`--json` prints the figures as JSON, `--assert` exits with 1 when one misses its bar."""
    made = argparse.ArgumentParser(description=description)
    made.add_argument("--json", action="store_true")
    made.add_argument("--assert", action="store_true", dest="check")
    made.add_argument("--rounds", type=int, default=30)
    return made


def flags(description: str | None) -> argparse.Namespace:
    return parser(description).parse_args()


def report(given: argparse.Namespace, figures: Mapping[str, float | None], bars: tuple[Bar, ...]) -> int:
    """Print the figures, then the summary; the exit code. A figure that could not be had is None."""
    reached = {bar.figure: figures[bar.figure] or 0.0 for bar in bars}
    missed = [bar for bar in bars if reached[bar.figure] > bar.most]
    if given.json:
        print(json.dumps({name: value if value is None else round(value, 3) for name, value in figures.items()}))
    else:
        for name, value in figures.items():
            print(f"{name:45} {'absent':>10}" if value is None else f"{name:45} {value:10.3f}")
    told = "; ".join(f"{bar.figure} is {reached[bar.figure]:.3f}, more than {bar.most:g}" for bar in missed)
    held = ", ".join(f"{bar.figure} {reached[bar.figure]:.2f} (at most {bar.most:g})" for bar in bars)
    print(f"missed: {told}" if missed else f"held: {held}", file=sys.stderr if given.json else sys.stdout)
    return 1 if missed and given.check else 0
