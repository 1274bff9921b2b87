"""Hidden files in git: whether a repository's objects would tell what no worker may read."""

from __future__ import annotations

import hashlib
import os
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from proctor.checkpoint.store.hygiene import git_program
from proctor.checkpoint.store.plumbing import write_file
from proctor.errors import UsageError
from proctor.repository.layout import REPOSITORY, Layout, content, find, is_repository, settings
from proctor.repository.source import Facts, borrowed, environment, read
from proctor.repository.subtree import entries_below
from proctor.text import safe_line

SECONDS = 5.0
"""How long a history is searched for hidden paths. What is not known by then counts as found."""

_WORKTREES = "worktrees/*/index"
_MOST_FILES = 2_000
_MOST_BYTES = 4 << 20
"""Of the hidden files of now, how many are looked for in the repository, and how large the largest."""


def normal(hide: Iterable[str]) -> tuple[str, ...]:
    """Paths in the form that git writes, each once, in order."""
    return tuple(sorted({str(PurePosixPath(path)) for path in hide}))


def is_hidden(path: str, hide: Sequence[str]) -> bool:
    """Whether a path is one of these, which are in normal form, or lies below one."""
    return any(path == one or path.startswith(f"{one}/") for one in hide)


def visible(entries: Sequence[bytes], hide: Sequence[str]) -> tuple[bytes, ...]:
    """The lines of an index that are of no hidden path."""
    return tuple(line for line in entries if not is_hidden(os.fsdecode(line.partition(b"\t")[2]), hide))


def held(layout: Layout, facts: Facts, hide: Sequence[str], note: Path | None = None) -> str:
    """Where the repository's objects hold what lies, or once lay, at a hidden path, in words; "" if nowhere.

    Asked are all refs, reflogs and indexes, the stash and other worktrees with them, and the hidden files of now, which
    may have been staged once. No is certain as far as that goes; yes may mean that it is not known. The commits that
    were found clean are written to `note`, so that only newer ones are searched the next time.
    """
    assert layout.common is not None
    paths = [f"{layout.prefix}/{path}" if layout.prefix else path for path in hide]
    kept = set(visible(facts.entries, paths))
    for line in facts.entries:
        if line not in kept:
            return _shown(line.partition(b"\t")[2]) + " is in git's index"
    search = _Search(layout)
    return search.in_indexes(paths) or search.in_history(facts, paths, note) or search.as_files(facts, hide)


def _shown(paths: bytes) -> str:
    """The first of the paths that git said."""
    return safe_line(os.fsdecode(paths.partition(b"\0")[0]), 200)


class _Search:
    def __init__(self, layout: Layout) -> None:
        assert layout.git_dir is not None
        assert layout.common is not None
        self._layout = layout
        self._until = time.monotonic() + SECONDS
        # What is borrowed from has refs and an index of its own, and all its objects are read.
        stores = (folder.parent for folder in borrowed(layout.common)[1:])
        self._lenders = [store for store in stores if is_repository(store)]
        # Nothing is fetched: what a partial clone lacks is not known, and not here either.
        changes = {"GIT_LITERAL_PATHSPECS": "1", "GIT_ALLOW_PROTOCOL": "none"}
        self._env = environment(layout.git_dir, layout.top, **changes)

    def _ask(self, words: Sequence[str], fed: bytes = b"", **changes: str) -> bytes | None:
        """What git said; None if it failed, or the time is over."""
        env, left = {**self._env, **changes}, max(self._until - time.monotonic(), 0.01)
        ask = [git_program(), *words]
        try:
            done = subprocess.run(ask, cwd="/", env=env, input=fed, capture_output=True, check=False, timeout=left)
        except subprocess.TimeoutExpired:
            return None
        return None if done.returncode else done.stdout

    def in_indexes(self, paths: Sequence[str]) -> str:
        """In those of the other worktrees, and of the repositories that are borrowed from."""
        layout = self._layout
        assert layout.common is not None
        assert layout.git_dir is not None
        found = {file for one in (layout.common, *self._lenders) for file in (one / "index", *one.glob(_WORKTREES))}
        found.discard(layout.git_dir / "index")
        listed = ["ls-files", "-z", "--", *paths]
        for index in sorted(found):
            said = self._ask(listed, GIT_INDEX_FILE=str(index)) if index.is_file() else b""
            if said != b"":
                return f"{_shown(said)} is in {index}" if said else f"git cannot search {index}"
        return ""

    def in_history(self, facts: Facts, paths: Sequence[str], note: Path | None) -> str:
        tips = sorted({*facts.refs.values(), facts.head} - {""})
        about = hashlib.sha256("\0".join(paths).encode(errors="surrogateescape")).hexdigest()
        noted = content(note, 64 << 20).decode().split("\n") if note else []
        clean = noted[1:] if noted[:1] == [about] else []
        # Full: a branch that brought the file and took it away again is simplified away otherwise.
        words = ["rev-list", "--all", "--reflog", "--full-history", "-1", "--ignore-missing", "--stdin", "--", *paths]
        fed = "".join(f"^{tip}\n" for tip in clean).encode()
        assert self._layout.git_dir is not None
        stores = (self._layout.git_dir, *self._lenders)
        for store in stores:
            said = self._ask(words, fed, GIT_DIR=str(store))
            if said != b"":
                return self._in_commit(said.decode().strip(), paths, store) if said else self._not_known(store)
        if note and clean != tips:
            write_file(note, "\n".join([about, *tips]).encode())
        return ""

    def _in_commit(self, commit: str, paths: Sequence[str], store: Path) -> str:
        """Which path a commit has touched, and a ref that leads to the commit."""
        ask = ["diff-tree", "-r", "-m", "--root", "--no-commit-id", "--name-only", "-z", commit, "--", *paths]
        touched = self._ask(ask, GIT_DIR=str(store)) or os.fsencode(paths[0])
        ask = ["for-each-ref", "--count=1", f"--contains={commit}", "--format=%(refname:short)"]
        ref = os.fsdecode((self._ask(ask, GIT_DIR=str(store)) or b"").strip())
        at = f"which {safe_line(ref, 100)} leads to" if ref else "which only the stash or a reflog leads to"
        return f"{_shown(touched)} is in git's history, in commit {commit[:12]}, {at}"

    def _not_known(self, store: Path) -> str:
        return f"git could not search the history of {store} for hidden files within {SECONDS:.0f} s"

    def as_files(self, facts: Facts, hide: Sequence[str]) -> str:
        """Whether a hidden file of now is an object that is no visible file's: staged once, or lost."""
        if any(one.key.endswith((".promisor", ".partialclonefilter")) for one in facts.settings):
            return ""  # asking for an object that is not there would fetch it
        kind = "sha256" if facts.last("extensions.objectformat") == "sha256" else "sha1"
        names: dict[str, Path] = {}
        for number, file in enumerate(_files(self._layout.workspace, hide)):
            if number >= _MOST_FILES or time.monotonic() > self._until:
                break
            data = content(file, _MOST_BYTES)
            if data:
                name = hashlib.new(kind, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
                names[name] = file
        entries = facts.entries
        if self._layout.prefix:
            entries = entries_below(entries, self._layout.prefix)
        for line in entries:
            names.pop(line.split(b" ")[2].decode(), None)
        if not names:
            return ""
        fed = "".join(f"{name}\n" for name in names).encode()
        said = self._ask(["cat-file", "--batch-check"], fed)
        if said is None:
            return self._not_known(self._layout.common or self._layout.workspace)
        there = (line.partition(b" ") for line in said.splitlines() if not line.endswith(b" missing"))
        for found in (os.fsdecode(line) for line, _, _ in there):
            way = names[found].relative_to(self._layout.workspace)
            return f"what {safe_line(str(way), 200)} holds is in git, object {found[:12]}, as if staged once"
        return ""


def _files(workspace: Path, hide: Sequence[str]) -> Iterator[Path]:
    for path in hide:
        place = workspace / path
        if place.is_symlink():
            continue
        if not place.is_dir():
            yield place
        for top, _, names in os.walk(place):
            yield from (Path(top, name) for name in names if not os.path.islink(Path(top, name)))


def telling(workspace: Path, repositories: Iterable[str], hide: Sequence[str], notes: Path) -> Iterator[str]:
    """Of the `.git` below the workspace's own those whose objects tell what lies at a path hidden in their folder.

    `notes` is the folder where it is noted how far their histories were searched.
    """
    hide = normal(hide)
    for name in repositories:
        folder = os.path.dirname(name)
        below = [path[len(folder) + 1 :] for path in hide if folder and path.startswith(f"{folder}/")]
        below = [path for path in below if not is_hidden(REPOSITORY, [path])]
        note = notes / f"searched-{hashlib.sha256(os.fsencode(name)).hexdigest()[:16]}"
        if below and _tells(workspace / folder, below, note):
            yield name


def _tells(folder: Path, hide: Sequence[str], note: Path) -> bool:
    try:
        layout = find(folder)
        if layout.git_dir is None or layout.prefix:  # what it is git cannot say, but it may hold objects
            return True
        return bool(held(layout, read(layout), hide, note))
    except UsageError:
        return True


def hidden_modules(modules: Path, workspace: Path, hide: Sequence[str]) -> Iterator[Path]:
    """The repositories of submodules, as ways from the folder that holds them, whose own `.git` is hidden, or which
    are checked out nowhere and have a hidden path in their folder."""
    queue = [modules]
    while queue:
        for top, folders, _ in os.walk(queue.pop()):
            folders.sort()
            if not is_repository(Path(top)):
                continue
            folders.clear()
            queue.append(Path(top, "modules"))
            config = settings(Path(top, "config")) | settings(Path(top, "config.worktree"))
            named = config.get("core.worktree", [""])[-1]
            place = Path(os.path.realpath(os.path.join(top, named)))
            with suppress(ValueError):
                way = str(place.relative_to(workspace))
                is_gone = not os.path.lexists(place / REPOSITORY)
                if is_hidden(f"{way}/{REPOSITORY}", hide) or (is_gone and any(is_hidden(one, [way]) for one in hide)):
                    yield Path(top).relative_to(modules)
