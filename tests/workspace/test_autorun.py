"""Which files tools run by themselves."""

from __future__ import annotations

import pytest

from proctor.workspace.autorun import autorun


@pytest.mark.parametrize(
    "path",
    [
        ".envrc",
        "deep/down/.envrc",
        ".vscode/tasks.json",
        "package/.husky/pre-commit",
        ".mcp.json",
        ".claude/settings.json",
        ".codex/config.toml",
        ".idea/workspace.xml",
        ".bashrc",
        ".gitconfig",
        ".cargo/config.toml",
        "all.code-workspace",
    ],
)
def test_a_file_that_a_tool_runs_by_itself_is_named(path: str) -> None:
    assert autorun(["src/app.py", path]) == (path,)


def test_ordinary_files_are_not() -> None:
    assert autorun(["Makefile", "src/envrc", "vscode/tasks.json", "cargo/config.toml", "tests/conftest.py"]) == ()
