"""The files that a command runs or takes orders from, as far as its words tell.

Words are looked at, and what a shell script says; nothing is run. What a program works out by itself is not known.
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.machinery import all_suffixes
from pathlib import Path

from proctor.repository.layout import content

_DEEPEST = 5
_MOST_FOLDERS = 8
_MOST_SCRIPTS = 500
_SCRIPT = 1 << 16
"""Bytes of a script that are looked at; a longer one is not looked into."""

_HERE = re.compile(r"\$\(pwd\)|`pwd`|\$PWD\b|\$\{PWD\}")
_SHOWN = r"git rev-parse --show-(toplevel|cdup)"
_TOP = re.compile(rf"\$\({_SHOWN}\)|`{_SHOWN}`|\$GIT_WORK_TREE\b|\$\{{GIT_WORK_TREE\}}")
_ITSELF = r"\"?(\$0|\$\{0\}|\$\{BASH_SOURCE(\[0\])?\}|\$BASH_SOURCE)\"?"
_BESIDE = re.compile(rf"\$\(dirname (-- )?{_ITSELF}\)|`dirname (-- )?{_ITSELF}`|\$\{{(0|BASH_SOURCE(\[0\])?)%/\*\}}")
_HOME = re.compile(r"\$HOME\b|\$\{HOME\}")
_COMMENT = re.compile(r"^\s*#.*$", re.M)

_BETWEEN = ";&|(){}\n`"
_ASSIGNED = re.compile(r"\w+=")
_BEFORE = frozenset(
    ("!", "command", "do", "else", "env", "exec", "if", "nice", "nohup", "then", "time", "while", "xargs")
)
_SHELL = re.compile(r"(ba|da|k|z|fi)?sh")
_INTERPRETER = re.compile(r"(ba|da|k|z|fi)?sh|perl|ruby|node|deno|bun|php|lua\w*|awk|Rscript|source")
_PYTHON = re.compile(r"\$?\{?\w*(python|pypy)[\d.]*\w*\}?", re.I)
_PYTHON_OPTION = re.compile(r"-([bBdEhiIOPqRsSuvVx?]*)(?:([mcWX])(.*))?", re.S)
_SHELL_CODE = re.compile(r"-\w*c|--command")
_OTHER_CODE = re.compile(r"-\w*[eE]|--eval")
_DEFAULT = re.compile(r"\$\{\w+:?[-=]")
_FILE = re.compile(r"/|\.\w+$")
_SENTENCE = re.compile(r"[\s;&|(){}`<>'\"*]")
"""What no name holds that is likely."""
_TEXT = (".md", ".rst", ".txt", ".lock")
_SHELL_ENDINGS = ("", ".sh", ".bash", ".zsh", ".ksh", ".dash")

_SUFFIXES = tuple(all_suffixes())
_SHADOWED = tuple(sorted(sys.stdlib_module_names - set(sys.builtin_module_names) - {"test"}))


@dataclass(slots=True)
class Named:
    """Absolute paths, links as they are, whether or not anything is there.

    `runs` are certainly run, `others` are words that may be files. `modules` are the folders in which Python looks
    first for what it imports, each with the module that is asked for by name, or "".
    """

    runs: set[Path] = field(default_factory=set)
    others: set[Path] = field(default_factory=set)
    modules: set[tuple[Path, str]] = field(default_factory=set)


def at(folder: Path, name: str) -> Path:
    """An absolute path with its links as they are; `~` is the operator's."""
    return Path(os.path.normpath(folder / os.path.expanduser(name)))


def of_shell(text: str, top: Path, script: Path | None = None) -> Named:
    """What a shell's line names when it is run in `top`, or a script in the file `script`."""
    named = Named()
    _Reader(top, script, named).read(text, 0)
    return named


def of_words(words: Sequence[str], top: Path) -> Named:
    """What a command without a shell names when it is run in `top`."""
    named = Named()
    _Reader(top, None, named).command(list(words), 0)
    return named


def orders(named: Named, top: Path, workspace: Path) -> set[Path]:
    """All that must not be another's to write: what is named, and in turn what the scripts among it name.

    Of what a script names, a file that is not there counts only where it is certainly run.
    """
    found = named.runs | named.others
    modules = set(named.modules)
    queue, read = list(found), set[str]()
    while queue and len(read) < _MOST_SCRIPTS:
        path = queue.pop()
        real = os.path.realpath(path)
        if real in read:
            continue
        read.add(real)
        inner = _of_script(path, top)
        others = {other for other in inner.others if os.path.isfile(other) and other.suffix not in _TEXT}
        more = {one for one in inner.runs if not os.path.isdir(one)} | others
        modules |= inner.modules
        queue += more - found
        found |= more
    for folder, module in modules:
        found.update(_of_modules(folder, module, workspace))
    return found


def open_ways(named: Named, workspace: Path) -> Iterator[str]:
    """What of a command that is run while a worker works cannot be kept from it, in words."""
    real = Path(os.path.realpath(workspace))
    for path in sorted(path for path in named.runs if path.is_relative_to(workspace)):
        name = str(path.relative_to(workspace))
        if not os.path.lexists(path):
            yield f"{name} is not there: a worker could make it"
        elif os.path.realpath(path) != f"{real}/{name}":
            yield f"{name} is a link, or behind one: a worker could turn it; name what it leads to"
    if any(workspace.is_relative_to(folder) for folder, _ in named.modules):
        yield (
            "Python looks for modules in the workspace first, where a worker could make them: "
            "give it the option -P or -I, or a script in a folder of its own"
        )


class _Reader:
    """Goes through commands one after the other, with the folders in which they may run."""

    def __init__(self, top: Path, script: Path | None, named: Named) -> None:
        self._top = top
        self._script = script
        self._named = named
        self._folders = [top]

    def read(self, text: str, depth: int) -> None:
        text = _DEFAULT.sub(" ", _HERE.sub(".", text))
        text = _TOP.sub(lambda _: str(self._top), text)
        text = _HOME.sub(lambda _: os.path.expanduser("~"), text)
        if self._script:
            beside = str(self._script.parent)
            text = _BESIDE.sub(lambda _: beside, text)
        for words in _commands(text):
            self.command(words, depth)

    def command(self, words: list[str], depth: int) -> None:
        while words and (_ASSIGNED.match(words[0]) or words[0] in _BEFORE):
            self._assigned(words[0])
            words = words[1:]
        places = self._enter(words)
        program = next((n for n, word in enumerate(words) if n not in places and not word.startswith("-")), len(words))
        interpreter = next((n for n, word in enumerate(words) if _interprets(word, n)), len(words))
        given = words[interpreter + 1 :]
        script: int | None = None
        if interpreter == len(words):
            pass
        elif _PYTHON.fullmatch(_last(words[interpreter])):
            script = _after(interpreter, _python(given)[0])
            self._named.modules.update(filter(None, (_imports(given, folder) for folder in self._folders)))
        else:
            is_shell = _SHELL.fullmatch(_last(words[interpreter]))
            code = next(
                (n for n, word in enumerate(given) if (_SHELL_CODE if is_shell else _OTHER_CODE).fullmatch(word)), None
            )
            if code is None:
                script = _after(interpreter, next((n for n, word in enumerate(given) if word[:1] != "-"), None))
            elif depth < _DEEPEST and is_shell:
                self.read(" ".join(given[code + 1 : code + 2]), depth + 1)
        for number, word in enumerate(words):
            if number in places or (number == program and "/" not in word and number != script):
                continue  # a program is looked up on PATH unless it holds a slash
            if _SENTENCE.search(word) and depth < _DEEPEST:
                self.read(word, depth + 1)
            runs = number == script or (number == program and "/" in word)
            bare = script is not None and number >= script
            self._file(word, bare, self._named.runs if runs else self._named.others)

    def _assigned(self, word: str) -> None:
        name, _, value = word.partition("=")
        self._file(value, False, self._named.others)
        if name == "PYTHONPATH":
            self._named.modules.update((at(folder, part), "") for folder in self._folders for part in value.split(":"))

    def _enter(self, words: list[str]) -> set[int]:
        """Notes the folders in which what follows may run; the numbers of the words that name nothing else."""
        places = set()
        for number, word in enumerate(words):
            before = words[number - 1] if number else ""
            named = word.partition("=")[2] if word.startswith(("--chdir=", "--directory=")) else word
            told = before in ("cd", "pushd", "-C", "--chdir", "--directory") or named != word
            if told:
                places.add(number)
            for folder in list(self._folders):
                inner = at(folder, named)
                if inner not in self._folders and len(self._folders) < _MOST_FOLDERS and (told or os.path.isdir(inner)):
                    self._folders.append(inner)
        return places

    def _file(self, word: str, bare: bool, into: set[Path]) -> None:
        attached = word[2:] if word[:1] == "-" and word[1:2] != "-" else ""
        for name in {word, word.rpartition("=")[2], attached}:
            if not name or name.startswith(("-", "%", "$")) or not (bare or _FILE.search(name)):
                continue
            is_likely = name.startswith(str(self._top)) or not _SENTENCE.search(name)
            paths = [at(folder, name) for folder in self._folders]
            into.update(path for path in paths if not os.path.isdir(path) and (is_likely or os.path.lexists(path)))


def _python(words: Sequence[str]) -> tuple[int | None, str, bool]:
    """Of the words after Python's name: the number of the script's, the module's name, whether modules are looked for
    beside the script or in the folder at all."""
    number, looks = 0, True
    while number < len(words):
        word = words[number]
        option = None if word == "-" or word.startswith("--") else _PYTHON_OPTION.fullmatch(word)
        if option:
            flags, last, value = option[1], option[2], option[3]
            if "I" in flags or "P" in flags:
                looks = False
            if last == "m":
                return None, value or "".join(words[number + 1 : number + 2]), looks
            if last == "c":
                return None, "", looks
            number += 1 if last and not value else 0
        elif word == "-":
            break
        elif not word.startswith("--"):
            return number, "", looks
        number += 1
    return None, "", looks


def _imports(words: Sequence[str], folder: Path) -> tuple[Path, str] | None:
    """Where Python, with these words after its name, looks first for modules; None for nowhere of its own."""
    number, module, looks = _python(words)
    if not looks:
        return None
    if number is None:
        return folder, module
    script = at(folder, words[number])
    if not os.path.lexists(script):
        return None
    return (script if os.path.isdir(script) else Path(os.path.realpath(script)).parent), ""


def _after(number: int, more: int | None) -> int | None:
    return None if more is None else number + 1 + more


def _of_modules(folder: Path, module: str, workspace: Path) -> Iterator[Path]:
    """A folder of its own as a whole; of the workspace's top, what has the name of a module that is looked for."""
    below = folder != workspace and folder.is_relative_to(workspace)
    if below and os.path.isdir(folder):
        yield folder
    elif workspace.is_relative_to(folder):
        for name in _SHADOWED:
            yield from _forms(folder / name)
    place = folder
    for part in re.findall(r"\w+", module):
        place = place / part
        yield from _forms(place)
    if module:
        yield from _forms(place / "__main__")


def _forms(module: Path) -> Iterator[Path]:
    for suffix in _SUFFIXES:
        yield module.with_name(module.name + suffix)
        yield module / f"__init__{suffix}"


def _of_script(path: Path, top: Path) -> Named:
    """What a script names: of a shell's its words, of Python's the folder that it imports from."""
    text = content(path, _SCRIPT + 1)
    if not text or len(text) > _SCRIPT or b"\0" in text:
        return Named()
    first, _, _ = os.fsdecode(text).partition("\n")
    by = first.removeprefix("#!").split() if first.startswith("#!") else []
    real = Path(os.path.realpath(path))
    python = next((number for number, word in enumerate(by) if _PYTHON.fullmatch(_last(word))), None)
    if python is not None:
        found = _imports([*by[python + 1 :], str(real)], top)
        return Named(modules={found} if found else set())
    if any(_last(word) in ("sh", "bash", "dash", "ksh", "zsh") for word in by) or (
        not by and real.suffix in _SHELL_ENDINGS
    ):
        return of_shell(_COMMENT.sub("", os.fsdecode(text)), top, path)
    return Named()


def _interprets(word: str, number: int) -> bool:
    name = _last(word)
    return bool(_INTERPRETER.fullmatch(name) or _PYTHON.fullmatch(name)) or (number == 0 and word == ".")


def _last(word: str) -> str:
    return word.rpartition("/")[2]


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each simple command of a shell's line."""
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_BETWEEN)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # quotes that do not end
        yield from _commands(re.sub("['\"\\\\]", " ", text))
        return
    for between, group in itertools.groupby(words, lambda word: bool(word) and not word.strip(_BETWEEN)):
        if not between:
            yield list(group)


def together(several: Iterable[Named]) -> Named:
    """All that any of them names."""
    whole = Named()
    for one in several:
        whole.runs |= one.runs
        whole.others |= one.others
        whole.modules |= one.modules
    return whole
