"""A checkpoint as a branch of the operator's own repository, on top of what he has checked out."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from proctor.checkpoint.export import Exported, left_out, named
from proctor.checkpoint.record import is_below, raw, text
from proctor.checkpoint.repository import Store
from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.plumbing import Git, split
from proctor.errors import UsageError
from proctor.repository.bench import Bench
from proctor.repository.branch import PREFIX, refusal
from proctor.repository.layout import Layout
from proctor.text import safe_line

_NONE = "0" * 40
_HEADS = "refs/heads/"


def branch(
    layout: Layout,
    store: Store,
    commit: str,
    *,
    start: str,
    scratch: Path,
    name: str,
    message: str,
    hidden: Iterable[str],
) -> Exported:
    """Make the branch `name` one commit ahead of HEAD, with the files of a checkpoint as the operator's git would
    have them. It is checked out nowhere, and nothing else in the repository changes.

    A branch that is there is moved only forward, from something that HEAD has, and never under a worktree. `commit`
    is the checkpoint's, `start` that of the session's first one, whose ignore rules count; `hidden` are paths that
    stay at home.
    """
    if why := refusal(layout):
        raise UsageError(f"{layout.workspace}: no branch can be made here: {why}; --bundle writes a file instead")
    if name.startswith(PREFIX):
        raise UsageError(f"{safe_line(name, 80)}: branches below {PREFIX} are the sessions' own; choose another name")
    away = frozenset(raw(path.rstrip("/")) for path in hidden)
    held = store.held(commit)
    with Bench(scratch, layout, store, map(text, away)) as bench:
        ref = _HEADS + name
        _check(bench.theirs, ref, name)
        head, tip = bench.head(), _tip(bench.theirs, ref, name)
        if tip and not _is_ancestor(bench.theirs, tip, head):
            raise UsageError(f"there is a branch {name} already, with commits that HEAD has not; choose another name")
        bench.begin(head)
        bench.become(held, store.held(start))
        made = bench.commit(head, message)
        bench.hand_over()
        bench.theirs.run("update-ref", "--no-deref", ref, made, tip or _NONE)
        there = set(split(bench.theirs.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", made)))
    prefix = f"{layout.prefix}/" if layout.prefix else ""
    files = {raw(one.path) for one in store.entries(commit)}
    secret = {path for path in files if path in held.notes.ignored or is_below(path, away)}
    lacking = {path for path in files - secret if raw(prefix) + path not in there}
    more = (f"not in the commit, by the rules of your git: {named(lacking)}",) if lacking else ()
    return Exported(made, len(files - secret - lacking), (*left_out(held, secret), *more))


def _check(theirs: Git, ref: str, name: str) -> None:
    with contextlib.suppress(GitFailed):
        if not name.startswith("-"):  # a ref of that name could be made, and hardly be named
            theirs.run("check-ref-format", ref)
            return
    raise UsageError(f"{safe_line(name, 80)!r} cannot name a branch")


def _tip(theirs: Git, ref: str, name: str) -> str:
    """The commit that the branch is at, "" for none. UsageError where it is checked out."""
    form = "--format=%(refname) %(objectname) %(symref) %(worktreepath)"
    listed = theirs.run("for-each-ref", form, ref, config=("core.bare=false",))
    for line in text(listed).splitlines():
        found, oid, aim, place = line.split(" ", 3)
        if found == ref:
            if aim or place:
                where = f"is checked out in {safe_line(place)}" if place else f"is a name for {safe_line(aim)}"
                raise UsageError(f"the branch {name} {where}, and is not moved under it; choose another name")
            return oid
    return ""


def _is_ancestor(theirs: Git, tip: str, head: str) -> bool:
    if not head:
        return False
    with theirs.start("merge-base", "--is-ancestor", tip, head) as run:
        try:
            run.output()
        except GitFailed:
            return False
    return True
