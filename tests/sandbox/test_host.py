from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from proctor.sandbox import host


@pytest.fixture(autouse=True)
def fresh() -> None:
    host._view.cache_clear()
    host._homes.cache_clear()


def test_only_the_home_is_masked_where_its_neighbours_are_the_system() -> None:
    view = host._view("/opt/ci", "")
    assert (view.home, view.masks) == (Path("/opt/ci"), (Path("/opt/ci"),))


def test_the_neighbours_of_a_home_below_the_system_are_masked_with_it() -> None:
    assert host._view("/usr/home/operator", "").masks == (Path("/usr/home"),)


def test_a_home_elsewhere_needs_no_mask() -> None:
    assert host._view("/data/people/operator", "").masks == ()


def test_a_user_without_account_and_home_has_a_scratch_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for home in ("", "/"):
        view = host._view(home, "")
        assert (view.home, view.homes) == (Path("/home/worker"), ())


def test_programs_come_back_and_nothing_around_them(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in ("home/.local/bin", "home/.ssh", "env/bin", "env/lib", "project/bin", "project/secrets"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "env/pyvenv.cfg").touch()
    (tmp_path / "linked").symlink_to(tmp_path / "project" / "bin")
    path = [
        tmp_path / "env/bin",
        tmp_path / "linked",
        tmp_path / "nothing",
        "/usr/bin",
        "/mnt/c/Windows",
        home,
        "relative",
    ]
    view = host._view(str(home), os.pathsep.join(map(str, path)))
    assert {tool.relative_to(tmp_path).as_posix() for tool in view.tools if tool.is_relative_to(tmp_path)} == {
        "home/.local/bin",
        "env",
        "project/bin",
    }
    assert (str(tmp_path / "project" / "bin"), tmp_path / "linked") in view.links


def test_what_variables_name_comes_back_but_for_what_holds_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cargo/bin", "cargo/registry", "rustup/toolchains", "home/.ssh"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "cargo/credentials.toml").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for variable, name in (("CARGO_HOME", "cargo"), ("RUSTUP_HOME", "rustup"), ("GOROOT", "home")):
        monkeypatch.setenv(variable, str(tmp_path / name))
    shown = {tool.relative_to(tmp_path).as_posix() for tool in host.view().tools if tool.is_relative_to(tmp_path)}
    assert shown == {"cargo/bin", "cargo/registry", "rustup"}


def test_a_program_of_ours_is_always_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/sbin:.:bin")
    first, *others = host.environment()["PATH"].split(os.pathsep)
    assert first == "/sbin"
    assert others == [str(host.OWN[0] / "bin")]
