"""What a failing command says is not there: a program or a module that the check itself starts.

Such a failure says nothing of the work, whatever a script makes of exit code 127. But what is missing may be the work
itself: a module or a program that the task is to bring. It is told apart by who can provide it: what stands nowhere
in the workspace, and is named by the check but not by the task, is for the operator to install. All else is a failure,
and the operator is told. What fails may be a worker's and lie: once one has run, `is_gone` asks the sandbox itself.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.oracle.bench import CheckResult
from proctor.oracle.frozen import Frozen
from proctor.oracle.toolchains import discovery, mentions
from proctor.oracle.toolchains.commands import is_python, trial
from proctor.oracle.toolchains.tools import LINTERS
from proctor.oracle.toolchains.unfetched import unfetched
from proctor.sandbox.policy import Policy
from proctor.sandbox.run import run
from proctor.sandbox.running import Backend
from proctor.trees import scratch_folder
from proctor.words import Verdict

_TAIL = 64 << 10
_SECONDS = 30.0
_NAME = rb"([\w][\w.+-]{0,99})"
_PROGRAM = re.compile(
    rb"^(?:(?:\S*/)?(?:[bdz]a?|k|fi)?sh|[^\n:]{1,300}: (?:line )?\d{1,6}): " + _NAME + rb": (?:command )?not found\r?$"
    rb"|^(?:\S*/)?(?:z|fi)sh:\d{0,6}:? (?:command not found|Unknown command): " + _NAME + rb"\r?$"
    rb"|^(?:\S*/)?(?:g?make(?:\[\d+\])?|env): (?:\xe2\x80\x98|')?"
    + _NAME
    + rb"(?:\xe2\x80\x99|')?: No such file or directory\r?$"
    rb"|: failed to (?:run|execute) command (?:\xe2\x80\x98|')"
    + _NAME
    + rb"(?:\xe2\x80\x99|'): No such file or directory\r?$"
    rb"|\bspawn " + _NAME + rb" ENOENT\b",
    re.MULTILINE,
)
_MODULE = re.compile(rb"^(?:\S*/)?(?:python|pypy)[\d.]*: No module named '?([\w.]{1,200})'?\r?$", re.MULTILINE)
_IMPORTED = re.compile(rb"^ModuleNotFoundError: No module named '([\w.]{1,200})'\r?$", re.MULTILINE)
_PLUGIN = re.compile(
    rb"^ImportError: Error importing plugin \"([\w.]{1,200})\": No module named '([\w.]{1,200})'\r?$", re.MULTILINE
)
"""What pytest says, with the plugin first, before it looks for a test."""
_FILE = re.compile(rb"^FileNotFoundError: \[Errno 2\] No such file or directory: '" + _NAME + rb"'\r?$", re.MULTILINE)
_GO_MODULE = re.compile(rb"^module[ \t]+\"?([^\s\"]+)", re.MULTILINE)
_WORD = re.compile(r"[\w.+-]+")
_MANIFESTS = ("pyproject.toml", "setup.cfg", "setup.py", "package.json", "Cargo.toml", "go.mod")

_TOOLS = LINTERS | frozenset(
    "behave build coverage mkdocs nose2 nox pip_audit pre_commit pytest robot sphinx tox twine".split()  # noqa: SIM905
)
"""What no task is to bring, also where it speaks of it."""


@dataclass(frozen=True, slots=True)
class Lack:
    """What is not there, in words; `sure` where nothing but the operator could bring it. `trial` ends with 0 if it is
    there after all; it is empty for what cannot be tried."""

    what: str
    sure: bool
    trial: tuple[str, ...] = ()


def lack(result: CheckResult, workspace: Path, frozen: Frozen, told: Iterable[str]) -> Lack | None:
    """What the check of a result lacks, where it failed and says so. `told` is what the task asks for."""
    if result.verdict is not Verdict.FAILED or not result.log:
        return None
    output = _end(Path(result.log))
    told = [_without(result.run, text) for text in told]
    if missing := unfetched(output, _go_modules(workspace), bool(result.tests)):
        what = f"{missing.name or 'what it needs'} was not fetched, and a check has no network: {missing.fix}"
        return Lack(what, missing.asked or not any(missing.name in text for text in told))
    if result.tests:
        return None
    named = set(_words(result.run))
    for kind, name, certain in _missing(output):
        ours = name in named or (kind != "module" and name in _scripts(frozen, kind == "plugin"))
        if ours or not certain:
            top = name if kind == "program" else name.partition(".")[0]
            declared = kind != "plugin" and _is_declared(top, workspace)
            sure = certain and ours and (top in _TOOLS or not (declared or _is_provided(top, workspace, told)))
            return Lack(f"{kind} {name} was not found", sure, trial(_starting(kind, name, result.run)))
    return None


def is_gone(trial: Sequence[str], backend: Backend, policy: Policy) -> bool:
    """Whether a trial in the sandbox of checks says that something is not there."""
    with scratch_folder() as scratch:
        ended = run(backend, trial, replace(policy, writable=False), _SECONDS, scratch / "output", _TAIL)
    return ended.exit.ran and not ended.timed_out and ended.exit.code != 0


def _starting(kind: str, name: str, command: Sequence[str]) -> tuple[str, ...]:
    if kind == "program":
        return (name,)
    return (next(filter(is_python, command), "python3"), "-m", name)


def _missing(output: bytes) -> Iterator[tuple[str, str, bool]]:
    """Kinds and names of what is not there, and whether that is what was started rather than what that uses."""
    for plugin, gone in _PLUGIN.findall(output):
        if plugin == gone or plugin.startswith(gone + b"."):
            yield "plugin", plugin.decode(), True
    for pattern, kind, certain in (
        (_PROGRAM, "program", True),
        (_MODULE, "module", True),
        (_IMPORTED, "module", False),
        (_FILE, "program", False),
    ):
        for found in pattern.finditer(output):
            yield kind, next(filter(None, found.groups())).decode(errors="replace"), certain


def _without(run: Sequence[str], text: str) -> str:
    """A text without the check's own command in it."""
    for command in (shlex.join(run), " ".join(run), *(word for word in run if " " in word)):
        text = text.replace(command, " ")
    return text


def _words(run: Sequence[str]) -> Iterator[str]:
    for word in run:
        yield from _WORD.findall(word)


def _scripts(frozen: Frozen, settings: bool = False) -> set[str]:
    """The words of the frozen files that hold a check's commands, or that also say with which `settings` these run."""
    found: set[str] = set()
    names = mentions.names_files if settings else mentions.names_commands
    for item in frozen.items:
        if item.link is None and (item.path in frozen.named or names(item.path)):
            with open(frozen.content(item), "rb") as file:
                found.update(_WORD.findall(file.read(mentions.LIMIT).decode(errors="replace")))
    return found


def _is_declared(name: str, workspace: Path) -> bool:
    """Whether a manifest of the workspace speaks of a name. One that has pytest load a plugin asks for it, no more."""
    words = _as_word(name)
    return any(words.search(discovery.read(workspace / one).decode(errors="replace")) for one in _MANIFESTS)


def _is_provided(name: str, workspace: Path, told: Iterable[str]) -> bool:
    """Whether the workspace has something of a name, or the task speaks of it."""
    words = _as_word(name)
    return any(words.search(text) for text in told) or any(
        name in (part, part.partition(".")[0])
        for path, _ in discovery.walk(workspace, lenient=True)
        for part in path.split("/")
    )


def _as_word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", re.IGNORECASE)


def _go_modules(workspace: Path) -> set[str]:
    """The modules of Go that the workspace holds, at its top or in a folder there."""
    files = (*workspace.glob("go.mod"), *workspace.glob("*/go.mod"))
    return {name.decode(errors="replace") for file in files for name in _GO_MODULE.findall(discovery.read(file))}


def _end(place: Path) -> bytes:
    try:
        with open(place, "rb") as file:
            file.seek(max(0, place.stat().st_size - _TAIL))
            return file.read(_TAIL)
    except OSError:
        return b""
