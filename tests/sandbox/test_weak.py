from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.errors import Unrecoverable
from proctor.sandbox import landlock
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import DOOR, GATEWAY, Policy
from proctor.sandbox.run import Completed

Attempt = Callable[..., Completed]


@pytest.fixture
def weak_shell(policy: Policy, attempt: Attempt, tmp_path: Path) -> Callable[..., str]:
    def go(script: str, **changes: object) -> str:
        attempt(choose("weak"), replace(policy, **changes), "sh", "-c", script)  # type: ignore[arg-type]
        return (tmp_path / "said").read_text()

    return go


def test_the_home_cannot_be_read_and_nothing_else_written(
    weak_shell: Callable[..., str], home: Path, workspace: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside" / "file"
    outside.write_text("SECRET")
    said = weak_shell(
        f"cat {home}/.ssh/id {outside}; echo x > {outside}; touch {home}/x /tmp/x-weak; ls {home};"
        "echo x > inside && touch $HOME/x $TMPDIR/x && echo fine; echo $HOME"
    )
    assert "SECRET" not in said
    assert "fine" in said
    assert outside.read_text() == "SECRET"
    assert sorted(os.listdir(home)) == [".ssh"]
    assert (workspace / "inside").exists()
    assert not Path(said.splitlines()[-1]).exists()


def test_no_tcp_but_the_gateway_and_no_signals_out(weak_shell: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        script = f"""
import os, socket
for port in ({server.getsockname()[1]}, int(os.environ["URL"].rpartition(":")[2])):
    try:
        socket.create_connection(("127.0.0.1", port), 2)
        print("connected")
    except OSError as error:
        print(error.strerror)
try:
    os.kill({os.getpid()}, 0)
    print("signalled")
except OSError as error:
    print(error.strerror)
"""
        said = weak_shell(
            f"{sys.executable} -I -S -c '{script}'", listen=True, environment={"URL": f"http://{GATEWAY}"}
        )
    expected = "Operation not permitted" if landlock.version() >= 6 else "signalled"
    assert said.splitlines() == ["Permission denied", "connected", expected]


def test_the_door_is_named_by_its_real_place(weak_shell: Callable[..., str], tmp_path: Path) -> None:
    door = tmp_path / "door"
    door.mkdir()
    (door / "brief.md").write_text("do it")
    assert (
        weak_shell(
            "cat $BRIEF; touch $BRIEF.x 2>/dev/null || echo kept", door=door, environment={"BRIEF": f"{DOOR}/brief.md"}
        )
        == "do itkept\n"
    )


def test_a_copy_is_worked_in_where_it_lies(weak_shell: Callable[..., str], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    assert weak_shell("pwd; touch made", source=copy) == f"{copy}\n"
    assert (copy / "made").exists()


def test_plain_has_the_operator_s_environment(
    policy: Policy, attempt: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPERATORS", "own")
    attempt(
        choose("none"),
        replace(policy, environment={"GIVEN": "1"}),
        "sh",
        "-c",
        "echo $OPERATORS $GIVEN; pwd; ulimit -n",
    )
    assert (tmp_path / "said").read_text() == f"own 1\n{policy.workspace}\n4096\n"


def test_weak_is_refused_without_landlock(policy: Policy, monkeypatch: pytest.MonkeyPatch) -> None:
    choose("weak").selftest(policy)
    monkeypatch.setattr(landlock, "version", lambda: 3)
    with pytest.raises(Unrecoverable, match=r"Linux 6\.7"):
        choose("weak").selftest(policy)
