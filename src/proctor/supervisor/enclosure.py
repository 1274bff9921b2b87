"""What surrounds a launch in a workspace that workers write: what is seen before it, the walls made of that, and what
is put right after it.

What the operator's git would execute is read-only while a worker runs, and what of that kind appeared meanwhile is
renamed afterwards. Only real walls can keep the two apart, so the weaker backends get none of it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from proctor.contract.model import Contract
from proctor.contract.values import AgentSettings, Git, SandboxKind
from proctor.errors import Unrecoverable
from proctor.repository import executed, hidden, layout, planted, session
from proctor.sandbox import agents
from proctor.sandbox.below import open_own
from proctor.sandbox.policy import Policy
from proctor.sandbox.survey import survey
from proctor.text import safe_line

BEFORE = "before.json"
"""In an iteration's folder: what was there of git when its worker was started."""

MOST_REPOSITORIES = 200
"""Repositories below the workspace's own; each takes two mounts, whose cost grows with the square of their number.
Likewise sockets and the like, folders that cannot be read, and settings of agents."""

LONGEST = os.pathconf("/", "PC_PATH_MAX") - 64
"""Bytes of a path that can be mounted over, with room for where bubblewrap mounts it first."""

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A launch's walls, and what was there before it; None where nothing is put right afterwards."""

    policy: Policy
    before: planted.Before | None


def enclose(policy: Policy, contract: Contract, repository: Path, say: Say = lambda line: None) -> Enclosure:
    """The walls of a launch in the workspace as it is now; `lift` follows it. Call it while no worker runs there.

    The session's own repository is made or kept at `repository`. `say` gets lines for the operator.
    """
    if contract.sandbox.kind is not SandboxKind.BWRAP:
        return Enclosure(policy, None)
    workspace = policy.workspace
    seen = survey(workspace)
    seen.must_be_whole(workspace)
    untrusted = contract.sandbox.agent_settings is AgentSettings.IGNORE
    blank = agents.present(workspace, seen.configured) if untrusted else ()
    specials = tuple(special.path for special in seen.specials)
    _must_be_few(workspace, seen.repositories, "git repositories", "work in one of them")
    _must_be_few(workspace, specials, "sockets, FIFOs and devices", "remove them")
    _must_be_few(workspace, seen.unread, "folders that cannot be read", "remove them, or give yourself access")
    _must_be_few(workspace, blank, "settings of agents", "work in a folder below it")
    _must_be_near(workspace, seen.configured if untrusted else (), "settings of agents", "remove them")
    found = layout.find(workspace)
    telling = tuple(hidden.telling(workspace, seen.repositories, policy.hide, repository.parent))
    for name in telling:
        say(f"{name} holds hidden files in its history, and is hidden itself")
    hide = _merged(policy.hide, telling)
    own = session.prepare(found, repository, contract.sandbox.git is Git.ALWAYS, say, hide, blank=blank)
    bare = planted.bare_repositories(workspace)
    orders = executed.executed(found, (*seen.repositories, *bare))
    before = planted.look(workspace, seen.repositories, orders, bare)
    walls = replace(
        policy,
        protect=_merged(policy.protect, executed.standing(workspace, (*seen.repositories, *orders)), seen.unread),
        hide=_merged(hide, specials),
        blank=blank,
        repository=own,
        environment={**session.environment(found), **policy.environment},
    )
    return Enclosure(walls, before)


def _must_be_few(workspace: Path, paths: Sequence[str], what: str, fix: str) -> None:
    """Unrecoverable where there are more than can be mounted over, or one whose path is too long for it."""
    if len(paths) > MOST_REPOSITORIES:
        said = f"{len(paths):,} {what}, too many to keep each from the worker (at most {MOST_REPOSITORIES})"
        raise Unrecoverable(f"{workspace} holds {said}, such as {safe_line(paths[0], 200)}: {fix}", "sandbox")
    _must_be_near(workspace, paths, what, fix)


def _must_be_near(workspace: Path, paths: Sequence[str], what: str, fix: str) -> None:
    for path in paths:
        if len(os.fsencode(workspace / path)) > LONGEST:
            said = f"{what} with a path too long to keep them from the worker"
            raise Unrecoverable(f"{workspace} holds {said}: {fix}; it begins with {safe_line(path, 80)}", "sandbox")


def lift(workspace: Path, before: planted.Before | None, repository: Path) -> tuple[planted.Renamed, ...]:
    """Renames what appeared since and the operator's git would obey, once no worker runs; says what.

    The session's own repository, at `repository`, is made one that no git works in before the next launch.
    """
    if before is None:
        return ()
    try:
        return planted.quarantine(workspace, before)
    finally:
        with contextlib.suppress(OSError):  # what cannot be read is put aside before the next launch
            session.rest(repository)


def reopen(workspace: Path) -> None:
    """Gives the workspace's owner access to it again, where a worker took it: all that is the session's lies there."""
    with contextlib.suppress(OSError):
        os.close(open_own(workspace))


def new_repositories(workspace: Path, before: planted.Before) -> tuple[str, ...]:
    """The `.git` that were not there before; a look while the worker runs, so a hint."""
    return tuple(name for name in survey(workspace).repositories if name not in before.repositories)


def remember(before: planted.Before | None, folder: Path) -> None:
    """Keep what was there before beside an iteration's other files, for a supervisor that finds its worker gone."""
    if before is not None:
        (folder / BEFORE).write_bytes(msgspec.json.encode(_escaped(before)))


def remembered(folder: Path) -> planted.Before | None:
    """What was kept; None if nothing was."""
    try:
        found = msgspec.json.decode((folder / BEFORE).read_bytes(), type=dict[str, dict[str, str]])
    except (OSError, msgspec.DecodeError):
        return None
    return planted.Before(**{part: _names(table, _read) for part, table in found.items()})


def _escaped(before: planted.Before) -> dict[str, dict[str, str]]:
    parts = {"repositories": before.repositories, "bare": before.bare, "executed": before.executed}
    return {part: _names(table, _shown) for part, table in parts.items()}


def _names(table: dict[str, str], how: Callable[[str], str]) -> dict[str, str]:
    return {how(name): how(text) for name, text in table.items()}


def _shown(name: str) -> str:
    """A name of any bytes as JSON can hold it: each byte as the character of its number."""
    return name.encode(errors="surrogateescape").decode("latin-1")


def _read(name: str) -> str:
    return name.encode("latin-1").decode(errors="surrogateescape")


def _merged(*lists: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for one in lists for path in one))
