"""What the oracle wrote, told: verdicts, measurements, and what was done to the checks or made to be run. Pure."""

from __future__ import annotations

import shlex

from proctor.journal import events as ev
from proctor.journal.findings import TAMPERED
from proctor.text import CUT
from proctor.tui.entries import Told, hunk, some
from proctor.tui.spans import Role
from proctor.words import OWN_TESTS, Phase, Verdict

_AGAIN = {
    Phase.REPEAT: "second run of the check",
    Phase.SMOKE: "smoke check",
    Phase.REGRESSION: "later run of the check",
}
"""Checks that say nothing of a task's progress."""
_VERDICT_ROLE = {Verdict.PASSED: Role.GOOD}


def judged(e: ev.Judged) -> Told:
    if e.phase in (Phase.REPEAT, Phase.SMOKE, Phase.REGRESSION):
        if e.verdict is Verdict.PASSED:
            return None
        of = "" if e.task is None else f" of task {e.task}"
        said = f"{_AGAIN[e.phase]}{of} {e.verdict}" + (f" · {e.reason}" if e.reason else "")
        return "check", said, _VERDICT_ROLE.get(e.verdict, Role.TEXT)
    if e.phase is Phase.BASELINE:
        if e.verdict is Verdict.VACUOUS:
            return (
                "check",
                f"task {e.task} proves nothing: {e.reason or 'its check passed before the work'}",
                Role.ATTENTION,
            )
        return None
    what = "final check" if e.phase is Phase.FINAL else f"task {e.task}"
    failing = f" · {', '.join(e.failing[:3])}" if e.failing else ""  # last: ids are long, and a long line is cut
    telling = e.verdict is not Verdict.PASSED or e.moved or OWN_TESTS in e.reason
    reason = f": {e.reason}" if e.reason and telling else ""
    return "verdict", f"{what} {e.verdict}{reason}{failing}", _VERDICT_ROLE.get(e.verdict, Role.TEXT)


def regressed(e: ev.Regressed) -> Told:
    back = f" · {e.checkpoint} is where it passed" if e.checkpoint else ""
    return "lost", f"task {e.task} fails again and is open: {e.reason}{back}", Role.DANGER


def audited(e: ev.Audited) -> Told:
    if e.why:
        return "audit", f"task {e.task}: {e.why}", Role.DIM
    if not e.checkpoint:
        word = "passes before the work" if e.vacuous else "is flaky" if e.flaky else ""
        return ("audit", f"the check of task {e.task} {word}", Role.ATTENTION) if word else None
    text = f"task {e.task}: its check catches {e.caught:,} of {e.measured:,} parts taken out"
    first = f"; nothing verifies {e.unverified[0].where}" if e.unverified else ""
    return "audit", f"{text}{first}{', and it is flaky' if e.flaky else ''}", Role.DIM


def oracle_frozen(e: ev.OracleFrozen) -> Told:
    said = f"you changed what checks rest on; frozen anew: {some(e.changed)}{hunk(e.diff)}"
    return ("oracle", said, Role.STRONG) if e.changed else None


def tampered(e: ev.Tampered) -> Told:
    kinds = dict.fromkeys(e.kinds) if len(e.kinds) == len(e.paths) else ()
    grouped = [(kind, tuple(p for p, k in zip(e.paths, e.kinds, strict=True) if k == kind)) for kind in kinds]
    said = "; ".join(f"{TAMPERED.get(kind, kind)}: {some(paths)}" for kind, paths in grouped)
    told = [f"undone for the verdict: {said or some(e.paths)}"] if e.paths else []
    told += [_findings(e.findings, e.more)] if e.findings else []
    return "tamper", "; ".join(told), Role.DANGER


def suspected(e: ev.Suspected) -> Told:
    return "suspect", _findings(e.findings, e.more), Role.ATTENTION


def _findings(findings: tuple[ev.Finding, ...], more: int) -> str:
    """The first findings, each with its line, and the kinds of the others."""
    told = [f"{one.where}: {one.why or TAMPERED.get(one.kind, one.kind)}" + (f": “{one.text}”" if one.text else "")
            for one in findings[:2]]  # fmt: skip
    left = len(findings) - len(told) + more
    kinds = ", ".join(dict.fromkeys(TAMPERED.get(one.kind, one.kind.replace("_", " ")) for one in findings[2:]))
    return "; ".join(told) + (f"; and {left:,} more" + (f": {kinds}" if kinds else "") if left else "")


def exposed(e: ev.Exposed) -> Told:
    return "exposed", f"made or replaced while the worker ran, which could write it: {some(e.paths)}", Role.DANGER


def quarantined(e: ev.Quarantined) -> Told:
    """What it is, the names that were, and how to get the first ones back. Rows of before lack the new names."""
    renamed = tuple(zip(e.paths, e.now, strict=False))
    stores = tuple(path for path in e.paths if path.rpartition("/")[2].lower() in (".git", "head"))
    orders = tuple(path for path in e.paths if path not in stores)
    told = [
        f"{what}, renamed so that your git passes it by: {some(paths)}"
        for what, paths in (("made by the worker as a repository", stores), ("your git would run it", orders))
        if paths
    ]
    told += [f"and {e.more:,} more"] if e.more else []
    back = [f"mv {shlex.quote(now)} {shlex.quote(path)}" for path, now in renamed[:2] if CUT not in now]
    told += [f"once you have looked, back with: {' && '.join(back)}"] if back else []
    return "git", "; ".join(told), Role.DANGER


def autorun(e: ev.Autorun) -> Told:
    if not e.new:
        return None
    return (
        "careful",
        f"your tools would run these by themselves; look before you open the folder: {some(e.new)}",
        Role.STRONG,
    )
