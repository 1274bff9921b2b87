"""Copying what is frozen of a workspace into a store by content hash, and following what that names in turn."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Collection
from glob import glob, iglob
from pathlib import Path

from proctor.errors import UsageError
from proctor.oracle import installed
from proctor.oracle.frozen import Frozen, Item, digest_of, is_within
from proctor.oracle.toolchains import cases, discovery, makes, mentions, modules, supports
from proctor.text import safe_line

TOTAL_LIMIT = 2 * 1024**3
"""Bytes that one frozen set may hold."""
_MOST_CASES = 5_000


class Recorder:
    """Copies files of a workspace into a store by content hash. `items` are the records by path, as first made;
    `imports` the names that Python files among them import, `skipped` what could not be recorded, `awaited` what make
    files include, there or not, `reached` the places that scripts of checks name, `supports` the modules that
    tests rest on and that count by a part, `sourced` what scripts read into their own shell if it comes, `joined` what
    of it is there."""

    def __init__(self, workspace: Path, files: Path) -> None:
        self.workspace = workspace
        self.files = files
        self.items: dict[str, Item] = {}
        self.imports: set[str] = set()
        self.skipped: set[str] = set()
        self.awaited: set[str] = set()
        self.reached: set[str] = set()
        self.supports: set[str] = set()
        self.sourced: set[str] = set()
        self.joined: set[str] = set()
        self.make_files: set[str] = set()
        self.size = 0
        files.mkdir()

    def keep(self, earlier: Frozen, anew: Callable[[str], bool]) -> None:
        """Take over what an earlier set holds of paths that are not recorded anew."""
        self.items |= {item.path: item for item in earlier.items if not anew(item.path)}
        for item in (*self.items.values(), *earlier.guarded, *earlier.trees, *earlier.cases):
            if item.link is None and not (self.files / item.digest).exists():
                os.link(earlier.content(item), self.files / item.digest)
        self.skipped |= {path for path in earlier.skipped if not anew(path)}

    def record(self, path: str, declared: bool = False) -> Item | None:
        """The record of a file or link, which is kept; None for what cannot be recorded."""
        if path not in self.items and (item := self.item(path, declared)):
            self.items[path] = item
        return self.items.get(path)

    def item(self, path: str, declared: bool = False) -> Item | None:
        """The record of a file or link, which is not kept; None for what cannot be recorded. UsageError if it cannot be
        read."""
        full = self.workspace / path
        try:
            mode = full.lstat().st_mode
            if stat.S_ISLNK(mode):
                target = os.readlink(full)
                return Item(path, hashlib.sha256(os.fsencode(target)).hexdigest(), 0o777, target, declared)
            if stat.S_ISREG(mode):
                return Item(path, self._keep(full, mode), stat.S_IMODE(mode), None, declared)
        except OSError as error:
            raise unreadable(path, error) from error
        self.skipped.add(path)
        return None

    def plain(self) -> list[Item]:
        """The records of files, which are no links."""
        return [item for item in self.items.values() if item.link is None]

    def follow(self, anew: Callable[[str], bool], ignored: Collection[str], of_checks: Collection[str]) -> None:
        """Record what recorded files and the scripts of checks name, and what those name in turn."""
        queue = [item for item in self.plain() if item.path in of_checks or self._names_files(item)]
        while queue:
            for place in sorted(self._named(queue.pop())):
                if place in self.items or is_within(place, {*discovery.OWN, *ignored}):
                    continue
                if not anew(place) or not _is_file(self.workspace, place) or self._is_data(place):
                    continue
                one = self.record(place)
                if one and one.link is None and (self._names_files(one) or mentions.is_script(place, self.text(one))):
                    queue.append(one)

    def _named(self, item: Item) -> set[str]:
        """The places that a file names, also by patterns."""
        data = self.text(item)
        places = mentions.named(item.path, data)
        patterns = {place for place in places if "*" in place}
        if self.is_make(item.path):
            included = mentions.places(item.path.rpartition("/")[0], makes.included(data))
            self.awaited |= included
            patterns |= included
        places |= {found for one in patterns for found in glob(one, root_dir=self.workspace, include_hidden=True)}
        self.reached |= places
        if self.is_make(item.path) or mentions.is_shell(item.path, data):
            self.sources(item.path, data.decode(errors="replace"))
        return places

    def support(self, anew: Callable[[str], bool], ignored: Collection[str], named: Collection[str]) -> None:
        """Record the modules that recorded tests rest on as on themselves, and those that such modules rest on; `named`
        are plugins that checks name, as paths without a suffix."""
        queue = [item for item in self.plain() if item.path.endswith((".py", ".toml", ".ini", ".cfg"))]
        texts = {item.path: self.text(item).decode(errors="replace") for item in queue}
        rests = {path: supports.rests_on(path, text) for path, text in texts.items()}
        tried = {place for path, (_, modules) in rests.items() for place in supports.standing(path, modules)}
        plugins = supports.standing("", named)
        while queue:
            item = queue.pop()
            text = texts.get(item.path) or self.text(item).decode(errors="replace")
            plugins |= supports.standing(item.path, supports.of_settings(item.path, text))
            imported, _ = rests.get(item.path) or supports.rests_on(item.path, text)
            found = supports.standing(item.path, imported) - tried
            for place in sorted(plugins | found):
                if place in self.items or is_within(place, {*discovery.OWN, *ignored}):
                    continue
                if not anew(place) or not _is_file(self.workspace, place):
                    continue
                data = discovery.read(self.workspace / place)
                if (place in plugins or supports.is_support(item.path, place, data)) and (one := self.record(place)):
                    self.supports.add(place)
                    queue += [one] if one.link is None else []

    def cases(self, anew: Callable[[str], bool], ignored: Collection[str], commands: str) -> list[Item]:
        """The records, which are not kept, of data that `commands` and recorded tests and checks take whatever there is
        of it."""
        patterns = cases.taken("", commands)
        for item in self.plain():
            if mentions.SOURCE.fullmatch(item.path) or self._names_files(item):
                patterns |= cases.taken(item.path, self.text(item).decode(errors="replace"))
        found: dict[str, Item] = {}
        for path in (path for one in sorted(patterns) for path in iglob(one, root_dir=self.workspace, recursive=True)):
            known = path in found or path in self.items or is_within(path, {*discovery.OWN, *ignored})
            if known or len(found) == _MOST_CASES or not (cases.is_case(path) and anew(path)):
                continue
            full = self.workspace / path
            plain = _is_file(self.workspace, path) and not full.is_symlink() and os.access(full, os.R_OK)
            if plain and full.stat().st_size <= discovery.PARSE_LIMIT and (case := self.item(path)):
                found[path] = case
        return list(found.values())

    def sources(self, path: str, text: str) -> None:
        """Take note of what a script reads into its own shell: that is there, or nobody has written yet."""
        found = mentions.sources(path, text)
        self.joined |= {one for one in found if "*" not in one and _is_file(self.workspace, one)}
        self.sourced |= {one for one in found if "*" in one or not os.path.lexists(self.workspace / one)}

    def is_make(self, path: str) -> bool:
        """Whether a file is one of make, by its name or since a check's command says so."""
        return makes.is_make(path) or path in self.make_files

    def _is_data(self, place: str) -> bool:
        """Whether a file without a suffix is no program."""
        full = self.workspace / place
        return "." not in full.name and not os.access(full, os.X_OK) and not discovery.read(full).startswith(b"#!")

    def text(self, item: Item) -> bytes:
        """The beginning of what was recorded."""
        with open(self.files / item.digest, "rb") as file:
            return file.read(mentions.LIMIT)

    def _names_files(self, item: Item) -> bool:
        plain = "." not in item.path.rpartition("/")[2]
        return mentions.names_files(item.path) or (plain and mentions.is_shell(item.path, self.text(item)))

    def describe(self, environment: str) -> Item:
        """The record of an environment as a whole: the manifest of what is installed there."""
        return Item(environment, self._take(installed.encode(self.workspace / environment)), 0o644)

    def _take(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        (self.files / digest).write_bytes(content)
        return digest

    def _keep(self, source: Path, mode: int) -> str:
        copy = self.files / "new"
        with open(os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            self.size += os.fstat(file.fileno()).st_size
            if self.size > TOTAL_LIMIT:
                where = safe_line(str(source))
                raise UsageError(f"{where}: the protected files are larger than {TOTAL_LIMIT >> 30}G; protect less")
            with open(copy, "xb") as kept:
                shutil.copyfileobj(file, kept, 1 << 20)
        if source.suffix == ".py":
            self.imports |= modules.imports(copy.read_bytes())
        kept_as = self.files / digest_of(copy)
        executable = mode & stat.S_IXUSR or (kept_as.exists() and kept_as.stat().st_mode & stat.S_IXUSR)
        copy.chmod(0o755 if executable else 0o644)
        os.replace(copy, kept_as)
        return kept_as.name


def _is_file(workspace: Path, path: str) -> bool:
    """Whether a regular file stands at a relative path, or a link; on the way to it there is none."""
    try:
        mode = os.lstat(workspace / path).st_mode
    except (OSError, ValueError):
        return False
    return (stat.S_ISREG(mode) or stat.S_ISLNK(mode)) and discovery.on_plain_folders(workspace, path)


def unreadable(path: str, error: OSError) -> UsageError:
    return UsageError(
        f"{safe_line(path)}: cannot be frozen: {(error.strerror or str(error)).lower()}; make it readable"
    )
