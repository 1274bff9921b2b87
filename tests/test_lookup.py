"""A program of the host is never one that a worker can have written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from proctor.lookup import find_program, search_path


def program(folder: Path, name: str = "tool") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "proctor.yaml").touch()
    return folder


def path(*folders: Path) -> str:
    return os.pathsep.join(map(str, folders))


def test_the_first_on_path_outside_of_a_workspace_is_taken(workspace: Path, tmp_path: Path) -> None:
    program(workspace / ".venv" / "bin")
    program(workspace)
    good = program(tmp_path / "bin")
    program(tmp_path / "later")
    where = path(workspace / ".venv" / "bin", workspace, tmp_path / "bin", tmp_path / "later")
    assert find_program("tool", where) == good
    assert search_path(where) == path(tmp_path / "bin", tmp_path / "later")


def test_a_folder_with_a_session_and_no_contract_is_a_workspace(workspace: Path) -> None:
    program(workspace / "bin")
    (workspace / "proctor.yaml").unlink()
    assert find_program("tool", path(workspace / "bin"))
    (workspace / ".proctor").mkdir()
    assert find_program("tool", path(workspace / "bin")) is None


def test_a_way_into_a_workspace_is_not_taken(workspace: Path, tmp_path: Path) -> None:
    planted = program(workspace / "bin")
    (tmp_path / "folder").symlink_to(workspace / "bin")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "tool").symlink_to(planted)
    assert find_program("tool", path(tmp_path / "folder", tmp_path / "links")) is None


def test_a_way_through_a_workspace_is_not_taken(workspace: Path, tmp_path: Path) -> None:
    program(tmp_path / "bin")
    (workspace / "turn").symlink_to(tmp_path / "bin")
    assert find_program("tool", path(workspace / "turn")) is None


@pytest.mark.parametrize("entry", ["", ".", "bin", "../work/bin"])
def test_a_relative_entry_is_passed_over(
    entry: str, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "proctor.yaml").unlink()
    program(workspace / "bin")
    program(workspace)
    monkeypatch.chdir(workspace)
    good = program(tmp_path / "good")
    assert find_program("tool", f"{entry}:{tmp_path}/good") == good
    assert find_program("tool", entry) is None


def test_without_a_path_the_process_has_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = program(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_program("tool") == good
    monkeypatch.delenv("PATH")
    assert find_program("sh") is not None
