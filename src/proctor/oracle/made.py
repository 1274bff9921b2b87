"""What a worker has built: none of it stands for a recipe that the checks run by `make`.

Nothing of it is tampering: an honest worker builds too. What was not there at the start is made to look older than all
that it is made from, so that `make` does as in a fresh copy; what is made from nothing is removed. So is what CMake
remembers of a build: the programs that it found, and the tests that it wrote down.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from os.path import lexists, normpath
from pathlib import Path

from proctor.oracle.frozen import Frozen, is_within
from proctor.oracle.recording import Recorder
from proctor.oracle.toolchains import discovery, makes, manifests
from proctor.trees import remove_tree

_OLD = (1, 1)
"""Seconds of access and change."""


def record(
    recorder: Recorder, checks: Iterable[Sequence[str]], ignored: Collection[str], earlier: Frozen | None
) -> dict[str, list[str]]:
    """The parts `goals`, `made` and `stood` of a frozen set."""
    top = recorder.workspace
    goals, made = (set(earlier.goals), set(earlier.made)) if earlier else (set(), set())
    for item in recorder.plain():
        if recorder.is_make(item.path):
            data, folder = recorder.text(item), item.path.rpartition("/")[0]
            places = {name: normpath(f"{folder or '.'}/{name}") for name in makes.goals(data)}
            goals |= {
                name
                for name, place in places.items()
                if not (lexists(top / place) or is_within(place, ignored) or place in recorder.awaited)
            }
            made |= {one for product in makes.products(data) for one in _placed(product, folder)}
    if made:  # else the make file is the work as well
        asked = {normpath(goal) for argv in checks for goal in makes.asked(argv)} - goals
        made |= {f"{goal}: " for goal in asked if not lexists(top / goal)}
    stood = set(earlier.stood) if earlier else _standing(top, makes.Products(made), ignored) if made else set()
    if not earlier and _has_cmake(recorder.items):
        stood |= set(filter(manifests.is_remembered, _places(top, ignored)))
    return {"goals": sorted(goals), "made": sorted(made), "stood": sorted(stood)}


def disown(tree: Path, frozen: Frozen) -> None:
    """Keep `make` from taking for made what was not there at the start; in a copy that nobody else writes."""
    known = {*frozen.stood, *frozen.by_path}
    if _has_cmake(frozen.by_path):
        for path in filter(manifests.is_remembered, _places(tree, frozen.borrowed)):
            if path not in known and not is_within(path, frozen.entrusted):
                remove_tree(tree / path)
    if not frozen.made:
        return
    products = makes.Products(frozen.made)
    for path in _places(tree, frozen.borrowed):
        rests = products.rests_on(path, lambda other: lexists(tree / other))
        if rests is None or path in known or is_within(path, frozen.entrusted) or not lexists(tree / path):
            continue
        place = tree / path
        is_folder = place.is_dir() and not place.is_symlink()
        if rests and not place.is_symlink():
            os.utime(place, _OLD)
        elif not is_folder:
            place.unlink()
        elif products.is_asked_for(path):
            remove_tree(place)


def _has_cmake(paths: Iterable[str]) -> bool:
    return any(path.endswith("CMakeLists.txt") for path in paths)


def _placed(product: str, folder: str) -> set[str]:
    """A product as `make` means it when it starts at the top, and in the folder of its make file."""
    target, _, sources = product.partition(":")
    if not folder or ("%" in target and "/" not in target):
        return {product}
    there = " ".join(f"{folder}/{source}" if source != "?" else source for source in sources.split())
    return {product, f"{folder}/{target}: {there}"}


def _standing(top: Path, products: makes.Products, ignored: Collection[str]) -> set[str]:
    return {
        path
        for path in _places(top, ignored)
        if products.rests_on(path, lambda other: lexists(top / other)) is not None
    }


def _places(top: Path, skip: Collection[str]) -> Iterator[str]:
    """Files and folders of a tree."""
    folders = {""}
    for path, _ in discovery.walk(top, skip, lenient=True):
        if discovery.is_cache(path):
            continue
        yield path
        while (path := path.rpartition("/")[0]) not in folders:
            folders.add(path)
            yield path
