from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.sandbox import bwrap, calls, explain, host, seccomp
from proctor.sandbox.mounts import Mounts
from proctor.sandbox.places import Is, options, places
from proctor.sandbox.policy import Limits, Policy, Repository, settled
from proctor.sandbox.running import Backend

MIB = 1 << 20


@pytest.fixture
def session(tmp_path: Path) -> Repository:
    (tmp_path / "session.git").mkdir()
    (tmp_path / "objects").mkdir()
    borrowed = ((tmp_path / "objects", Path("/run/objects/0")),)
    return Repository(tmp_path / "session.git", tmp_path / "outside/project/.git", None, borrowed)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    host._view.cache_clear()


def told(policy: Policy, backend: Backend) -> str:
    return "\n".join(explain.lines(policy, backend))


def section(text: str, heading: str) -> str:
    """What stands under a heading, with single spaces and no breaks within what belongs together."""
    found = text.partition(f"\n{heading}\n")[2].partition("\n\n")[0]
    return " ".join(found.split())


def test_every_mount_of_the_real_list_is_told(bwrap: Backend, policy: Policy, session: Repository) -> None:
    policy = settled(replace(policy, repository=session, blank=("src/app.py",), readonly=((Path("/etc"), Path("/x")),)))
    text = told(policy, bwrap)
    for place in explain.facts(policy, bwrap)["places"]:  # type: ignore[attr-defined]
        path = place["path"].replace(f"{policy.workspace}/", "./").replace(f"{host.homes()[0]}/", "~/")
        assert path in text.replace("'", ""), place


def test_a_mount_that_somebody_adds_shows(
    bwrap: Backend, policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Mounts.__init__

    def more(self: Mounts, *given: object) -> None:
        made(self, *given)  # type: ignore[arg-type]
        self.words += ["--bind", str(tmp_path), str(tmp_path)]

    assert f"also {tmp_path}" not in section(told(policy, bwrap), "It can write")
    monkeypatch.setattr(Mounts, "__init__", more)
    assert f"also {tmp_path}" in section(told(policy, bwrap), "It can write")


def test_walls_that_somebody_takes_away_are_missed(
    bwrap: Backend, policy: Policy, monkeypatch: pytest.MonkeyPatch
) -> None:
    walls = [word for word in bwrap_words() if word not in {"--unshare-net", "--cap-drop", "ALL"}]
    monkeypatch.setattr("proctor.sandbox.bwrap.WALLS", tuple(walls))
    monkeypatch.setattr(seccomp, "program", lambda *_, **__: seccomp.struct.pack("=HBBI", 0x06, 0, 0, seccomp.ALLOW))
    text = told(policy, bwrap)
    assert "network      all of yours" in text
    assert "capabilities root's" in text
    assert "closed" not in text


def bwrap_words() -> tuple[str, ...]:
    return bwrap.WALLS


@pytest.mark.parametrize(
    ("heading", "change", "said"),
    [
        ("It cannot read", {"hide": ("src",)}, "./src"),
        ("It can read", {"protect": ("src",)}, "./src"),
        ("It cannot move", {"protect": ("src/app.py",)}, "./src"),
        ("It can read", {"blank": ("src/app.py",)}, "./src/app.py = empty"),
        ("It can read", {"readonly": ((Path("/etc"), Path("/shown")),)}, "/shown which is /etc"),
        ("It can read", {"writable": False}, "workspace ."),
        ("It can reach", {"unix_sockets": False}, "it cannot make any"),
        ("It can reach", {"listen": True}, "127.0.0.1:8377"),
        ("It can write", {"limits": Limits(scratch=MIB)}, "1M each"),
        ("It runs with", {"limits": Limits(memory=768 * MIB)}, "768M of memory"),
        ("It runs with", {"environment": {"TOLD": "1"}}, "TOLD"),
    ],
)
def test_what_is_told_follows_the_policy(
    bwrap: Backend, policy: Policy, heading: str, change: dict[str, object], said: str
) -> None:
    said = said.replace("workspace .", f"workspace {policy.workspace}")
    assert said not in section(told(policy, bwrap), heading)
    assert said in section(told(replace(policy, **change), bwrap), heading)  # type: ignore[arg-type]


def test_a_repository_a_door_and_a_tool_show(
    bwrap: Backend, policy: Policy, session: Repository, home: Path, tmp_path: Path
) -> None:
    (home / ".nvm").mkdir()
    text = told(replace(policy, repository=session, door=tmp_path), bwrap)
    assert f"./.git which is {tmp_path}/session.git" in section(text, "It can write")
    assert f"/run/objects/0 which is {tmp_path}/objects" in section(text, "It can read")
    assert "~/.nvm" in section(text, "It can read")
    assert f"/run/proctor which is {tmp_path}" in section(text, "It can reach")


def test_weak_and_none_say_what_they_do_not_hold(policy: Policy, backend: Backend) -> None:
    text = told(policy, backend)
    assert backend.describe().split()[0] in text
    if backend.name == "weak":
        assert str(policy.workspace) in section(text, "It can write")
        assert "/etc" in section(text, "It can read")
        assert "no TCP" in text
        assert ".git and .proctor" in text
    if backend.name == "none":
        assert "whatever you can" in section(text, "It can write")
        assert "your network" in section(text, "Not held")
    assert all(len(line) <= explain.WIDTH or "/" in line for line in text.splitlines())
    json.dumps(explain.facts(policy, backend))


def test_hostile_names_do_not_reach_the_terminal(bwrap: Backend, policy: Policy, workspace: Path) -> None:
    for name in (b"a\x1b[2Jb", b"two\nlines", b"not \xff text"):
        os.mkdir(os.fsencode(workspace) + b"/" + name)
    names = tuple(name for name in os.listdir(workspace) if name[0] in "atn")
    text = told(replace(policy, protect=names), bwrap)
    assert "\x1b" not in text
    text.encode()


def test_arguments_are_read_as_bubblewrap_reads_them() -> None:
    words = [
        "--new-session",
        "--setenv",
        "A",
        "--bind",
        "--size",
        "5",
        "--tmpfs",
        "/t",
        "--unknown",
        "x",
        "--dir",
        "/d",
    ]
    assert list(options(words)) == [
        ("--new-session",),
        ("--setenv", "A", "--bind"),
        ("--size", "5"),
        ("--tmpfs", "/t"),
        ("--unknown", "x"),
        ("--dir", "/d"),
    ]
    assert [(place.path, place.kind, place.size) for place in places(words)] == [
        ("/t", Is.SCRATCH, 5),
        ("/d", Is.EMPTY, 0),
    ]
    buried = places(["--ro-bind", "/a", "/x/y", "--bind", "/b", "/x"])
    assert [place.kind for place in buried] == [Is.PIN, Is.WRITTEN]


def test_the_filter_itself_is_asked() -> None:
    shut, partly = calls.closed(seccomp.program())
    assert {"mount", "bpf", "keyctl"} <= set(shut)
    assert {"socket", "clone", "ioctl"} <= set(partly)
    assert not set(shut) & set(partly)
    assert calls.makes_unix_sockets(seccomp.program())
    assert not calls.makes_unix_sockets(seccomp.program(unix_sockets=False))
