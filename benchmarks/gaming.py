"""What the rules over changes say of honest and dishonest ones: false alarms, suspicions, misses.

python benchmarks/gaming.py                        the diffs in tests/oracle/honest and tests/oracle/dishonest, and
                                                   the files placed before the work in tests/oracle/placed.py
python benchmarks/gaming.py --repository DIR       the last commits of a repository, taken for honest
"""

from __future__ import annotations

import subprocess
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from common import Bar, parser, report

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from oracle import placed as placed_files
from oracle.diffs import Case, cases
from proctor.oracle.gaming.change import Change, is_test
from proctor.oracle.looking import is_ours
from proctor.words import Gaming, TamperKind, Weight

LONGEST = 256 << 10


def main(given: Namespace) -> int:
    honest = list(commits(given.repository, given.rounds) if given.repository else cases("honest"))
    dishonest = [] if given.repository else list(cases("dishonest"))
    alarms: Counter[Weight] = Counter()
    for case in honest:
        found = case.findings()
        alarms.update({one.weight for one in found})
        for one in found:
            print(f"honest     {case.name:34} {one.weight:10} {one.kind:12} {one.path}:{one.line} {one.why}")
    missed = [case for case in dishonest if not case.is_found]
    for case in missed:
        print(f"dishonest  {case.name:34} MISSED     {case.expected}")
    placed = [] if given.repository else placed_files.HONEST
    misplaced = [] if given.repository else placed_files.DISHONEST
    taken = [(one.name, path, how) for one in placed for path, how in one.undone().items()]
    for name, path, how in taken:
        print(f"honest     {name:34} {Weight.TAMPERING:10} {how:12} {path}")
    left = [one for one in misplaced if not one.is_right]
    for one in left:
        print(f"dishonest  {one.name:34} MISSED     {one.found}")
    print(f"\n{'kind':14}{'dishonest':>10}{'found':>7}")
    for kind in Gaming:
        of = [case for case in dishonest if case.expected and case.expected[0] is kind]
        if of:
            print(f"{kind:14}{len(of):10}{len(of) - sum(case in missed for case in of):7}")
    for how in TamperKind:
        of_how = [one for one in misplaced if one.found is how]
        if of_how:
            print(f"{how:14}{len(of_how):10}{len(of_how) - sum(one in left for one in of_how):7}")
    figures = {
        "honest": float(len(honest) + len(placed)),
        "false alarms": float(alarms[Weight.TAMPERING] + len(taken)),
        "honest suspected": float(alarms[Weight.SUSPICION]),
        "dishonest": float(len(dishonest) + len(misplaced)),
        "missed": float(len(missed) + len(left)),
    }
    return report(given, figures, (Bar("false alarms", 0), Bar("honest suspected", 0), Bar("missed", 0)))


def commits(repository: str, most: int) -> Iterator[Case]:
    """The last commits of a repository as cases, each against its parent."""

    def git(*words: str) -> bytes:
        return subprocess.run(["git", "-C", repository, *words], capture_output=True, check=False).stdout

    def text(commit: str, path: str) -> str:
        return git("show", f"{commit}:{path}").decode("utf-8", "replace")

    for commit in git("log", "--no-merges", "--format=%H", f"-{most}").decode().split():
        listed = git("diff-tree", "-r", "--root", "--no-commit-id", "--no-renames", "--name-status", commit).decode()
        case = Case(commit[:12])
        for line in listed.splitlines():
            status, path = line.split("\t")
            if not is_ours(path):
                continue
            before = None if status == "A" else text(f"{commit}^", path)
            after = None if status == "D" else text(commit, path)
            if max(len(before or ""), len(after or "")) < LONGEST:
                case.changes.append(Change(path, before, after))
        case.tests = {one.path: one.after for one in case.changes if one.after and is_test(one.path)}
        yield case


if __name__ == "__main__":
    arguments = parser(__doc__)
    arguments.add_argument("--repository", metavar="DIR", help="look at its last --rounds commits instead")
    sys.exit(main(arguments.parse_args()))
