"""The isolation probes from the command line; see README.md.

python tests/probes/run.py [--root DIR] [--only 30,U] [--layout plain|worktree] [--json FILE] [bare] [proctor]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.dont_write_bytecode = True

from probes import services  # noqa: E402 - found through the line above
from probes.bench import PROBES, Bench, Result  # noqa: E402
from probes.boxes import BOXES  # noqa: E402
from probes.life import EXTRA  # noqa: E402
from probes.places import place  # noqa: E402

MARKS = {"ALLOWED": "A", "BLOCKED": ".", "WORKS": "W", "BROKEN": "X", "SKIP": "-", "ERROR": "E"}
Results = dict[str, dict[str, Result]]
"""By row, by sandbox."""


def rows(only: Iterable[str] = ()) -> list[str]:
    """The names of all rows, or of those that begin like one of `only`."""
    wanted = tuple(only)
    return [name for name in (*PROBES, *EXTRA) if not wanted or name.startswith(wanted)]


def run(
    root: Path, layout: str, boxes: Iterable[str], only: Iterable[str] = (), told: Callable[[str], None] = print
) -> Results:
    """Every row under every sandbox."""
    services.own_keyring()
    found: Results = {}
    bench = Bench(root, layout)
    try:
        for name in rows(only):
            for box in boxes:
                result = bench.probe(BOXES[box], name) if name in PROBES else EXTRA[name](bench, BOXES[box])
                found.setdefault(name, {})[box] = result
                told(f"{box:8} {name:28} {result.word:8} {result.said[:150]}")
    finally:
        bench.close()
    return found


def table(columns: dict[str, dict[str, Result]]) -> str:
    """The results of several runs side by side, as a Markdown table with its sums."""
    names = sorted({name for column in columns.values() for name in column})
    titles = {name: result.title for column in columns.values() for name, result in column.items()}
    lines = ["| row | what | " + " | ".join(columns) + " |", "|---|---|" + "---|" * len(columns)]
    for name in names:
        marks = [MARKS[column[name].word] if name in column else " " for column in columns.values()]
        lines.append(f"| {name} | {titles[name]} | " + " | ".join(marks) + " |")
    lines.append("")
    for word, goal in (("ALLOWED", "deny"), ("BLOCKED", "deny"), ("BROKEN", "allow"), ("ERROR", ""), ("SKIP", "")):
        sums = (
            f"{name} {sum(r.word == word and r.goal.startswith(goal) for r in column.values())}"
            for name, column in columns.items()
        )
        lines.append(f"{goal or 'all'} rows {word.lower()}: " + ", ".join(sums))
    lines.append("(A allowed, . blocked, W works, X broken, - skipped, E error)")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, help="a folder that is wiped before every row; not below /tmp")
    parser.add_argument("--only", default="", help="beginnings of the rows to run, separated by commas")
    parser.add_argument("--layout", choices=("plain", "worktree"), default="plain")
    parser.add_argument("--json", type=Path, help="where to write the results")
    parser.add_argument("boxes", nargs="*", metavar="SANDBOX", help="bare, proctor, or both when none is named")
    given = parser.parse_args()
    given.boxes = given.boxes or list(BOXES)
    if unknown := set(given.boxes) - set(BOXES):
        parser.error(f"no such sandbox: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="proctor-probes-", dir=None if given.root else place()) as own:
        root = given.root or Path(own) / "host"
        only = [name for name in given.only.split(",") if name]
        found = run(root.absolute(), given.layout, given.boxes, only, lambda line: print(line, flush=True))
    if given.json:
        given.json.write_text(
            json.dumps({n: {b: asdict(r) for b, r in by.items()} for n, by in found.items()}, indent=1)
        )
    print()
    print(table({box: {name: by[box] for name, by in found.items() if box in by} for box in given.boxes}))


if __name__ == "__main__":
    main()
