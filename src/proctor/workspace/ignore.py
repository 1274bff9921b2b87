"""Which folders and files are not worth watching. An approximation of git's rules: the feed is only a hint."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from proctor.errors import ProctorError
from proctor.workspace import files

ALWAYS = frozenset({".git", ".hg", ".svn", ".proctor", ".venv", "node_modules", "__pycache__"})
MARKERS = frozenset({"CACHEDIR.TAG", "pyvenv.cfg"})
"""A folder that holds one of these is a cache, a build folder or a virtual environment."""

_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True)
class Ignore:
    """What to leave out, by the last part of a path or by the whole path."""

    names: re.Pattern[str]
    folders: re.Pattern[str]
    kept: re.Pattern[str]
    paths: frozenset[str] = frozenset()

    def __call__(self, path: str, folder: bool) -> bool:
        """Whether to leave out the file or folder at this path, relative to the workspace."""
        name = path.rpartition("/")[2]
        if name in ALWAYS:
            return True
        found = self.names.fullmatch(name) or (folder and self.folders.fullmatch(name)) or path in self.paths
        return bool(found) and not self.kept.fullmatch(name)


def load(workspace: Path) -> Ignore:
    """The rules of the workspace's top `.gitignore`; a file that cannot be read has none."""
    try:
        text = files.read_optional(workspace, ".gitignore", _LIMIT) or ""
    except ProctorError:
        text = ""
    return parse(text)


def parse(text: str) -> Ignore:
    """The simple rules of a `.gitignore`: names and whole paths. Rules with wildcards and slashes are passed over."""
    names: list[str] = []
    folders: list[str] = []
    kept: list[str] = []
    paths: set[str] = set()
    for line in text.splitlines():
        rule = line.strip()
        if not rule or rule.startswith("#") or "\\" in rule:
            continue
        negated, rule = rule.startswith("!"), rule.removeprefix("!")
        bare = rule.removesuffix("/").removeprefix("**/")
        if "/" not in bare:
            (kept if negated else folders if rule.endswith("/") else names).append(bare)
        elif not negated and not set(bare) & set("*?["):
            paths.add(bare.removeprefix("/"))
    return Ignore(_any(names), _any(folders), _any(kept), frozenset(paths))


def _any(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns) or r"(?!)")
