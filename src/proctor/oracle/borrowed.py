"""Ignored environments that checks borrow from the workspace, such as `.venv` and `node_modules`.

They are in no checkpoint and too large to copy, so they are bound read-only where they stand; but the worker could
write to them. What starts a test runner in them is frozen: programs, start-up files, the test tools' own packages and
the entry points that load plugins. A check sees the frozen ones in place of those that were changed, and nothing in
place of those that are new. All else is known by a manifest (`installed.py`): packages may come and go, as the
project's sources may, but one that was changed in place cannot be laid back, and no check is judged on it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from proctor.oracle import installed
from proctor.oracle.frozen import Frozen, digest_of, is_within
from proctor.oracle.toolchains import commands, discovery, modules, settings
from proctor.oracle.toolchains.tools import is_program, is_runner, is_tool
from proctor.trees import walk

Binds = tuple[tuple[Path, Path], ...]

_PLUGINS = b"pytest11"
_COMMON = frozenset(
    """__pycache__ test tests testing doc docs example examples script scripts tool tools benchmark benchmarks build src
    lib bin data config""".split()  # noqa: SIM905 - a list to read
)
"""What some packages install by mistake, and many projects have."""
_VENDORED = ("modules.txt", "bundle", "autoload.php")


class Removed(Exception):
    """Something of an environment that a check rests on is not what it was, and cannot be shown as it was.

    `paths` are what was done to environments, `laid_back` what was to the tree.
    """

    def __init__(self, what: str, paths: Sequence[str] = ()) -> None:
        super().__init__(what)
        self.paths = tuple(paths)
        self.laid_back: tuple[str, ...] = ()


def is_environment(folder: Path) -> bool:
    """Whether an ignored folder holds installed packages, which checks need, rather than something they build."""
    if folder.is_symlink():
        return False
    if folder.name == "vendor":
        return any(os.path.lexists(folder / name) for name in _VENDORED) or any(folder.glob("*/.cargo-checksum.json"))
    return (
        folder.name == "node_modules"
        or (folder / "pyvenv.cfg").is_file()
        or (folder / "conda-meta").is_dir()
        or folder.parts[-2:] in ((".yarn", "cache"), (".yarn", "unplugged"))
    )


def guarded(workspace: Path, environment: str) -> Iterator[str]:
    """The files of an environment that decide how a test runner starts; paths relative to the workspace."""
    top = workspace / environment
    found: list[Path] = [top / "pyvenv.cfg", *_entries(top / "bin"), *_entries(top / ".bin")]
    for package in _node_tools(top) if top.name == "node_modules" else ():
        found += _below(package)
    for site in top.glob("lib*/python*/site-packages"):
        for entry in _entries(site) if not any(parent.is_symlink() for parent in (site, *site.parents[:2])) else ():
            if entry.name.partition(".")[0] in modules.RUNNER_PACKAGES:
                found += _below(entry)
            elif settings.is_record(entry.name):
                found += [entry / "entry_points.txt"] if _loads_plugins(entry / "entry_points.txt") else []
            elif discovery.is_discovery(f"{site.name}/{entry.name}"):
                found.append(entry)
    return (str(path.relative_to(workspace)) for path in found if path.is_symlink() or path.is_file())


def _node_tools(modules: Path) -> Iterator[Path]:
    """The folders of test tools in a `node_modules`, as npm and yarn lay them out, and as pnpm does."""
    for entry in _entries(modules):
        for package in _entries(entry) if entry.name.startswith("@") else [entry]:
            if is_tool(str(package.relative_to(modules))):
                yield package
    for entry in _entries(modules / ".pnpm"):
        name = entry.name[0] + entry.name[1:].partition("@")[0].replace("+", "/")
        if is_tool(name):
            yield entry / "node_modules" / name


def _altered(workspace: Path, frozen: Frozen) -> tuple[str, ...]:
    """Paths of environments that were changed in place, beside those that start runners, which are covered."""
    guarded = {item.path for item in frozen.guarded}
    return tuple(
        path
        for tree in frozen.trees
        for found in sorted(installed.changed(workspace / tree.path, _manifest(frozen.content(tree))))
        if (path := f"{tree.path}/{found}") not in guarded
    )


@lru_cache(8)
def _manifest(content: Path) -> installed.Manifest:
    """A recorded manifest; a content is named by its hash, and never another one."""
    return installed.decode(content.read_bytes())


def borrow(workspace: Path, frozen: Frozen, scratch: Path) -> tuple[Binds, tuple[str, ...]]:
    """The mounts that show the environments as they were, and the paths that had to be covered.

    `scratch` is a folder of the judge's. Raises `Removed` when covering is not enough.
    """
    nothing, no_files = scratch / "nothing", scratch / "no-files"
    nothing.touch()
    no_files.mkdir()
    binds: list[tuple[Path, Path]] = []
    changed: list[str] = []
    stale: set[Path] = set()
    for environment in frozen.borrowed:
        top = workspace / environment
        if not is_environment(top) or not discovery.on_plain_folders(workspace, environment):
            raise Removed(f"{environment} is gone, and the checks need it", [environment])
        binds.append((top, top))
    before = {item.path: item for item in frozen.guarded}
    tools = {tool for path in before if (tool := discovery.vendored(path))}
    now = {path for environment in frozen.borrowed for path in guarded(workspace, environment)}
    for path in sorted(before.keys() | now):
        item, place = before.get(path), workspace / path
        if item and path in now and _same(place, item.link, item.digest):
            continue
        if place.parent.name == "__pycache__":
            stale.add(place.parent)
        elif item is None:
            if not _may_come(path, tools):
                binds.append((nothing, place))
                changed.append(path)
        elif path not in now or item.link is not None or place.is_symlink():
            raise Removed(f"{path} was removed or replaced, and the checks need it", [path])
        else:
            binds.append((frozen.content(item), place))
            changed.append(path)
    if paths := _altered(workspace, frozen):
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        raise Removed(f"{paths[0]}{more} was changed where it is installed; install it anew", [*paths, *changed])
    binds += [(no_files, place) for place in sorted(stale) if place.is_dir() and not place.is_symlink()]
    return tuple(binds), tuple(changed)


def _may_come(path: str, tools: Collection[str]) -> bool:
    """Whether what is new among `guarded` files changes nothing by standing there: most programs, and packages beside
    the `tools` that were there, which somebody has to ask for."""
    *_, folder, name = path.split("/")
    if folder in ("bin", ".bin"):
        return not is_program(name)
    tool = discovery.vendored(path)
    alone = tool is not None and not is_within(tool, tools)
    return alone and not is_runner(str(tool).rpartition("node_modules/")[2])


def _same(place: Path, link: str | None, digest: str) -> bool:
    if place.is_symlink():
        return link == os.readlink(place)
    return link is None and digest_of(place) == digest


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []


def _below(place: Path) -> list[Path]:
    if not place.is_dir() or place.is_symlink():
        return [place]
    return [Path(folder, name) for folder, _, names in walk(os.fspath(place)) for name in names]


def sites(workspace: Path, environments: Iterable[str], checks: Iterable[Sequence[str]]) -> list[Path]:
    """The folders of installed packages of environments, and of those whose Python the checks name; that of the
    operator's own where there are none."""
    tops = [workspace / name for name in environments if any((workspace / name).glob("lib*/python3*"))]
    named = {word for argv in checks for word in argv if commands.is_of_python(word)}
    for word in named or ({"python3"} if not tops else ()):
        if found := shutil.which(word) if "/" not in word else workspace / word:
            tops.append(Path(found).parent.parent)
    tops += [top / "local" for top in tops if top == Path("/usr")]
    kinds = ("site-packages", "dist-packages")
    return [site for top in dict.fromkeys(tops) for kind in kinds for site in top.glob(f"lib*/python3*/{kind}")]


def installed_names(folders: Iterable[Path]) -> set[str]:
    """The top-level names that folders of installed packages provide."""
    names: set[str] = set()
    for folder in folders:
        with contextlib.suppress(OSError):
            names |= {name.partition(".")[0] for name in os.listdir(folder)}
    return {name for name in names if name.isidentifier()} - _COMMON


def plugins(site: Path) -> Iterator[str]:
    """The top-level modules that test tools load by themselves from a folder of installed packages."""
    for record in site.glob("*.dist-info/entry_points.txt"):
        if _loads_plugins(record):
            told = settings.part(f"{record.parent.name}/{record.name}", record.read_bytes()) or {}
            yield from (line.partition("=")[2].strip().partition(".")[0] for one in told.values() for line in one)


def _loads_plugins(entry_points: Path) -> bool:
    try:
        return entry_points.is_file() and _PLUGINS in entry_points.read_bytes()
    except OSError:
        return False
