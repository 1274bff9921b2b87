"""Checks that rest on what is not there yet: where the worker writes it, it writes its own proof."""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from proctor.contract import testfiles
from proctor.contract.model import Contract
from proctor.journal.events import CheckFact
from proctor.oracle.frozen import is_within
from proctor.oracle.gaming.change import is_test
from proctor.oracle.toolchains.commands import Kind, Runner, find_runner, own_scripts
from proctor.oracle.toolchains.owners import judges, owned
from proctor.text import safe_line

_BY_NAME = (Kind.CARGO, Kind.GO)
"""Runners that are told of packages and names, not of files."""


def told(workspace: Path, contract: Contract, checks: Iterable[tuple[str, CheckFact]]) -> tuple[str, ...]:
    """A line for each file that checks rest on and nobody has written; `checks` come with their headings."""
    found: dict[tuple[str, ...], list[str]] = {}
    none = not testfiles.found(workspace)
    for key, check in checks:
        if check.run:
            paths = tuple(lacking(workspace, check))
            if paths or (none and _finds_tests(check.run)):
                found.setdefault(paths, []).append(key)
    return tuple(safe_line(_line(paths, list(dict.fromkeys(keys)), contract), 600) for paths, keys in found.items())


def _line(paths: Sequence[str], keys: Sequence[str], contract: Contract) -> str:
    more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
    what = f"rests on {', '.join(paths[:3])}, not there yet" if paths else "runs tests, and no test is there yet"
    kept = [path for path in paths if is_within(path, (*contract.state.protect, *contract.state.hide))]
    if kept:
        end = f"state.protect and state.hide keep the worker from writing {kept[0]}: write it, or nothing can pass"
    else:
        end = (
            "the worker will write its own proof, which may be empty; write the test before the run and name it under "
            "state.protect, or read what the worker wrote before you believe the verdict"
        )
    return f"{keys[0]}{more}: the check {what}: {end}"


def lacking(workspace: Path, check: CheckFact) -> Iterator[str]:
    """The tests and scripts that judge which a check names, and which are not there."""
    for run in _commands(check.run):
        runner = find_runner(run, {})
        scripts = [] if runner else [path for path in own_scripts(run) if posixpath.splitext(path)[1]]
        mine = owned(check)
        paths = {posixpath.normpath(path) for path in scripts if judges(path) or posixpath.normpath(path) in mine}
        if runner and runner.kind not in _BY_NAME:
            paths |= set(_tests(workspace, run, runner))
        inside = (path for path in sorted(paths) if not path.startswith(("/", "../")))
        yield from (path for path in inside if not (workspace / path).exists())


def _commands(run: Sequence[str]) -> Iterator[list[str]]:
    """A command, and what it may hand to a shell, but for what that starts in another folder."""
    yield list(run)
    for word in run:
        if " " in word and "cd " not in word:
            try:
                yield shlex.split(word)
            except ValueError:
                continue


def _tests(workspace: Path, run: Sequence[str], runner: Runner) -> Iterator[str]:
    for word in run[runner.at + runner.words :]:
        path = word.partition("::")[0]
        if word.startswith("-") or not path:
            continue
        if runner.kind is Kind.UNITTEST and "/" not in path and not path.endswith(".py"):
            path = _module(workspace, path.split("."))
        if path and (is_test(path) or path.partition("/")[0] in testfiles.TEST_FOLDERS) and not set("*?[") & set(path):
            yield posixpath.normpath(path)


def _module(workspace: Path, parts: Sequence[str]) -> str:
    """The file that a dotted name of a test leads to; "" where it leads to a folder."""
    for end in range(1, len(parts) + 1):
        place = "/".join(parts[:end])
        if not (workspace / place).is_dir():
            return f"{place}.py"
    return ""


def _finds_tests(run: Sequence[str]) -> bool:
    """Whether a command runs all tests that its runner finds by their files."""
    runner = find_runner(run, {})
    return runner is not None and runner.kind is not Kind.CARGO
