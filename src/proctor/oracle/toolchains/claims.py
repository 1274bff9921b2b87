"""What a check's command names as its own, also where it hands its commands to a shell. Pure.

The script that an argv starts is the check's own. Of all that it names besides (what a shell is told to run, modules,
programs that are built first) only what is called or placed like something that judges (`owners.judges`): the rest may
be the work.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise

from proctor.oracle.toolchains import makes, mentions
from proctor.oracle.toolchains.commands import (
    find_runner,
    is_interpreter,
    is_python,
    named_paths,
    own_scripts,
    program_at,
    runs_scripts,
)
from proctor.oracle.toolchains.modules import imported
from proctor.oracle.toolchains.owners import is_of_checks, judges
from proctor.oracle.toolchains.starts import gone_to

_SHELL = re.compile(r"(?:ba|da|k|z|fi|a)?sh")
_SHELL_CODE = re.compile(r"-\w*c|--command")
_BETWEEN = ";&|(){}\n`"
_KEYWORDS = frozenset(
    "! . command do elif else eval exec if source then until while".split()  # noqa: SIM905 - a list to read
)
_DEEPEST, _MOST_FOLDERS = 3, 30
_HERE = re.compile(r"[\"']?(?:\$\{?PWD\}?|\$\(pwd\)|`pwd`)[\"']?/")
_GIVEN = re.compile(r"[\"']?\$(?:([@*])|\{?(\d)\}?)[\"']?")
_MODULE_OPTION = re.compile(r"-[A-Za-z]*m")
_JOINED = re.compile(r"(-[bBdEiIOPqsSuvx]*m)([A-Za-z_][\w.]*)")
"""`python -mverify`."""
_CODE_OPTION = re.compile(r"-[A-Za-z]*[ce]")
_MODULE = re.compile(r"[A-Za-z_]\w*(?:\.\w+)*")
_LOOKS = re.compile(r"\bassert\b|[=!]=|\bprint\b")
"""Code that judges by itself what it imports."""
_COMPARING = frozenset({"diff", "cmp", "comm"})
_RUNNING = re.compile(
    r"bats|tsx|ts-node|julia|elixir|java|groovy|swift|dart|[gmn]?awk|jq|sed|prove|expect|hurl|k6|ansible-playbook"
)
"""Programs with a script or a filter as the first file among their words."""
_READ = re.compile(
    r"(?<!<)<[ \t]*(?:\./)?([\w./-]+)|--(?:schema\w*|spec|rules|expect\w*|baseline|reference|golden)[= \t]+([\w./-]+)"
)
"""What a command reads, or is told to hold something against."""
_SET = re.compile(r"(?<![\w$])(\w+)=([\w./-]+)")
DATA = (".txt", ".out", ".csv", ".tsv", ".log", ".xml", ".html", ".golden", ".expected", ".stdout")
"""Endings of files that are compared with, and name no others."""
_BUILDING = re.compile(r"just|task|ninja|ant|tox|nox|rake|scons|doit|waf|mvnw?|gradlew?|cmake|invoke|inv")
_TOLD = re.compile(r"-[bcfPt]|--(?:file|justfile|taskfile|noxfile|rakefile|build-?file|collection)")
"""Programs that run what a build file says, and options with which they are told of one."""
_OF_CARGO = frozenset({"--bin", "--example", "-p", "--package"})


def named(argv: Sequence[str]) -> set[str]:
    """The paths that a check's command names as its own, there or not, normalised; those with `*` are patterns."""
    argv = _spelled_out(argv)
    text, told = " ".join(argv), " ; ".join(argv if runs_scripts(argv) else _lines(argv))
    found = {path for path in named_paths(argv) if "*" not in path} | mentions.expected(text)
    found |= mentions.scripts(told) | mentions.each(told) | mentions.imported("\n".join(argv))
    bases = {"", *sorted(gone_to(text))[:_MOST_FOLDERS]}
    found |= set(filter(judges, _below(bases, ["".join(found) for found in _READ.findall(text)])))
    path: list[str] = []
    for words in _commands(argv, _DEEPEST):
        path += [word for word in words if word.startswith("PATH=") and word not in path]
        places = _below(bases, [*own_scripts([*path, *words]), *_compared(words), *_run(words)])
        found |= set(filter(judges, places))
        if any(map(is_python, words)):
            folders = (place for place in places if not posixpath.splitext(place)[1])
            found |= {f"{one}/__main__.*" for one in folders if judges(f"{one}/x")}
        found |= _below(bases, [*_build_files(words), *_built(words)])
        found |= {place for base in {*bases, "src"} for one in _modules(words) for place in _of_module(base, one)}
    return set(map(posixpath.normpath, found))


def _spelled_out(argv: Sequence[str]) -> list[str]:
    """A command in which a shell's words for the folder that it starts in, and for what it was given, are said out."""
    words = [_HERE.sub("./", word) for word in argv]
    shell = next((at for at, word in enumerate(words) if _is_shell(word)), len(words))
    code = next((at + 1 for at, word in enumerate(words) if at > shell and _SHELL_CODE.fullmatch(word)), len(words))
    given = words[code + 1 :]

    def said(found: re.Match[str]) -> str:
        return shlex.join(given[1:] if found[1] else given[int(found[2]) :][:1])

    if given:
        words[code] = _GIVEN.sub(said, words[code])
    return words


def _below(bases: Iterable[str], names: Collection[str]) -> set[str]:
    return {posixpath.normpath(posixpath.join(base, name)) for base in bases for name in names}


def _lines(argv: Sequence[str]) -> Iterator[str]:
    """The words of an argv that are commands of a shell, or may be."""
    shell = next((at for at, word in enumerate(argv) if _is_shell(word)), len(argv))
    code = next((at + 1 for at, word in enumerate(argv) if at > shell and _SHELL_CODE.fullmatch(word)), None)
    yield from (word for at, word in enumerate(argv) if at == code or " " in word or "\n" in word)


def _is_shell(word: str) -> bool:
    return bool(_SHELL.fullmatch(posixpath.basename(word)))


def _commands(argv: Sequence[str], depth: int) -> Iterator[list[str]]:
    """A command, and each that it hands to a shell."""
    words = list(argv)
    while words and words[0] in _KEYWORDS:
        words.pop(0)
    yield words
    other = next((at for at, word in enumerate(argv) if is_interpreter(word) and not _is_shell(word)), len(argv))
    code = {word for option, word in pairwise(argv[other:]) if _CODE_OPTION.fullmatch(option)}
    for line in _lines(argv) if depth else ():
        for inner in _split(line) if line not in code else ():
            yield from _commands(inner, depth - 1)


def _split(line: str) -> Iterator[list[str]]:
    """The words of each simple command, without what it reads and writes, and with plain variables put in."""
    for name, value in _SET.findall(line)[:_MOST_FOLDERS]:
        line = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", value, line)
    lexer = shlex.shlex(line, posix=True, punctuation_chars=_BETWEEN + "<>")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        found = list(lexer)
    except ValueError:  # quotes that do not end
        yield from _split(re.sub("['\"\\\\]", " ", line))
        return
    words: list[str] = []
    redirected = False
    for word in found:
        if word and not word.strip(_BETWEEN + "<>"):
            redirected = not {"<", ">"}.isdisjoint(word) and set(word).isdisjoint(";(){}\n`")
            if not redirected:
                yield words
                words = []
        elif redirected:
            redirected = False
        else:
            words.append(word)
    yield words


def _modules(words: Sequence[str]) -> Iterator[str]:
    """The modules that Python is told to run or to import, as paths without a suffix."""
    if find_runner(words, {}):
        return
    starter = next((at for at, w in enumerate(words) if is_python(w) or w in ("coverage", "uv")), len(words))
    joined = ((word, _JOINED.fullmatch(word)) for word in words[starter + 1 :])
    told = [part for word, parts in joined for part in (parts.groups() if parts else (word,))]
    for option, value in pairwise(told):
        names: list[str] = []
        if _MODULE_OPTION.fullmatch(option):
            names = [value]
        elif _CODE_OPTION.fullmatch(option):
            names = [one for one, _ in imported(value)]
            names = [one for one in names if not _LOOKS.search(value) or is_of_checks(one.replace(".", "/"))]
        if names:
            yield from (name.replace(".", "/") for name in names if _MODULE.fullmatch(name))
            return


def _of_module(base: str, module: str) -> Iterator[str]:
    """The files of a module that judges, and what would come in their place."""
    place = posixpath.normpath(posixpath.join(base, module))
    of_package = [f"{place}/__init__.*", f"{place}/__main__.*"] if is_of_checks(place) or judges(f"{place}/x") else []
    if judges(place) or ("/" not in module and of_package):
        yield from (f"{place}.py", f"{place}.*so", *of_package)
        while module := posixpath.dirname(module):
            yield posixpath.join(base, module, "__init__.*")


def _run(words: Sequence[str]) -> Iterator[str]:
    """The scripts that some other program than a shell or an interpreter runs."""
    if words and posixpath.basename(words[0]) == "run-parts":
        yield from (f"{word}/*" for word in words[1:] if word[:1] != "-")
    runs = [after for option, after in pairwise(words) if option in ("-exec", "-execdir")]
    if words[:1] == ["find"] and any(one == "{}" or is_interpreter(one) for one in runs):
        pattern = next((value for option, value in pairwise(words) if option in ("-name", "-iname", "-path")), "*")
        yield from (f"{folder}/{pattern}" for folder in words[1:2] if folder[:1] != "-")
    at = next((at for at, word in enumerate(words) if _RUNNING.fullmatch(posixpath.basename(word))), len(words))
    yield from [word for word in words[at + 1 :] if word[:1] != "-" and re.fullmatch(r"[\w./-]+\.\w+", word)][:1]


def _compared(words: Sequence[str]) -> Iterator[str]:
    """The files in folders of checks that something is compared with."""
    if words and posixpath.basename(words[0]) in _COMPARING:
        yield from (word for word in words[1:] if judges(f"{posixpath.dirname(word)}/x"))


def _build_files(words: Sequence[str]) -> Iterator[str]:
    """The build files that a command is told of, and the tasks of `invoke`, which no other program looks for."""
    program = posixpath.basename(words[min(program_at(words), len(words) - 1)]) if words else ""
    if program in ("invoke", "inv") or ("-m", "invoke") in pairwise(words):
        yield from ("tasks.py", "tasks/*.py")
    yield from makes.files(words)
    if _BUILDING.fullmatch(program):
        parts = [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]
        yield from (value for option, value in pairwise(parts) if _TOLD.fullmatch(option))


def _built(words: Sequence[str]) -> Iterator[str]:
    """The sources of programs that judge, and that go or cargo builds and runs."""
    programs = [posixpath.basename(word) for word in words]
    if "go" in programs and "run" in words:
        told = [one for one in words[words.index("run") + 1 :] if one[:1] != "-" and ("/" in one or "." in one)]
        sources = [one for one in told if one.endswith(".go")] or [f"{one}/*.go" for one in told[:1]]
        yield from (one for one in map(posixpath.normpath, sources) if judges(one.removesuffix("/*.go")))
    if "cargo" in programs:
        options = [part for word in words for part in word.split("=", 1)]
        named = {value for option, value in pairwise(options) if option in _OF_CARGO and judges(value)}
        for name in named | ({"xtask"} & set(words)):
            yield from (f"{top}src/bin/{name}{deep}.rs" for top in ("", "*/", "crates/*/") for deep in ("", "/*"))
            yield from (f"{top}{name}/src/{deep}*.rs" for top in ("", "crates/", "tools/") for deep in ("", "*/"))
            yield f"examples/{name}.rs"
