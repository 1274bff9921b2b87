"""Rules that stand above a workspace mean the same once they are said for it: git itself compares."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.repository import rules
from repository.conftest import git

PATHS = [
    "a.o", "build/x", "deep/build/x", "deep/a.o", "one/x", "tmp/x", "deep/tmp/x", "proj", "proj/x", "b c/x", "x", "y#",
    "foo/bar/baz", "foo/baz", "docs/deep/a.md", "docs/a.md",
]  # fmt: skip
PATTERNS = [
    "*.o", "build", "build/", "/build", "/apps/proj/build", "apps/proj/build/", "apps/*/build", "/*/proj/tmp",
    "a?ps/proj/x", "[a-c]pps/proj/x", "[!a]pps/proj/x", "**/build", "/**/tmp", "apps/**", "apps/**/x",
    "apps/proj/**/x", "apps/proj/**", "/apps", "apps/", "proj", "/proj", "proj/x", "other/x", "foo/**/baz",
    "**/foo/baz", "apps/proj/foo/**/baz", "docs/*.md", "apps/proj/docs/*.md", "apps/proj", "/apps/proj/",
    "b\\ c", "apps/proj/b\\ c", "# a comment", "apps/proj/y\\#", "!*.o", "*", "x   ", "apps/**/docs/**",
    "**/proj/x", "**/apps/**/x", "**", "**/proj", "**/proj/**", "**/**/x",
]  # fmt: skip
BELOW = "apps/proj"


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    """The same files below a top, and at the top of another repository."""
    whole, part = tmp_path / "whole", tmp_path / "part"
    for place in (whole / BELOW, part):
        for name in PATHS:
            path = place / name
            if path.name != "proj" or not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                if name != "proj":
                    path.touch()
    for place in (whole, part):
        git(place, "init", "-q")
    return whole, part


def test_ignores_hide_the_same_files(places: tuple[Path, Path]) -> None:
    whole, part = places
    for pattern in (*PATTERNS, "*.o\n!a.o", "/apps/*\n!/apps/proj", "build\n!/apps/proj/build"):
        (whole / ".gitignore").write_text(f"{pattern}\n")
        (part / ".git" / "info" / "exclude").write_text(rules.ignores(f"{pattern}\n", BELOW))
        shown = git(whole / BELOW, "ls-files", "--others", "--exclude-standard").split("\n")
        assert git(part, "ls-files", "--others", "--exclude-standard").split("\n") == shown, pattern


def test_attributes_are_of_the_same_files(places: tuple[Path, Path]) -> None:
    whole, part = places
    for pattern in PATTERNS:
        line = f"{pattern.strip()} marked\n[attr]kind -text\nx kind\n"
        (whole / ".gitattributes").write_text(line)
        (part / ".git" / "info" / "attributes").write_text(rules.attributes(line, BELOW))
        marked = git(whole / BELOW, "check-attr", "marked", "text", "--", *PATHS)
        assert git(part, "check-attr", "marked", "text", "--", *PATHS) == marked, pattern
