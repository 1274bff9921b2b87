"""Undoing tampering in the throwaway copy, and saying what it was.

The copy belongs to the judge and nothing runs in it meanwhile, so paths cannot change underfoot; but a worker chose
its contents, so no link in it is ever followed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeVar

from proctor.oracle.frozen import Frozen, Item, digest_of, is_within
from proctor.oracle.toolchains import (
    cases,
    discovery,
    doctests,
    fixtures,
    loaders,
    locks,
    makes,
    mentions,
    modules,
    reached,
    settings,
    sourced,
    supports,
)
from proctor.trees import remove_tree
from proctor.words import TamperKind

_KNOWN = 200_000
"""Paths of a tree that are remembered."""


_BEHIND = 1_000
"""Names that are looked at behind a link to a folder."""

_T = TypeVar("_T")


def undo(
    tree: Path,
    frozen: Frozen,
    absent: Callable[[], Collection[str]] = tuple,
    heed: Callable[[], object] = tuple,
) -> tuple[str, ...]:
    """Make a tree rest on the frozen set again; the paths that differed, sorted.

    Frozen files that were edited, deleted, renamed or made (un)executable are laid back. New files inside protected
    folders, new discovery files and new modules in the way of a runner's imports or the tests' are removed. Files that
    hold both tests' settings and other things (`discovery.is_shared`) are laid back only if the settings changed: the
    rest of such a file is the worker's to edit. Data of tests is laid back where it is gone. Caches, and pipes and the
    like that could not be frozen, are removed without a word, and so is laid what no copy of this checkpoint holds:
    `absent` gives such files and folders.
    OSError where that fails. What `heed` raises, which is called again and again, ends it.
    """
    changed = set()
    standing = _each(discovery.walk(tree, frozen.borrowed, grant=True), heed)
    unknown = [(path, entry) for path, entry in standing if path not in frozen.harmless or entry.is_symlink()]
    for path, entry in _each(unknown, heed):
        if discovery.is_cache(path) and path not in frozen.by_path:
            _remove(tree / path)
        elif path not in frozen.by_path and any(_is_foreign(tree, one, frozen) for one in _stands_for(entry, path)):
            if path not in frozen.skipped or entry.is_file(follow_symlinks=False) or entry.is_symlink():
                changed.add(path)
            _remove(tree / path)
    items = sorted(frozen.items, key=lambda item: locks.is_lock(item.path))  # a lock follows its manifest
    for item in _each(items, heed):
        if differs(tree, item, frozen):
            if os.path.lexists(tree / item.path) or not is_within(item.path, absent()):
                changed.add(item.path)
            _lay(tree, item, frozen)
    patterns = cache(lambda: _patterns(frozen))
    for item in _each(frozen.cases, heed):
        if _is_gone(tree, item, frozen, patterns) and not is_within(item.path, absent()):
            changed.add(item.path)
            _lay(tree, item, frozen)
    return tuple(sorted(changed))


def _each(items: Iterable[_T], heed: Callable[[], object]) -> Iterator[_T]:
    """The items, with a call before each."""
    for item in items:
        heed()
        yield item


def shadowing(tree: Path, frozen: Frozen) -> str | None:
    """A module that was made since `undo` where checks let Python import from first, and stands for another one there.

    Only those folders are looked into, not what lies below.
    """
    for start in frozen.starts:
        with contextlib.suppress(OSError), os.scandir(tree / start) as entries:
            for entry in entries:
                path = f"{start}/{entry.name}".lstrip("/")
                if entry.is_dir():
                    path += "/__init__.py"
                    if not os.path.lexists(tree / path):
                        continue
                is_known = path in frozen.by_path or is_within(path, frozen.entrusted)
                if not is_known and is_in_the_way(path, frozen):
                    return path
    return None


def kind(path: str, frozen: Frozen) -> TamperKind:
    """What it was, of a path that `undo` named or that a check's environment had changed."""
    if path in frozen.by_path or path in frozen.case_paths:
        return TamperKind.CHANGED
    if frozen.protects(path):
        return TamperKind.ADDED
    if is_within(path, frozen.borrowed):
        return TamperKind.INSTALLED
    return TamperKind.SHADOWS if is_in_the_way(path, frozen) else TamperKind.RUNNER


def clear(tree: Path, path: str) -> Path:
    """An empty place in a tree, with real folders above it, whatever stood there or on the way."""
    *folders, name = path.split("/")
    place = tree
    for part in folders:
        place /= part
        if not place.is_dir() or place.is_symlink():
            _remove(place)
            place.mkdir()
    _remove(place / name)
    return place / name


def _stands_for(entry: os.DirEntry[str], path: str) -> Iterator[str]:
    """A path, and if it is a link to a folder those that it makes: a package as well, what it holds, and the modules
    further below."""
    yield path
    if entry.is_symlink() and os.path.isdir(entry.path):
        yield f"{path}/__init__.py"
        folders, left = [path], _BEHIND
        for folder in folders:
            with contextlib.suppress(OSError):
                for name in os.listdir(f"{entry.path}{folder.removeprefix(path)}")[:left]:
                    left -= 1
                    folders.append(f"{folder}/{name}")
                    if folder == path or (name != "conftest.py" and modules.whole_module(folders[-1])):
                        yield folders[-1]


def _is_foreign(tree: Path, path: str, frozen: Frozen) -> bool:
    """Whether a file that was not frozen would change what the checks mean. What no content could make so is known
    by its path the next time."""
    if path in frozen.harmless or is_within(path, frozen.entrusted):
        return False
    asked = False

    def content() -> bytes:
        nonlocal asked
        asked = True
        return discovery.read(tree / path)

    foreign = (
        frozen.protects(path)
        or is_in_the_way(path, frozen)
        or (discovery.is_added_discovery(path, content, frozen.places) and not _is_of_new_tests(path, content, frozen))
        or (path.rpartition("/")[0] in frozen.go_tests and discovery.is_added_main(path, content))
        or (frozen.awaits(path) and makes.says_more(path, content()))
        or (frozen.reads_in(path) and sourced.takes_over(content()))
        or (bool(frozen.vendored) and discovery.vendored(path) in frozen.vendored)
    )
    if not (foreign or asked or discovery.is_cache(path)) and len(frozen.harmless) < _KNOWN:
        frozen.harmless.add(path)
    return foreign


def _is_of_new_tests(path: str, content: Callable[[], bytes], frozen: Frozen) -> bool:
    """Whether a file gives fixtures to tests beside and below it, all of them new, and does nothing else; or nothing at
    all, whatever stands beside it."""
    folder, _, name = path.rpartition("/")
    if name != "conftest.py":
        return False
    if any(f"{tested}/".startswith(f"{folder}/".lstrip("/")) for tested in frozen.tested):
        return fixtures.says_nothing(content())
    return fixtures.gives_fixtures_only(content())


def is_in_the_way(path: str, frozen: Frozen) -> bool:
    """Whether a new module would be imported instead of a runner's own, of the tests, or of what they import."""
    if any(path.startswith(f"{start}/org/python/".lstrip("/")) for start in frozen.starts):
        return True  # Python's library looks for Java's there
    module, whole = modules.top_module(path), modules.whole_module(path)
    if module is None or whole is None:
        return False
    if whole in frozen.supporting:
        return True
    if (place := "/".join(filter(None, whole))) not in frozen.modules:
        if whole[0] in frozen.starts and whole[1] in frozen.taken:
            return True
        if modules.is_top(place) and whole[1] in frozen.installed:
            return True
    if f"{module}/" not in path and module in frozen.roots:
        return True
    name = module.rpartition("/")[2]
    taken = name in modules.RUNNER_MODULES or name in frozen.imports or modules.is_early(path)
    return taken and module not in frozen.modules


def differs(tree: Path, item: Item, frozen: Frozen) -> bool:
    """Whether what stands in the tree is not what was frozen. Of the mode, only whether it is executable counts:
    a checkpoint keeps no more."""
    if not discovery.on_plain_folders(tree, item.path):
        return True
    full = f"{tree}/{item.path}"
    try:
        status = os.lstat(full)
    except (FileNotFoundError, NotADirectoryError):
        return True
    if item.link is not None:
        return not stat.S_ISLNK(status.st_mode) or os.readlink(full) != item.link
    if not stat.S_ISREG(status.st_mode) or (status.st_mode ^ item.mode) & stat.S_IXUSR:
        return True
    kept = frozen.content(item)
    if status.st_size == kept.stat().st_size and digest_of(full) == item.digest:
        if stat.S_IMODE(status.st_mode) != item.mode:
            os.chmod(full, item.mode)
        return False
    if item.path in frozen.documents and not item.declared:
        return not doctests.is_same(discovery.read(kept), discovery.read(Path(full)))
    if item.path in frozen.supports and not item.declared:
        return not supports.is_same(discovery.read(kept), discovery.read(Path(full)))
    if not item.declared and reached.is_shared(item.path):
        was, now = (_reached(place, item.path, frozen) for place in (kept, Path(full)))
        if was is not None and now is not None and (was == now or settings.is_same(item.path, was, now)):
            return False
    if item.declared or not discovery.is_shared(item.path):
        return True
    large = locks.is_lock(item.path) or item.path.endswith(loaders.PNP)
    limit = locks.LIMIT if large else discovery.PARSE_LIMIT
    before, after = discovery.read(kept, limit), discovery.read(Path(full), limit)
    if locks.is_lock(item.path):
        return locks.is_swapped(item.path, before, after, lambda: _asks_anew(tree, item.path, frozen))
    return not settings.is_same(item.path, before, after)


def _patterns(frozen: Frozen) -> frozenset[str]:
    """The patterns by which checks take cases."""
    found = cases.taken("", "\n".join(frozen.run))
    for item in frozen.items:
        if item.link is None and (mentions.SOURCE.fullmatch(item.path) or discovery.decides_here(item.path)):
            data = discovery.read(frozen.content(item), mentions.LIMIT)
            found |= cases.taken(item.path, data.decode(errors="replace"))
    return frozenset(found)


def _is_gone(tree: Path, item: Item, frozen: Frozen, patterns: Callable[[], Collection[str]]) -> bool:
    """Whether a case of tests is nowhere: neither at its place nor, as it was, by another name beside it that ends as
    its own and that every pattern takes which took it."""
    place = tree / item.path
    if not discovery.on_plain_folders(tree, item.path) or place.is_symlink():
        return True
    if place.is_file():
        return False
    folder, size = item.path.rpartition("/")[0], frozen.content(item).stat().st_size
    by = [one for one in patterns() if cases.is_taken(item.path, [one])]
    with contextlib.suppress(OSError), os.scandir(tree / folder) as entries:
        for entry in entries:
            path = f"{folder}/{entry.name}".lstrip("/")
            is_new = path not in frozen.case_paths and entry.name.endswith(place.suffix)
            if is_new and not cases.is_taken(path, by):
                continue
            same = is_new and entry.is_file(follow_symlinks=False) and entry.stat().st_size == size
            if same and digest_of(entry.path) == item.digest:
                return False
    return True


def _reached(place: Path, path: str, frozen: Frozen) -> bytes | None:
    """What checks come to of a file of scripts or targets; None where that cannot be told."""
    texts = frozen.starting
    return None if texts is None else reached.without_others(path, discovery.read(place), texts)


def _asks_anew(tree: Path, lock: str, frozen: Frozen) -> bool:
    """Whether a manifest that a lock follows, beside it or below, asks for other test tools than before."""
    folder = lock.replace("vendor/modules.txt", "go.mod").rpartition("/")[0]
    manifest = locks.MANIFESTS[lock.rpartition("/")[2]]
    return any(
        locks.asks(lock, discovery.read(frozen.content(item))) != locks.asks(lock, discovery.read(tree / item.path))
        for item in frozen.items
        if item.path.rpartition("/")[2] == manifest and item.path.startswith(f"{folder}/" if folder else "")
    )


def _lay(tree: Path, item: Item, frozen: Frozen) -> None:
    place = clear(tree, item.path)
    if item.link is not None:
        os.symlink(item.link, place)
    else:
        shutil.copyfile(frozen.content(item), place)
        place.chmod(item.mode)


def _remove(place: Path) -> None:
    if remove_tree(place):
        raise OSError(errno.ENOTEMPTY, "it cannot be removed", str(place))
