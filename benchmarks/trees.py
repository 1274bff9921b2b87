"""Source-like trees of any size in a packed repository of git's, and changes to them that can be taken back.

Sixteen files a folder, folders two to four levels deep, files of about 4 KB by a log-normal law. Beside them a tenth
as many files in ignored `node_modules`, a few logs and an `.env`.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = 16
MEAN, SPREAD = 8.0, 0.75
"""Of the logarithm of a file's bytes: 4 KB on the average."""
RULES = "node_modules/\n*.log\n.env\n"
WORDS = ("value", "item", "index", "return", "if", "else", "for", "self", "=", "+", "(", ")", ":", "[", "]", "None")


def run(folder: Path, *words: str, env: dict[str, str] | None = None, input: bytes | None = None) -> bytes:
    """Run a command to its end; what it printed."""
    whole = {**os.environ, **(env or {})}
    done = subprocess.run(words, cwd=folder, env=whole, input=input, capture_output=True, check=True)
    return done.stdout


class Text:
    """Lines that compress as source does."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        names = [f"{chance.choice(WORDS)}_{chance.randrange(500)}" for _ in range(2_000)]
        lines = (" ".join(chance.choices((*WORDS, *names), k=chance.randrange(1, 12))) for _ in range(40_000))
        self._pool = "\n".join(lines).encode()

    def file(self) -> bytes:
        size = int(self._chance.lognormvariate(MEAN, SPREAD))
        at = self._chance.randrange(len(self._pool) - 200_000)
        return b"# %032x\n%s\n" % (self._chance.getrandbits(128), self._pool[at : at + min(size, 200_000)])


def paths(files: int) -> Iterator[str]:
    for number in range(files):
        leaf = number // FOLDER
        above = (f"pkg{leaf % 25}", f"sub{leaf % 7}", f"part{leaf % 3}")[: 1 + leaf % 3]
        yield "/".join((*above, f"mod{leaf}", f"file{number}.py"))


@dataclass(slots=True)
class Tree:
    """A workspace in a repository of its own; `size` is its files' bytes."""

    workspace: Path
    chance: random.Random
    files: list[str] = field(default_factory=list)
    size: int = 0
    text: Text = field(init=False)

    def __post_init__(self) -> None:
        self.text = Text(self.chance)

    def make(self, files: int) -> None:
        self.workspace.mkdir(parents=True)
        run(self.workspace, "git", "init", "-q", "-b", "main")
        for name, value in {"user.name": "bench", "user.email": "bench@localhost", "gc.auto": "0"}.items():
            run(self.workspace, "git", "config", name, value)
        self.files = list(paths(files))
        with open(self.workspace.parent / "stream", "w+b") as stream:
            stream.write(b"commit refs/heads/main\ncommitter bench <bench@localhost> 0 +0000\ndata 0\n")
            for path, content in ((".gitignore", RULES.encode()), *((path, self.text.file()) for path in self.files)):
                self._write(path, content)
                self.size += len(content)
                stream.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(content), content))
            stream.seek(0)
            fast = ["git", "-c", "pack.compression=1", "-c", "fastimport.unpackLimit=0", "fast-import", "--quiet"]
            subprocess.run(fast, cwd=self.workspace, stdin=stream, check=True)
        os.unlink(stream.name)
        run(self.workspace, "git", "read-tree", "main")
        run(self.workspace, "git", "update-index", "-q", "--refresh")
        for number in range(files // 10):
            self._write(f"node_modules/lib{number // FOLDER}/index{number}.js", b"module.exports = %d\n" % number)
        for name in (".env", "pkg0/debug.log", "pkg1/debug.log"):
            self._write(name, b"1\n")

    def _write(self, path: str, content: bytes) -> None:
        place = self.workspace / path
        try:
            place.write_bytes(content)
        except FileNotFoundError:
            place.parent.mkdir(parents=True)
            place.write_bytes(content)

    def change(self, count: int) -> Change:
        """Change so many files: 80 % get other lines and another size, 10 % are new, 10 % are gone."""
        new = gone = count // 10
        some = self.chance.sample(self.files, min(len(self.files), 2 * count))
        there = [path for path in some if (self.workspace / path).exists()]
        old = {path: (self.workspace / path).read_bytes() for path in there[: count - new]}
        for number, path in enumerate(old):
            if number < gone:
                os.unlink(self.workspace / path)
            else:
                lines = old[path].splitlines(keepends=True)
                at = self.chance.randrange(len(lines))
                lines[at : at + 1] = [b"changed %016x\n" % self.chance.getrandbits(64)] * self.chance.randrange(2, 9)
                (self.workspace / path).write_bytes(b"".join(lines))
        fresh = [f"{os.path.dirname(path)}/new_{self.chance.getrandbits(64):x}.py" for path in list(old)[:new]]
        for path in fresh:
            self._write(path, self.text.file())
        return Change(self.workspace, old, fresh)


@dataclass(frozen=True, slots=True)
class Change:
    """Files as they were before, and those that were not there."""

    workspace: Path
    old: dict[str, bytes]
    new: list[str]

    @property
    def paths(self) -> list[str]:
        return [*self.old, *self.new]

    def is_back(self) -> bool:
        """Whether every file is again what it was."""
        there = all((self.workspace / path).read_bytes() == content for path, content in self.old.items())
        return there and not any((self.workspace / path).exists() for path in self.new)

    def take_back(self) -> None:
        for path, content in self.old.items():
            (self.workspace / path).write_bytes(content)
        for path in self.new:
            (self.workspace / path).unlink(missing_ok=True)
