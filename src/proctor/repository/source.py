"""What the operator's repository is like, asked of git's plumbing: nothing of it is executed, nothing written."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from proctor.checkpoint.store.hygiene import git_program
from proctor.errors import UsageError
from proctor.repository.layout import Layout, content
from proctor.text import safe_line

_HARMLESS = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.untrackedCache": "keep",
    "core.splitIndex": "false",
    "core.preloadIndex": "false",
    "core.sharedRepository": "umask",
    "gc.auto": "0",
    "maintenance.auto": "false",
}
_LISTING = ("config", "--null", "--show-origin", "--list", "--includes")
_PATIENCE = 10
_DEPTH = 8
"""Alternates of alternates that are followed; git itself stops at five."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One value of the operator's configuration; `origin` is the file that holds it, if it is one."""

    key: str
    value: str
    origin: Path | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What a session repository is made from. `refs` maps names to ids, `links` symbolic ones to what they name.

    `branch` is what HEAD names, "" when it is detached; `head` is its commit, "" while it is unborn. `entries` are
    the index's lines as `git ls-files --stage -v -z` gives them.
    """

    settings: tuple[Setting, ...]
    refs: Mapping[str, str]
    links: Mapping[str, str]
    branch: str
    head: str
    entries: tuple[bytes, ...]

    def last(self, key: str) -> str:
        """The value that counts for a key (section and name in lower case); "" without one."""
        return next((one.value for one in reversed(self.settings) if one.key == key), "")


def environment(git_dir: Path, top: Path, **changes: str) -> dict[str, str]:
    """The whole environment of plumbing on a repository. Of the parent's, what says where its user's settings are.

    An explicit GIT_DIR keeps git from searching, and from caring who owns what.
    """
    pairs = {"GIT_CONFIG_COUNT": str(len(_HARMLESS))}
    for number, (key, value) in enumerate(_HARMLESS.items()):
        pairs |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return {
        **{name: os.environ[name] for name in ("PATH", "TMPDIR", "HOME", "XDG_CONFIG_HOME") if name in os.environ},
        **pairs,
        "GIT_DIR": str(git_dir),
        "GIT_WORK_TREE": str(top),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
        "LC_ALL": "C",
        **changes,
    }


def read(layout: Layout) -> Facts:
    """Everything that a session repository is made from; UsageError with git's words where it cannot be read."""
    assert layout.git_dir is not None
    names = ("for-each-ref", "--format=%(objectname) %(refname) %(symref)")
    env = environment(layout.git_dir, layout.top)
    config, refs, entries = together((_LISTING, names, ("ls-files", "--stage", "-v", "-z")), env, layout)
    found, links = {}, {}
    for line in os.fsdecode(refs).splitlines():
        name, ref, target = line.split(" ")
        found[ref] = name
        if target:
            links[ref] = target
    branch, head = _head(layout.git_dir, found) or _asked(layout, env)
    return Facts(
        settings=tuple(_settings(config)),
        refs=found,
        links=links,
        branch=branch,
        head=head,
        entries=tuple(entries.split(b"\0")[:-1]),
    )


def _head(git_dir: Path, refs: Mapping[str, str]) -> tuple[str, str] | None:
    """HEAD's branch and commit as its file says; None where the file does not say."""
    text = os.fsdecode(content(git_dir / "HEAD")).strip()
    branch = text.removeprefix("ref:").strip()
    if text.startswith("ref:"):
        return (branch, refs[branch]) if branch in refs else None
    return ("", text) if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text) else None


def _asked(layout: Layout, env: Mapping[str, str]) -> tuple[str, str]:
    """The same, asked of git: for a branch without a commit, and for other ways to keep refs."""
    commands = (("symbolic-ref", "-q", "HEAD"), ("rev-parse", "-q", "--verify", "HEAD^{commit}"))
    branch, head = together(commands, env, layout, may_fail=(0, 1))
    return os.fsdecode(branch.strip()), head.decode().strip()


def together(
    commands: Sequence[Sequence[str]], env: Mapping[str, str], layout: Layout, may_fail: Iterable[int] = ()
) -> list[bytes]:
    """Runs several commands side by side; what each said. One that may fail, at its number, then said nothing."""
    started = [_start(command, env) for command in commands]
    said = []
    for process in started:
        out, err = process.communicate()
        said.append((process.returncode, out, err))
    for number, (code, _, err) in enumerate(said):
        if code and number not in may_fail:
            raise UsageError(f"{layout.git_dir}: git {commands[number][0]}: {complaint(err)}")
    return [b"" if code else out for code, out, _ in said]


def complaint(said: bytes) -> str:
    """The last line that git said before it gave up."""
    return safe_line(said.strip().splitlines()[-1], 300) if said.strip() else "it failed without a word"


def _start(command: Sequence[str], env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [git_program(), *command],
        cwd="/",
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def operator_settings(layout: Layout) -> tuple[Setting, ...]:
    """The configuration that the operator's git would read in the workspace: system's, global, local, included."""
    git_dir = layout.git_dir or Path(os.devnull)
    (said,) = together([_LISTING], environment(git_dir, layout.top), layout)
    return tuple(_settings(said))


def configured(file: Path) -> tuple[Setting, ...]:
    """What one config file sets, with what it includes; () if it cannot be read, or never ends."""
    if not file.is_file():
        return ()
    ask = [git_program(), "config", "--file", str(file), "--null", "--show-origin", "--list", "--includes"]
    env = environment(Path(os.devnull), Path("/"))
    try:
        done = subprocess.run(ask, cwd="/", env=env, capture_output=True, check=False, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:  # it includes a FIFO
        return ()
    return tuple(_settings(done.stdout if done.returncode == 0 else b""))


def _settings(listing: bytes) -> Iterator[Setting]:
    words = iter(os.fsdecode(listing).split("\0"))
    for origin, item in zip(words, words, strict=False):
        if origin.startswith("command line"):  # our own
            continue
        key, given, value = item.partition("\n")
        kind, _, name = origin.partition(":")
        file = Path(os.path.normpath(Path("/") / name)) if kind == "file" else None
        yield Setting(key, value if given else "true", file)


def borrowed(common: Path) -> tuple[Path, ...]:
    """The repository's folder of objects, and all that it borrows from in turn; those that are there, each once."""
    found: list[Path] = []
    queue = [(common / "objects", 0)]
    while queue:
        folder, depth = queue.pop(0)
        try:
            real = Path(os.path.realpath(folder))
        except OSError:  # a way that this user may not go
            continue
        if real in found or not os.path.isdir(real):
            continue
        found.append(real)
        if depth < _DEPTH:
            queue += [(real / name, depth + 1) for name in _alternates(real)]
    return tuple(found)


def _alternates(objects: Path) -> Iterator[str]:
    try:
        lines = (objects / "info" / "alternates").read_bytes().split(b"\n")
    except OSError:
        return
    for line in lines:
        if line and not line.startswith(b"#"):
            yield os.fsdecode(_unquoted(line) if line.startswith(b'"') else line)


def _unquoted(line: bytes) -> bytes:
    """A path as git quotes it, as C does."""
    plain = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}

    def character(found: re.Match[bytes]) -> bytes:
        escaped = found[1]
        return bytes([int(escaped, 8) & 0xFF]) if escaped.isdigit() else plain.get(escaped, escaped)

    return re.sub(rb"\\([0-7]{3}|.)", character, line[1:].rpartition(b'"')[0])
