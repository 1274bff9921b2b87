"""The session branch: each verified task as one commit on `proctor/SESSION` in the operator's own repository.

Nothing else there is written: no index, no HEAD, no other ref, no configuration, no file. Everything is plumbing, and
nothing that lies in a tree is executed. A commit is built aside, its objects are durable before the ref moves, and the
ref moves only if it is what it was: so a kill leaves the commit or none.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from proctor.checkpoint.record import text
from proctor.errors import UsageError
from proctor.repository.bench import Bench
from proctor.repository.layout import Kind, Layout, settings
from proctor.text import safe_line

if TYPE_CHECKING:  # `run` asks whether there can be a branch, and waits for what this loads
    from proctor.checkpoint.repository import Store

PREFIX = "proctor/"
SUBJECT = 100
"""Characters of a commit's first line that a task's text may take."""
_DAY = 24 * 3600
_NONE = "0" * 40


@dataclass(frozen=True, slots=True)
class Point:
    """A checkpoint of the session: its id, and its commit in the store."""

    id: str
    commit: str


@dataclass(frozen=True, slots=True)
class Verified:
    """A verified task, the commands of its checks, and the checkpoint it was verified on."""

    task: int | str
    text: str
    checks: tuple[str, ...]
    at: Point


@dataclass(frozen=True, slots=True)
class Published:
    """The task's commit on the branch; lines about what it leaves out and a person might miss."""

    commit: str
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ours:
    """A commit of the session on the branch, its first parent, and its trailers."""

    commit: str
    parent: str
    trailers: dict[str, str]


def refusal(layout: Layout) -> str:
    """Why there can be no session branch here; "" where there can."""
    if layout.kind is Kind.NONE or layout.common is None:
        return layout.reason or "there is no git repository"
    kind = settings(layout.common / "config").get("extensions.objectformat", ["sha1"])[-1]
    return "" if kind == "sha1" else f"{layout.common} names its objects by {safe_line(kind, 20)}, not by sha1"


class Branch:
    """The branch of one session. `start` is its first checkpoint, `born` when it began, `scratch` a folder for the
    branch's own use, `left_out` the files and folders of the workspace that are no work of a task.

    All methods block. What fails raises a `ProctorError` and leaves the branch as it was.
    """

    def __init__(
        self,
        layout: Layout,
        store: Store,
        *,
        session: str,
        start: Point,
        born: datetime,
        scratch: Path,
        left_out: Iterable[str] = (),
    ) -> None:
        self._layout = layout
        self._store = store
        self._session = session
        self._start = start
        self._since = int(born.timestamp()) - _DAY
        self._scratch = scratch
        self._left_out = tuple(left_out)
        self.name = f"{PREFIX}{session}"
        self._ref = f"refs/heads/{self.name}"

    def publish(
        self, done: Verified, last: Point, points: Mapping[str, str], made: Mapping[str, str] = MappingProxyType({})
    ) -> Published:
        """Make sure that the branch has the task's commit. `points` are the session's checkpoints by id, `made` the
        commits of tasks by that of their checkpoint, `last` the one of the task published before, or the start: what
        a branch that is not there, or is not this session's any more, begins with.

        The commit changes what differs between the checkpoint that the branch holds and the task's, on whatever the
        operator put on top meanwhile. A branch that is checked out is not moved under him: UsageError.
        """
        with Bench(self._scratch, self._layout, self._store, self._left_out) as bench:
            tip, place = self._tip(bench)
            ours = self._ours(bench, tip) if tip else []
            told = {"Proctor-Task": _task(done), "Proctor-Checkpoint": done.at.id}
            for one in ours:
                if told.items() <= one.trailers.items():
                    return Published(one.commit)
            if place := place or self._user():
                raise UsageError(f"{self.name} is checked out in {place}, and is not moved while it is")
            holding = self._holding(ours, points)
            theirs = _theirs(bench, tip, ours, made) if holding else set[bytes]()
            return self._add(bench, tip, holding, done, last, theirs=theirs)

    def _add(
        self, bench: Bench, tip: str, holding: Point | None, done: Verified, last: Point, *, theirs: set[bytes] | None
    ) -> Published:
        start = self._store.held(self._start.commit)
        parent = tip or bench.head()
        bench.begin(parent)
        if holding is None:
            holding = last
            bench.become(self._store.held(last.commit), start)
            if bench.changed():
                parent = bench.commit(parent, self._opening(last))
        before, after = self._store.held(holding.commit), self._store.held(done.at.commit)
        left = bench.follow(before, after, start, lambda path: theirs is None or path in theirs)
        commit = bench.commit(parent, self._message(done))
        bench.hand_over()
        bench.theirs.run("update-ref", "--no-deref", self._ref, commit, tip or _NONE)
        return Published(commit, tuple(left))

    # --- what is there ------------------------------------------------------------------------

    def _tip(self, bench: Bench) -> tuple[str, str]:
        """The commit that the branch is at, and the folder where it is checked out; "" where there is none."""
        form = "--format=%(refname) %(objecttype) %(objectname) %(symref) %(worktreepath)"
        listed = bench.theirs.run("for-each-ref", form, self._ref, config=("core.bare=false",))
        for line in text(listed).splitlines():
            name, kind, oid, aim, place = line.split(" ", 4)
            if name == self._ref and (aim or kind != "commit"):
                raise UsageError(f"{self._ref} is {f'a name for {safe_line(aim)}' if aim else f'a {kind}'}, no branch")
            if name == self._ref:
                return oid, safe_line(place)
        return "", ""

    def _ours(self, bench: Bench, tip: str) -> list[_Ours]:
        """The session's commits on the branch, the newest first."""
        search = ("--fixed-strings", f"--grep=Proctor-Session: {self._session}", f"--max-age={self._since}")
        body = bench.theirs.run("cat-file", "--batch", input=bench.theirs.run("rev-list", *search, tip))
        found = []
        while body:
            head, _, body = body.partition(b"\n")
            commit, _, size = head.decode().split(" ")
            headers, _, message = text(body[: int(size)]).partition("\n\n")
            body = body[int(size) + 1 :]
            parent = next((line[7:] for line in headers.splitlines() if line.startswith("parent ")), "")
            block = message.rstrip().rpartition("\n\n")[2]
            trailers = dict(line.split(": ", 1) for line in block.splitlines() if line.startswith("Proctor-"))
            if trailers.get("Proctor-Session") == self._session:
                found.append(_Ours(commit, parent, trailers))
        return found

    def _holding(self, ours: list[_Ours], points: Mapping[str, str]) -> Point | None:
        """The checkpoint that the branch holds, by its newest commit of this session."""
        names = (one.trailers.get("Proctor-Checkpoint", "") for one in ours)
        return next((Point(name, points[name]) for name in names if name in points), None)

    def _user(self) -> str:
        """The worktree's git folder that is at work on the branch: still without a commit, rebasing, bisecting."""
        common = self._layout.common
        assert common is not None
        for folder in (common, *(common / "worktrees").glob("*")):
            for file, said in (
                ("HEAD", f"ref: {self._ref}"),
                ("rebase-merge/head-name", self._ref),
                ("rebase-apply/head-name", self._ref),
                ("BISECT_START", self.name),
            ):
                try:
                    if os.fsdecode((folder / file).read_bytes()).strip() == said:
                        return safe_line(str(folder))
                except OSError:
                    continue
        return ""

    # --- words --------------------------------------------------------------------------------

    def _message(self, done: Verified) -> str:
        line = safe_line(done.text)
        title = f"Task {_task(done)}: {safe_line(line, SUBJECT)}"
        body = [line, ""] if len(line) > SUBJECT else []
        trailers = [
            f"Proctor-Session: {self._session}",
            f"Proctor-Task: {_task(done)}",
            *(f"Proctor-Check: {safe_line(check)}" for check in done.checks),
            f"Proctor-Checkpoint: {done.at.id}",
        ]
        return "\n".join([title, "", *body, *trailers, ""])

    def _opening(self, last: Point) -> str:
        title = f"State at checkpoint {last.id} of session {self._session}"
        if last.id == self._start.id:
            title = f"State at the start of session {self._session}"
        return f"{title}\n\nProctor-Session: {self._session}\nProctor-Checkpoint: {last.id}\n"


def _theirs(bench: Bench, tip: str, ours: list[_Ours], made: Mapping[str, str]) -> set[bytes] | None:
    """The paths that the operator changed on the branch, between the session's commits, in them, and on top of them;
    None if that cannot be told."""
    found: set[bytes] = set()
    then = tip
    for one in ours:
        first = made.get(one.trailers.get("Proctor-Checkpoint", ""), "") if "Proctor-Task" in one.trailers else ""
        differing = bench.differing(first or one.commit, then) if (first or one.commit) != then else set()
        if differing is None:
            return None
        found |= differing
        then = one.parent
    return found


def _task(done: Verified) -> str:
    return safe_line(str(done.task), 64)
