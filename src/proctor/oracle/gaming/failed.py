"""Whether a test of a file is among those that failed before the work, by the ids that runners give them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.regions import Region

_HOLES = re.compile(r"%[a-zA-Z%#]|\$\w+(?:\.\w+)*|\$\{[^}]*\}")
"""What stands for a row's values in the title of a test with many."""


def has_failed(path: str, test: Region, failed: Collection[str]) -> bool:
    """Whether one of the ids is this test's, or that of the file or package that could not be loaded with it."""
    match = {Language.PYTHON: _python, Language.SCRIPT: _script, Language.GO: _go, Language.RUST: _rust}
    known = match.get(test.language)
    return known is not None and any(known(path, test.name, one, failed) for one in failed)


def _same_path(path: str, other: str) -> bool:
    return path == other or path.endswith(f"/{other}") or other.endswith(f"/{path}")


def _python(path: str, name: str, one: str, failed: Collection[str]) -> bool:
    file, _, inside = one.partition("::")
    if "/" in file or file.endswith(".py"):
        inside = inside.partition("[")[0].replace("::", ".")
        documented = not name.rpartition(".")[2].startswith("test") and inside.endswith(f".{name}")
        here = not inside or inside == name or name.startswith(f"{inside}.") or documented
        return here and _same_path(path, file)
    module = path.removesuffix(".py").replace("/", ".")
    stem = module.rpartition(".")[2]
    if one in (module, stem) or one.endswith(f".{stem}"):
        return True
    return one == f"{module}.{name}" or f".{one}".endswith(f".{stem}.{name}")


def _script(path: str, name: str, one: str, failed: Collection[str]) -> bool:
    file, _, inside = one.partition("::")
    if not _same_path(path, file):
        return False
    title = "".join(f".*{re.escape(part)}" for part in _HOLES.split(name)).removeprefix(".*")
    title = title if _HOLES.split(name)[-1] else f"{title}.*"
    return not inside or re.fullmatch(rf"(?:.* > )?{title}", inside, re.DOTALL) is not None


def _go(path: str, name: str, one: str, failed: Collection[str]) -> bool:
    package, _, inside = one.partition("::")
    folder = PurePosixPath(path).parent.as_posix()
    here = package.endswith(f"/{folder}") if folder != "." else package == min(_packages(failed), key=len)
    return here and (not inside or inside.partition("/")[0] == name)


def _packages(failed: Collection[str]) -> Iterator[str]:
    return (one.partition("::")[0] for one in failed)


def _rust(path: str, name: str, one: str, failed: Collection[str]) -> bool:
    target, _, inside = one.partition("::")
    crate, _, kind = target.partition("/")
    folders = PurePosixPath(path).parts
    apart = folders[0] not in ("src", "tests") and crate not in folders and crate.replace("_", "-") not in folders
    if apart or (kind == "doc") != (name == ""):
        return False
    if kind == "doc":
        return path.endswith(inside.partition(" - ")[0])
    if len(folders) > 1 and folders[-2] == "tests" and kind and kind != PurePosixPath(path).stem:
        return False
    return not inside or inside.rpartition("::")[2] == name or f"::{name}::" in f"::{inside}"
