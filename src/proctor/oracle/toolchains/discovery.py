"""What a test runner finds by itself: configuration and start-up files that decide which tests run, and how.

Pure rules over names and contents. A worker that adds or edits such a file can turn a failing suite green
without touching a test, so they belong to the frozen set (`freeze.py`) and are watched by `tamper.py`.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

from proctor.oracle.toolchains import ecosystems, loaders, locks, manifests, settings
from proctor.oracle.toolchains.modules import is_start_up
from proctor.oracle.toolchains.tools import is_program, is_tool

OWN = frozenset({".git", ".proctor"})
"""Folders at the top that belong to nobody's tests."""

CACHE = "__pycache__"
_CACHES = re.compile(
    r"(?:^|/)(?:__pycache__|\.(?:pytest|mypy|ruff)_cache|\.(?:task|turbo|gradle|wireit)|\.nx/(?:cache|workspace-data)"
    r"|\.(?:eslint|stylelint)cache|\.doit\.db[^/]*|\.sconsign\.dblite|\.ninja_(?:log|deps)|[^/]+\.tsbuildinfo)(?:/|$)"
)

_ANYWHERE = frozenset({"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"})
_PYTHON_TEST = re.compile(r"(?:tests?.*|.*_tests?)\.py")
_SITE = frozenset({"site-packages", "dist-packages"})
_BUILD = re.compile(
    r"(?:GNUm|[Mm])akefile|.+\.mk|noxfile\.py|tox\.toml|\.coveragerc|[Jj]ustfile|\.justfile|[Tt]askfile(?:\.dist)?\.ya?ml"
    r"|\.actrc|magefile\.go|moon\.ya?ml"
    r"|(?:jest|vitest|vite|mocha|ava|karma|babel|playwright|cypress|jasmine|nightwatch|wdio|web-test-runner)"
    r"\.(?:config|conf|setup|workspace|preset|projects)(?:\.[\w-]+)*\.[A-Za-z]+"
    r"|\.(?:mocha|nyc|c8|babel|tap|jasmine|yarn|swc)rc(?:\.[A-Za-z]+)?|\.pnpmfile\.c?js|\.pnp\.loader\.mjs|mocha\.opts|jasmine\.json"
    r"|Makefile\.toml|[Rr]akefile|dodo\.py|SCons(?:truct|cript)|wscript|build\.xml|\.rspec|phpunit\.xml(?:\.dist)?|behave\.ini"
    r"|\.behaverc|(?:hatch|pixi|\.?mise|poe_tasks)\.toml|(?:nx|turbo|lerna)\.json|(?:Grunt|gulp)file\.[A-Za-z]+|build\.rs|rust-toolchain(?:\.toml)?|gradlew|mvnw"
    r"|(?:gradlew|mvnw)\.(?:bat|cmd)|init\.gradle(?:\.kts)?"
)
"""Files by name that build tools and runners read in the folder that they start in."""
_PLACED = re.compile(
    r"(?:^|/)(?:\.cargo/config(?:\.toml)?|\.config/nextest\.toml|gradle/wrapper/[^/]+"
    r"|\.moon/[^/]+\.ya?ml|(?:buildSrc|\.mvn|\.yarn/(?:releases|plugins))/.+)$"
)
"""The same, by their place below that folder."""
_TOP = "build.ninja"
"""The same at the top alone: elsewhere it is what CMake and Meson make."""
_CI = re.compile(
    r"\.(?:github/(?:workflows|actions)|circleci|buildkite|husky|woodpecker)/.+"
    r"|\.(?:gitlab-ci|travis|drone|woodpecker|cirrus|appveyor|pre-commit-config)\.ya?ml|Jenkinsfile"
    r"|azure-pipelines\.ya?ml|bitbucket-pipelines\.ya?ml|appveyor\.ya?ml|cloudbuild\.ya?ml|lefthook\.ya?ml"
)
"""What runs checks elsewhere, at the top; a new one decides nothing here."""
MANIFESTS = frozenset(
    """package.json pyproject.toml setup.cfg tox.ini Cargo.toml go.mod pom.xml build.gradle build.gradle.kts deno.json
    Makefile makefile GNUmakefile Makefile.PL Build.PL cpanfile Gemfile Rakefile composer.json mix.exs rebar.config
    pubspec.yaml Package.swift build.zig build.sc stack.yaml package.yaml DESCRIPTION""".split()  # noqa: SIM905 - a list to read
)
"""Files that make their folder one that checks may start in."""
_MAIN = re.compile(rb"^func TestMain\(", re.MULTILINE)
PARSE_LIMIT = 1 << 20
"""Bytes of a configuration file that are parsed; a larger one counts as changed."""
_PYTHON_SETTINGS = frozenset({"pyproject.toml", "setup.cfg", "tox.ini"})


def is_cache(path: str) -> bool:
    """Whether something is, or lies in, what tools keep to spare themselves work. Nothing rests on it, and it is never
    judged: Python believes compiled files over the frozen sources, and others take for done what was done once."""
    may_be = "/." in path or path.startswith(".") or path.endswith((CACHE, ".tsbuildinfo"))  # hardly any does
    return may_be and bool(_CACHES.search(path))


def is_discovery(path: str) -> bool:
    """Whether a file that stands at this relative path before the work belongs to the frozen set."""
    name = path.rpartition("/")[2]
    if name in _PYTHON_SETTINGS or _runs_by_itself(path) or vendored(path):
        return True
    if "node_modules" in path.split("/"):
        return False
    if loaders.is_mock(path) or loaders.tool_of(path):
        return True
    if ecosystems.is_settings(name) or ecosystems.is_loaded(path) or ecosystems.is_helper(path):
        return True
    is_of_build = path == _TOP or _BUILD.fullmatch(name) or _PLACED.search(path) or _CI.fullmatch(path)
    return bool(is_of_build) or is_shared(path)


def is_added_discovery(path: str, read: Callable[[], bytes], places: Collection[str] = ()) -> bool:
    """Whether a file that was not there before the work would change what the runner does.

    Build and package files count where checks start: at the top, and in `places`, the folders that had some before.
    Deeper ones are the project's sources.
    """
    folder, _, name = path.rpartition("/")
    if name in locks.MANIFESTS and locks.is_lock(path):
        return locks.is_odd(path, read())
    if ("." in folder or "wrapper" in folder or "buildSrc" in folder) and (found := _PLACED.search(path)):
        return not found.start() or path[: found.start()] in places
    if loaders.is_mock(path):
        return loaders.tool_of(path) is not None
    starts = not folder or folder in places
    anywhere = name in _PYTHON_SETTINGS or settings.is_record(folder) or settings.is_record(name)
    anywhere = anywhere or manifests.is_overriding(name)
    if (starts or anywhere) and settings.reader_of(path):
        return settings.tells(path, read())
    if ecosystems.is_loaded(path) or ecosystems.is_shadow(path):
        return True
    named = starts and (_BUILD.fullmatch(name) or ecosystems.is_settings(name))
    return bool(named) or path == _TOP or _runs_by_itself(path)


def go_packages(paths: Iterable[str]) -> frozenset[str]:
    """The folders of Go packages that tests at these paths are of."""
    return frozenset(path.rpartition("/")[0] for path in paths if path.endswith("_test.go"))


def is_python_test(name: str) -> bool:
    """Whether a file of this name holds tests for pytest or unittest."""
    return bool(_PYTHON_TEST.fullmatch(name))


def is_of_go_tests(path: str, packages: Collection[str]) -> bool:
    """Whether a file belongs to the tests of one of these packages: the other ones, and the data that they read."""
    if not packages:
        return False
    if path.endswith("_test.go"):
        return path.rpartition("/")[0] in packages
    before, found, _ = f"/{path}".partition("/testdata/")
    return bool(found) and before.lstrip("/") in packages


def is_added_main(path: str, read: Callable[[], bytes]) -> bool:
    """Whether a new Go test file beside frozen ones takes over their start and their exit code."""
    return path.endswith("_test.go") and bool(_MAIN.search(read()))


def vendored(path: str) -> str | None:
    """The folder of the test tool that a file is of, where packages are part of the tree; None for other files."""
    for top in ("node_modules/", "vendor/"):
        before, found, rest = path.rpartition(top)
        if found and (not before or before.endswith("/")):
            parts = rest.split("/")
            for depth in range(1, min(5, len(parts))):
                if is_tool("/".join(parts[:depth])):
                    return before + top + "/".join(parts[:depth])
    return None


def is_shared(path: str) -> bool:
    """Whether the file also holds what a worker may rightly change, such as dependencies."""
    return locks.is_lock(path) or settings.reader_of(path) is not None


def decides_here(path: str) -> bool:
    """Whether what a check writes to the file could still change what it says: not a lock, which tools rewrite by
    themselves and by renaming, nor what runs checks elsewhere."""
    return not locks.is_lock(path) and not _CI.fullmatch(path)


def package_scripts(root: Path) -> dict[str, str]:
    """The scripts of the node package at the top of a tree that somebody else has filled; none if it has none that can
    be read."""
    try:
        package = json.loads(read(root / "package.json").decode())
    except (ValueError, RecursionError):
        return {}
    scripts = package.get("scripts") if isinstance(package, dict) else None
    return {name: text for name, text in scripts.items() if isinstance(text, str)} if isinstance(scripts, dict) else {}


def read(place: Path, limit: int = PARSE_LIMIT) -> bytes:
    """The file's bytes; what is no plain file of a sane size reads as something no parser takes."""
    try:
        with open(os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            data = file.read(limit + 1) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else b"\xff"
    except OSError:
        return b"\xff"
    return data if len(data) <= limit else b"\xff"


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
        place = f"{root}/{folder}"
        try:
            if grant and (mode := stat.S_IMODE(os.lstat(place).st_mode)) & stat.S_IRWXU != stat.S_IRWXU:
                os.chmod(place, mode | stat.S_IRWXU)
            with os.scandir(place) as entries:
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
        or is_start_up(path)
        or (name.endswith(".pth") and folder.rpartition("/")[2] in _SITE)
        or (folder.endswith("node_modules/.bin") and is_program(name))
    )
