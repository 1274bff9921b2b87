"""Patterns of the contract, in the language of `.gitignore`, matched by git itself."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from proctor.checkpoint.back.shelf import is_folder
from proctor.checkpoint.policy import DEFAULT, Keep
from proctor.checkpoint.record import parents, raw
from proctor.checkpoint.store.plumbing import Git, joined, split, write_file

_GLOB = frozenset("*?[\\")


class Patterns:
    """One list of patterns. Git is asked in an empty folder, with a repository that has no other rules than these, so
    that neither the project's nor the user's take part. The folder is named by the patterns: another process may be
    about a contract that was changed meanwhile."""

    def __init__(self, git: Git, lines: tuple[str, ...]) -> None:
        self._git = git
        self._lines = lines
        self._content = b"".join(raw(line) + b"\n" for line in lines)
        self._place = git.gitdir / "patterns" / hashlib.sha256(self._content).hexdigest()[:16]

    def __bool__(self) -> bool:
        return bool(self._lines)

    @property
    def file(self) -> Path:
        """The patterns as git reads them."""
        place = self._place / "info" / "exclude"
        if not place.exists():
            for folder in ("objects", "refs", "info", "empty"):
                (self._place / folder).mkdir(parents=True, exist_ok=True)
            write_file(self._place / "HEAD", b"ref: refs/none\n", durable=False)
            write_file(place, self._content, durable=False)
        return place

    def matching(self, paths: Iterable[bytes]) -> set[bytes]:
        """Those of the paths that the patterns name, or a folder above them."""
        if not self:
            return set()
        asked = {path + b"/" if is_folder(self._git.top + b"/" + path) else path: path for path in paths}
        if not asked:
            return set()
        said = self._git.run(
            *("check-ignore", "-z", "--stdin", "--no-index"),
            input=joined(b"./" + path for path in asked),
            ok=(0, 1),
            env={"GIT_DIR": os.fspath(self.file.parent.parent)},
            work=self._place / "empty",
            config=("core.excludesFile=/dev/null",),
        )
        return {asked[path.removeprefix(b"./")] for path in split(said)}

    def listed(self, index: Mapping[str, str]) -> set[bytes]:
        """Those of the files in an index that the patterns name; `index` is the environment that names it."""
        if not self:
            return set()
        return set(split(self._git.run("ls-files", "-z", "-c", "-i", f"--exclude-from={self.file}", env=index)))

    def ways(self) -> frozenset[bytes]:
        """The folders on the way to what patterns name, as far as these say it without a wildcard."""
        found = set[bytes]()
        for line in self._lines:
            plain = "".join(itertools.takewhile(lambda letter: letter not in _GLOB, line)).lstrip("/")
            if not line.startswith("!") and "/" in line.strip("/"):
                found.update(parents(raw(plain.removesuffix("/"))))
        return frozenset(found)


class Wishes:
    """What the contract says against the ignore rules: `exclude` weighs more than `include`, and that more than they.

    `mark` is another as soon as these are, or the limits.
    """

    def __init__(self, git: Git, keep: Keep = DEFAULT) -> None:
        self.exclude = Patterns(git, keep.exclude)
        self.include = Patterns(git, keep.include)
        self.mark = hashlib.sha256(repr(keep).encode()).hexdigest()
        self._ways = self.include.ways()

    def amended(self, ruled: set[bytes], paths: Collection[bytes]) -> set[bytes]:
        """Those of the paths that are left out, where rules leave out `ruled`. Folders on the way to what is included
        are not."""
        return (ruled - self._ways - self.include.matching(ruled)) | self.exclude.matching(paths)
