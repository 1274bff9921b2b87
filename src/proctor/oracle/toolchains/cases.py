"""Data of tests that checks take whatever there is of it: by a pattern, or all of a folder. Pure.

One that is gone is missed by nobody, as a test would be. What is only worked on so (`for f in src/*.json`) may be the
work: so only what lies in a folder called like tests, or like what they hold, counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatchcase
from itertools import islice

from proctor.oracle.toolchains.mentions import SOURCE, places

_TAKES = re.compile(r"\*|\b(?:iterdir|listdir|scandir|walk|readdir(?:Sync)?|ReadDir|read_dir|each_child|children)\b")
_ALL = re.compile(r"\b(?:iterdir|listdir|scandir|walk|readdir(?:Sync)?|ReadDir|WalkDir|read_dir|each_child|children)\b")
_DEEP = re.compile(r"\brglob\b")
_PATTERN = re.compile(r"(?<![\w*$.-])(?:\./)?((?:[\w.*-]+/)*[\w.-]*\*[\w.*-]*)(?![\w*/])")
_ENDS = re.compile(r".*\*(?:\.\w+)+|.*/[\w.-]*\*[\w.-]*")
_QUOTED = re.compile(r"[\"'](?:\./)?([\w-][\w.-]*(?:/[\w.-]+)*)/?[\"']")
_CASES = r"cases?|goldens?|expected|vectors?|testdata|snapshots?|__snapshots__|inputs?|outputs?"
_NARROW = re.compile(rf"(?:\w+[-_.])?(?:{_CASES})(?:[-_.]\w+)?")
_FOLDER = re.compile(rf"(?:\w+[-_.])?(?:{_CASES}|tests?|__tests__|fixtures?|specs?|checks?|e2e|qa)(?:[-_.]\w+)?")
_MOST = 100
"""Patterns and folders of one file that are looked at."""


def taken(path: str, text: str) -> set[str]:
    """The patterns, as places, of what a test or a check takes all of; with `**` for any depth."""
    if not _TAKES.search(text):
        return set()
    named = islice(dict.fromkeys(one for one in _QUOTED.findall(text) if _FOLDER.fullmatch(_name(one))), _MOST)
    folders = ["", *named]
    patterns = [one for one in dict.fromkeys(_PATTERN.findall(text)) if _ENDS.fullmatch(one)][:_MOST]
    if _ALL.search(text):
        patterns += ["*", "*/*"]
    if _DEEP.search(text):
        patterns += [f"**/{one}" for one in patterns if "/" not in one]
    found = {one for one in patterns if "/" in one.replace("**/", "").replace("*/*", "")}
    found |= {f"{folder}/{one}".lstrip("/") for folder in folders for one in patterns}
    return places(path.rpartition("/")[0], found)


def is_taken(path: str, patterns: Iterable[str]) -> bool:
    """Whether every one of some patterns stands for a path. A name with a dot in front is passed over."""
    folders, _, name = path.rpartition("/")
    return not name.startswith(".") and all(
        fnmatchcase(name, one.rpartition("/")[2]) and _is_below(folders, one.rpartition("/")[0]) for one in patterns
    )


def _is_below(folder: str, pattern: str) -> bool:
    if "**" in pattern:
        return fnmatchcase(f"{folder}/", f"{pattern.partition('**')[0]}*")
    return folder.count("/") == pattern.count("/") and fnmatchcase(folder, pattern)


def is_case(path: str) -> bool:
    """Whether a file is data of tests by its place: a source only where nothing but such data lies."""
    *folders, name = path.split("/")
    if name in ("__init__.py", "conftest.py") or name.startswith("."):
        return False
    return any(map(_NARROW.fullmatch, folders)) or (
        any(map(_FOLDER.fullmatch, folders)) and "." in name and not SOURCE.fullmatch(name)
    )


def _name(path: str) -> str:
    return path.rpartition("/")[2]
