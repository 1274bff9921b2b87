"""Where what a check runs may let Python import from before its own library: told from commands and scripts. Pure.

A new `csv.py` in such a folder would run in place of the library's. A watched runner keeps the workspace from coming
first (`witness.py`). Of all else it is read where it begins, where its script stands, which folders it goes to, and
which it names: a list of folders may be gone through in more ways than could be known. A package that is only named is
left out: its modules are imported by their full names.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import translate

from proctor.oracle.toolchains.commands import find_runner, is_python, program_at, script_of

_STARTERS = frozenset(
    """make gmake just task tox nox sh bash dash zsh ksh fish npm npx pnpm pnpx yarn bun bunx deno node git uv uvx
    poetry pdm hatch pipenv rye pixi conda mamba direnv gradle gradlew mvn mvnw ant rake cmake ctest ninja meson scons
    bazel waf nose2 nosetests behave robot green ward trial stestr invoke inv doit pre-commit act go cargo perl ruby
    find xargs parallel script expect mise asdf nx turbo lerna coverage flock prlimit setarch linux32 linux64 unshare
    chroot systemd-run su runuser watch strace perf hyperfine""".split()  # noqa: SIM905 - a list to read
)
"""What may start Python in the folder that it runs in."""
_WORD = r"""(?:"[^"\n]*"|'[^'\n]*'|\$\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)|[^\s;&|"'`()<>])+"""
_GOES = re.compile(
    r"(?:(?<![\w./-])(?:cd|pushd)|(?<!\S)-C|--(?:directory|chdir|cwd|dir|prefix)|\bchangedir|working[-_]directory"
    rf"""|PYTHONPATH)['"]?(?:[ \t]*[=:][ \t]*|[ \t]+)(?:--[ \t]+)?({_WORD})"""
)
"""Where a shell, a recipe, an option or a setting leads a command."""
_TOLD = re.compile(r"""(?:\bcwd["']?[ \t]*[=:]|\bchdir[ \t]*\(|\bsys\.path\b)([^\n]{1,200})""")
"""The same in scripts of other languages."""
_SCRIPT = re.compile(r".*\.(?:py|[cm]?[jt]s|rb|pl)")
_MODULE = re.compile(r"""["']-[mc]["']|\bpython[\d.]*[ \t]+-[mc]\b""")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_QUOTED = re.compile(r"""["']([^"'\n]{1,300})["']""")
_PUT = re.compile(r"\$\([^()\n]*\)|`[^`\n]*`|\$\{[^{}\n]*\}|\{\}|\$+[\w@<^*#?]\w*")
"""What something else is put in the place of."""
_PATH = re.compile(r"[\w.*?@+-]+(?:/+[\w.*?@+-]+)*")
_NAME = re.compile(r"[A-Za-z_]\w*")
_HERE = re.compile(
    r"dirname|BASH_SOURCE|\$0|\b_?pwd\b|PWD|CURDIR|MAKEFILE_LIST|rev-parse|__file__|__dirname|getcwd|process\.cwd"
    r"|import\.meta|INIT_CWD|GITHUB_WORKSPACE|toxinidir"
)
"""Ways to say: the script's own folder, or the top."""
_MADE = re.compile(r"te?mp|TE?MP|HOME")
"""Folders that are made on the way."""
_MOST, _PATTERNS = 5_000, 50


@dataclass(slots=True)
class Starts:
    """Folders as written: those `gone` to, and those `named`. `open`: a command goes where only its run could tell."""

    gone: set[str] = field(default_factory=set)
    named: set[str] = field(default_factory=set)
    open: bool = False

    def resolve(self, base: str, folders: Collection[str], homes: Collection[str]) -> set[str]:
        """Those of some existing `folders`, relative to the top ("" itself), that are meant. `homes` are those of them
        that modules are imported from, `base` is where the text stands."""
        gone = _among(self.gone, {"", base}, folders, absent=True)
        return gone | set(homes if self.open else _among(self.named, {"", base} | gone, homes))


def of_check(argv: Sequence[str]) -> Starts:
    """The folders of a check's argv; none where its runner is watched, or starts no Python."""
    starts = Starts()
    if not argv or find_runner(argv, {}):
        return starts
    python = next((at for at, word in enumerate(argv) if is_python(word)), None)
    at = min(program_at(argv), len(argv) - 1)
    if python is not None:
        starts.gone.add(posixpath.dirname(script_of(argv[python + 1 :]) or "") or ".")
    elif "/" in argv[at] and not argv[at].startswith("/"):
        starts.gone |= {".", posixpath.dirname(argv[at])}
    elif any(word.rpartition("/")[2] in _STARTERS for word in argv):
        starts.gone.add(".")
    if starts.gone:
        _read(starts, " ".join(argv))
    return starts


def gone_to(text: str) -> set[str]:
    """The folders, as written, that commands go to or have Python import from."""
    starts = Starts()
    _read(starts, text)
    return {one for one in starts.gone if one and "*" not in one}


def of_text(path: str, text: str) -> Starts:
    """The folders of a file with commands or of a script."""
    starts = Starts()
    if _SCRIPT.fullmatch(path):
        starts.gone |= {"."} if _MODULE.search(text) else set()
        for told in _TOLD.findall(text):
            if quoted := _QUOTED.findall(told):
                starts.gone |= set(quoted)
            else:
                _go(starts, told, text)
        _name(starts, "\n".join(_QUOTED.findall(text)))
    else:
        _read(starts, _COMMENT.sub("", text))
    return starts


def _read(starts: Starts, text: str) -> None:
    for word in dict.fromkeys(_GOES.findall(text)):
        known = _known(word)
        if known.strip("*/"):
            starts.gone |= set(known.replace(";", ":").split(":"))
        elif "*" in known:
            _go(starts, word, text)
    _name(starts, text)


def _name(starts: Starts, text: str) -> None:
    for found in _PATH.findall(_known(text)):
        if len(starts.named) < _MOST and _NAME.search(found):
            starts.named |= {found, found.removeprefix("-C") or found}


def _known(text: str) -> str:
    """A text with a `*` for each thing that something else is put in the place of, but where it begins a path."""
    for _ in range(3):  # one may stand in another
        text = _PUT.sub("*", text)
    return re.sub(r"(?<![\w./])\*/+(?=[\w.])", "", text.replace('"', "").replace("'", ""))


def _go(starts: Starts, word: str, text: str) -> None:
    """Take in a folder that is not known before the run, but for how a text comes by it."""
    names = set(_NAME.findall(word)) - {"str", "Path", "os", "path"}
    said = [word, *(one for name in names for one in re.findall(rf"\b{name}\b[ \t]*[:?+]?=([^\n]*)", text))]
    if any(map(_HERE.search, said)):
        starts.gone.add(".")
    elif not any(map(_MADE.search, said)):
        starts.open = True


def _among(
    written: Iterable[str], bases: Collection[str], folders: Collection[str], *, absent: bool = False
) -> set[str]:
    found: set[str] = set()
    patterns: list[str] = []
    for one in written:
        for base in bases:
            place = posixpath.normpath(f"{base or '.'}/{one}")
            place = "" if place == "." else place
            if "*" in place or "?" in place:
                patterns += [translate(place)] if len(patterns) < _PATTERNS else []
            elif place in folders or (absent and not place.startswith((".", "/"))):
                found.add(place)
    if patterns:
        matches = re.compile("|".join(patterns)).match
        found |= {folder for folder in folders if matches(folder)}
    return found
