"""What a rollback takes, told before it and after it: whose edits, which files, which tasks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.checkpoint.repository import Change, ChangeKind, Store
from proctor.journal import events as ev
from proctor.journal.state import CheckpointState, State
from proctor.supervisor import handles
from proctor.supervisor.authors import Authors, Story, authors, story
from proctor.text import safe_line
from proctor.units import counted
from proctor.words import STANDS, TaskStatus

MOST = 20
"""Paths of one kind that are printed; JSON has all."""
Rows = Callable[[], Iterable[ev.Row]]


@dataclass(frozen=True, slots=True)
class Return:
    """A task that is again what it was at the target; `taken_back` if a verification of it goes."""

    task: ev.TaskId
    now: TaskStatus
    then: TaskStatus
    taken_back: bool


@dataclass(frozen=True, slots=True)
class Toll:
    """`changes` are the files as they are now against what they will be; `mine` those among them that the operator
    alone wrote since the target, `both` those that a worker wrote too; `stays` his edits that stay. `safety` is where
    all that was there is kept, "" before the rollback; `patch` is there only before it. `paths` are those that were
    named, if any were. The rest: see `Outlook`."""

    target: CheckpointState
    changes: tuple[Change, ...]
    mine: tuple[str, ...] = ()
    both: tuple[str, ...] = ()
    stays: tuple[str, ...] = ()
    parked: tuple[str, ...] = ()
    tasks: tuple[Return, ...] = ()
    obstacles: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    repositories: tuple[str, ...] = ()
    safety: str = ""
    way: str = "rollback"
    patch: str = ""
    paths: tuple[str, ...] = ()

    @property
    def takes_edits(self) -> bool:
        """Whether edits of the operator go."""
        return bool(self.mine or self.both)

    def of(self, paths: Sequence[str]) -> list[Change]:
        """The changes of some paths."""
        wanted = set(paths)
        return [change for change in self.changes if change.path in wanted]

    @property
    def others(self) -> list[Change]:
        """The changes that are the workers' alone."""
        edits = {*self.mine, *self.both}
        return [change for change in self.changes if change.path not in edits]


def whose(store: Store, told: Story, state: State) -> Authors:
    """Who has changed what, by the trees that the store still has."""
    kept = {one.taken.tree: one.taken.commit for one in state.checkpoints}
    lost = frozenset(store.missing(told.trees - kept.keys()))

    def differing(pairs: Sequence[tuple[str, str]]) -> list[frozenset[str]]:
        return store.differing([(kept.get(old, old), kept.get(new, new)) for old, new in pairs])

    return authors(told, differing, lost)


def before(
    store: Store, state: State, rows: Rows, to: str | None, *, paths: Sequence[str] = (), keep_mine: bool = False
) -> Toll:
    """What a rollback would take; a look, without a trace."""
    target = handles.good(state, to)
    commit = target.taken.commit
    outlook = store.outlook(commit, paths)
    told = story(rows(), target.id, target.taken.tree, outlook.present)
    found = whose(store, told, state).among([change.path for change in outlook.changes])
    if keep_mine and (edits := found.mine | found.both):
        outlook = store.outlook(commit, paths, edits)
        found = found.among([change.path for change in outlook.changes])
    return Toll(
        target,
        outlook.changes,
        tuple(sorted(found.mine)),
        tuple(sorted(found.both)),
        outlook.mine,
        outlook.parked,
        () if paths else returns(state.marks, target.taken.marks),
        outlook.obstacles,
        outlook.said,
        outlook.repositories,
        patch=store.patch_of(outlook).decode("utf-8", "replace"),
        paths=tuple(paths),
    )


def after(store: Store, state: State, rows: Rows, back: ev.RolledBack) -> Toll:
    """What a rollback took."""
    target, safety = handles.find(state, back.target), handles.find(state, back.safety)
    changes = store.diff(safety.taken.commit, back.tree or target.taken.commit, ignored=True)
    earlier = itertools.takewhile(
        lambda row: not (isinstance(row.event, ev.RolledBack) and row.event.safety == back.safety), rows()
    )
    told = story(earlier, target.id, target.taken.tree, safety.taken.tree)
    found = whose(store, told, state).among([change.path for change in changes])
    stays = back.paths or back.way == "failed_verdict"
    return Toll(
        target,
        changes,
        tuple(sorted(found.mine)),
        tuple(sorted(found.both)),
        back.mine,
        back.parked,
        () if stays else returns(safety.taken.marks, target.taken.marks),
        said=back.said,
        safety=back.safety,
        way=back.way,
        paths=back.paths,
    )


def returns(now: Iterable[ev.TaskMark], then: Iterable[ev.TaskMark]) -> tuple[Return, ...]:
    """The tasks that change their status by going back from one set of marks to another."""
    marks = {mark.id: mark for mark in then}
    found = []
    for mark in now:
        earlier = marks.get(mark.id) or ev.TaskMark(id=mark.id, status=TaskStatus.PENDING)
        if (earlier.status, earlier.verified_by) != (mark.status, mark.verified_by):
            taken_back = mark.status is TaskStatus.DONE and earlier.verified_by != mark.verified_by
            found.append(Return(mark.id, mark.status, earlier.status, taken_back))
    return tuple(found)


# --- words ----------------------------------------------------------------------------------------

_DONE = {ChangeKind.DELETED: "goes", ChangeKind.ADDED: "comes back"}


def does(change: Change) -> str:
    """What becomes of a file."""
    return _DONE.get(change.kind, "changes")


def counts(changes: Sequence[Change]) -> str:
    """How many files go, come back and change, in words."""
    words = [does(change) for change in changes]
    gone, back = words.count("goes"), words.count("comes back")
    parts = ((gone, "goes", "go"), (back, "comes back", "come back"), (len(words) - gone - back, "changes", "change"))
    said = [(n, one if n == 1 else many) for n, one, many in parts if n]
    first = [f"{counted(n, 'file')} {word}" for n, word in said[:1]]
    return ", ".join([*first, *(f"{n:,} {word}" for n, word in said[1:])]) or "no file changes"


def of_task(one: Return) -> str:
    """What becomes of a task."""
    taken = ", its verification is taken back" if one.taken_back else ""
    words = {**STANDS, TaskStatus.FAILED: "failed"}
    return f"task {safe_line(str(one.task), 20)}: {words[one.now]} -> {words[one.then]}{taken}"


def lines(toll: Toll) -> list[str]:
    """All of it as plain lines, the operator's own edits first."""
    said = [f"  {counts(toll.changes)}"]
    kept = f", kept as {toll.safety}" if toll.safety else ""
    groups = (
        (f"yours, written since then{kept}:", [_line(change) for change in toll.of(toll.mine)]),
        (f"yours and a worker's{kept}:", [_line(change) for change in toll.of(toll.both)]),
        ("yours, left in place:", [safe_line(path, 200) for path in toll.stays]),
        ("repositories that go back:", list(toll.repositories)),
        ("set aside, because it is in no checkpoint and in the way:", [safe_line(path, 200) for path in toll.parked]),
        ("tasks:", [of_task(one) for one in toll.tasks]),
        ("cannot be done:", list(toll.obstacles)),
        ("look at these:", list(toll.said)),
    )
    for title, found in groups:
        more = [f"and {len(found) - MOST:,} more"] if len(found) > MOST else []
        said += [f"  {title}", *(f"    {one}" for one in (*found[:MOST], *more))] if found else []
    return said


def headline(toll: Toll) -> str:
    """Where a rollback would go, in one line."""
    when = f"{toll.target.at.astimezone():%Y-%m-%d %H:%M:%S}"
    note = f", {toll.target.taken.note}" if toll.target.taken.note else ""
    return f"back to {handles.called(toll.target)}: {when}, {toll.target.taken.certainty}{safe_line(note, 100)}"


def told(toll: Toll) -> str:
    """Where a rollback went, in one line."""
    way = "undo --redo" if toll.way == "undo" else "undo"
    kept = f"what was there is kept as {toll.safety}, and `proctor {way}` brings it back"
    return f"{handles.stands(handles.called(toll.target), toll.paths, len(toll.stays))}; {kept}"


def facts(toll: Toll) -> dict[str, Any]:
    """All of it for a program."""
    return {
        "target": toll.target.id,
        "safety": toll.safety or None,
        "way": toll.way,
        "at": toll.target.at,
        "certainty": toll.target.taken.certainty,
        "paths": toll.paths,
        "changed": [
            {"path": one.path, "does": does(one), "added": one.added, "removed": one.removed, "binary": one.binary}
            for one in toll.changes
        ],
        "mine": toll.mine,
        "both": toll.both,
        "stays": toll.stays,
        "parked": toll.parked,
        "tasks": [{"id": t.task, "now": t.now, "then": t.then, "taken_back": t.taken_back} for t in toll.tasks],
        "repositories": toll.repositories,
        "obstacles": toll.obstacles,
        "said": toll.said,
    }


def _line(change: Change) -> str:
    size = f"  +{change.added} -{change.removed}" if change.added or change.removed else ""
    return f"{does(change):10}  {safe_line(change.path, 200)}{size}"
