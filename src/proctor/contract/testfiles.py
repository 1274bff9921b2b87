"""The files that test runners take for tests by their names: what checks rest on, wherever it stands."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
from pathlib import Path

from proctor.trees import walk

TEST_FOLDERS = ("tests", "test", "__tests__", "spec", "e2e")
SKIPPED = frozenset({"node_modules", "venv", "site-packages", "build", "dist", "target", "__pycache__", "vendor"})
"""Folders with what is installed or built."""
ENTRIES = 20_000
"""Files that are looked at, of a huge tree."""
_DEPTH = 12
_READ = 256 * 1024
_NAME = re.compile(
    r"tests?(?:_.*)?\.py|.*_test\.py|.*[.-](?:test|spec|cy)\.[cm]?[jt]sx?|.*_test\.[cm]?[jt]s|test(?:-.*)?\.[cm]?js"
    r"|.*_test\.go|.*Tests?\.(?:java|kt|cs|php)|.*_(?:spec|test)\.rb|.*\.bats"
)
_INSIDE = re.compile(r".*\.(?:rs|[cm]?[jt]sx?)")
"""What is a test by the folder it stands in: cargo's `tests`, jest's `__tests__`, node's `test`."""
_IN_SOURCES = re.compile(r"^\s*#\[(?:\w+::)?test\]", re.MULTILINE)


def found(workspace: Path) -> tuple[str, ...]:
    """Their paths in the workspace, in order; of a huge workspace those among its first files."""
    return tuple(path for path in files(workspace) if _is_test(workspace, path))


def areas(paths: Collection[str]) -> tuple[str, ...]:
    """Paths to protect for some tests: the folder where it is one of tests, else the file."""
    return tuple(dict.fromkeys(_area(path) for path in paths))


def uncovered(paths: Collection[str], protected: Collection[str]) -> tuple[str, ...]:
    """The paths that are neither among some areas nor below one of them."""
    tops = {os.path.normpath(area) for area in protected}
    return tuple(path for path in paths if tops.isdisjoint(_upward(path)))


def in_sources(workspace: Path) -> tuple[str, ...]:
    """Rust sources that hold tests beside the code."""
    rust = (path for path in files(workspace) if path.endswith(".rs") and not _is_test(workspace, path))
    return tuple(path for path in rust if _IN_SOURCES.search(text(workspace / path)))


def _is_test(workspace: Path, path: str) -> bool:
    *folders, name = path.split("/")
    if _NAME.fullmatch(name):
        return True
    if not _INSIDE.fullmatch(name):
        return False
    if name.endswith(".rs"):
        return folders[-1:] == ["tests"] and (workspace / Path(*folders).parent / "Cargo.toml").is_file()
    return "__tests__" in folders or ("test" in folders and not name.endswith(".d.ts"))


def _area(path: str) -> str:
    folders = path.split("/")[:-1]
    at = next((n for n, name in enumerate(folders, 1) if name in TEST_FOLDERS), 0)
    return "/".join(folders[:at]) or path


def _upward(path: str) -> Iterator[str]:
    parts = path.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts) + 1))


def files(workspace: Path, entries: int = ENTRIES, deep: int = _DEPTH) -> Iterator[str]:
    """The first files of a workspace, in order, but for hidden folders and those with what is installed or built."""
    room = entries
    for folder, folders, names in walk(os.fspath(workspace)):
        here = os.path.relpath(folder, workspace)
        depth = 0 if here == "." else here.count(os.sep) + 1
        kept = (name for name in folders if name not in SKIPPED and not name.startswith("."))
        folders[:] = sorted(kept) if depth < deep else []
        for name in sorted(names):
            room -= 1
            if room <= 0:
                return
            yield name if here == "." else f"{here}/{name}"


def text(path: Path) -> str:
    """The beginning of a file, which may be a pipe; nothing where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace", opener=lambda p, f: os.open(p, f | os.O_NONBLOCK)) as file:
            return file.read(_READ)
    except OSError:
        return ""
