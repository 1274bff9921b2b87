"""Modules: which files can be imported, what would run in place of a runner's own, what a source imports. Pure."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

_IMPORTABLE = (".py", ".pyc", ".so", ".pyd")
_IMPORT_ROOTS = frozenset({"src", "lib"})

RUNNER_PACKAGES = frozenset(
    {"pytest", "_pytest", "pluggy", "py", "iniconfig", "xdist", "coverage", "nose2", "tox", "nox"}
)
_RUNNER_LIBRARY = frozenset(
    """abc argparse array ast asyncio atexit base64 bdb binascii bisect builtins cmd code codeop codecs collections
    concurrent contextlib contextvars copy copyreg dataclasses datetime difflib dis doctest encodings enum errno
    faulthandler fcntl fnmatch functools gc genericpath getpass gettext glob hashlib heapq importlib inspect io
    itertools json keyword linecache locale logging marshal math multiprocessing opcode operator os pathlib pdb pickle
    pkgutil posix posixpath pprint pstats re reprlib runpy select selectors shlex shutil signal site socket ssl stat
    string struct subprocess sys sysconfig tempfile textwrap threading time timeit token tokenize traceback types
    typing unittest warnings weakref xml zipfile zipimport zlib""".split()  # noqa: SIM905 - a list to read
)
_NEWER = frozenset(
    """_colorize _suggestions _pyrepl _opcode_metadata _interpreters _interpchannels _interpqueues _ios_support
    _android_support _apple_support _pylong _remote_debugging _zstd _py_warnings _ast_unparse _hmac _types _locale
    _bootlocale _sysconfig annotationlib""".split()  # noqa: SIM905 - a list to read
)
"""Of other versions of Python than the one that this runs in."""
LIBRARY = (sys.stdlib_module_names | _NEWER) - {"test"}
"""Python's library, without what many projects have of their own."""
RUNNER_MODULES = RUNNER_PACKAGES | _RUNNER_LIBRARY | {name for name in LIBRARY if name.startswith("_")}
"""What test runners import. Other names of Python's library may be a project's own."""

_EARLY = frozenset(
    """bz2 decimal email ipaddress lzma ntpath numbers platform pygments quopri random readline unicodedata urllib
    uuid""".split()  # noqa: SIM905 - a list to read
)
"""What pytest imports beside these before anything watches it."""

_NAME = r"[\w.]+(?:[ \t]+as[ \t]+\w+)?"
_IMPORT = re.compile(
    rf"(?:^|;)[ \t]*(?:from[ \t]+([\w.]*)[ \t]+)?import[ \t]+\(?\s*({_NAME}(?:\s*,\s*{_NAME})*)", re.MULTILINE
)
_REQUIRE = re.compile(
    r"""(?:\b(?:const|let|var)\s([\w{}:,\s]{1,500}?)=\s*(?:await\s+)?(?:require|import)[ \t]{0,9}\("""
    r"""|\bimport\s([\w{}*,\s]{1,500}?)\bfrom|\b(?:require|import|require_relative)\b[ \t]{0,9}\(?)"""
    r"""\s{0,9}["'](?:\./)?((?:\.\./)*[\w./-]+)["']"""
)


def top_module(path: str) -> str | None:
    """The top-level import that a file takes part in, with its place; None for what cannot be imported.

    `calc.py` and `src/pytest/__init__.py` give `calc` and `src/pytest`.
    """
    if not path.endswith(_IMPORTABLE):
        return None
    root, slash, rest = path.partition("/")
    if not slash or root not in _IMPORT_ROOTS:
        root, slash, rest = "", "", path
    return root + slash + rest.partition("/")[0].partition(".")[0]


def whole_module(path: str) -> tuple[str, str] | None:
    """The folder and the name of a module that this file makes importable there by itself; None for other files."""
    folder, _, name = path.rpartition("/")
    if not name.endswith(_IMPORTABLE):
        return None
    module = name.partition(".")[0]
    if module == "__init__":
        folder, _, module = folder.rpartition("/")
    return folder, module


def is_top(module: str) -> bool:
    """Whether what `whole_module` gives, as a path, can be imported from the top or from an import root."""
    root, slash, rest = module.partition("/")
    return not slash or (root in _IMPORT_ROOTS and "/" not in rest)


def is_early(path: str) -> bool:
    """Whether a file would run in place of a module that pytest imports first: only as a whole, and at the top."""
    rest = path.partition("/")[2]
    return top_module(path) in _EARLY and (not rest or rest.startswith("__init__."))


def is_start_up(path: str) -> bool:
    """Whether Python would run a file by itself as soon as it starts."""
    return (whole := whole_module(path)) is not None and whole[1] in ("sitecustomize", "usercustomize")


def imports(source: bytes) -> set[str]:
    """The top-level names that a Python file imports, as far as its lines show."""
    found = (module.partition(".")[0] for module, _ in imported(source.decode(errors="replace")))
    return {name for name in found if name.isidentifier()}


def imported(text: str) -> Iterator[tuple[str, str]]:
    """The modules that a source in Python may import, as written; each with a name that stands for it there."""
    for top, more in _IMPORT.findall(text):
        for words in map(str.split, more.split(",")):
            if top:
                yield top, words[-1]
                yield f"{top}{'' if top.endswith('.') else '.'}{words[0]}", words[-1]
            else:
                yield words[0], words[-1].partition(".")[0]


def taken_in(text: str) -> Iterator[tuple[str, set[str]]]:
    """The modules that a script in Python, JavaScript or Ruby imports, as paths without a suffix from its own folder or
    the top; each with the names that stand for it there."""
    for module, name in imported(text):
        plain = module.lstrip(".")
        yield "../" * (len(module) - len(plain) - 1) + plain.replace(".", "/"), {name}
    for one, other, path in _REQUIRE.findall(text):
        yield path, set(re.findall(r"\w+", one + other))
