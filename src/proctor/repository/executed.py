"""Paths inside a workspace that the operator's git would execute, or take orders from.

The session's worker may write the workspace; so what of it is named by the operator's own configuration, by hooks
that are links, or by a `.git` that is a file, is to be read-only while there is one, and must not appear otherwise.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from proctor.repository.layout import REPOSITORY, Layout, common_of, pointed
from proctor.repository.source import Setting, configured, operator_settings

_COMMANDS = re.compile(
    r"core\.(fsmonitor|sshcommand|editor|pager|askpass|gitproxy|alternaterefscommand)"
    r"|filter\..+\.(clean|smudge|process)"
    r"|diff\.external|diff\..+\.(command|textconv)"
    r"|merge\..+\.driver|(merge|diff)tool\..+\.(cmd|path)"
    r"|gpg\.(.+\.)?(program|defaultkeycommand)"
    r"|credential\.(.+\.)?helper"
    r"|pager\..+|sequence\.editor|interactive\.difffilter|trailer\..+\.(command|cmd)|browser\..+\.(cmd|path)"
    r"|man\..+\.(cmd|path)|uploadpack\.packobjectshook|remote\..+\.(uploadpack|receivepack)"
    r"|sendemail\.(.+\.)?(smtpserver|tocmd|cccmd|headercmd|sendmailcmd)|guitool\..+\.cmd|instaweb\.httpd",
    re.S,
)
_SHELL = re.compile(r"alias\..+|submodule\..+\.update|merge\.tool", re.S)
"""Commands only where the value begins with an exclamation mark."""
_INCLUDES = re.compile(r"include\.path|includeif\..+\.path", re.S)
_FOLDERS = re.compile(r"core\.hookspath|init\.templatedir|core\.worktree")
_TOP = re.compile(r"\$\(git rev-parse --show-toplevel\)/|`git rev-parse --show-toplevel`/|\$\{?GIT_WORK_TREE\}?/")
_BETWEEN = ";&|(){}\n`"
_ASSIGNED = re.compile(r"\w+=")
_BEFORE = frozenset(("!", "command", "do", "else", "env", "exec", "if", "nice", "nohup", "then", "time", "while"))
_RUNS_FILES = re.compile(r"(ba|da|k|z|fi)?sh|python[\d.]*|perl|ruby|node|deno|bun|php|lua\w*|awk|Rscript|source|\.")
_FILE = re.compile(r"/|\.\w+$")
_SWITCHES = frozenset(("true", "false", "yes", "no", "on", "off", "0", "1", ""))


def executed(layout: Layout, nested: Iterable[str] = ()) -> tuple[str, ...]:
    """Relative paths inside the workspace, sorted, whether or not anything is there.

    `nested` are the `.git` below the workspace, relative to it. Of a path that leads through a link, both the path
    and what it leads to are named. `standing` tells which of them to protect.
    """
    workspace = layout.workspace
    found: set[Path] = set()
    for one in operator_settings(layout):
        found.update(_of_setting(one, layout.top))
    if layout.git_dir and layout.common:
        for git_dir in {layout.git_dir, layout.common}:
            found.update(_links(git_dir))
            if layout.top / REPOSITORY != git_dir:
                found.add(git_dir)
    for name in nested:
        found.update(_of_nested(workspace / name))
    return tuple(sorted(_inside(found, workspace)))


def standing(workspace: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Those that are there, reached through no link: what a sandbox can show read-only."""
    real = Path(os.path.realpath(workspace))
    return tuple(
        path for path in paths if os.path.lexists(real / path) and os.path.realpath(real / path) == f"{real}/{path}"
    )


def _of_setting(one: Setting, top: Path) -> Iterator[Path]:
    value = one.value
    if _INCLUDES.fullmatch(one.key):
        yield _at(one.origin.parent if one.origin else top, value)
    elif _FOLDERS.fullmatch(one.key):
        yield _at(top, value)
    elif value.lower() in _SWITCHES:
        return
    elif _COMMANDS.fullmatch(one.key) or (_SHELL.fullmatch(one.key) and value.startswith("!")):
        yield from _words(value.removeprefix("!"), top)


def _words(command: str, top: Path) -> Iterator[Path]:
    """The files that a shell command may run or read orders from.

    A program's name is looked up on PATH unless it holds a slash. A word after it may be a file where it looks like
    one, and where the program is one that runs files; a folder is a thing to work on.
    """
    for words in _commands(_TOP.sub("./", command)):
        while words and (_ASSIGNED.match(words[0]) or words[0] in _BEFORE):
            words.pop(0)
        program, *others = words or [""]
        runs_files = _RUNS_FILES.fullmatch(program.rpartition("/")[2]) is not None
        if runs_files and "-c" in others[:-1]:
            at = others.index("-c")
            yield from _words(others.pop(at + 1), top)
        names = [name for word in others for name in {word, word.rpartition("=")[2]} if not name.startswith(("-", "%"))]
        files = [name for name in names if name and (runs_files or _FILE.search(name))]
        for name in [program, *files] if "/" in program else files:
            path = _at(top, name)
            if not path.is_dir():
                yield path


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each simple command of a shell's line."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_BETWEEN)
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # quotes that do not end
        yield from _commands(re.sub("['\"\\\\]", " ", text))
        return
    for between, group in itertools.groupby(words, lambda word: bool(word) and not word.strip(_BETWEEN)):
        if not between:
            yield list(group)


def _at(folder: Path, name: str) -> Path:
    """An absolute path with its links as they are; `~` is the operator's."""
    return Path(os.path.normpath(folder / os.path.expanduser(name)))


def _links(git_dir: Path) -> Iterator[Path]:
    """What of a repository's own folder is a link: its hooks may stand in the tree, under version control."""
    for name in ("hooks", "config", "config.worktree", "commondir", "modules", "info", "info/attributes"):
        yield from _target(git_dir / name)
    if (git_dir / "hooks").is_dir():
        for entry in os.scandir(git_dir / "hooks"):
            yield from _target(Path(entry.path))


def _target(path: Path) -> Iterator[Path]:
    if path.is_symlink():
        yield Path(os.path.normpath(path.parent / os.readlink(path)))
        yield Path(os.path.realpath(path))


def _of_nested(git: Path) -> Iterator[Path]:
    top = git.parent
    git_dir = git
    if git.is_symlink():
        yield from _target(git)
        git_dir = Path(os.path.realpath(git))
    elif git.is_file():
        named = pointed(git)
        if named is None:
            return
        yield Path(os.path.normpath(named))
        git_dir = Path(os.path.realpath(named))
    common = common_of(git_dir)
    if common != git_dir:
        yield common
    for folder in {git_dir, common}:
        yield from _links(folder)
        for name in ("config", "config.worktree"):
            for one in configured(folder / name):
                yield from _of_setting(one, top)


def _inside(paths: Iterable[Path], workspace: Path) -> Iterator[str]:
    """Relative to the workspace, without what is protected anyhow: its `.git` and `.proctor`."""
    for path in paths:
        for one in {path, Path(os.path.realpath(path))}:
            if one != workspace and one.is_relative_to(workspace):
                name = str(one.relative_to(workspace))
                if name.partition("/")[0] not in (REPOSITORY, ".proctor"):
                    yield name
