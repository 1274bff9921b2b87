"""Whether a test of a file is among those that failed before the work, by the ids that runners give them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from enum import IntEnum
from functools import lru_cache
from pathlib import PurePosixPath

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.regions import Region

_HOLES = re.compile(r"%[a-zA-Z%#]|\$\w+(?:\.\w+)*|\$\{[^}]*\}")
"""What stands for a row's values in the title of a test with many."""


class Failing(IntEnum):
    """Whether a test failed: it did not, or nothing is known; what it stands in could not be loaded; it did itself."""

    NO = 0
    UNLOADED = 1
    ITSELF = 2


def failing(path: str, test: Region, failed: Collection[str]) -> Failing:
    """Whether one of the ids is this test's, or that of the file or package that could not be loaded with it."""
    match = {Language.PYTHON: _python, Language.SCRIPT: _script, Language.GO: _go, Language.RUST: _rust}
    known = match[test.language]
    return max((known(path, test.name, one, failed) for one in failed), default=Failing.NO)


def _as(here: bool, inside: str, same: bool) -> Failing:
    """What an id of a file or package says that is here, by whether it names a test, and the same."""
    if not here:
        return Failing.NO
    return Failing.UNLOADED if not inside else Failing.ITSELF if same else Failing.NO


def _same_path(path: str, other: str) -> bool:
    return path == other or path.endswith(f"/{other}") or other.endswith(f"/{path}")


def _python(path: str, name: str, one: str, failed: Collection[str]) -> Failing:
    file, _, inside = one.partition("::")
    if "/" in file or file.endswith(".py"):
        inside = inside.partition("[")[0].replace("::", ".")
        documented = not name.rpartition(".")[2].startswith("test") and inside.endswith(f".{name}")
        same = inside == name or name.startswith(f"{inside}.") or documented
        return _as(_same_path(path, file), inside, same)
    module = path.removesuffix(".py").replace("/", ".")
    stem = module.rpartition(".")[2]
    if one in (module, stem) or one.endswith(f".{stem}"):
        return Failing.UNLOADED
    return _as(True, one, one == f"{module}.{name}" or f".{one}".endswith(f".{stem}.{name}"))


def _script(path: str, name: str, one: str, failed: Collection[str]) -> Failing:
    file, _, inside = one.partition("::")
    here = _same_path(path, file)
    return _as(here, inside, here and _title(name).fullmatch(inside) is not None)


@lru_cache(4_096)
def ending(name: str) -> str:
    """What the id of a test of this name in a script ends with, whatever its row."""
    return _HOLES.split(name)[-1]


@lru_cache(4_096)
def _title(name: str) -> re.Pattern[str]:
    """What the id of a test of this name ends with."""
    parts = [re.escape(part) for part in _HOLES.split(name)]
    return re.compile(rf"(?:.* > )?{'.*'.join(parts) or '.*'}", re.DOTALL)


def _go(path: str, name: str, one: str, failed: Collection[str]) -> Failing:
    package, _, inside = one.partition("::")
    folder = PurePosixPath(path).parent.as_posix()
    here = package.endswith(f"/{folder}") if folder != "." else package == min(_packages(failed), key=len)
    return _as(here, inside, inside.partition("/")[0] == name)


def _packages(failed: Collection[str]) -> Iterator[str]:
    return (one.partition("::")[0] for one in failed)


def _rust(path: str, name: str, one: str, failed: Collection[str]) -> Failing:
    target, _, inside = one.partition("::")
    crate, _, kind = target.partition("/")
    folders = PurePosixPath(path).parts
    near = folders[0] in ("src", "tests") or crate in folders or crate.replace("_", "-") in folders
    if kind == "doc":
        file, _, item = inside.partition(" - ")
        return _as(near and path.endswith(file), inside, item.rpartition("::")[2] == name)
    own = len(folders) < 2 or folders[-2] != "tests" or kind in ("", PurePosixPath(path).stem)
    return _as(near and own, inside, inside.rpartition("::")[2] == name or f"::{name}::" in f"::{inside}")
