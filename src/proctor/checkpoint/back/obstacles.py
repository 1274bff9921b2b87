"""What would stop a rollback half way, found before anything is touched: each path with its reason."""

from __future__ import annotations

import os
import pwd
import re
import stat
from collections.abc import Collection

from proctor.checkpoint.back.plan import Goal, folders_of, in_the_way, names_of
from proctor.checkpoint.back.shelf import is_folder, reached
from proctor.checkpoint.record import is_below, parents, text
from proctor.checkpoint.store.plumbing import Git
from proctor.text import safe_line

MOST = 20
"""Files of others that are named."""
_MOUNTS = "/proc/self/mountinfo"
_OCTAL = re.compile(rb"\\([0-7]{3})")


def obstacles(git: Git, goal: Goal, owned: Collection[bytes]) -> list[str]:
    """Lines `path: why it cannot be done`, sorted; none if nothing is in the way. `owned` is what no rollback moves."""
    found = {**_owners(git, goal), **_mounts(git, goal), **_cases(git, goal)}
    way = in_the_way(git, goal)
    found |= {path: "no part of a tree, and it would have to go" for path in owned if is_below(path, way)}
    return [f"{safe_line(path or b'.', 200)}: {why}" for path, why in sorted(found.items())]


def changing_hands(git: Git, goal: Goal) -> list[str]:
    """Lines about files of other users that are about to be written anew and so belong to this one."""
    me = os.geteuid()
    found = []
    there = reached(git.top, (delta.path for delta in goal.deltas))
    for delta in goal.deltas:
        state = _state(git, delta.path) if delta.path in there else None
        if state and delta.new_mode and stat.S_ISREG(state.st_mode) and state.st_uid != me:
            found.append(f"{safe_line(delta.path, 200)}: was {_name(state.st_uid)}'s, is {_name(me)}'s now")
    more = [f"and {len(found) - MOST} more files of others"] if len(found) > MOST else []
    return found[:MOST] + more


def closed(git: Git, goal: Goal) -> list[bytes]:
    """Folders that must be opened for the way, relative to the workspace."""
    folders = {parent for path in goal.touched | goal.leaving for parent in (*parents(path), b"")} | goal.leaving
    places = sorted(reached(git.top, folders))
    return [path for path in places if is_folder(_at(git, path)) and not os.access(_at(git, path), os.W_OK | os.X_OK)]


# --- owners ---------------------------------------------------------------------------------------


def _owners(git: Git, goal: Goal) -> dict[bytes, str]:
    """Folders that cannot be opened, and files that only their owner may remove or change."""
    me = os.geteuid()
    found = {}
    for folder in closed(git, goal):
        if os.statvfs(_at(git, folder)).f_flag & os.ST_RDONLY:
            found[folder] = "on a read-only file system"
        elif (owner := os.lstat(_at(git, folder)).st_uid) != me:
            found[folder] = f"a folder of {_name(owner)}'s, not writable for you"
    written = {delta.path for delta in goal.deltas}
    for path in reached(git.top, goal.touched):
        state = _state(git, path)
        if state is None or state.st_uid == me or (me == 0 and _is_mapped(state.st_uid)):
            continue
        if path not in written:
            found[path] = f"{_name(state.st_uid)}'s; only its owner may change its mode"
        elif _is_sticky(git, path, me):
            found[path] = f"{_name(state.st_uid)}'s, in a folder where only its owner may remove it"
    return found


def _is_mapped(uid: int) -> bool:
    """Whether this name space knows a user: root has no power over the files of others."""
    with open("/proc/self/uid_map", "rb") as file:
        ranges = [tuple(map(int, line.split())) for line in file]
    return any(first <= uid < first + count for first, _, count in ranges)


def _is_sticky(git: Git, path: bytes, me: int) -> bool:
    folder = os.lstat(_at(git, path.rpartition(b"/")[0]))
    return bool(folder.st_mode & stat.S_ISVTX) and folder.st_uid != me


# --- mount points ---------------------------------------------------------------------------------


def mounts_below(top: bytes) -> set[bytes]:
    """What is mounted inside a folder, relative to it."""
    real = os.path.realpath(top) + b"/"
    with open(_MOUNTS, "rb") as file:
        points = [_OCTAL.sub(lambda code: bytes([int(code[1], 8)]), line.split(b" ")[4]) for line in file]
    return {point[len(real) :] for point in points if point.startswith(real)}


def _mounts(git: Git, goal: Goal) -> dict[bytes, str]:
    """Mount points that would have to be removed, moved aside or replaced."""
    mounts = mounts_below(git.top)
    if not mounts:
        return {}
    before, after = (folders_of(git, held.files) | held.manifest.hollow for held in (goal.present, goal.coming))
    going = (before - after) | {delta.path for delta in goal.deltas} | in_the_way(git, goal)
    return dict.fromkeys(mounts & going, "something is mounted there; unmount it first")


# --- names that differ in case only ---------------------------------------------------------------


def _cases(git: Git, goal: Goal) -> dict[bytes, str]:
    """Files that come or go and are one with another file here, because upper and lower case are the same."""
    known: dict[bytes, bool] = {}

    def folds(path: bytes) -> bool:
        folder = next(folder for folder in (*reversed(list(parents(path))), b"") if is_folder(_at(git, folder)))
        if folder not in known:
            known[folder] = folds_case(_at(git, folder))
        return known[folder]

    suspects = [path for path in (*goal.new, *goal.gone) if folds(path)]
    if not suspects:
        return {}
    names: dict[str, set[bytes]] = {}
    for path in (*names_of(git, goal.coming.files), *goal.gone):
        names.setdefault(text(path).casefold(), set()).add(path)
    return {
        path: f"one name with {safe_line(other, 100)} here, where upper and lower case are the same"
        for path in suspects
        for other in sorted(names[text(path).casefold()] - {path})
    }


def folds_case(folder: bytes) -> bool:
    """Whether upper and lower case are the same in a folder: asked of what stands there."""
    names = set(os.listdir(folder))
    name = next((name for name in names if name.swapcase() not in names), None)
    return name is not None and os.path.lexists(os.path.join(folder, name.swapcase()))


# --- small things ---------------------------------------------------------------------------------


def _state(git: Git, path: bytes) -> os.stat_result | None:
    try:
        return os.lstat(_at(git, path))
    except OSError:
        return None


def _name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"


def _at(git: Git, path: bytes) -> bytes:
    return git.top + b"/" + path
