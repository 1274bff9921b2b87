"""Programs outside the system's folders run inside, and bring no secret with them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.sandbox import host, programs
from proctor.sandbox.policy import Policy

from .conftest import Shell

SECRETS = (".ssh/id", ".config/app/token", ".claude/.credentials.json", ".claude/settings.json", ".netrc",
           ".aws/credentials", ".cargo/credentials.toml", ".local/share/uv/credentials/key", "notes")  # fmt: skip


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    yield
    host._view.cache_clear()
    host._homes.cache_clear()


@pytest.fixture
def mine(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home full of secrets, with its own folder for programs on PATH."""
    for name in SECRETS:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("SECRET")
    (home / ".local/bin").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{home}/.local/bin:{os.environ['PATH']}")
    return home


def program(path: Path, text: str = "#!/bin/sh\necho it runs\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def link(path: Path, target: str | Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)
    return path


def by_versions(home: Path) -> str:
    program(home / ".local/share/agent/versions/2.0")
    link(home / ".local/bin/agent", home / ".local/share/agent/versions/2.0")
    return "agent"


def by_node(home: Path) -> str:
    """A script in a package, run by an interpreter of the operator's, both reached through links."""
    package = home / "tools/lib/node_modules/@some/agent"
    program(package / "cli.js", "#!/usr/bin/env -S mynode --flag\nthe script\n")
    (home / "tools/lib/node_modules/dependency").mkdir()
    link(home / "tools/bin/agent", "../lib/node_modules/@some/agent/cli.js")
    link(home / ".local/bin/agent", "../../tools/bin/agent")
    runtime = program(
        home / "runtimes/v1/bin/mynode",
        '#!/bin/sh\ntest -d "$(dirname "$(readlink -f "$2")")/../../dependency" && echo it runs\n',
    )
    link(home / ".local/bin/mynode", runtime)
    return "agent"


def by_environment(home: Path) -> str:
    base = home / "pythons/3"
    (base / "include").mkdir(parents=True)
    program(
        base / "bin/python3",
        f"#!/bin/sh\ntest -e {base}/include && test -e {home}/venvs/agent/lib/it && echo it runs\n",
    )
    place = home / "venvs/agent"
    (place / "lib").mkdir(parents=True)
    (place / "lib/it").touch()
    (place / "pyvenv.cfg").touch()
    link(place / "bin/python", base / "bin/python3")
    program(place / "bin/agent", f"#!{place}/bin/python\n")
    link(home / ".local/bin/agent", place / "bin/agent")
    return "agent"


def by_an_interpreter_alone(home: Path) -> str:
    by_environment(home)
    return f"{home}/venvs/agent/bin/python"


def by_a_folder_s_link(home: Path) -> str:
    program(home / "store/agent-1/run")
    link(home / "store/current", "agent-1")
    return f"{home}/store/current/run"


def in_the_home_itself(home: Path) -> str:
    program(home / "agent")
    return f"{home}/agent"


def in_the_midst_of_secrets(home: Path) -> str:
    program(home / ".claude/agent")
    link(home / ".local/bin/agent", home / ".claude/agent")
    return "agent"


def beside_the_workspace(home: Path) -> str:
    (home / "work/sibling").mkdir(parents=True)
    (home / "work/sibling/key").write_text("SECRET")
    program(home / "work/agent")
    return f"{home}/work/agent"


WAYS = [by_versions, by_node, by_environment, by_an_interpreter_alone, by_a_folder_s_link, in_the_home_itself,
        in_the_midst_of_secrets, beside_the_workspace]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_program_runs_and_shows_no_secret(shell: Shell, mine: Path, way: object) -> None:
    name = way(mine)  # type: ignore[operator]
    workspace = mine / "work/project"
    workspace.mkdir(parents=True)
    code, said = shell(
        f"{name}; grep -rlI SECRET {mine} 2>/dev/null; true", workspace=workspace, programs=(name,), protect=(), hide=()
    )
    assert (code, said) == (0, "it runs\n")


def test_without_being_named_it_is_not_there(shell: Shell, mine: Path) -> None:
    by_versions(mine)
    assert shell("agent")[0] == 127


def test_what_comes_along_cannot_be_written(shell: Shell, mine: Path) -> None:
    by_versions(mine)
    place = mine / ".local/share/agent/versions"
    code, said = shell(f"touch {place}/x || rm {place}/2.0 || echo closed", programs=("agent",))
    assert (code, said.splitlines()[-1]) == (0, "closed")


@pytest.mark.parametrize("named", ["nothing-like-it", "./relative", "/no/such/program", "sh", ""])
def test_a_name_that_leads_nowhere_brings_nothing(policy: Policy, named: str) -> None:
    assert host.view(policy.workspace, (named,)) == host.view(policy.workspace)


def test_a_loop_of_links_or_of_interpreters_ends(home: Path) -> None:
    link(home / "a", "b")
    link(home / "b", "a")
    assert programs.trail(home / "a") == ((), home / "a")
    program(home / "loop", f"#!{home}/loop\n")
    assert next(iter(programs.needed([f"{home}/loop"], "", (home,), None))) == home / "loop"


@pytest.mark.parametrize("name", [*programs.PRIVATE, ".", "..", ".local", ".local/share", ".ssh/bin", ".config/x"])
def test_no_private_place_nor_a_folder_around_it_may_be_shown(home: Path, name: str) -> None:
    assert not programs.may_show(Path(os.path.normpath(home / name)), (home,))


@pytest.mark.parametrize("name", programs.TOOLS)
def test_every_folder_of_tools_may(home: Path, name: str) -> None:
    assert programs.may_show(home / name, (home,))


def test_path_shows_no_secret(shell: Shell, mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = ("", ".config", ".ssh", ".claude", ".local", ".cargo", ".local/share/uv")
    path = os.pathsep.join(str(mine / name) for name in folders)
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:{path}")
    code, said = shell(f"grep -rl SECRET {mine}; true")
    assert (code, said) == (0, "")


@pytest.mark.parametrize("how", ["a folder on PATH", "a program", "a script"])
def test_nothing_that_a_worker_wrote_brings_anything_along(
    shell: Shell, workspace: Path, mine: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """An environment of the workspace, as is on PATH where it is activated, turned elsewhere by an earlier run."""
    other = program(mine / "other/bin/tool", "#!/bin/sh\necho SECRET\n")
    place = workspace / ".venv/bin"
    if how == "a folder on PATH":
        link(place, other.parent)
    elif how == "a program":
        link(place / "tool", other)
    else:
        program(place / "tool", f"#!{other}\n")
    monkeypatch.setenv("PATH", f"{place}:{os.environ['PATH']}")
    assert "SECRET" not in shell(f"cat {other}; tool; {place}/tool", programs=("tool", f"{place}/tool"))[1]


def test_this_program_is_not_in_a_worker_s_hands(
    shell: Shell, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever in the workspace it is: interpreter, packages on the interpreter's path, scripts, bwrap."""
    package = Path(host.__file__).parents[1]
    assert all((package / "sandbox" / name).exists() for name in ("guard.py", "keeper.py"))
    assert {package.resolve(), Path(sys.prefix).resolve()} <= host.own()
    (workspace / "packages/dependency").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(workspace / "packages"))
    host.own.cache_clear()
    try:
        code, said = shell("touch packages/dependency/x || mv packages other || echo held")
    finally:
        host.own.cache_clear()
    assert (code, said.splitlines()[-1]) == (0, "held")
