"""Paths inside a workspace that the operator's git would execute, or take orders from.

The session's worker may write the workspace; so what of it is named by the operator's own configuration, by hooks
that are links, or by a `.git` that is a file, is to be read-only while there is one, and must not appear otherwise.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from proctor.repository.commands import Named, at, of_shell, of_words, open_ways, orders, together
from proctor.repository.layout import REPOSITORY, Layout, common_of, pointed
from proctor.repository.source import Setting, configured, operator_settings

_COMMANDS = re.compile(
    r"(.+\.)?([\w-]*(command|cmd|hook|helper|program|prog|driver|editor|pager|askpass|tunnel|textconv|difffilter|path"
    r"|browser|viewer|tool)|clean|smudge|process|args|external|httpd|uploadpack|receivepack|vcs|smtpserver|fsmonitor"
    r"|gitproxy)|pager\..+",
    re.S,
)
"""By the last part of a key. One too many costs little: only words that look like files count."""
_SHELL = re.compile(r"alias\..+|submodule\..+\.update", re.S)
"""Commands only where the value begins with an exclamation mark."""
_REWRITES = re.compile(r"url\.(ext::.*)\.(push)?insteadof", re.S)
_TRANSPORT = "ext::"
_INCLUDES = re.compile(r"include\.path|includeif\..+\.path", re.S)
_FOLDERS = re.compile(r"core\.hookspath|init\.templatedir|core\.worktree")
_HOOKS = "core.hookspath"
_SWITCHES = frozenset(("true", "false", "yes", "no", "on", "off", "0", "1", ""))
_NAMES = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update"),
    *("proc-receive", "post-receive", "post-update", "reference-transaction", "push-to-checkout", "pre-auto-gc"),
    *("post-rewrite", "sendemail-validate", "fsmonitor-watchman", "post-index-change"),
)
_MOST_HOOKS = 200
_MOST_LINKS = 40
_CONFIGS = ("config", "config.worktree")


def executed(layout: Layout, nested: Iterable[str] = ()) -> tuple[str, ...]:
    """Relative paths inside the workspace, sorted, whether or not anything is there.

    `nested` are the `.git` below the workspace, relative to it. Of a path that leads through a link, both the path
    and what it leads to are named. `standing` tells which of them to protect.
    """
    workspace = layout.workspace
    found: set[Path] = set()
    settings = operator_settings(layout)
    found.update(_of_settings(settings, layout.top, workspace))
    if layout.git_dir and layout.common:
        for git_dir in {layout.git_dir, layout.common}:
            found.update(_of_git_dir(git_dir, layout.top, workspace))
            if layout.top / REPOSITORY != git_dir:
                found.add(git_dir)
    nested = tuple(nested)
    own = tuple(_everywhere(settings, layout)) if nested else ()
    for name in nested:
        found.update(_of_nested(workspace / name, own, workspace))
    return tuple(sorted(_inside(found, workspace)))


def by_commands(commands: Iterable[Sequence[str]], workspace: Path) -> tuple[str, ...]:
    """What commands run that are started in the workspace without a shell, and what else they take orders from that
    is there. Relative to the workspace, sorted."""
    named = together(of_words(words, workspace) for words in commands)
    run = _inside(named.runs, workspace)
    return tuple(sorted({*run, *standing(workspace, _inside(orders(named, workspace, workspace), workspace))}))


def left_open(commands: Iterable[Sequence[str]], workspace: Path) -> tuple[str, ...]:
    """What of such commands a worker could make or replace, if they are run while it works: a line for each."""
    return tuple(open_ways(together(of_words(words, workspace) for words in commands), workspace))


def standing(workspace: Path, paths: Iterable[str]) -> tuple[str, ...]:
    """Those that are there, reached through no link: what a sandbox can show read-only."""
    real = Path(os.path.realpath(workspace))
    return tuple(
        path for path in paths if os.path.lexists(real / path) and os.path.realpath(real / path) == f"{real}/{path}"
    )


def _of_settings(settings: Iterable[Setting], top: Path, workspace: Path) -> Iterator[Path]:
    commands = []
    for one in settings:
        value = one.value
        if _INCLUDES.fullmatch(one.key):
            yield at(one.origin.parent if one.origin else top, value)
        elif _FOLDERS.fullmatch(one.key):
            yield at(top, value)
            if one.key == _HOOKS:
                yield from _of_hooks(at(top, value), top, workspace)
        elif rewritten := _REWRITES.fullmatch(one.key):
            commands.append(of_shell(rewritten[1].removeprefix(_TRANSPORT), top))
        elif value.startswith(_TRANSPORT):
            commands.append(of_shell(value.removeprefix(_TRANSPORT), top))
        elif value.lower() in _SWITCHES:
            continue
        elif _COMMANDS.fullmatch(one.key) or (_SHELL.fullmatch(one.key) and value.startswith("!")):
            commands.append(of_shell(value.removeprefix("!"), top))
    yield from orders(together(commands), top, workspace)


def _of_hooks(folder: Path, top: Path, workspace: Path) -> Iterator[Path]:
    """What the hooks in a folder are links to, and what they name. They run at the top."""
    if workspace.is_relative_to(folder):  # not a folder for hooks alone, which could be kept as a whole
        hooks = {folder / name for name in _NAMES}
        yield from hooks
        yield from orders(Named(runs=hooks), top, workspace)
        return
    if folder.name == "_" and workspace in folder.parent.parents:  # what Husky makes runs what is beside it
        yield folder.parent
    folders = [folder, folder.parent] if folder.name == "_" else [folder]
    entries = {path for place in folders for path in _entries(place) if path.suffix != ".sample"}
    for path in entries:
        yield from _target(path)
    yield from orders(Named(runs=entries), top, workspace)


def _entries(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in itertools.islice(entries, _MOST_HOOKS)]
    except OSError:
        return []


def _of_git_dir(git_dir: Path, top: Path, workspace: Path) -> Iterator[Path]:
    """What of a repository's own folder is a link: its hooks may stand in the tree, under version control."""
    for name in ("hooks", "config", "config.worktree", "commondir", "modules", "info", "info/attributes"):
        yield from _target(git_dir / name)
    yield from _of_hooks(git_dir / "hooks", top, workspace)


def _target(path: Path) -> Iterator[Path]:
    """What a link leads to, with each link on the way."""
    for _ in range(_MOST_LINKS):
        if not path.is_symlink():
            return
        path = Path(os.path.normpath(path.parent / os.readlink(path)))
        yield path
        yield Path(os.path.realpath(path))


def _everywhere(settings: Iterable[Setting], layout: Layout) -> Iterator[Setting]:
    """Those that hold for the repositories below this one too, or may: the operator's own, conditions or not."""
    folders = [folder for folder in (layout.git_dir, layout.common) if folder]
    for one in settings:
        if one.origin and any(one.origin.is_relative_to(folder) for folder in folders):
            continue
        yield one
        if one.origin and one.key.startswith("includeif."):
            yield from configured(at(one.origin.parent, one.value))


def _of_nested(git: Path, own: Sequence[Setting], workspace: Path) -> Iterator[Path]:
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
    settings = [one for folder in {git_dir, common} for name in _CONFIGS for one in configured(folder / name)]
    for top in {git.parent, *([] if git.name == REPOSITORY else [git])}:
        yield from _of_settings((*own, *settings), top, workspace)
        for folder in {git_dir, common}:
            yield from _of_git_dir(folder, top, workspace)


def _inside(paths: Iterable[Path], workspace: Path) -> Iterator[str]:
    """Relative to the workspace, without what is protected anyhow: its `.git` and `.proctor`."""
    for path in paths:
        for one in {path, Path(os.path.realpath(path))}:
            if one != workspace and one.is_relative_to(workspace):
                name = str(one.relative_to(workspace))
                if name.partition("/")[0] not in (REPOSITORY, ".proctor"):
                    yield name
