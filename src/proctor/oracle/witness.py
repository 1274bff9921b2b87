"""Watches a project's own unittest or pytest from inside its process and tells the judge what really ran.

Started as a script it is `python -m unittest` or `python -m pytest`; loaded by a `pytest` that was started otherwise it
only listens. It runs in the project's interpreter (Python 3.9 or later), beside code that may want to look green, so it
imports the standard library alone, takes all it needs before any code of the workspace runs, keeps it out of reach of
simple patching, and speaks only when the runner has come to its end. An early exit, a printed summary, a replaced
assertion or a skipped rest therefore never look like a pass. Code that sets out to read this process's memory can still
forge a report: what is judged runs in the same interpreter as what judges it.

The line to the judge is standard input: a file without a name, open for both, which first holds a secret that the
report must repeat.
"""

from __future__ import annotations

import builtins
import fcntl
import os
import re
import stat
import sys
import time
import types
from collections.abc import Callable, Collection, Iterator
from importlib.machinery import FrozenImporter, ModuleSpec, PathFinder
from typing import Any

SECRET_LENGTH = 64
FIELD, RECORD = "\x1f", "\x1e"
PASSED, FAILED, SKIPPED, UNSEALED = "passed", "failed", "skipped", "unsealed"
_EXCERPT = 500

_BUILTINS = frozenset(vars(builtins))
_INTERVAL = 0.05
_FRAMEWORKS = ("unittest", "_pytest", "pluggy")
OWN = ".own"
"""Suffix of the file beside this one with what the check puts on Python's path, and the modules which the workspace
had before the work."""

Tell = Callable[[], None]
Check = Callable[..., None]


class Notes:
    """What was seen so far, one outcome for each test id; a failure is never taken back."""

    __slots__ = ("broken", "excerpts", "outcomes", "planned")

    def __init__(self) -> None:
        self.planned: list[str] = []
        self.outcomes: dict[str, str] = {}
        self.excerpts: dict[str, str] = {}
        self.broken: list[str] = []

    def add(self, name: str, outcome: str, excerpt: str = "") -> None:
        if self.outcomes.get(name) != FAILED:
            self.outcomes[name] = outcome
            if excerpt:
                self.excerpts[name] = excerpt[:_EXCERPT]

    def records(self) -> list[tuple[str, str, str]]:
        """Every outcome. Where nothing failed, a planned test that did not run did, unless its group was skipped."""
        if FAILED not in self.outcomes.values():
            groups = tuple(name + "." for name, outcome in self.outcomes.items() if outcome == SKIPPED)
            for name in self.planned:
                if name not in self.outcomes and not name.startswith(groups):
                    self.add(name, FAILED, "did not run")
        seen = [(outcome, name, self.excerpts.get(name, "")) for name, outcome in self.outcomes.items()]
        return seen + [(UNSEALED, name, "") for name in self.broken]


def open_line(notes: Notes) -> Tell | None:
    """Takes the judge's line from standard input, which becomes empty; None when it is not there to take."""
    try:
        if not stat.S_ISREG(os.fstat(0).st_mode) or fcntl.fcntl(0, fcntl.F_GETFL) & os.O_ACCMODE != os.O_RDWR:
            return None
    except OSError:
        return None
    line = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    secret = os.pread(line, SECRET_LENGTH, 0)
    os.ftruncate(line, 0)
    write, clean, process, owner = os.pwrite, re.compile("[\x00-\x08\x0b-\x1f]").sub, os.getpid, os.getpid()

    def tell() -> None:
        if process() == owner:
            rows = [FIELD.join([clean("?", field) for field in record]) for record in notes.records()]
            report = secret + RECORD.join(rows).encode("utf-8", "backslashreplace") + RECORD.encode() + secret
            done = 0
            while done < len(report):
                done += write(line, report[done:], done)

    return tell


def seal(notes: Notes) -> Check:
    """Remembers the functions of the loaded test frameworks; the returned check notes those that are others by now.

    Asked after every test it looks now and then, which costs next to nothing; `last` makes it look.
    """
    owners: list[Any] = []
    for name, module in list(sys.modules.items()):
        if name == __name__ or name.partition(".")[0] in _FRAMEWORKS:
            owners += [module, *(v for v in vars(module).values() if isinstance(v, type) and v.__module__ == name)]
    marks = [
        (owner, name, value, code_of(value)) for owner in owners for name, value in vars(owner).items() if works(value)
    ]
    special = [(owner, {name for name in vars(owner) if hides(name)}) for owner in owners]
    clock, looked = time.monotonic, [0.0]

    def check(last: bool = False) -> None:
        if not last and clock() - looked[0] < _INTERVAL:
            return
        for owner, name, value, code in marks:
            now = vars(owner).get(name)
            if now is not value or code_of(now) is not code:
                note(owner, name)
        for owner, names in special:
            for name, value in list(vars(owner).items()):
                if hides(name) and name not in names and works(value):
                    note(owner, name)
        looked[0] = clock()

    def note(owner: Any, name: str) -> None:
        text = owner.__name__ + "." + name
        if text not in notes.broken:
            notes.broken.append(text)

    return check


def hides(name: str) -> bool:
    """Whether a new name would stand before what a framework's code means by it."""
    return name[:2] == "__" or name in _BUILTINS


def works(value: object) -> bool:
    return isinstance(value, (types.FunctionType, type, classmethod, staticmethod, property))


def code_of(value: object) -> object:
    return getattr(getattr(value, "__func__", value), "__code__", None)


def message_of(error: Any) -> str:
    """Type and message of an exception, whatever its own `__str__` does."""
    try:
        return f"{error[0].__name__}: {error[1]}"
    except Exception:
        return str(getattr(error[0], "__name__", "error"))


# --- what is imported from where --------------------------------------------------------------------


class Apart:
    """Keeps what a workspace holds from standing before Python's library and what is installed while a runner starts.

    `own` are the top-level modules that the workspace had before the work. They come first as ever, unless they are
    called like one of the library: these stand there for the tests alone, from `enter` on, as does what the check puts
    on the `path`. A runner that is no module (`alone`) has nothing else of the workspace before it.
    """

    def __init__(self, path: str = "", own: Collection[str] = (), *, alone: bool = False) -> None:
        here = os.getcwd()
        self._path = path
        given = [os.path.join(here, place) for place in path.split(os.pathsep)] if path else []
        door = os.path.dirname(os.path.realpath(__file__))
        library = os.path.dirname(os.__file__)
        places = [place for place in sys.path if alone or os.path.realpath(place) != door]
        at = places.index(library) if library in places else 0
        first = [place for place in places[:at] if (os.path.abspath(place) + os.sep).startswith(here + os.sep)]
        self._lead = list(dict.fromkeys([*([] if alone else [here]), *given, *first]))
        self._own = {name for name in own if PathFinder.find_spec(name, [library]) is None}
        sys.path[:] = self._rest = [place for place in places if place not in first and place != here]
        sys.meta_path.insert(0, self)
        os.environ.pop("PYTHONSAFEPATH", None)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if path is not None or name not in self._own or name in sys.builtin_module_names:
            return None
        return PathFinder.find_spec(name, [*self._lead, *self._rest])  # a mere folder stands behind a module

    def enter(self) -> None:
        """Lets the workspace come first, as `python -m` does, also where something of the same name was needed."""
        sys.meta_path.remove(self)
        if self._path:
            os.environ["PYTHONPATH"] = self._path
        since = [place for place in sys.path if place not in self._rest]  # by pytest's setting `pythonpath`
        sys.path[:] = [*since, *self._lead, *(place for place in sys.path if place not in (*since, *self._lead))]
        known = list(sys.modules)
        kept = {*sys.builtin_module_names, *_FRAMEWORKS, "pytest", "__main__", __name__}
        for top in {name.partition(".")[0] for name in known} - kept:
            spec = None if FrozenImporter.find_spec(top) else PathFinder.find_spec(top, self._lead)
            if spec and spec.origin and spec.origin != getattr(sys.modules.get(top), "__file__", None):
                for name in known:
                    if name.partition(".")[0] == top:
                        sys.modules.pop(name, None)


def told() -> list[str]:
    """The path and the modules of the check."""
    with open(os.path.splitext(__file__)[0] + OWN, encoding="utf-8", errors="surrogateescape") as file:
        return file.read().split("\0")


def start(arguments: list[str]) -> int:
    """`python -m ARGUMENTS`, of a runner that is watched; its exit code."""
    path, *own = told()
    apart = Apart(path, own)
    runner, *rest = arguments
    sys.modules["__main__"].__spec__ = ModuleSpec(runner + ".__main__", None)
    return run_unittest(rest, apart) if runner == "unittest" else run_pytest(rest, apart)


# --- unittest ---------------------------------------------------------------------------------------


def run_unittest(arguments: list[str], apart: Apart) -> int:
    """`python -m unittest ARGUMENTS`, watched; its exit code."""
    import unittest

    notes = Notes()
    tell = open_line(notes)
    check = seal(notes)
    group_of = re.compile(r"(?:setUp|tearDown)(?:Class|Module) \((.+)\)").fullmatch

    def name_of(test: Any) -> str:
        test = getattr(test, "test_case", test)
        name = str(test.id())
        if type(test).__name__ in ("_FailedTest", "ModuleSkipped"):
            return name.partition(type(test).__name__ + ".")[2]
        group = group_of(name)
        return group.group(1) if group else name

    def excerpt_of(test: Any, error: Any) -> str:
        text = message_of(error)
        return text.strip().rpartition("\n")[2] if type(test).__name__ == "_FailedTest" else text

    class Result(unittest.TextTestResult):
        def addSuccess(self, test: Any) -> None:
            notes.add(name_of(test), PASSED)
            super().addSuccess(test)

        def addError(self, test: Any, err: Any) -> None:
            notes.add(name_of(test), FAILED, excerpt_of(test, err))
            super().addError(test, err)

        def addFailure(self, test: Any, err: Any) -> None:
            notes.add(name_of(test), FAILED, message_of(err))
            super().addFailure(test, err)

        def addSkip(self, test: Any, reason: str) -> None:
            notes.add(name_of(test), SKIPPED)
            super().addSkip(test, reason)

        def addExpectedFailure(self, test: Any, err: Any) -> None:
            notes.add(name_of(test), SKIPPED)
            super().addExpectedFailure(test, err)

        def addUnexpectedSuccess(self, test: Any) -> None:
            notes.add(name_of(test), FAILED, "unexpected success")
            super().addUnexpectedSuccess(test)

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            if err is not None:
                notes.add(name_of(test), FAILED, message_of(err))
            super().addSubTest(test, subtest, err)

        def stopTest(self, test: Any) -> None:
            super().stopTest(test)
            check()

    def ids_in(suite: Any) -> list[str]:
        if isinstance(suite, unittest.BaseTestSuite):
            return [name for test in suite for name in ids_in(test)]
        return [] if suite is None else [name_of(suite)]

    class Runner(unittest.TextTestRunner):
        resultclass: Any = Result

        def run(self, test: Any) -> Any:
            notes.planned = ids_in(test)
            return super().run(test)

    apart.enter()
    sys.argv = [os.path.basename(sys.executable) + " -m unittest", *arguments]
    program = unittest.main(module=None, testRunner=Runner, exit=False)
    check(last=True)
    if tell:
        tell()
    return 0 if program.result.wasSuccessful() else 1


# --- pytest -----------------------------------------------------------------------------------------


def run_pytest(arguments: list[str], apart: Apart) -> int:
    """`python -m pytest ARGUMENTS`, watched; its exit code."""
    try:
        import pytest
    except ModuleNotFoundError as error:
        if error.name != "pytest":
            raise
        print(f"{sys.executable}: No module named pytest", file=sys.stderr)
        return 1
    wait()

    class Enter:
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_load_initial_conftests(self) -> Iterator[None]:
            apart.enter()
            yield

    sys.argv = [os.path.join(os.path.dirname(pytest.__file__), "__main__.py"), *arguments]
    code = pytest.main(arguments, plugins=[sys.modules[__name__], Enter()])
    sys.stdout.flush()
    return int(code)


def wait() -> bool:
    """Takes the judge's line, to watch what begins when pytest has loaded all that is installed."""
    notes = Notes()
    if tell := open_line(notes):
        _waiting.append((notes, tell))
    return bool(_waiting)


def pytest_load_initial_conftests(early_config: Any) -> None:
    """pytest's hook: plugins are loaded, nothing of the workspace is yet."""
    while _apart:
        _apart.pop().enter()
    while _waiting:
        early_config.pluginmanager.register(watch_pytest(*_waiting.pop()))


def watch_pytest(notes: Notes, tell: Tell) -> object:
    """The plugin that listens to one pytest session."""
    import pytest

    check = seal(notes)

    def excerpt_of(report: Any) -> str:
        crash = getattr(report.longrepr, "reprcrash", None)
        text = crash.message if crash else str(report.longrepr or "").strip().rpartition("\n")[2]
        return re.sub(r"^E +", "", str(text))

    class Witness:
        def pytest_collectreport(self, report: Any) -> None:
            if report.failed:
                notes.add(report.nodeid or "collection", FAILED, excerpt_of(report))

        @pytest.hookimpl(trylast=True)
        def pytest_collection_finish(self, session: Any) -> None:
            notes.planned = [item.nodeid for item in session.items]

        @pytest.hookimpl(optionalhook=True)
        def pytest_xdist_node_collection_finished(self, ids: Any) -> None:
            notes.planned = list(ids)

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed:
                notes.add(report.nodeid, FAILED, excerpt_of(report))
            elif report.skipped:
                notes.add(report.nodeid, SKIPPED)
            elif report.when == "call" and report.outcome == PASSED:
                notes.add(report.nodeid, PASSED)
            elif report.when == "teardown":
                check()

        @pytest.hookimpl(trylast=True)
        def pytest_sessionfinish(self) -> None:
            check(last=True)
            tell()

    return Witness()


_waiting: list[tuple[Notes, Tell]] = []
_apart: list[Apart] = []

if __name__ == "__main__":
    sys.exit(start(sys.argv[1:]))
elif "pytest" in sys.modules and wait():
    _path, *_own = told()
    if _path:
        _apart.append(Apart(_path, _own, alone=True))
