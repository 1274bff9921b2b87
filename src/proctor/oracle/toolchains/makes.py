"""What make files make, and from what, and which they include: goals that are commands, and what could stand in for a
recipe. Pure.

`make` takes a recipe for done as soon as a file of its target's name is there. A worker may leave such a file, and the
recipe that tests the work is skipped. What has a rule of its own is therefore always made anew, if it was not there at
the start (`goals`); what a pattern or a built-in rule makes is known by `products`, since such a rule is not looked for
once its target is declared to be no file.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

LIMIT = 256 << 10
"""Bytes of a make file that are looked through."""

_COMMENT = re.compile(r"(?<!\\)#.*")
_CONDITION = re.compile(r"(?:ifn?eq|ifn?def|else|endif)\b")
_ASSIGNED = re.compile(r"(?:(?:export|override|private)[ \t]+)*([\w.-]+)[ \t]*(\+|[?!:]|:::?)?=(.*)", re.DOTALL)
_RULE = re.compile(r"([^:=]+?)[ \t]*&?::?(?!=)(.*)", re.DOTALL)
_VALUE = re.compile(r"\$[({]([\w.-]+)(?::([^\s:=(){}]*)=([^\s(){}]*))?[)}]")
_CALL = re.compile(r"\$[({](addprefix|addsuffix|patsubst|strip|sort|wildcard)[ \t]+([^$(){}]*)[)}]")
_UNKNOWN = re.compile(r"\$(?:[({][^(){}]*[)}]|.)")
_NAME, _PATTERN = re.compile(r"[\w./+@~-]+"), re.compile(r"[\w./+@~-]*%[\w./+@~-]*")
_SPECIAL = re.compile(
    r"\.[A-Z_]+|(?:\.(?:a|c|cc|C|cpp|p|[fFmrylsSo]|ln|sh|out|def|h|info|dvi|tex|texi|texinfo|w|el|elc)){1,2}"
)
"""Targets that are none: what `make` is told, and suffix rules."""
_BRINGS = re.compile(
    r"[-@+ \t]*(?:\S*/)?(?:mkdir|touch|install[ \t]+-d|\$[({]MKDIR\w*[)}]|curl|wget|git[ \t]+(?:clone|submodule)"
    r"|(?:npm|pnpm|yarn|bun|poetry)[ \t]+(?:ci|i|install)|uv[ \t]+(?:sync|venv|pip[ \t]+install)|pip[\d.]*[ \t]+install"
    r"|(?:python[\d.]*|\$[({]\w+[)}])[ \t]+-m[ \t]+(?:pip[ \t]+install|venv)"
    r"|go[ \t]+mod[ \t]+download|cargo[ \t]+fetch)(?:[ \t][^;&|]*)?"
)
"""A line of a recipe that only makes a folder, or fetches or installs something: what is there is as good, and in a
check most of them could not be done again."""
_ANY = "*"
"""A target of which only a run knows the name: any new file may be one."""
_WRITES_RULES = re.compile(rb"\$[({]eval\b")
_BUILT_IN = tuple(f"%.o: %.{end}" for end in ("c", "cc", "cpp", "C", "s", "S")) + tuple(
    f"%: %.{end}" for end in ("o", "c", "cc", "cpp", "C", "sh")
)
_INCLUDE = re.compile(r"[-s]?include[ \t]+(.+)")
_MAKE = frozenset({"make", "gmake"})
_FILE = frozenset({"-f", "--file", "--makefile"})
_VALUED = _FILE | {"-C", "--directory", "-I", "--include-dir", "-o", "-W"}
_JOINED = re.compile(r"^(-[CfIoW](?=.)|--[a-z-]+(?==))=?")
_DEPENDS = re.compile(
    r"(?!\.[^/\s]*[\s:])[\w./+@~-]+(?:[ \t]+(?!\.[^/\s]*[\s:])[\w./+@~-]+)*[ \t]*:(?:[ \t]+[\w./+@~-]+)*[ \t]*"
)
_DIRECTIVE = re.compile(
    r"(?:[s-]?include|-?load|define|endef|undefine|(?:un)?export|override|private|vpath|ifn?eq|ifn?def|else|endif)\b"
)


@dataclass(slots=True)
class Rule:
    """A rule as written; with `known` off some of what it is made from is known to its run alone."""

    targets: list[str]
    sources: list[str]
    recipe: list[str] = field(default_factory=list)
    known: bool = True

    @property
    def works(self) -> bool:
        """Whether its recipe does more than to bring something."""
        return not all(map(_BRINGS.fullmatch, self.recipe))


def is_make(path: str) -> bool:
    """Whether a file is called like one of make."""
    return path.endswith(".mk") or path.lower().endswith("makefile")


def is_assignment(line: str) -> bool:
    """Whether a line gives a variable a value, and is no rule."""
    return _ASSIGNED.fullmatch(_COMMENT.sub("", line).strip()) is not None


def rules(data: bytes) -> list[Rule]:
    """The rules of a make file, with its plain variables put in."""
    found: list[Rule] = []
    open_rule: list[Rule] = []
    for said, is_recipe in _statements(data):
        if is_recipe:
            for rule in open_rule:
                rule.recipe.append(said)
        else:
            open_rule = list(_rule(said))
            found += open_rule
    return found


def included(data: bytes) -> Iterator[str]:
    """The files that a make file includes, by name or as a pattern, as written; a `*` for what its run alone knows."""
    for said, _ in _statements(data):
        if names := _INCLUDE.fullmatch(said):
            yield from (one for one in names[1].replace("\0", "*").split() if re.search(r"\w", one))


def is_match(path: str, pattern: str) -> bool:
    """Whether a path is what a pattern of `make` stands for, in which nothing stands for a slash."""
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)


def says_more(path: str, data: bytes) -> bool:
    """Whether an included file does more than name what others are made from, as compilers write it."""
    return not (path.endswith(".d") and only_depends(data))


def _statements(data: bytes) -> Iterator[tuple[str, bool]]:
    """The lines of a make file that assign nothing, with its variables put in, and the lines of recipes as they are."""
    values: dict[str, str] = {}
    for line in data[:LIMIT].decode(errors="replace").replace("\\\n", " ").splitlines():
        said = _COMMENT.sub("", line).strip()
        is_recipe = line.startswith("\t") and not _INCLUDE.match(said)
        if is_recipe:
            yield line.strip(), True
        elif assigned := _ASSIGNED.fullmatch(said):
            name, how, value = assigned[1], assigned[2], assigned[3].strip()
            values[name] = f"{values.get(name, '')} {value}" if how == "+" else value
        elif said and not _CONDITION.match(said):
            yield _filled(said, values), False


def _rule(said: str) -> Iterator[Rule]:
    said, inline, command = said.partition(";")
    parts = _RULE.fullmatch(said)
    if not parts or _DIRECTIVE.match(said) or _ASSIGNED.fullmatch(parts[2].strip()):
        return
    targets, rest = parts[1].split(), parts[2]
    pattern, static, sources = rest.partition(":")
    if static and any("\0" in target for target in targets):
        targets.append(pattern.strip())
    sources = (sources if static else rest).partition("|")[0]
    yield Rule(targets, sources.replace("\0", " ").split(), [command.strip()] if inline else [], "\0" not in sources)


def _filled(text: str, values: dict[str, str]) -> str:
    """A text with a zero byte for what is not known."""
    for _ in range(8):  # one may stand in another
        before = text
        text = _CALL.sub(_called, _VALUE.sub(lambda found: _value(found, values), text))
        if text == before or len(text) > LIMIT:
            break
    for _ in range(3):
        text = _UNKNOWN.sub("\0", text)
    return text


def _value(found: re.Match[str], values: dict[str, str]) -> str:
    name, end, other = found.groups()
    if name not in values:
        return found[0]
    if end is None:
        return values[name]
    return " ".join(
        _changed(word, end if "%" in end else f"%{end}", other if "%" in end else f"%{other}")
        for word in values[name].split()
    )


def _changed(word: str, pattern: str, other: str) -> str:
    stem = _stem(pattern, word)
    return other.replace("%", stem) if stem else word


def _called(found: re.Match[str]) -> str:
    *told, words = found[2].split(",")
    match found[1], [one.strip() for one in told]:
        case "addprefix", [prefix]:
            return " ".join(prefix + word for word in words.split())
        case "addsuffix", [suffix]:
            return " ".join(word + suffix for word in words.split())
        case "patsubst", [pattern, other]:
            return " ".join(_changed(word, pattern, other) for word in words.split())
    return found[2]


def goals(data: bytes) -> Iterator[str]:
    """The targets of a make file with a recipe of their own, but for what is only brought."""
    for rule in rules(data):
        if rule.works:
            yield from (name for name in rule.targets if _NAME.fullmatch(name) and not _SPECIAL.fullmatch(name))


def products(data: bytes) -> Iterator[str]:
    """What other rules make, each as `target: sources`; with nothing behind the colon it rests on nothing."""
    found = rules(data)
    if _WRITES_RULES.search(data) or any(rule.works and "\0" in name for rule in found for name in rule.targets):
        yield f"{_ANY}: ?"
    free = [target for rule in found if rule.works and not rule.sources for target in rule.targets if "%" in target]
    for name in {name for rule in found for name in rule.sources if _NAME.fullmatch(name)}:
        if any(target != "%" and _stem(target, name) for target in free):
            yield f"{name}: "
    for rule in found:
        sources = " ".join(rule.sources) or ("" if rule.known else "?")
        for target in rule.targets:
            is_pattern = bool(_PATTERN.fullmatch(target))
            if is_pattern and rule.works and (target != "%" or sources):
                yield f"{target}: {sources}"
            elif not rule.recipe and sources and _NAME.fullmatch(target) and not _SPECIAL.fullmatch(target):
                yield f"{target}: ?"
    yield from _BUILT_IN


def _stem(pattern: str, name: str) -> str:
    """What stands for the `%` of a pattern in a name; nothing where it does not match."""
    begin, _, end = pattern.partition("%")
    stem = name[len(begin) : len(name) - len(end)]
    return stem if name == begin + stem + end else ""


def asked(argv: Sequence[str]) -> Iterator[str]:
    """The goals that a command asks `make` for, as paths."""
    return (value for option, value in _told(argv) if not option and _NAME.fullmatch(value))


def files(argv: Sequence[str]) -> Iterator[str]:
    """The make files that a command names, as paths."""
    return (value for option, value in _told(argv) if option in _FILE)


def _told(argv: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What a command tells `make`: options with their values, and goals, with no option."""
    for words in (list(argv), *(_split(word) for word in argv if " " in word)):
        for at in (at for at, word in enumerate(words) if word.rpartition("/")[2] in _MAKE):
            folder, option = "", ""
            for word in (part for one in words[at + 1 :] for part in _JOINED.split(one) if part):
                if not option and set(word) & set(";&|<>()"):
                    break
                if not option and word in _VALUED:
                    option = word
                elif option in ("-C", "--directory"):
                    folder, option = posixpath.join(folder, word), ""
                elif option or not word.startswith("-"):
                    yield option, posixpath.join(folder, word)
                    option = ""


def _split(text: str) -> list[str]:
    lexer = shlex.shlex(text, posix=True, punctuation_chars=True)
    try:
        return list(lexer)
    except ValueError:
        return []


class Products:
    """Some products, to ask of paths."""

    def __init__(self, made: Iterable[str]) -> None:
        self._made = [(target, sources.split()) for target, _, sources in (one.partition(":") for one in made)]
        likely = "|".join(
            ("" if "/" in target else "(?:.*/)?") + ".+".join(map(re.escape, target.split("%")))
            for target in {target for target, _ in self._made if target != "%"}
        )
        self._likely = re.compile(likely or r"(?!)")
        self._any = any(target == "%" for target, _ in self._made)
        self._all = any(target == _ANY for target, _ in self._made)

    def is_asked_for(self, folder: str) -> bool:
        """Whether a goal is called like a folder, and a pattern makes it from nothing."""
        bare = {target for target, sources in self._made if not sources}
        return folder in bare and any(_stem(one, folder) for one in bare if "%" in one)

    def rests_on(self, path: str, stands: Callable[[str], bool]) -> bool | None:
        """Whether what makes a file has sources; None if nothing does that these say. `stands` tells of other files."""
        found = True if self._all else None
        if not self._likely.fullmatch(path) and not (self._any and "." not in path.rpartition("/")[2]):
            return found
        for target, sources in self._made:
            folder, slash, name = path.rpartition("/") if "/" not in target and "%" in target else ("", "", path)
            stem = _stem(target, name) if "%" in target else ""
            if not stem and name != target:
                continue
            if not sources:
                return False
            if all(one == "?" or "%" not in one or stands(folder + slash + one.replace("%", stem)) for one in sources):
                found = True
        return found


def only_depends(data: bytes) -> bool:
    """Whether a text only says what targets are made from, as compilers write it."""
    for line in data.decode(errors="replace").replace("\\\n", " ").splitlines():
        said = line.partition("#")[0].rstrip()
        if line.startswith("\t") or (said and (_DIRECTIVE.match(said) or not _DEPENDS.fullmatch(said))):
            return False
    return True
