"""What checks come to of a package's scripts and of a make file: what no check can reach is the worker's to edit. Pure.

A script or a target is reached where its name stands as a word in a command of a check, in a text that may start such
things, or in what is reached itself; a variable of `make` too, and those that it, or the environment, knows by name. So
more is taken for reached than is, never less: a name that is put together, and whatever cannot be read line by line,
leaves a file whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from proctor.oracle.toolchains import makes

PACKAGE = "package.json"
_STARTS = {
    True: re.compile(rb"make", re.IGNORECASE),
    False: re.compile(
        rb"\b(?:c?[np]+m|npx|yarn|bunx?|deno|run-[sp]|run-all|turbo|lerna|nx|wireit|n[ir]|concurrently|scripts?)\b"
        rb"|package\.json|--run\b",
        re.IGNORECASE,
    ),
}
"""What a text has in it that may start a make file's targets, or else a package's scripts."""
_CALLS = re.compile(r"\b(?:g?make|MAKE|c?[np]+m|yarn|bun|deno|run-[sp]|run-all|turbo|lerna|nx|n[ir])\b")
_NEAR = 120
"""Characters behind a call in which a name may stand that is put together."""
_JUDGING = re.compile(r"test|spec|check|verif|lint|\bci\b")
"""Names of what is never taken for beyond reach."""
_HOOKS = re.compile(r"install|prepare")
"""Names of scripts that a package manager starts by itself."""
_MADE_UP = re.compile(r"[$*?{%`]")
_WORDS = re.compile(r"[\w-]+")
_APART, _COMPOSED = re.compile(r"""[\s"'`,;:|&()<>\[\]{}=]+"""), re.compile(r"[$*?%\\]")
_HEAD = re.compile(r"(?!\.)([A-Za-z][\w-]*(?: +[A-Za-z][\w-]*)*) *:(?!:)((?: *[A-Za-z][\w./-]*)*) *")
_PHONY = re.compile(r"\.PHONY *:([\w ./-]*)")
_OWN = re.compile(
    r"([A-Za-z][\w-]*(?: +[A-Za-z][\w-]*)*) *:"
    r" *((?:(?:export|override|private) +)*\w+ *(?:\??=|(?:\+|::?)=(?!.*\$)).*)",
    re.DOTALL,
)
"""A variable of some targets. What is expanded at once may do something."""
_VALUE = re.compile(r" *([A-Za-z_]\w+)[ \t]*(\+|\?|::?)?=(.*)", re.DOTALL)
_DOES = re.compile(r"\$[({]\s*(?:shell|file|error|guile)\b|!=")
_COMPUTED = re.compile(
    r"\$[({][^\s,(){}:]*\$|\$[({](?:value|origin|flavor|let)\b[^)}]*\$|^ *(?:else +)?ifn?def\b.*\$|\.VARIABLES",
    re.MULTILINE,
)
"""What may mean any variable."""
_EXPORTS_ALL = re.compile(r"^ *export[ \t]*(?:#|$)|EXPORT_ALL_VARIABLES", re.MULTILINE)
_INCLUDES = re.compile(r"^ *[-s]?include[ \t]+(.*)", re.MULTILINE)
_IMPLICIT = re.compile(
    r"\w*FLAGS|MAKE\w*|\w*PATH|CURDIR|SHELL|SUFFIXES|OUTPUT_OPTION|TARGET_(?:ARCH|MACH)|LOADLIBES|LDLIBS"
    r"|A[RS]|C[CO]|CPP|CXX|FC|F77|GET|LD|LEX|LINT|LN|M2C|OBJC|PC|RM|TANGLE|CTANGLE|CWEAVE|WEAVE|TEX|TEXI2DVI|YACC"
)
"""Variables that `make` and its built-in rules use."""
_ENVIRONMENT = re.compile(
    r"HOME|(?:OLD)?PWD|USER|LOGNAME|TERM|TZ|CI|ENV|IFS|PS4|TE?MP|TMPDIR|LANG|LANGUAGE|COLUMNS|LINES|DISPLAY|EDITOR|PAGER"
    r"|(?:NO_|FORCE_)?COLOR(?:TERM)?|DEBUG|SOURCE_DATE_EPOCH|\w*(?:_PROXY|_proxy)"
    r"|(?:LC|LD|DYLD|BASH|GIT|XDG|VIRTUAL|CONDA|SSL|PIP|UV|PDM|TOX|NOX|COVERAGE|HYPOTHESIS|NPM|npm|YARN|PNPM|BUN|DENO|JEST"
    r"|VITEST|JAVA|MAVEN|GRADLE|CMAKE|CTEST|ASAN|UBSAN|TSAN|LSAN|MALLOC|GLIBC|PERL|RUBY|BUNDLE|GEM|PHP|R)_\w*"
    r"|(?:PYTHON|PYTEST|PY_|NODE|GO|CGO|RUST|CARGO)\w*"
)
"""Variables that steer programs. Where the environment has one, recipes get what a make file assigns to it."""
_DIRECTIVES = frozenset(
    """include sinclude define endef ifdef ifndef ifeq ifneq else endif export unexport override private vpath undefine
    load""".split()  # noqa: SIM905 - a list to read
)
_ODD = re.compile(
    r"\\\\\n|\b(?:define|eval|call|foreach)\b|RECIPEPREFIX|SECONDEXPANSION|\r|(?:\$[({]MAKE[)}]|\bmake\b).*[$*]"
)
"""What a make file is not read line by line with."""


class Texts:
    """What may start scripts and targets: the commands of checks, and frozen files by their paths."""

    def __init__(self, commands: Iterable[str], files: Mapping[str, bytes]) -> None:
        self.commands, self._files = "\n".join(commands), files

    def for_file(self, path: str) -> str:
        """What of the files may start what stands in a file. ValueError where it, or a command, puts names together."""
        starts = _STARTS[makes.is_make(path)]
        found: list[str] = []
        for other, data in self._files.items():
            related = makes.is_make(other) and makes.is_make(path)
            if other != path and (related or starts.search(data)):
                found.append(data.decode(errors="replace"))
        text = "\n".join(found)
        _refuse_made_up(f"{self.commands}\n{text}")
        return text


def is_shared(path: str) -> bool:
    """Whether a file may have parts that no check reaches."""
    return path.rpartition("/")[2] == PACKAGE or makes.is_make(path)


def without_others(path: str, data: bytes, texts: Texts) -> bytes | None:
    """A file without what is beyond the reach of what may start it; None where that cannot be told."""
    try:
        said, commands, files = data.decode(), texts.commands, texts.for_file(path)
        is_make = makes.is_make(path)
        return (_make(said, commands, files) if is_make else _package(said, _words(f"{commands}\n{files}"))).encode()
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _refuse_made_up(text: str) -> None:
    """ValueError where a text may start something of a name that is put together."""
    if any(_MADE_UP.search(text[at.end() : at.end() + _NEAR].partition("\n")[0]) for at in _CALLS.finditer(text)):
        raise ValueError("a name that is put together")


def _words(text: str) -> set[str]:
    return {*_WORDS.findall(text)}


# --- package.json -----------------------------------------------------------------------------------


def _package(said: str, words: set[str]) -> str:
    data = json.loads(said)
    scripts: Mapping[str, str] = data["scripts"]
    if any(_MADE_UP.search(name) for name in scripts):
        raise ValueError("a script without a plain name")
    _refuse_made_up("\n".join(scripts.values()))
    reached = _closure({name: (_of(name), body) for name, body in scripts.items()}, words)
    data["scripts"] = {name: body for name, body in scripts.items() if name in reached}
    return json.dumps(data)


def _of(name: str) -> set[str]:
    """The words by which a script is started: its own, that of its family (`build:*`), or what it comes before or
    after."""
    plain = re.sub(r"^(?:pre|post)", "", name)
    return _words(name) | _words(plain) | ({"restart"} if plain in ("start", "stop") else set())


def _closure(parts: Mapping[str, tuple[Collection[str], str]], words: set[str]) -> set[str]:
    """The parts that some words reach, and that what these say reaches in turn."""
    reached = {name for name in parts if _JUDGING.search(name) or _HOOKS.search(name)}
    words = words.union(*(_words(parts[name][1]) for name in reached))
    while found := {name for name, (of, _) in parts.items() if name not in reached and not words.isdisjoint(of)}:
        reached |= found
        for name in found:
            words = words | _words(parts[name][1])
    return reached


# --- make -------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Part:
    """The rules of some targets, or what is assigned to a variable: what it says, and what its recipes do."""

    says: str = ""
    does: str = ""


def _make(said: str, commands: str, files: str) -> str:
    """Without the rules of plain names that come after the first one, and the variables, that nothing comes to."""
    if _ODD.search(said):
        raise ValueError("not to be read line by line")
    parts: dict[str, _Part] = {"": _Part()}
    lines: list[tuple[str, str]] = []
    may_drop = _may_drop(said, files)
    part, is_first, follows = "", True, False
    for line in filter(str.strip, re.split(r"(?<!\\)\n", said)):
        if line.startswith("#"):
            continue
        if is_recipe := line.startswith("\t"):
            if not follows:
                raise ValueError("a recipe that is nobody's")
            said_of = line
        else:
            own, head, is_value = _OWN.fullmatch(line), _HEAD.fullmatch(line), makes.is_assignment(line)
            follows = ":" in line and not is_value and not own
            if follows and _MADE_UP.search(line):
                raise ValueError("names that are put together")
            named = head or own
            part = f"{named[1]}:" if named and not is_first and not any(map(_is_special, named[1].split())) else ""
            if (value := _VALUE.fullmatch(line)) and is_value and may_drop and _is_free(value, said, files):
                part = f"{value[1]}="
            is_first = is_first and (not follows or line.startswith("."))
            said_of = named[2] if named and part else line
        lines.append((part, line))
        held = parts.setdefault(part, _Part())
        if is_recipe:
            held.does += f"{said_of}\n"
        elif not _PHONY.fullmatch(line):
            held.says += f"{said_of}\n"
    reached, known = _come_to(parts, commands, files)
    left = [(part, line) for part, line in lines if part in reached]
    return "\n".join(filter(None, (_without_others(line, known) for _, line in left)))


def _may_drop(said: str, files: str) -> bool:
    """Whether variables of a make file can be told from each other: nothing passes all of them on or, in other make
    files, puts names together, and all that is included is known."""
    text = f"{said}\n{files}".replace("\\\n", " ")
    included = (name for found in _INCLUDES.finditer(text) for name in found[1].split())
    known = all(makes.is_make(name) or re.search(r"\.d\)?$", name) for name in included)
    return known and not _EXPORTS_ALL.search(text) and not _ODD.search(files)


def _is_free(value: re.Match[str], said: str, files: str) -> bool:
    """Whether a variable means nothing to `make` or to programs, and to assign it does nothing. What is expanded at
    once might, where something does of this file, or there are others."""
    name, how, text = value.groups()
    if name in _DIRECTIVES or _IMPLICIT.fullmatch(name) or _ENVIRONMENT.fullmatch(name):
        return False
    return how in (None, "?") or "$" not in text or not (files or _DOES.search(said))


def _come_to(parts: Mapping[str, _Part], commands: str, files: str) -> tuple[set[str], set[str]]:
    """The parts that checks come to, and the names of targets that stand in these.

    The words of a recipe are no targets unless something that is come to calls `make`.
    """
    reached = {"", *(part for part in parts if part.endswith(":") and _JUDGING.search(part))}
    while True:
        here = [parts[part] for part in reached]
        says = "\n".join(one.says for one in here)
        passes = files or _STARTS[True].search(says.encode(errors="replace"))
        does = [one.does for one in here if passes or _STARTS[True].search(one.does.encode(errors="replace"))]
        goals = {*_goals("\n".join((commands, files, says, *does)))}
        text = "\n".join((commands, files, says, *(one.does for one in here))).replace("\\\n", " ")
        words, is_any = set(re.findall(r"\w+", text)), bool(_COMPUTED.search(text))
        more = {one for one in parts if one.endswith("=") and (is_any or one[:-1] in words)}
        more |= {one for one in parts if one.endswith(":") and not goals.isdisjoint(one[:-1].split())}
        if more <= reached:
            names = "\n".join(part for part in reached if part.endswith(":"))
            return reached, goals | set(names.replace(":", " ").split())
        reached |= more


def _goals(text: str) -> Iterator[str]:
    """The words of a text that may be targets; a path is one word."""
    for word in _APART.split(text):
        if _COMPOSED.search(word):
            yield from _WORDS.findall(re.sub(r"\\.", " ", word))
        name = re.sub(r"^(?:\./+)+", "", word)
        yield from {name, name.removesuffix(".out")}  # which a built-in rule makes from a file of the bare name


def _is_special(name: str) -> bool:
    return name in _DIRECTIVES or makes.is_make(name)


def _without_others(line: str, known: set[str]) -> str:
    """A line that says of some names that they are no files, without those that nothing reaches."""
    phony = _PHONY.fullmatch(line)
    if not phony:
        return line
    words = known.union(*map(_words, known))
    names = [name for name in phony[1].split() if name in known or (re.search(r"[./]", name) and words & _words(name))]
    return f".PHONY: {' '.join(names)}" if names else ""
