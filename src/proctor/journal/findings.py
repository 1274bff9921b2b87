"""What was found in the changes of workers, as it is told: all of it, and what of it was taken back. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from proctor.journal.events import Finding, Suspected, Tampered
from proctor.journal.state import State
from proctor.words import TamperKind

KINDS = ("tampered", "suspected")
"""The rows that hold findings."""
Found = Tampered | Suspected
TAMPERED: dict[str, str] = {
    TamperKind.CHANGED: "frozen files changed",
    TamperKind.ADDED: "new in a protected place",
    TamperKind.INSTALLED: "changed in what checks borrow",
    TamperKind.SHADOWS: "shadows a module that checks or runners import",
    TamperKind.RUNNER: "new, and a runner would pick it up",
}
"""What was done to frozen files, in words."""


def why(one: Finding) -> str:
    """What is wrong with what was found."""
    return one.why or TAMPERED.get(one.kind, one.kind.replace("_", " "))


@dataclass(frozen=True, slots=True)
class Told:
    """Findings of one iteration that show the same lines. `gone`: a rollback has taken the iteration's changes
    back."""

    iteration: int
    findings: tuple[Finding, ...]
    hunk: str
    gone: bool

    @property
    def where(self) -> str:
        """Each place with what is found there, and whether it is still in the tree."""
        said = "; ".join(dict.fromkeys(f"{one.where}  {why(one)}" for one in self.findings))
        return said + ("  (taken back since)" if self.gone else "")


def told(state: State, rows: Sequence[Found]) -> tuple[Told, ...]:
    """The findings of rows, the newest iteration first, each change once."""
    gone = taken_back(state, {row.iteration for row in rows})
    found: dict[tuple[str, str], Told] = {}
    for row in reversed(rows):
        for hunk, ones in together(_all(row)):
            known = found.setdefault((ones[0].path, hunk), Told(row.iteration, ones, hunk, row.iteration in gone))
            if known.gone and row.iteration not in gone:
                found[ones[0].path, hunk] = Told(row.iteration, ones, hunk, False)
    return tuple(found.values())


def _all(row: Found) -> tuple[Finding, ...]:
    """The findings of a row, and the frozen paths that none of them shows."""
    shown = {one.path for one in row.findings}
    if isinstance(row, Suspected):
        return row.findings
    kinds = (*row.kinds, *("changed" for _ in row.paths[len(row.kinds) :]))
    bare = (Finding(kind=kind, path=path) for path, kind in zip(row.paths, kinds, strict=False) if path not in shown)
    return (*row.findings, *bare)


def together(findings: Iterable[Finding]) -> list[tuple[str, tuple[Finding, ...]]]:
    """Findings by the lines that show them, in their order."""
    found: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        found.setdefault((one.path, one.hunk or one.where), []).append(one)
    return [(ones[0].hunk, tuple(ones)) for ones in found.values()]


def taken_back(state: State, iterations: Iterable[int]) -> frozenset[int]:
    """Those iterations whose changes a rollback of the whole tree took back, and no undo has brought again."""
    known = frozenset(iterations)
    gone: frozenset[int] = frozenset()
    before: dict[str, frozenset[int]] = {}
    for back in state.rollbacks:
        safety, target = state.checkpoint(back.safety), state.checkpoint(back.target)
        if safety is None or target is None or back.paths:
            continue
        before[safety.id], at = gone, target.taken.iteration
        since = frozenset(one for one in known if at < one <= safety.taken.iteration)
        gone = before[target.id] if target.id in before else since | frozenset(one for one in gone if one <= at)
    return gone
