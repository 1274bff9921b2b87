"""Between any two trees of few names and all kinds of files, the way back gives what was there, whole or in part."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from checkpoint.photo import photograph, unlike
from proctor.checkpoint.repository import Store

PATHS = st.lists(st.sampled_from([b"a", b"-d", b"A"]), min_size=1, max_size=3).map(b"/".join)
KINDS = st.sampled_from(["file", "file", "file", "folder", "fifo", "link", "name", "gone", "mode", "attribute"])
STEPS = st.lists(st.tuples(KINDS, PATHS, PATHS, st.sampled_from([0o644, 0o755, 0o600, 0o444])), min_size=1, max_size=8)


def step(top: bytes, kind: str, path: bytes, other: bytes, mode: int) -> None:
    """Let something be at a path, whatever was there; nothing, where what is above is no folder."""
    place, second = top + b"/" + path, top + b"/" + other
    if not made(top, path) or (kind == "name" and not made(top, other)):
        return
    is_file = os.path.isfile(place) and not os.path.islink(place)
    if kind in ("mode", "attribute"):
        if is_file and kind == "mode":
            os.chmod(place, mode)
        elif is_file:
            os.setxattr(place, "user.note", b"%o" % mode)
    elif kind == "name":
        if is_file and not place.startswith(second):
            clear(second)
            os.link(place, second)
    else:
        clear(place)
        if kind == "file":
            with open(place, "wb") as file:
                file.write(other)
            os.chmod(place, mode)
        elif kind == "folder":
            os.mkdir(place, mode | 0o700)
        elif kind == "fifo":
            os.mkfifo(place)
        elif kind == "link":
            os.symlink(path.partition(b"/")[2] or b"a", place)


def made(top: bytes, path: bytes) -> bool:
    """Whether the folders above a path are there, or could be made."""
    for part in path.split(b"/")[:-1]:
        top += b"/" + part
        if os.path.islink(top) or (os.path.lexists(top) and not os.path.isdir(top)):
            return False
        os.makedirs(top, exist_ok=True)
    return True


def clear(place: bytes) -> None:
    if os.path.isdir(place) and not os.path.islink(place):
        shutil.rmtree(place)
    elif os.path.lexists(place):
        os.unlink(place)


def goes_back(
    first: list[tuple[str, bytes, bytes, int]], then: list[tuple[str, bytes, bytes, int]], tops: list[bytes]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder, "work")
        (work / ".proctor").mkdir(parents=True)
        (work / ".proctor/.gitignore").write_text("*\n")
        store = Store(work, work / ".proctor/checkpoints.git")
        for one in first:
            step(os.fsencode(work), *one)
        target, wanted = store.snapshot("c1").commit, photograph(work, nested_git=False)
        for one in then:
            step(os.fsencode(work), *one)
        safety, before = store.snapshot("c2").commit, photograph(work, nested_git=False)
        store.restore(safety, target, [os.fsdecode(top) for top in tops])
        assert not unlike(photograph(work, nested_git=False), before, wanted, tops)


@pytest.mark.parametrize("examples", [20, pytest.param(1000, marks=pytest.mark.cases)])
def test_the_way_back_between_any_two_trees(examples: int) -> None:
    phases = [Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink]
    how = settings(max_examples=examples, phases=phases, deadline=None, suppress_health_check=list(HealthCheck))
    how(given(STEPS, STEPS, st.lists(PATHS, max_size=2))(goes_back))()
