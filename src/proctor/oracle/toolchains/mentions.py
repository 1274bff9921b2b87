"""Files that frozen build and check files name, and that decide with them what a check does. Pure.

A command may as well name the work itself (`bash deploy.sh --dry-run`), which must never be frozen: so of the scripts
that are named only those count that are called or placed like tests and checks. What a make file includes, and what a
runner is told to load beside the tests, counts by its name alone, and so does what a script reads into its own shell
from the folder that it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from proctor.oracle.toolchains import makes

LIMIT = 256 << 10
"""Bytes of a file that are looked through."""

_NAMING = re.compile(
    r"(?:GNUm|[Mm])akefile|.+\.mk|[Jj]ustfile|\.justfile|[Tt]askfile(?:\.dist)?\.ya?ml|package\.json|noxfile\.py|tox\.(?:ini|toml)"
    r"|pyproject\.toml|setup\.cfg|conftest\.py|\.?pytest\.(?:ini|toml)|.+\.(?:sh|bash|bats)|(?:jest|vitest|vite|mocha|ava|karma|playwright|cypress)\.[\w.-]+"
    r"|\.mocharc(?:\.\w+)?"
)
_SCRIPT = re.compile(
    r"(?<![\w@:/.-])(?:\./)?((?:[\w.-]+/)*[\w.-]+\.(?:sh|bash|bats|py|js|mjs|cjs|ts|rb|pl|mk))(?![\w./-])"
)
_PROGRAM = re.compile(r"(?<![\w@:/.-])(?:\./)?((?:(?<=\./)|[\w.-]+/)(?:[\w.-]+/)*[\w-]+)(?![\w./-])")
"""One without a suffix, by its folder."""
_SHELL, _PYTHON = re.compile(rb"#![^\n]*sh\b"), re.compile(rb"#![^\n]*(?:python|pypy)")
_DATA = re.compile(r"(?<![\w@:/.-])(?:\./)?((?:[\w.-]+/)*[\w.-]+)(?![\w/-])")
_EXPECTED = frozenset({"expected", "expect", "golden", "goldens", "want", "wanted"})
"""What files are called that checks compare with."""
_DEFAULT = re.compile(r"\$\{\w+:?[-=]([^{}\n]*)\}")
_WORDS = frozenset(
    """run all test tests testing check checks ci e2e lint verify validate unit integration spec specs setup teardown
    env global jest vitest mocha pytest smoke coverage quick fast slow acceptance functional helpers runner
    runtest runtests unittest unittests selftest selfcheck smoketest smoketests regression qa""".split()  # noqa: SIM905 - a list to read
)
_TELLING = frozenset(
    """test tests testing check checks ci e2e lint verify validate spec specs jest vitest mocha pytest smoke runtest
    runtests unittest unittests selftest selfcheck smoketest smoketests regression qa""".split()  # noqa: SIM905
)
_OF_PYTEST = frozenset(
    {"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "setup.cfg", "tox.ini"}
)
_PYTESTS = re.compile(r"conftest\.py|\.?pytest\.(?:ini|toml)")
_FOLDERS = frozenset({"test", "tests", "__tests__", "check", "checks", "ci", "spec", "e2e", ".ci", "qa"})
_INCLUDE = re.compile(r"^[ \t]*[-s]?include[ \t]+([^#\n]+)", re.MULTILINE)
_SET = re.compile(r"^[ \t]*([\w.-]+)[ \t]*[:?+]*=([^\n#]*)", re.MULTILINE)
_WILDCARD = re.compile(r"\$\((?:wildcard|strip|sort)[ \t]+((?:[^()\n]|\$\([^()\n]*\))*)\)")
_MADE = re.compile(r"\$[({]([^(){}\n]*)[)}]")
_KNOWN = re.compile(r"\w")
_LOADED = re.compile(
    r"""\b(?:globalSetup|globalTeardown|setupFiles\w*|testEnvironment|testRunner|runner|resolver|testSequencer
    |snapshotResolver|preset|reporters?|environment|transform|require)["']?\s*:\s*(\[[^\]]{0,2000}\]|\{[^}]{0,2000}\}|["'][^"'\n]*["'])""",
    re.VERBOSE,
)
_PLUGINS = re.compile(
    r"""\bpytest_plugins\s*=\s*(\[[^\]]{0,2000}\]|\([^)]{0,2000}\)|["'][^"'\n]*["'])"""
    r"""|(?<!\S)["']?-p["', =]*(?!no:)([A-Za-z_][\w.]*)"""
)
_STARTS = re.compile(
    r"(?<![\w@.-])(?:pytest|py\.test|unittest|nose2|jest|vitest|_?mocha|ava|tap|karma|jasmine|playwright|cypress"
    r"|nyc|c8|tox|nox)(?![\w/.-])|(?<!\S)--test(?!\S)"
)
_TOLD = re.compile(
    r"(?<!\S)(?:--(?:require|import|loader|experimental-loader|file|config(?:-file)?|reporters?|preset|setup\w*)|-[rc])"
    r"(?:=|\s+)['\\]*(?:\./)?((?:[\w.-]+/)*[\w.-]+\.(?:[cm]?[jt]sx?|jsonc?|py|ini|toml|cfg|conf|ya?ml))(?![\w./-])"
)
_SOURCED = re.compile(
    r"(?:^|[;&|({!]|\b(?:then|do|else|if|elif|command|builtin)\b)[ \t]*(?:\.|source)[ \t]+([^\n;]{1,300})",
    re.MULTILINE,
)
_WORD = re.compile(r"[^\s&|(){}<>]+")
_FOUND = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^}]*\}|\$\w+")
"""What a shell puts something in the place of."""
_RUN_MODULE = re.compile(r"(?<![\w-])-m[ \t]+([A-Za-z_][\w.]*)")
_COMMANDS = re.compile(r'[;&|\n"]+')
_MODULE = re.compile(r"[A-Za-z_][\w.]*")
_QUOTED = re.compile(r"""["'](?:<rootDir>/|\./)([\w./-]+)["']""")


def names_files(path: str) -> bool:
    """Whether a file is of a kind that names others."""
    return bool(_NAMING.fullmatch(path.rpartition("/")[2]))


def names_commands(path: str) -> bool:
    """Whether a file is of a kind that holds commands which a check may come to."""
    return names_files(path) and not _PYTESTS.fullmatch(path.rpartition("/")[2])


def named(path: str, data: bytes) -> Iterator[str]:
    """The paths that a file names, as written: from its own folder, or from the workspace's top."""
    text = data[:LIMIT].decode(errors="replace")
    folder, _, name = path.rpartition("/")
    for command in _COMMANDS.split(text.replace("\\\n", " ")):
        if _STARTS.search(command):
            yield from _TOLD.findall(command)
    yield from scripts(text)
    yield from expected(text)
    text = _DEFAULT.sub(r"\1", text)
    if folder and is_shell(path, data):  # at the top it may be the work
        yield from (f"{folder}/{found}" for words in _SOURCED.findall(text) for found in _sourced(words))
    if name in _OF_PYTEST:
        modules = {one for listed, single in _PLUGINS.findall(text) for one in _MODULE.findall(listed or single)}
        yield from (f"{module.replace('.', '/')}.py" for module in modules if _is_own_plugin(module))
    if is_make(name):
        yield from (one for one in included(data) if not _is_pattern(one))
    elif "." in name and not name.endswith((".sh", ".bash", ".bats", ".toml", ".ini", ".py")):
        for value in _LOADED.findall(text):
            yield from _QUOTED.findall(value)


def _is_expected(path: str) -> bool:
    """Whether a check compares with this."""
    return bool(_EXPECTED & set(re.split(r"[-_./]", path.lower())))


def expected(text: str) -> Iterator[str]:
    """The files that commands name and that a check compares with."""
    return (found for found in _DATA.findall(text) if _is_expected(found))


def scripts(text: str) -> Iterator[str]:
    """The scripts of checks that commands name."""
    for pattern in (_SCRIPT, _PROGRAM):
        yield from (found for found in pattern.findall(text) if is_of_checks(found))
    for module in (found.replace(".", "/") for found in _RUN_MODULE.findall(text)):
        yield from (f"{module}.py", f"{module}/__main__.py") if is_of_checks(module) else ()


def is_shell(path: str, data: bytes) -> bool:
    """Whether a file is a script of a shell."""
    return path.endswith((".sh", ".bash", ".bats")) or bool(_SHELL.match(data))


def is_python(path: str, data: bytes) -> bool:
    """Whether a file is a script for Python."""
    return path.endswith(".py") or bool(_PYTHON.match(data))


def _sourced(words: str) -> set[str]:
    """What a script may read into its own shell from its folder: by the file's name, or by what follows a variable."""
    for _ in range(3):  # one may stand in another
        words = _FOUND.sub("\0", words)
    word = _WORD.match(words.replace('"', "").replace("'", ""))
    known = word[0].rpartition("\0")[2].strip("/") if word else ""
    return {found for found in (known, known.rpartition("/")[2]) if found}


def is_make(path: str) -> bool:
    return path.endswith(".mk") or path.lower().endswith("makefile")


def included(data: bytes) -> Iterator[str]:
    """The files that a make file includes, by name or as a pattern, as written."""
    text = data[:LIMIT].decode(errors="replace")
    set_to = {name: value.strip() for name, value in _SET.findall(text)}
    names = "\n".join(_INCLUDE.findall(text))
    for _ in range(3):  # one may stand in another
        names = _MADE.sub(lambda found: set_to.get(found[1], "*"), _WILDCARD.sub(r"\1", names))
    yield from (one for one in names.split() if _KNOWN.search(one) and "$" not in one)


def is_match(path: str, pattern: str) -> bool:
    """Whether a path is what a pattern of `make` stands for, in which nothing stands for a slash."""
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)


def says_more(path: str, data: bytes) -> bool:
    """Whether an included file does more than name what others are made from, as compilers write it."""
    return not (path.endswith(".d") and makes.only_depends(data))


def _is_pattern(name: str) -> bool:
    return not {"*", "?", "["}.isdisjoint(name)


def _is_own_plugin(module: str) -> bool:
    """Whether a plugin is the tests' own rather than one that the project is about."""
    top, dot, _ = module.partition(".")
    return top in _FOLDERS or not (dot or top.startswith("pytest"))


def is_of_checks(path: str) -> bool:
    """Whether a script is called or placed like a check."""
    *folders, name = path.split("/")
    words = {word.lower() for word in re.split(r"[-_.]", name.rpartition(".")[0] or name) if word}
    return bool(_FOLDERS & set(folders)) or (words <= _WORDS and bool(words & _TELLING))
