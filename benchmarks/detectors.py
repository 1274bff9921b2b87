"""Our rules and the public ones on recorded trajectories: precision, recall, iterations to detection, tokens saved.

python benchmarks/detectors.py            the second half of tests/trajectories
python benchmarks/detectors.py DIR…       any folders of files in the format that tests/trajectories/README.md describes
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from common import Bar, parser, report

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from proctor.words import Light
from trajectories.form import Malformed, Trajectory, files, read
from trajectories.rules import OURS, PUBLIC, signals
from trajectories.score import Score, not_beaten, scores

SECOND = Path(__file__).parents[1] / "tests" / "trajectories" / "second"

BARS = (Bar("unreadable files", 0), Bar("false alarms", 0), Bar("public rules not beaten", 0))


def main(given: Namespace) -> int:
    found: list[Trajectory] = []
    unreadable = 0
    for path in files(given.folders or [SECOND]):
        try:
            found.append(read(path))
        except (Malformed, OSError) as error:
            unreadable += 1
            print(error, file=sys.stderr)
    if not found:
        print("no trajectory in there", file=sys.stderr)
        return 2
    own, others = scores(found)
    unbeaten = {other.name: why for other in others if (why := not_beaten(own, other))}
    healthy = [one for one in found if not one.is_stuck]
    if not given.json:
        table([own, *others])
        shapes(found)
        for name in own.missed:
            print(f"missed by ours: {name}")
        for said in own.false:
            print(f"false alarm of ours: {said}")
        for name, why in unbeaten.items():
            print(f"not beaten: {name}: {why}")
        print()
    figures: dict[str, float | None] = {
        "trajectories": float(len(found)),
        "unreadable files": float(unreadable),
        "healthy": float(len(healthy)),
        "false alarms": float(len(own.false)),
        "healthy runs suspected": float(sum(any(x is Light.SUSPECT for _, x in signals(one)) for one in healthy)),
        "public rules not beaten": float(len(unbeaten)),
    }
    for one in (own, *others):
        figures |= {
            f"{one.name}: precision": one.precision,
            f"{one.name}: recall": one.recall,
            f"{one.name}: iterations to detection": one.to_detection,
            f"{one.name}: tokens saved": one.saved,
        }
    return report(given, figures, BARS)


def table(made: Sequence[Score]) -> None:
    print(f"{'':42}{'precision':>10}{'recall':>8}{'false':>7}{'missed':>8}{'iterations':>12}{'tokens saved':>21}")
    for one in made:
        precision = "-" if one.precision is None else f"{one.precision:.2f}"
        waits = "-" if one.to_detection is None else f"{one.to_detection:.1f}"
        saved = f"{one.saved:,.0f} ({one.share_saved:.0%})"
        counts = f"{len(one.false):7}{len(one.missed):8}"
        print(f"{one.name:42}{precision:>10}{one.recall:8.2f}{counts}{waits:>12}{saved:>21}")


def shapes(found: Sequence[Trajectory]) -> None:
    """Of each shape of run, how many each rule stops."""
    of: dict[tuple[str, str], list[Trajectory]] = defaultdict(list)
    for one in found:
        of[str(one.header.label), one.header.shape].append(one)
    rules = (OURS, *PUBLIC)
    print(f"\n{'alarms, by shape':38}{'runs':>5}  " + "".join(f"{number:>4}" for number in range(1, len(rules) + 1)))
    for (label, shape), runs in sorted(of.items()):
        alarms = "".join(f"{sum(rule.alarm(run) is not None for run in runs) or '.':>4}" for rule in rules)
        print(f"{label:9}{shape:29}{len(runs):5}  {alarms}")
    print(f"  rules: {', '.join(f'{number} {rule.name}' for number, rule in enumerate(rules, 1))}\n")


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("folders", nargs="*", type=Path, metavar="DIR")
    sys.exit(main(arguments.parse_args()))
