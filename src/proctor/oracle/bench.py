"""The bench that checks run on: a throwaway copy of a checkpoint, and a sandbox in which it stands at the
workspace's path.

Installed paths keep their meaning there. Frozen files are read-only, so that code under test cannot rewrite its tests
while they run. Nothing of the worker's run is left: no network, no variables of its, a fresh scratch home, no shell, a
timeout, an output file of bounded size.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import msgspec
from msgspec.structs import replace as replaced

from proctor.errors import Unrecoverable
from proctor.journal.events import CheckFact
from proctor.journal.events.checks import Page
from proctor.oracle import made, rules, runners, witness
from proctor.oracle.borrowed import Binds, Removed, borrow
from proctor.oracle.frozen import Frozen, Item, is_within
from proctor.oracle.rules import Text
from proctor.oracle.runners import Outcome, Report
from proctor.oracle.tamper import clear, differs, shadowing, undo
from proctor.oracle.toolchains import commands, discovery
from proctor.oracle.toolchains.commands import Kind, Runner
from proctor.oracle.watch import files, toolchains
from proctor.sandbox.policy import DOOR, Policy
from proctor.sandbox.run import Completed, run
from proctor.sandbox.running import DEVNULL, Backend
from proctor.text import safe_line
from proctor.words import Verdict

OUTPUT_LIMIT = 8 << 20
"""Bytes of a check's output that are kept."""
REASON = 300
"""Characters of a reason."""

WALLED = "bwrap"
"""The backend that mounts: under it alone is the copy at the workspace's path and are frozen files read-only."""

_GOALS = "goals.mk"
"""Read by `make` before its own: a new file called like a command would count as made, and the command not be run."""
_REPORT_LIMIT = 32 << 20
_TAIL = 64 << 10
_PROTECTED = 200
"""Frozen files outside the protected folders that get a mount of their own: those first that checks name."""
_LIMIT_SIGNALS = (signal.SIGKILL, signal.SIGXCPU, signal.SIGXFSZ)
_VARIABLES = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUNBUFFERED": "1", "CI": "true", "NO_COLOR": "1", "TERM": "dumb"}


class CheckResult(msgspec.Struct, frozen=True):
    """What one check said. `tests` by id where its runner was watched; `log` is the file with its output."""

    run: tuple[str, ...]
    verdict: Verdict
    reason: str
    title: str = ""
    optional: bool = False
    failing: tuple[str, ...] = ()
    failure: str = ""
    tests: dict[str, Outcome] = {}
    seconds: float = 0.0
    log: str = ""


class Bench:
    """One copy of a tree and the checks run on it, one after the other; what one builds the next may use."""

    def __init__(
        self,
        scratch: Path,
        frozen: Frozen,
        backend: Backend,
        policy: Policy,
        out: Path,
        *,
        tree: Path,
        heed: Callable[[], object] = tuple,
    ) -> None:
        self._scratch = scratch
        self.tree = tree
        self._door = scratch / "door"
        self._frozen = frozen
        self._backend = backend
        self._walled = backend.name == WALLED
        self._base = policy
        self._out = out
        self._heed = heed
        self._binds: Binds = ()
        inside = policy.workspace.resolve() if self._walled else self.tree
        self._built = inside / f".proctor-{secrets.token_hex(8)}"

    def prepare(self, absent: Callable[[], Collection[str]] = tuple) -> tuple[str, ...]:
        """Lay the frozen set over the copy and the environments; the paths that differed. Once, when the tree is there.

        `absent` gives what copies of this checkpoint lack, whoever made it. Raises `Removed` when that cannot be done.
        """
        self._door.mkdir()
        changed = undo(self.tree, self._frozen, lambda: (*self._base.hide, *absent()), self._heed)
        made.disown(self.tree, self._frozen)
        workspace = self._base.workspace.resolve()
        try:
            self._binds, covered = borrow(workspace, self._frozen, self._scratch)
        except Removed as error:
            error.laid_back = changed
            raise
        for environment in self._frozen.borrowed:
            place = clear(self.tree, environment)
            if self._walled:
                place.mkdir()
            else:
                place.symlink_to(workspace / environment)
        if covered and not self._walled:
            raise Removed(f"{covered[0]} was changed, and the checks need it as it was", [*changed, *covered])
        return tuple(map(shown, sorted({*changed, *covered})))

    def run(self, check: CheckFact, number: int) -> CheckResult:
        """Run one check to its end and weigh it; what the one before it did to the frozen set is undone."""
        if number > 1:
            undo(self.tree, self._frozen, heed=self._heed)
        before = self._looks()
        said, output = self._command(check, self._out / f"check-{number}.log")
        if said.verdict is not Verdict.PASSED:
            return said
        begun = time.monotonic()
        log = said.log
        try:
            rules.hold(check, output, self.tree, self._frozen)
            if made_since := shadowing(self.tree, self._frozen):
                raise rules.failed(f"{made_since} was made while the check ran, and is imported in place of another")
            if check.page:
                log = str(self._out / f"check-{number}.page.log")
                self._visit(check, check.page, Path(log))
            if rewritten := self._rewritten(before):
                raise rules.failed(f"{rewritten} was rewritten while the check ran")
        except rules.Broken as broken:
            why = f"{said.reason}, but {broken}" if said.reason and broken.verdict is Verdict.FAILED else str(broken)
            verdict, reason, failure = broken.verdict, why, safe_line(str(broken))
        else:
            verdict, reason, failure = said.verdict, said.reason or "all that it asks for holds", ""
        seconds = round(said.seconds + time.monotonic() - begun, 3)
        reason, log = safe_line(reason, REASON), shown(log)
        return replaced(said, verdict=verdict, reason=reason, failure=failure, seconds=seconds, log=log)

    def _command(self, check: CheckFact, log: Path) -> tuple[CheckResult, Text]:
        """Run the command of a check and weigh its end; one without a command has passed so far. And what it wrote."""
        said = CheckResult(run=check.run, title=check.title, verdict=Verdict.PASSED, reason="", optional=check.optional)
        if not check.run:
            return said, Text("", b"")
        if why := rules.behind_link(check.run, self.tree, self._base.workspace.resolve(), self._frozen):
            return replaced(said, verdict=Verdict.INFRA, reason=safe_line(why, REASON)), Text("", b"")
        runner = commands.recognise(check.run, discovery.package_scripts(self.tree))
        with _line() as line:
            try:
                completed = self._execute(check, runner, line, log)
            except (ValueError, Unrecoverable) as error:
                return replaced(said, verdict=Verdict.INFRA, reason=_not_started(error)), Text("", b"")
            report = line.report() if runner else None
        output = log.read_bytes()
        verdict, reason = _verdict(completed, check, runner, report, output)
        said = replaced(
            said,
            verdict=verdict,
            reason=safe_line(reason, REASON),
            failing=report.failing if report and verdict is Verdict.FAILED else (),
            failure="" if verdict is Verdict.PASSED else _failure(reason, report, output),
            tests=report.tests if report else {},
            seconds=round(completed.seconds, 3),
            log=shown(str(log)),
        )
        return said, Text("the output", output, completed.truncated)

    def _visit(self, check: CheckFact, page: Page, log: Path) -> None:
        """See that a page renders; Broken where not."""
        if not self._walled:
            raise rules.Broken(Verdict.INFRA, f"a page needs a network of its own, which only {WALLED} gives")
        from proctor.oracle import pages  # as no other check needs it

        shutil.copyfile(pages.SOURCE, self._door / pages.NAME)
        with tempfile.TemporaryFile(buffering=0) as file:
            fd = file.fileno()

            def start(argv: Sequence[str], seconds: float) -> Completed:
                return run(self._backend, argv, self._policy(check, None), seconds, log, OUTPUT_LIMIT, stdin=fd)

            try:
                pages.visit(page, fd, start)
            except (ValueError, Unrecoverable) as error:
                raise rules.Broken(Verdict.INFRA, _not_started(error)) from error

    def _execute(self, check: CheckFact, runner: Runner | None, line: _Line, log: Path) -> Completed:
        argv, stdin = check.run, DEVNULL
        if runner:
            argv, stdin = commands.watched(check.run, runner, DOOR, line.plugin, sys.executable), line.fd
            path = commands.python_path(check.run, runner)
            for name, content, mode in files(runner.kind, line.plugin, self._frozen.modules, path):
                place = self._door / name
                place.write_bytes(content)
                place.chmod(mode)
        else:
            (self._door / _GOALS).write_text(f".PHONY: {' '.join(self._frozen.goals)}\n")
            argv = commands.waited(argv) if self._walled else argv
        policy = self._policy(check, runner)
        return run(self._backend, argv, policy, check.timeout, log, OUTPUT_LIMIT, stdin=stdin)

    def _policy(self, check: CheckFact, runner: Runner | None) -> Policy:
        base = self._base
        kind = runner.kind if runner else None
        library = None
        if runner and kind is Kind.GO:
            from proctor.oracle import gobuild  # as no other check needs it

            library = gobuild.library(check.run[runner.at], self._backend, base)
        variables = {**toolchains(kind, self._built, library), **base.environment, **_VARIABLES}
        if kind is Kind.PYTEST:
            variables["PYTHONPATH"] = os.pathsep.join(filter(None, (DOOR, variables.get("PYTHONPATH"))))
        if not runner and self._frozen.goals:
            variables["MAKEFILES"] = f"{DOOR}/{_GOALS}"
        if runner and check.run[runner.at] == "-m":
            variables["PYTHONSAFEPATH"] = "1"  # until the witness is there: `python -m coverage run -m pytest`
        return replace(
            base,
            source=self.tree,
            writable=True,
            protect=self._protected(),
            hide=(),
            readonly=(*self._binds, *([(library, library)] if library else [])),
            environment=variables,
            door=self._door,
            listen=False,
            chdir=None,
        )

    def _looks(self) -> dict[Item, tuple[int, ...]]:
        """How each frozen file looks, without being read: beyond some number no wall is around it, nor is one around a
        link. The time of an inode's last change cannot be set back."""
        if not self._walled:
            return {}
        walls = frozenset(self._protected())
        roots = walls.intersection(self._frozen.roots)
        items = (item for item in self._frozen.items if item.path not in walls and not is_within(item.path, roots))
        return {item: _look(self.tree / item.path) for item in items if discovery.decides_here(item.path)}

    def _rewritten(self, before: dict[Item, tuple[int, ...]]) -> str | None:
        """A frozen file that a check changed, or put another one in the place of."""
        if self._walled:
            seen = (item for item, look in before.items() if _look(self.tree / item.path) != look)
            shared = discovery.is_shared
            return next((i.path for i in seen if not shared(i.path) or differs(self.tree, i, self._frozen)), None)
        changed = undo(self.tree, self._frozen, heed=self._heed)
        return next((path for path in changed if path in self._frozen.by_path), None)

    def _protected(self) -> tuple[str, ...]:
        """What of the copy a check may not write; a link cannot be written, and no sandbox is asked to follow one."""
        items = [item for item in self._frozen.items if not self._frozen.protects(item.path)]
        items.sort(key=lambda item: (not item.declared, discovery.is_shared(item.path)))
        loose = filter(discovery.decides_here, (item.path for item in items))
        names = (*self._frozen.roots, *islice(loose, _PROTECTED))
        return tuple(name for name in names if not (self.tree / name).is_symlink())


@dataclass(frozen=True, slots=True)
class _Line:
    """The file without a name through which a witness reports, and what the two have agreed on for one run."""

    fd: int
    plugin: str = field(default_factory=lambda: f"_proctor_{secrets.token_hex(6)}")
    secret: str = field(default_factory=lambda: secrets.token_hex(witness.SECRET_LENGTH // 2))

    def report(self) -> Report | None:
        return runners.read_report(os.pread(self.fd, _REPORT_LIMIT, 0), self.secret)


@contextmanager
def _line() -> Iterator[_Line]:
    with tempfile.TemporaryFile(buffering=0) as file:
        line = _Line(file.fileno())
        os.pwrite(line.fd, line.secret.encode(), 0)
        yield line


def _verdict(
    completed: Completed, check: CheckFact, runner: Runner | None, report: Report | None, output: bytes
) -> tuple[Verdict, str]:
    """What an ended command proves, and why; one that ran into a limit proves nothing good."""
    if not completed.exceeded:
        return _weighed(completed, check, runner, report, output)
    if not completed.exit.ran and not completed.timed_out:
        return Verdict.INFRA, completed.exceeded
    verdict, reason = _weighed(completed, check, runner, report, output)
    return Verdict.INFRA if verdict is Verdict.PASSED else verdict, f"{reason}; {completed.exceeded}"


def _weighed(
    completed: Completed, check: CheckFact, runner: Runner | None, report: Report | None, output: bytes
) -> tuple[Verdict, str]:
    code, number = completed.exit.code, completed.exit.signal
    if completed.timed_out:
        return Verdict.TIMEOUT, f"no end after {check.timeout:g} s"
    if not completed.exit.ran or code is None:
        return Verdict.INFRA, f"could not start: {runners.last_words(output) or 'no exit code'}"
    if number in _LIMIT_SIGNALS:
        return Verdict.INFRA, f"killed by {signal.Signals(number).name}, as at a limit of the sandbox"
    if number is not None:
        return Verdict.FAILED, f"died of signal {number} ({signal.strsignal(number) or 'unknown'})"
    return runners.weigh(runner.kind if runner else None, code, report, output[-_TAIL:])


def _look(place: Path) -> tuple[int, ...]:
    """What is another one where something else stands at a place, or the same was written to; () for nothing."""
    with contextlib.suppress(OSError):
        status = place.lstat()
        return status.st_ino, status.st_mode, status.st_size, status.st_ctime_ns
    return ()


def _not_started(error: Exception) -> str:
    """Why a sandbox did not start; raises what is no matter of the sandbox."""
    if isinstance(error, Unrecoverable) and error.word != "sandbox":
        raise error
    return safe_line(f"could not start: {error}", REASON)


def _failure(reason: str, report: Report | None, output: bytes) -> str:
    """The raw message of the first failure, or the last words of a command that says no more."""
    if report and report.failures:
        return safe_line(next(iter(report.failures.values())))
    return reason if report else runners.last_words(output[-_TAIL:]) or reason


def shown(path: str) -> str:
    """A path as text that every encoder takes."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")
