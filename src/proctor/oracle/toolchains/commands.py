"""What a check's argv starts, and how it is made to run watched. Pure.

A runner is recognised where its name stands in the argv, or in the package script that the argv runs. What is led to
it in another way (make, a shell script) is judged as any command is.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from pathlib import PurePosixPath

_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:t|d)?")
_INTERPRETERS = re.compile(
    _PYTHON.pattern + r"|bash|sh|dash|zsh|fish|node|deno|bun|ruby|perl|php|Rscript|lua|tclsh|pwsh|guile|octave"
)
_WRAPPERS = frozenset({"uv", "poetry", "pdm", "hatch", "pipenv", "rye", "env", "nice", "timeout", "xvfb-run"})
_LAUNCHERS = _WRAPPERS | {
    "coverage", "nohup", "setsid", "stdbuf", "time", "ionice", "chrt", "taskset", "sudo", "valgrind"
}  # fmt: skip
"""What runs another command."""
_VALUED = re.compile(r"-[WX]|-[a-z]*o")
"""Options of interpreters with a value of their own: what Python is told, and `bash -euo pipefail`."""
_VERBS = frozenset({"run", "exec"})
_LAUNCHER_VALUES = frozenset(
    {"-C", "-u", "-s", "-k", "-n", "--chdir", "--unset", "--signal", "--directory", "--project", "--with", "--python"}
)
_RUN_SCRIPTS = frozenset({"coverage", "cProfile", "profile", "trace", "pdb", "scalene", "viztracer", "pyinstrument"})
_SCRIPT_PROGRAMS = frozenset(
    """deno bun bunx npx pnpx tsx ts-node java julia swift dart elixir groovy kotlin scala php perl flock prlimit
    setarch linux32 linux64 unshare chroot systemd-run su runuser xargs parallel watch script expect strace perf
    hyperfine""".split()  # noqa: SIM905 - a list to read
)
_PATH = "PYTHONPATH="
_AMOUNT = re.compile(r"[\d.]+[smhd]?")
_NODE_RUNNERS = frozenset({"jest", "vitest", "mocha", "ava"})
_PYTEST = frozenset({"pytest", "py.test"})
_CARGO_FLAGS = frozenset({"-q", "--quiet", "-v", "--verbose", "--locked", "--offline", "--frozen"})
_NODE_VALUES = frozenset({"-r", "--require", "--import", "--loader", "--experimental-loader", "-C", "--conditions"})
_SILENT = frozenset({"-s", "--silent"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_FINDS = """\
import importlib.util, sys
try:
    found = importlib.util.find_spec(sys.argv[1])
except ImportError:
    found = None
sys.exit(None if found else f"{sys.executable} has no module {sys.argv[1]}")
"""
_WAITS = """\
(exec "$@"); code=$?; most=2; still=0
while set -- /proc/[0-9]*; [ $# -gt 2 ] && [ $still -lt 5 ]; do
    [ $# -gt $most ] && still=0 || still=$((still + 1))
    most=$#
    sleep 0.02
done
exit $code
"""


class Kind(StrEnum):
    UNITTEST = "unittest"
    PYTEST = "pytest"
    JEST = "jest"
    VITEST = "vitest"
    GO = "go test"
    CARGO = "cargo test"

    @property
    def is_python(self) -> bool:
        return self in (Kind.UNITTEST, Kind.PYTEST)

    @property
    def is_node(self) -> bool:
        return self in (Kind.JEST, Kind.VITEST)


_NODE = {"jest": Kind.JEST, "jest.js": Kind.JEST, "vitest": Kind.VITEST, "vitest.mjs": Kind.VITEST}
_RUN_NOTHING = {
    Kind.PYTEST: frozenset({"--collect-only", "--co"}),
    Kind.JEST: frozenset({"--listTests"}),
    Kind.GO: frozenset({"-c", "-run=^$", "--run=^$"}),
    Kind.CARGO: frozenset({"--no-run"}),
}
"""Options with which a runner is told to run no test, and says only whether they can be loaded or built."""
_REPORTER = {Kind.JEST: "--reporters", Kind.VITEST: "--reporter"}


@dataclass(frozen=True, slots=True)
class Runner:
    """A recognised test runner; its name begins at word `at` of the argv and takes `words` of them.

    Further arguments for a node runner go between `head` and `tail`; `reports` says that those it has choose
    reporters.
    """

    kind: Kind
    at: int
    words: int
    head: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    reports: bool = False


def recognise(argv: Sequence[str], scripts: Mapping[str, str] | None = None) -> Runner | None:
    """The test runner that an argv starts, directly or through a launcher; None for anything else.

    `scripts` are those of the package at the workspace's top, by name. One that the operator tells to run no test says
    nothing of tests, and is judged by its exit code.
    """
    runner = find_runner(argv, scripts or {})
    if runner is None or _RUN_NOTHING.get(runner.kind, frozenset()).isdisjoint(_options(argv, runner)):
        return runner
    return None


def find_runner(argv: Sequence[str], scripts: Mapping[str, str]) -> Runner | None:
    """The same, whatever it is told."""
    for at, word in enumerate(argv):
        name, before = _name(word), argv[:at]
        if name in _PYTEST and _launches(before):
            return Runner(Kind.PYTEST, at, 1)
        if word == "-m" and at and at + 1 < len(argv) and _launches(before):
            module = argv[at + 1]
            if module in _PYTEST:
                return Runner(Kind.PYTEST, at, 2)
            if module == "unittest":
                return Runner(Kind.UNITTEST, at, 2)
        if name in _NODE and _launches_node(before):
            return _node_runner(argv, at)
        if name in ("go", "cargo") and _launches(before):
            return _native(argv, at)
        if name in ("npm", "pnpm", "yarn") and _launches(before) and (found := _script(argv, at, scripts)):
            return found
    return None


def watched(argv: Sequence[str], runner: Runner, folder: str, plugin: str, python: str) -> tuple[str, ...]:
    """The argv that runs the same tests under the witness, `folder/plugin` with its suffix.

    A `pytest` that is no module also needs the folder on PYTHONPATH, and no Python gets another one from the argv: that
    is for the witness to add (`python_path`). `python` is the interpreter of a witness that runs
    beside the tests.
    """
    before, name, after = (
        argv[: runner.at],
        argv[runner.at : runner.at + runner.words],
        argv[runner.at + runner.words :],
    )
    if runner.kind.is_python and python_path(argv, runner):
        before = [_PATH + folder if word.startswith(_PATH) else word for word in before]
    match runner.kind:
        case Kind.UNITTEST | Kind.PYTEST if name[0] == "-m":
            return (*before, f"{folder}/{plugin}.py", *name[1:], *after)
        case Kind.PYTEST:
            return (*before, *name, "-p", plugin, *after)
        case Kind.GO | Kind.CARGO:
            last = runner.at + runner.words - 1
            return (python, "-I", "-S", f"{folder}/{plugin}.pyz", runner.kind.split()[0], str(last), *argv)
    option = _REPORTER[runner.kind]
    ours = (*(() if runner.reports else (f"{option}=default",)), f"{option}={folder}/{plugin}.cjs")
    return (*runner.head, *ours, *runner.tail)


def python_path(argv: Sequence[str], runner: Runner) -> str:
    """What an argv puts on Python's path before its runner starts."""
    given = [word.removeprefix(_PATH) for word in argv[: runner.at] if word.startswith(_PATH)]
    return given[-1] if given else ""


def waited(argv: Sequence[str]) -> tuple[str, ...]:
    """The argv that runs the same command in a PID namespace of its own, and waits while what it leaves multiplies.

    A command that forks without end and is done at once would pass otherwise: nobody would see it reach a limit.
    """
    return ("/bin/sh", "-c", _WAITS, "sh", *argv)


def trial(argv: Sequence[str]) -> tuple[str, ...]:
    """An argv that ends at once, with 0 if what this one starts is there: the program, or the interpreter's module.

    What launchers such as `uv run` would start is not asked for: some of them install first.
    """
    at = argv.index("-m") if "-m" in argv[:-1] else 0
    if at and _PYTHON.fullmatch(_name(argv[0])) and not _without_options(argv[1:at]) and "-c" not in argv[:at]:
        return (*argv[:at], "-c", _FINDS, argv[at + 1])
    if _name(argv[0]) in _PYTEST:
        return (argv[0], "--version")
    return ("sh", "-c", 'command -v -- "$1" || { echo "$1 was not found"; exit 1; }', "sh", argv[0])


def named_paths(argv: Sequence[str]) -> Iterator[str]:
    """Paths that may be the check's own script, or the tests and settings its runner is told of.

    A file that some other command is told of, such as a linter's, may as well be the work itself.
    """
    yield from own_scripts(argv)
    runner = find_runner(argv, {})
    node = next((at + 1 for at, word in enumerate(argv) if _name(word) in _NODE_RUNNERS), len(argv))
    for word in argv[runner.at + runner.words if runner else node :]:
        path = word.partition("=")[2] if word.startswith("-") else word.partition("::")[0]
        yield path
        if runner and runner.kind is Kind.UNITTEST and "/" not in path:
            parts = path.split(".")
            yield from ("/".join(parts[:end]) + ".py" for end in range(len(parts), 0, -1))


def own_scripts(argv: Sequence[str]) -> Iterator[str]:
    """The program of the workspace that an argv starts, and the script that it hands to an interpreter."""
    at = program_at(argv)
    for program in argv[at : at + 1]:
        is_place = "/" in program or program.endswith(".py")  # `uv run check.py`
        yield from [program] if is_place else (f"{folder}/{program}" for folder in _path(argv[:at]))
    interpreter = next((at for at, word in enumerate(argv) if is_interpreter(word)), None)
    if interpreter is not None and (script := script_of(argv[interpreter + 1 :])):
        yield script


def _path(words: Sequence[str]) -> Iterator[str]:
    """The folders of the workspace in which programs are looked for, as words before a program tell."""
    for word in words:
        if word.startswith("PATH="):
            folders = (re.sub(r"^(?:\$PWD|\$\(pwd\))/", "", one) for one in word.removeprefix("PATH=").split(":"))
            yield from (one for one in folders if one and one[0] not in "/$~")


def runs_scripts(argv: Sequence[str]) -> bool:
    """Whether an argv starts a program that runs scripts, with words of its own before them."""
    return any(_name(word) in _SCRIPT_PROGRAMS for word in argv)


def program_at(argv: Sequence[str]) -> int:
    """Where the program stands that an argv runs in the end: behind launchers with what these are told."""
    at = next((at for at, word in enumerate(argv) if not _ASSIGNMENT.fullmatch(word)), len(argv))
    while at < len(argv) and _name(argv[at]) in _LAUNCHERS:
        valued = False
        for after, word in enumerate(argv[at + 1 :], at + 1):
            plain = not (valued or word.startswith("-") or _ASSIGNMENT.fullmatch(word) or _AMOUNT.fullmatch(word))
            if plain and word not in _VERBS:
                at = after
                break
            valued = word in _LAUNCHER_VALUES
        else:
            break
    return at


# --- jest and vitest --------------------------------------------------------------------------------


def _node_runner(argv: Sequence[str], at: int) -> Runner:
    kind = _NODE[_name(argv[at])]
    of_npm = "npm" in map(_name, argv[:at]) and "--" not in argv[:at]
    return Runner(kind, at, 1, *_parted(argv, at, of_npm), _chooses_reporters(kind, argv[at:]))


def _parted(argv: Sequence[str], at: int, of_npm: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """An argv where further arguments for the program at word `at` go: before a `--`, but for npm behind one."""
    has = "--" in argv[at:]
    if of_npm:
        return (*argv, *(() if has else ("--",))), ()
    end = argv.index("--", at) if has else len(argv)
    return tuple(argv[:end]), tuple(argv[end:])


def _script(argv: Sequence[str], at: int, scripts: Mapping[str, str]) -> Runner | None:
    """The runner that a package manager, word `at`, starts as the last command of a script."""
    manager, words = _name(argv[at]), [at + 1 + n for n, word in enumerate(argv[at + 1 :]) if word not in _SILENT]
    while words and argv[words[0]] in ("run", "run-script"):
        words.pop(0)
    named = next(iter(words), None)
    if named is None:
        return None
    plain = argv[at + 1 : named] and argv[named - 1] in ("run", "run-script")
    name = "test" if argv[named] in ("t", "tst") and not plain else argv[named]
    if name not in scripts or (manager == "npm" and not plain and name != "test"):
        return None
    command = _last_command(scripts[name])
    start = next((n for n, word in enumerate(command) if _name(word) in _NODE), None)
    if start is None or "--" in command or not _launches_node(command[:start]):
        return None
    kind = _NODE[_name(command[start])]
    head, tail = _parted(argv, named, manager == "npm")
    if manager == "pnpm" and not plain:  # takes options for its own unless it is told to run
        head = (*head[:named], "run", *(["test"] if name == "test" else head[named : named + 1]), *head[named + 1 :])
    return Runner(kind, at, named + 1 - at, head, tail, _chooses_reporters(kind, [*command, *argv[named:]]))


def _last_command(script: str) -> list[str]:
    """The words of the last command of a script, to which further arguments are given; none if that is not clear."""
    lexer = shlex.shlex(script, posix=True, punctuation_chars=True)
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:
        return []
    if any(mark in script for mark in ("\n", "`", "$(")):
        return []
    while "&&" in words:
        words = words[words.index("&&") + 1 :]
    if any(word and set(word) <= set("();<>|&") for word in words):
        return []
    while words and (_ASSIGNMENT.fullmatch(words[0]) or words[0] in ("cross-env", "env")):
        words.pop(0)
    return words


def _launches_node(words: Sequence[str]) -> bool:
    """Whether these words start the program of a node package that follows them."""
    words = [word for word in words if not _ASSIGNMENT.fullmatch(word)]
    if not words or _name(words[0]) in _WRAPPERS | {"cross-env"}:
        return True
    values = {at + 1 for at, word in enumerate(words) if word in _NODE_VALUES}
    rest = [word for at, word in enumerate(words[1:], 1) if not word.startswith("-") and at not in values]
    match _name(words[0]):
        case "npx" | "node":
            return not rest and not {"-c", "--call", "-e", "--eval", "-p", "--package"} & set(words)
        case "npm":
            return rest in (["exec"], ["x"])
        case "pnpm":
            return rest in ([], ["exec"])
        case "yarn":
            return rest in ([], ["run"], ["exec"])
    return False


def _chooses_reporters(kind: Kind, words: Sequence[str]) -> bool:
    return any(word.partition("=")[0] == _REPORTER[kind] for word in words)


# --- go and cargo -----------------------------------------------------------------------------------


def _native(argv: Sequence[str], at: int) -> Runner | None:
    if _name(argv[at]) == "go":
        test = at + 3 if "-C" in argv[at + 1 : at + 2] else at + 1
        return Runner(Kind.GO, at, test + 1 - at) if "test" in argv[test : test + 1] else None
    for test, word in enumerate(argv[at + 1 :], at + 1):
        if word in ("test", "t"):
            return Runner(Kind.CARGO, at, test + 1 - at)
        if word not in _CARGO_FLAGS and not word.startswith("+"):
            break
    return None


# --- words ------------------------------------------------------------------------------------------


def _options(argv: Sequence[str], runner: Runner) -> list[str]:
    """What a runner is told, before a `--`: its words, and each with the next as its value."""
    words = list(argv[runner.at + runner.words :])
    words = words[: words.index("--")] if "--" in words else words
    return [*words, *(f"{word}={value}" for word, value in pairwise(words))]


def _launches(words: Sequence[str]) -> bool:
    """Whether these words start what follows them: nothing, an interpreter with options, or a known launcher."""
    if not words or _name(words[0]) in _WRAPPERS:
        return True
    if _name(words[0]) == "coverage":
        return "run" in words[1:2]
    return bool(_PYTHON.fullmatch(_name(words[0]))) and not _without_options(words[1:]) and "-c" not in words


def script_of(words: Sequence[str]) -> str | None:
    """The script that an interpreter is told to run, also through a module that runs scripts."""
    plain = _without_options(words)
    if not plain or plain[0] in _RUN_SCRIPTS:
        return next((word for word in plain if word.endswith(".py")), None)
    before = set(words[: words.index(plain[0])])
    return None if {"-m", "-c"} & before else plain[0]


def _without_options(words: Sequence[str]) -> list[str]:
    """The words that are no option of an interpreter, nor the value of one."""
    values = {at + 1 for at, word in enumerate(words) if _VALUED.fullmatch(word)}
    return [word for at, word in enumerate(words) if not word.startswith("-") and at not in values]


def is_python(word: str) -> bool:
    """Whether a word of an argv names an interpreter of Python."""
    return bool(_PYTHON.fullmatch(_name(word)))


def is_interpreter(word: str) -> bool:
    """Whether a word of an argv names a program that runs scripts."""
    return bool(_INTERPRETERS.fullmatch(_name(word)))


def is_of_python(word: str) -> bool:
    """Whether a word names an interpreter of Python, or a program that brings one of its environment."""
    return is_python(word) or _name(word) in _PYTEST | {"coverage"}


def _name(word: str) -> str:
    return PurePosixPath(word).name
