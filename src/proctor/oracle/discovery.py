"""What a test runner finds by itself: configuration and start-up files that decide which tests run, and how.

Pure rules over names and contents. A worker that adds or edits such a file can turn a failing suite green
without touching a test, so they belong to the frozen set (`freeze.py`) and are watched by `tamper.py`.
"""

from __future__ import annotations

import configparser
import json
import os
import re
import stat
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

OWN = frozenset({".git", ".proctor"})
"""Folders at the top that belong to nobody's tests."""

CACHE = "__pycache__"
"""Never frozen and never judged: Python would believe compiled files over the frozen sources."""

_ANYWHERE = frozenset({"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
_START_UP = frozenset({"sitecustomize", "usercustomize"})
_SITE = frozenset({"site-packages", "dist-packages"})
_AT_TOP = re.compile(
    r"(?:GNUm|[Mm])akefile|noxfile\.py|\.coveragerc|[Jj]ustfile|Taskfile\.ya?ml"
    r"|(?:jest|vitest|vite|mocha|ava|karma|babel|playwright|cypress)\.config\.[A-Za-z.]+"
    r"|\.(?:mocha|nyc|c8|babel)rc(?:\.[A-Za-z]+)?"
)
_IMPORTABLE = (".py", ".pyc", ".so", ".pyd")
_IMPORT_ROOTS = frozenset({"src", "lib"})

RUNNER_PACKAGES = frozenset(
    {"pytest", "_pytest", "pluggy", "py", "iniconfig", "xdist", "coverage", "nose2", "tox", "nox"}
)
_RUNNER_LIBRARY = frozenset(
    """abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins cmd code codeop codecs collections
    concurrent contextlib contextvars copy copyreg dataclasses datetime difflib dis doctest encodings enum errno
    faulthandler fcntl fnmatch functools gc genericpath getpass gettext glob hashlib heapq importlib inspect io
    itertools json keyword linecache locale logging marshal math multiprocessing opcode operator os pathlib pdb pickle
    pkgutil posix posixpath pprint pstats re reprlib runpy select selectors shlex shutil signal site socket ssl stat
    string struct subprocess sys sysconfig tempfile textwrap threading time timeit token tokenize traceback types
    typing unittest warnings weakref xml zipfile zipimport zlib""".split()  # noqa: SIM905 - a list to read
)
RUNNER_MODULES = RUNNER_PACKAGES | _RUNNER_LIBRARY
"""What test runners import. Other names of Python's library may be a project's own."""

_FROM = re.compile(rb"^[ \t]*from[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
_IMPORT = re.compile(rb"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)

_TOML_TOOLS = re.compile(r"pytest|coverage|test|tox|nox|nose|^poe$|^taskipy$")
_TOML_PARTS: Mapping[str, frozenset[str]] = {
    "hatch": frozenset({"envs", "env", "scripts"}),
    "pdm": frozenset({"scripts"}),
}
_INI_SECTIONS = re.compile(r"pytest|coverage|test|tox|nox|nose|aliases")
_PACKAGE_LIMIT = 1 << 20
_PACKAGE_KEYS = re.compile(r"scripts|(?:jest|vitest|mocha|ava|tap|nyc|c8|babel|karma|cypress|playwright)(?:-.*)?")


def is_discovery(path: str) -> bool:
    """Whether a file that stands at this relative path before the work belongs to the frozen set."""
    name = path.rpartition("/")[2]
    if name in _NODE_FILES or _AT_TOP.fullmatch(name):
        return "node_modules" not in path.split("/")
    return name in _SHARED or _runs_by_itself(path)


def is_added_discovery(path: str, read: Callable[[], bytes]) -> bool:
    """Whether a file that was not there before the work would change what the runner does.

    Build and package files count at the top only, where checks start; deeper ones are the project's sources.
    """
    name = path.rpartition("/")[2]
    if name in _SHARED:
        return (path == name or name not in _NODE_FILES) and relevant(path, read()) != {}
    return (path == name and bool(_AT_TOP.fullmatch(name))) or _runs_by_itself(path)


def top_module(path: str) -> str | None:
    """The top-level import that a file takes part in, with its place; None for what cannot be imported.

    `calc.py` and `src/pytest/__init__.py` give `calc` and `src/pytest`.
    """
    if not path.endswith(_IMPORTABLE):
        return None
    root, slash, rest = path.partition("/")
    if not slash or root not in _IMPORT_ROOTS:
        root, slash, rest = "", "", path
    return root + slash + rest.partition("/")[0].partition(".")[0]


def imports(source: bytes) -> set[str]:
    """The top-level names that a Python file imports, as far as its lines show."""
    found = {name.decode() for name in _FROM.findall(source)}
    for names in _IMPORT.findall(source):
        found |= {words[0].partition(".")[0] for name in names.decode().split(",") if (words := name.split())}
    return found


def is_shared(path: str) -> bool:
    """Whether the file also holds what a worker may rightly change, such as dependencies."""
    return path.rpartition("/")[2] in _SHARED


def relevant(path: str, data: bytes) -> Mapping[str, Any] | None:
    """The part of a shared file that tells test runners what to do, {} if none, None if it cannot be read.

    The rest (dependencies, metadata, linters) is the project's own: an edit there is no tampering.
    """
    try:
        return _SHARED[path.rpartition("/")[2]](data.decode())
    except (ValueError, configparser.Error, RecursionError):
        return None


def package_scripts(root: Path) -> dict[str, str]:
    """The scripts of the node package at the top of a tree; none if it has none that can be read.

    Somebody else has filled the tree: no link is followed, and nothing but a file of usual size is read.
    """
    try:
        with open(os.open(root / "package.json", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            about = os.fstat(file.fileno())
            text = file.read(_PACKAGE_LIMIT) if stat.S_ISREG(about.st_mode) else b""
        scripts = _package(text.decode()).get("scripts")
    except (OSError, ValueError, RecursionError):
        return {}
    return {name: text for name, text in scripts.items() if isinstance(text, str)} if isinstance(scripts, dict) else {}


def walk(
    root: Path, skip: Collection[str] = (), top: str = "", *, lenient: bool = False, grant: bool = False
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Everything below a folder that is not a folder, and each `__pycache__` as one; links are not followed.

    Paths are relative to `root`, whose part `top` is walked. `skip` names folders to leave out. `lenient` leaves out
    folders that cannot be read, `grant` first gives their owner all rights to them.
    """
    folders = [top]
    while folders:
        folder = folders.pop()
        try:
            if grant and (mode := stat.S_IMODE(os.lstat(root / folder).st_mode)) & stat.S_IRWXU != stat.S_IRWXU:
                os.chmod(root / folder, mode | stat.S_IRWXU)
            with os.scandir(root / folder) as entries:
                found = list(entries)
        except OSError:
            if lenient:
                continue
            raise
        for entry in found:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not entry.is_dir(follow_symlinks=False) or entry.name == CACHE:
                yield path, entry
            elif path not in OWN and path not in skip:
                folders.append(path)


def on_plain_folders(root: Path, path: str) -> bool:
    """Whether no folder between `root` and what stands at this relative path is a link."""
    parts = path.split("/")
    return not any(os.path.islink(f"{root}/{'/'.join(parts[:depth])}") for depth in range(1, len(parts)))


def _runs_by_itself(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return (
        name in _ANYWHERE
        or (name.partition(".")[0] in _START_UP and name.endswith(_IMPORTABLE))
        or (name.endswith(".pth") and folder.rpartition("/")[2] in _SITE)
    )


def _toml(text: str) -> dict[str, Any]:
    tools = tomllib.loads(text).get("tool", {})
    if not isinstance(tools, dict):
        raise ValueError("tool is not a table")
    part = {name: table for name, table in tools.items() if _TOML_TOOLS.search(name)}
    for name, keys in _TOML_PARTS.items():
        table = tools.get(name)
        part |= {f"{name}.{key}": table[key] for key in keys if isinstance(table, dict) and key in table}
    return part


def _ini(text: str) -> dict[str, Any]:
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True, default_section="\0")
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections() if _INI_SECTIONS.search(name)}


def _package(text: str) -> dict[str, Any]:
    data = json.loads(text)
    if not isinstance(data, dict):
        raise ValueError("not an object")
    return {name: value for name, value in data.items() if _PACKAGE_KEYS.fullmatch(name)}


_SHARED: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "pyproject.toml": _toml,
    "setup.cfg": _ini,
    "tox.ini": _ini,
    "package.json": _package,
}
_NODE_FILES = frozenset({"package.json"})
