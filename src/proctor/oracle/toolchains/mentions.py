"""Files that frozen build and check files name, and that decide with them what a check does. Pure.

A command may as well name the work itself (`bash deploy.sh --dry-run`), which must never be frozen: so of the scripts
that are named, and of the modules that scripts import, only those count that are called or placed like checks, and
modules that help a check's script. What a runner is told to load beside the tests counts by its name alone, and so does
what a script reads into its own shell from the folder that it stands in. A file that is only asked for, or removed
(`! -e old.sh`), is not named: it may have to go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import normpath

from proctor.oracle.toolchains.modules import taken_in
from proctor.oracle.toolchains.owners import is_of_checks, judges
from proctor.oracle.toolchains.tools import LINTERS

LIMIT = 256 << 10
"""Bytes of a file that are looked through."""

_NAMING = re.compile(
    r"(?:GNUm|[Mm])akefile|.+\.mk|[Jj]ustfile|\.justfile|[Tt]askfile(?:\.dist)?\.ya?ml|package\.json|noxfile\.py|tox\.(?:ini|toml)"
    r"|pyproject\.toml|setup\.cfg|conftest\.py|\.?pytest\.(?:ini|toml)|.+\.(?:sh|bash|bats)|(?:jest|vitest|vite|mocha|ava|karma|playwright|cypress)\.[\w.-]+"
    r"|\.mocharc(?:\.\w+)?"
)
_SUFFIX = r"(?:sh|bash|bats|py|js|mjs|cjs|ts|rb|pl|mk)"
_BEFORE, _AFTER = r"(?<![\w@:/.-])(?:\./)?", r"(?![\w./-])"
_SCRIPT = re.compile(rf"{_BEFORE}((?:[\w.-]+/)*[\w.-]+\.{_SUFFIX}){_AFTER}")
_PROGRAM = re.compile(rf"{_BEFORE}((?:(?<=\./)|[\w.-]+/)(?:[\w.-]+/)*[\w-]+){_AFTER}")
"""One without a suffix, by its folder."""
_EACH = re.compile(rf"(?<![*\w@:/.-])(?:\./)?((?:[\w.*-]+/)*[\w.*-]*\.(?:sh|bash|bats)){_AFTER}")
"""Those that a pattern stands for."""
_SHELL, _PYTHON = re.compile(rb"#![^\n]*sh\b"), re.compile(rb"#![^\n]*(?:python|pypy)")
_DATA = re.compile(rf"{_BEFORE}((?:[\w.-]+/)*[\w.-]+)(?![\w/-])")
SOURCE = re.compile(r".*\.(?:py|[cm]?[jt]sx?|go|rs|c|cc|cpp|h|java|rb|kt|cs|php|swift)")
_WRITTEN = re.compile(r">+\s*(?:\./)?([^\s;&|]+)")
_EXPECTED = frozenset({"expected", "expect", "golden", "goldens", "want", "wanted"})
"""What files are called that checks compare with."""
_DEFAULT = re.compile(r"\$\{\w+:?[-=]([^{}\n]*)\}")
PYTESTS_OWN = frozenset(
    {"conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", "pyproject.toml", "setup.cfg", "tox.ini"}
)
"""Files that pytest is told by what to load."""
_PYTESTS = re.compile(r"conftest\.py|\.?pytest\.(?:ini|toml)")
_LOADED = re.compile(
    r"""\b(?:globalSetup|globalTeardown|setupFiles\w*|testEnvironment|testRunner|runner|resolver|testSequencer
    |snapshotResolver|preset|reporters?|environment|transform|require)["']?\s*:\s*(\[[^\]]{0,2000}\]|\{[^}]{0,2000}\}|["'][^"'\n]*["'])""",
    re.VERBOSE,
)
_PLUGINS = re.compile(
    r"""\bpytest_plugins\s*=\s*(\[[^\]]{0,2000}\]|\([^)]{0,2000}\)|["'][^"'\n]*["'])"""
    r"""|(?<![\w./-])["']?-p["', =]*(?!no:)([A-Za-z_][\w.]*)"""
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
_LOOP = re.compile(r"\bfor[ \t]+(\w+)[ \t]+in[ \t]+([^\n;]{1,300})[;\n]\s*do\b(.{0,2000}?)\bdone\b", re.DOTALL)
_IT = r"[\"']?(?:\./|\$\$?\w+/)?\$\$?\{?%s\b"
_RUNS = (
    r"(?:^|[;&|({!]|\b(?:then|else|if|time|exec)\b)[ \t]*"
    r"(?:(?:[\w./-]*/)?(?:\w*sh|python[\d.]*|node|ruby|perl)[ \t]+(?:-\w+[ \t]+)*)?"
)
"""What stands before one that is run, in the body of a loop."""
_PARTS = re.compile(r"\brun-parts[ \t]+(?:-\S+[ \t]+)*(?:\./)?([\w.-]+(?:/[\w.-]+)*)")
_NO_QUOTES = str.maketrans("", "", "\"'")
_WORD = re.compile(r"[^\s&|(){}<>]+")
_FOUND = re.compile(r"\$\([^()]*\)|`[^`]*`|\$\{[^}]*\}|\$\w+")
"""What a shell puts something in the place of."""
_RUN_MODULE = re.compile(r"(?<![\w-])-m[ \t]+([A-Za-z_][\w.]*)")
_COMMANDS = re.compile(r'[;&|\n"]+')
_MODULE = re.compile(r"[A-Za-z_][\w.]*")
_COMPARES = re.compile(r"(?:^|[\s;&|(!])(?:diff|cmp|comm)((?:[ \t]+[^\s;&|()<>]+)+)")
_ASKED = re.compile(
    r"""(?:(?:^|[\s;&|(!"'])(?:test|\[\[?)|\s-[ao])[ \t]+(?:![ \t]+)?-[a-zA-Z][ \t]+[^\s\];&|]+"""
    rf"""|(?:^|[\s;&|(!"'])(?:rm|unlink|ls|{"|".join(sorted(LINTERS))})(?:[ \t]+[^\s;&|"']+)+"""
    r"""|\b(?:l?exists|is(?:file|dir|link)|(?:exists|access|unlink|rm)Sync|unlink|remove)\([ \t]*["'][^"'\n]+["']"""
    r"""|["'][^"'\n]+["'][ \t]*\)\.(?:exists|is_file|is_dir|unlink)\b""",
    re.MULTILINE,
)
"""Where it is asked whether a file is there, or where it is removed or read by a linter."""
_TESTS = re.compile(r"^[ \t]*(?:(?:async[ \t]+)?def[ \t]+test|class[ \t]+\w*Test|(?:describe|it|test)\()", re.MULTILINE)
"""What a runner collects: helpers of tests may come and grow with the work."""
_HELPS = re.compile(r"(?:.*_)?(?:helpers?|harness|assert(?:s|ions?)?|test_?(?:lib|utils?|support))(?:_.*)?")
_SHARED = re.compile(r"(?:.*_)?(?:utils?|common|lib|support|shared)(?:_.*)?")
"""Below the top; at the top it may be the work."""
_STATEMENT = r"(?:await[ \t]+|(?:sys\.|process\.)?exit\(|raise SystemExit\()?"
_MOST_MODULES = 500
_MODULE_ENDS = (".py", "/__init__.py", ".js", ".mjs", ".cjs", ".ts", ".mts", "/index.js", "/index.ts", ".rb", ".pl", "")
_QUOTED = re.compile(r"""["'](?:<rootDir>/|\./)([\w./-]+)["']""")


def names_files(path: str) -> bool:
    """Whether a file is of a kind that names others."""
    return bool(_NAMING.fullmatch(path.rpartition("/")[2]))


def names_commands(path: str) -> bool:
    """Whether a file is of a kind that holds commands which a check may come to."""
    return names_files(path) and not _PYTESTS.fullmatch(path.rpartition("/")[2])


def named(path: str, data: bytes) -> set[str]:
    """The places in the workspace that a file names, or imports if it is a script, there or not; those with `*` are
    patterns."""
    text = data[:LIMIT].decode(errors="replace")
    folder, _, name = path.rpartition("/")
    starting = filter(_STARTS.search, _COMMANDS.split(text.replace("\\\n", " ")))
    told = [one for part in starting for one in _TOLD.findall(part)]
    looped = each(text, folder)
    text = _put_in(_DEFAULT.sub(r"\1", text))
    if is_shell(path, data):
        sourced = {found for words in _SOURCED.findall(text) for found in _sourced(words)}
        told += [f"{folder or '.'}/{one}" for one in sourced if folder or judges(one) or _HELPS.fullmatch(_stem(one))]
    if name in PYTESTS_OWN:
        told += [f"{module.replace('.', '/')}.py" for module in plugins(text) if _is_own_plugin(module)]
    elif "." in name and not name.endswith((".sh", ".bash", ".bats", ".toml", ".ini", ".py")):
        told += [one for value in _LOADED.findall(text) for one in _QUOTED.findall(value)]
    found = looped | places(folder, told) | scripts(text, folder) | places(folder, expected(text))
    imports = is_script(path, data) and name != "conftest.py" and not _TESTS.search(text)
    return found | (imported(text, folder) if imports else set())


def sources(path: str, text: str) -> set[str]:
    """The places of what a script, a make file or a command reads into its shell, there or not; with `*` what a loop
    goes over."""
    loops = (
        words.split() for words, name, body in _loops(text) if re.search(rf"(?:\.|source)[ \t]+{_IT % name}", body)
    )
    text = _put_in(_DEFAULT.sub(r"\1", text))
    found = [one for words in _SOURCED.findall(text) for one in _sourced(words)]
    return places(path.rpartition("/")[0], [*found, *(one for words in loops for one in words if "*" in one)])


def plugins(text: str) -> set[str]:
    """The modules that a text has pytest load as plugins, as written."""
    return {one for listed, single in _PLUGINS.findall(text) for one in _MODULE.findall(listed or single)}


def places(folder: str, names: Iterable[str]) -> set[str]:
    """Where names in a file may lead to within the workspace: from the file's own folder, or from the top."""
    found = {normpath(f"{base}/{name}") for name in names for base in (".", folder or ".")}
    return {place for place in found if not place.startswith(("..", "/"))}


def scripts(text: str, folder: str = "") -> set[str]:
    """The scripts of checks that commands in a file of a folder name, as places."""
    text = _ASKED.sub(" ", text)
    names = [found for pattern in (_SCRIPT, _PROGRAM) for found in pattern.findall(text)]
    names += [found for found in _EACH.findall(text) if "*" in found]
    for module in (found.replace(".", "/") for found in _RUN_MODULE.findall(text)):
        names += [f"{module}.py", f"{module}/__main__.py"]
    return set(filter(is_of_checks, places(folder, names)))


def each(text: str, folder: str = "") -> set[str]:
    """The scripts of checks that commands in a file of a folder run one by one, as patterns of places."""
    found = {f"{parts}/*" for parts in _PARTS.findall(text)}
    for words, name, body in _loops(text):
        if re.search(rf"{_RUNS}{_IT % name}", body, re.MULTILINE):
            found |= {word.removeprefix("./") for word in words.split() if "*" in word}
    return set(filter(is_of_checks, places(folder, found)))


def expected(text: str) -> set[str]:
    """The files that commands name, and that a check compares with."""
    found = {one for one in _DATA.findall(_ASKED.sub(" ", text)) if not SOURCE.fullmatch(one)}
    return {one for one in found if _EXPECTED & set(re.split(r"[-_./]", one.lower()))} - set(_WRITTEN.findall(text))


def compared(text: str) -> set[str]:
    """The files, as written, that commands hold something against, whatever they are called."""
    return {word for words in _COMPARES.findall(text) for word in words.split()} - set(_WRITTEN.findall(text))


def is_shell(path: str, data: bytes) -> bool:
    """Whether a file is a script of a shell."""
    return path.endswith((".sh", ".bash", ".bats")) or bool(_SHELL.match(data))


def is_python(path: str, data: bytes) -> bool:
    """Whether a file is a script for Python."""
    return path.endswith(".py") or bool(_PYTHON.match(data))


def is_script(path: str, data: bytes) -> bool:
    """Whether a file is a script that may import others."""
    return is_python(path, data) or path.endswith((".js", ".mjs", ".cjs", ".ts", ".rb", ".pl")) or is_shell(path, data)


def _loops(text: str) -> list[tuple[str, str, str]]:
    """What each loop of a shell goes over, the name that it gives to one of it, and what it does."""
    found = _LOOP.findall(text.replace("\\\n", " "))
    return [(words.translate(_NO_QUOTES), name, body) for name, words, body in found]


def _put_in(text: str) -> str:
    """A text whose paths begin behind what something else is put in the place of: mostly a script's own folder."""
    for _ in range(3):  # one may stand in another
        text = _FOUND.sub("\0", text)
    return re.sub(r"""["']?\0+["']?/+""", "", text)


def _sourced(words: str) -> set[str]:
    """What a script may read into its own shell from its folder: by the file's name, or by what follows a variable."""
    word = _WORD.match(words.replace('"', "").replace("'", ""))
    known = word[0].rpartition("\0")[2].strip("/") if word else ""
    return {found for found in (known, known.rpartition("/")[2]) if found}


def imported(text: str, folder: str = "") -> set[str]:
    """The modules that a check's script imports and that are of checks as well, or help it: whose calls are statements,
    so that nothing but their failing can matter."""
    found = set()
    known: dict[str, set[str]] = {}
    for module, names in taken_in(text):
        if module in known or len(known) < _MOST_MODULES:
            known.setdefault(module, set()).update(names)
    for module, names in known.items():
        own = {f"{place}{end}" for place in places(folder, [module]) for end in _MODULE_ENDS}
        found |= set(filter(is_of_checks, own))
        is_beside = _HELPS.fullmatch(module) or (folder and judges(f"{folder}/x") and _SHARED.fullmatch(module))
        if is_beside and any(_is_told(name, text) for name in names):
            found |= own
    return found


def _is_told(name: str, text: str) -> bool:
    """Whether a call by a name is a statement by itself, and nothing is asserted of it."""
    told = re.search(rf"(?:^|[;{{])[ \t]*{_STATEMENT}{re.escape(name)}\b[\w.]*\(", text, re.MULTILINE)
    return bool(told) and not re.search(rf"\bassert\b[^\n]*\b{re.escape(name)}\b", text)


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _is_own_plugin(module: str) -> bool:
    """Whether a plugin is the tests' own rather than one that the project is about."""
    top, dot, _ = module.partition(".")
    return is_of_checks(f"{top}/x") or not (dot or top.startswith("pytest"))
