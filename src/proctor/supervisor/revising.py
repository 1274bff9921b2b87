"""What the operator changed of what is asked for and of what checks rest on, between two runs: recorded with its diff.

While a session runs no such change counts, whoever makes it: task list, plan and contract are read when one is opened,
and what a worker did to them was put back by then. So what differs there is the operator's own decision. It is not
asked for again, and no flag grants it: it is shown.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from proctor.journal import events as ev
from proctor.journal.state import TaskState
from proctor.oracle.frozen import Frozen, Item, write_whole
from proctor.supervisor.session import Session
from proctor.text import safe_line
from proctor.workspace import files

MOST_LINES = 400
LONGEST = 500
"""Characters of one line of a diff."""
MOST_PATHS = 200
_READ, _COMPARED = 256 << 10, 5_000
"""Bytes, and lines, of a file that is compared line by line: beyond that the comparison can take minutes."""
_MOST_SKIPPED = 20
_FOLDER = "plans"


def plan(s: Session) -> None:
    """Record what is asked for as it stands now, and what is other than in the last run."""
    parts = _asked(s)
    text = json.dumps(parts, indent=1, ensure_ascii=False, sort_keys=True)
    rev = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]
    if rev == s.state.revision:
        return
    folder = s.state_dir / "oracle" / _FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    before = _kept(folder, s.state.revision)
    write_whole(folder / f"{rev}.json", text.encode("utf-8", "surrogatepass"))
    changed = tuple(sorted(name for name in before.keys() | parts.keys() if before.get(name) != parts.get(name)))
    lines = [line for name in changed for line in _differing(name, before.get(name, []), parts.get(name, []))]
    if not before:
        changed, lines = (), []
    diff, more = _diff(lines)
    was = s.state.revision
    s.append(ev.PlanRevised(rev=rev, was=was, by="operator", changed=changed[:MOST_PATHS], diff=diff, more=more))


def oracle(s: Session, before: Frozen | None) -> None:
    """Record the frozen set in force where it is not the one `before`, and what differs."""
    if s.frozen.rev == s.state.oracle:
        return
    changed: list[str] = []
    lines: list[str] = []
    if before is not None:
        old, new = before.by_path, s.frozen.by_path
        changed = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))[:MOST_PATHS]
        for path in changed:
            lines += _differing(path, _lines(before, old.get(path)), _lines(s.frozen, new.get(path)))
    diff, more = _diff(lines)
    for path in s.frozen.skipped[:_MOST_SKIPPED]:
        s.log("oracle", f"{safe_line(path, 200)}: neither a file nor a link, so no part of what is frozen")
    count = len(s.frozen.items)
    s.append(ev.OracleFrozen(rev=s.frozen.rev, files=count, changed=tuple(changed), diff=diff, more=more))


def _asked(s: Session) -> dict[str, list[str]]:
    """What is asked for, part by part, as lines."""
    contract = s.terms.contract
    parts = {f"task {task.id}": list(_task(task)) for task in s.state.tasks}
    parts["smoke check"] = [_said(check) for check in s.terms.smoke_checks()]
    parts["final check"] = [_said(check) for check in s.terms.final_checks()]
    parts["state.protect"] = list(contract.state.protect)
    parts["state.entrust"] = list(contract.state.entrust)
    text = files.read_optional(s.workspace, contract.state.plan) or ""
    whole = len(text) <= _READ and text.count("\n") <= _COMPARED
    parts[contract.state.plan] = text.splitlines() if whole else [f"{len(text):,} characters, sha256 {s.terms.plan}"]
    return {name: lines for name, lines in parts.items() if lines}


def _task(task: TaskState) -> Iterator[str]:
    yield f"task: {task.task}"
    if task.spec:
        yield f"spec: {task.spec}"
    yield from (f"check: {_said(check)}" for check in task.checks)


def _said(check: ev.CheckFact) -> str:
    return msgspec.json.encode(check).decode()


def _kept(folder: Path, rev: str) -> dict[str, list[str]]:
    """What was asked for in the last run; nothing if there was none, or if that is lost."""
    try:
        return msgspec.json.decode((folder / f"{rev}.json").read_bytes(), type=dict[str, list[str]])
    except (OSError, msgspec.MsgspecError):
        return {}


def _lines(frozen: Frozen, item: Item | None) -> list[str]:
    if item is None:
        return []
    if item.link is not None:
        return [f"a link to {item.link}"]
    data = frozen.content(item).read_bytes()
    if len(data) > _READ or b"\0" in data or data.count(b"\n") > _COMPARED:
        return [f"{len(data):,} bytes, sha256 {item.digest}"]
    return data.decode("utf-8", "backslashreplace").splitlines()


def _differing(name: str, before: list[str], after: list[str]) -> Iterable[str]:
    return difflib.unified_diff(
        before, after, name if before else "/dev/null", name if after else "/dev/null", "", "", 2, ""
    )


def _diff(lines: list[str]) -> tuple[str, int]:
    """The lines of a diff as a row holds them: not more than can be read, and how many there are more."""
    shown = [line[:LONGEST].encode("utf-8", "backslashreplace").decode() for line in lines[:MOST_LINES]]
    return "\n".join(shown), max(0, len(lines) - MOST_LINES)
