"""What is in the tree and not in the index, sorted by the ignore rules.

A folder that rules name is not entered unless something of it is in the index, or git tracks something of it. What
rules said of a path is remembered for as long as they, and the folder that holds it, are the same.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from proctor.checkpoint.look.folders import RULES, Folder, Memory, Survey, below, split
from proctor.checkpoint.look.ignores import Ignores
from proctor.checkpoint.record import is_below, is_inside, parents

WORTH_ASKING = 1000
"""Paths that one question about the rules should be about: asked level by level, a tree of a thousand nested folders
would start git a thousand times."""


class Sorting:
    """Walks the folders of a survey. `new` and `ignored` are files that are not in the index, `closed` the outermost
    folders that rules name, `hollow` those that were not entered, `still` those of the paths asked about that rules
    leave out. `judged` is what rules said, for the next look."""

    def __init__(self, survey: Survey, ignores: Ignores, memory: Memory, rules: bytes) -> None:
        self.survey = survey
        self.rules = rules
        self.new: set[bytes] = set()
        self.ignored: set[bytes] = set()
        self.closed: set[bytes] = set()
        self.hollow: set[bytes] = set()
        self.still: set[bytes] = set()
        self.judged: dict[bytes, bool] = {}
        self.is_remembering = memory.rules == rules
        self._ignores = ignores
        self._before = memory
        self._tried: set[bytes] = set()
        """Folders that were entered and may turn out to be such as rules name."""
        self._others = self._walked()

    def _walked(self) -> list[bytes]:
        """Enter all folders but those that hold nothing of the index; these, the outermost."""
        before, survey = self._before.folders, self.survey
        others = set(survey.walk(before if self.is_remembering else _rooted(before)))
        if any(path in survey.folders and not survey.folders[path].files for path in survey.read):
            live = _rooted(survey.folders)
            lost = (_rooted(before) - live) & survey.folders.keys()  # what made rules not count there is gone
            others.update(path for path in lost if path.rpartition(b"/")[0] not in lost)
            self._tried.update(survey.folders.keys() - live if lost else ())
        return sorted(others)

    @property
    def holds_rules(self) -> bool:
        """Whether there are rules beside the index, so that their change would not be noticed."""
        return any(RULES in split(folder.beside) for folder in self.survey.folders.values() if folder.beside)

    def sort(self, asked: Collection[bytes]) -> None:
        """Fill the sets."""
        entered = self.survey.folders.items()
        files = [path for folder, found in entered if found.beside for path in below(folder, found.beside)]
        above = {parent for path in (*files, *self._others) for parent in parents(path)}
        self._judge([*files, *asked], [*self._others, *above])
        self.still = {path for path in asked if self.judged[path]}
        named = {path for path in above if self.judged[path]}
        self.closed = {path for path in named if not is_inside(path, named)}
        levels = [(files, self._others)]
        while levels:
            for files, folders in levels:
                self._take(files)
                opened = [path for path in folders if self._is_open(path)]
            levels = self._levels(opened)
            self._judge(*([path for level in levels for path in level[kind]] for kind in (0, 1)))
        for path in self._tried:
            if is_below(path, self.hollow):
                del self.survey.folders[path]

    def _judge(self, files: Collection[bytes], folders: Collection[bytes]) -> None:
        """Learn what rules say of paths; of a file that git tracks, they say nothing."""
        asked = []
        for path in (*files, *folders):
            if self._is_judged(path):
                self.judged[path] = self._before.judged[path]
            else:
                asked.append(path)
        named = self._ignores.matching(asked)
        tracked = {path for path in named.intersection(files) if self._ignores.is_tracked(path)}
        self.judged.update((path, path in named and path not in tracked) for path in asked)

    def _is_judged(self, path: bytes) -> bool:
        holder = path.rpartition(b"/")[0]
        is_same = holder in self.survey.folders and holder not in self.survey.read
        return self.is_remembering and is_same and path in self._before.judged

    def _take(self, files: Iterable[bytes]) -> None:
        for path in files:
            if is_inside(path, self.hollow):
                continue  # entered before it was known that nothing of it is kept
            if not self.judged[path]:
                self.new.add(path)
            elif not is_inside(path, self.closed):
                self.ignored.add(path)

    def _is_open(self, path: bytes) -> bool:
        """Whether a folder that holds nothing of the index is to be looked through."""
        if is_inside(path, self.hollow):
            return False
        if not is_inside(path, self.closed):
            if not self.judged[path]:
                return True
            self.closed.add(path)
        is_known = self._is_judged(path) and path not in self._before.folders
        if tracked := [] if is_known else self._ignores.tracked_below(path):
            self.new.update(tracked)
            self._open_ways(path, tracked)
        else:
            self.hollow.add(path)
        return False

    def _open_ways(self, top: bytes, tracked: Iterable[bytes]) -> None:
        """Enter a folder that rules name and those in it that lead to what git tracks, no others."""
        ways = {top} | {folder for path in tracked for folder in parents(path) if is_inside(folder, {top})}
        for way in ways:
            if folder := self.survey.enter(way):
                self.hollow.update(path for path in below(way, folder.folders) if path not in ways)

    def _levels(self, folders: Collection[bytes]) -> list[tuple[list[bytes], list[bytes]]]:
        """The files and the folders right below some folders, and so on down until it is worth asking about them."""
        levels: list[tuple[list[bytes], list[bytes]]] = []
        while folders and sum(len(files) + len(inner) for files, inner in levels) < WORTH_ASKING:
            entered = [(path, found) for path in folders if (found := self.survey.enter(path))]
            self._tried.update(path for path, _ in entered)
            files = [path for folder, found in entered for path in below(folder, found.beside)]
            folders = [path for folder, found in entered for path in below(folder, found.folders)]
            levels.append((files, folders))
        return levels


def _rooted(folders: Mapping[bytes, Folder]) -> set[bytes]:
    """The folders that hold or lead to something that is in the index."""
    found = {b""}
    for path, folder in folders.items():
        while folder.files and path not in found:
            found.add(path)
            path = path.rpartition(b"/")[0]  # noqa: PLW2901
    return found
