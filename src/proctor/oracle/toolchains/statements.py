"""Build files that are made of statements, some of which say what a test is: CMake, Meson, Bazel and the like. Pure.

Tests may come, and none may go or become another: the command of one, the blocks that it stands in, what it is told,
and what its program is made of. All else is the worker's to edit.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

Part = dict[str, Any]

_TOKEN = {
    quotes: re.compile(
        (r'"""(?:[^"]|"(?!""))*+"""|' if "'" in quotes else r"\\.|#?\[(=*)\[(?:.*?\]\1\]|.*)|")
        + "|".join(rf"{quote}(?:\\.|[^{quote}\\])*+{quote}?" for quote in quotes)
        + r"|#[^\n]*|[()\[\]{}]|\n|[ \t\r]+",
        re.DOTALL,
    )
    for quotes in ('"', "\"'")
}
"""What is more than itself, by the quotes of a language."""
_WORD = re.compile(r'"(?:\\.|[^"\\])*+"?|[^\s()"]+|[()]', re.DOTALL)
_DEEPEST = 100
_LIKE_TEST = re.compile(r"test|check|spec", re.IGNORECASE)


def statements(text: str, quotes: str = "\"'") -> Iterator[str]:
    """The statements of a text, each on one line and without comments: a line, and those that its brackets hold."""
    parts: list[str] = []
    depth = last = 0
    for token in _TOKEN[quotes].finditer(text):
        parts.append(text[last : token.start()])
        last, said = token.end(), token[0]
        if said == "\n" and depth <= 0:
            yield from _joined(parts)
            depth = 0
        elif said[0] in " \t\r\n#":  # a comment too, also one in brackets
            parts.append(" ")
        else:
            depth += (said in "([{") - (said in ")]}")
            parts.append(said)
    parts.append(text[last:])
    yield from _joined(parts)


def _joined(parts: list[str]) -> Iterator[str]:
    said = re.sub(r" *([()\[\]{}]) *", r"\1", re.sub(r" +", " ", "".join(parts))).strip()
    parts.clear()
    if said:
        yield said


def matching(text: str, wanted: re.Pattern[str], but: re.Pattern[str] | None = None, quotes: str = "\"'") -> Part:
    """The statements in which something is found, each as it stands."""
    found = (one for one in statements(text, quotes) if wanted.search(one) and not (but and but.search(one)))
    return {"statements": list(found)}


def _open(blocks: list[str], said: str) -> None:
    if len(blocks) == _DEEPEST:
        raise ValueError("too many blocks in each other")
    blocks.append(said)


def _after(block: str, said: str) -> str:
    """A block from the statement on that parts it."""
    return hashlib.sha256(f"{block}\n{said}".encode()).hexdigest()


# --- CMake ------------------------------------------------------------------------------------------

_COMMAND = re.compile(r"([A-Za-z_]\w*) ?\((.*)\)", re.DOTALL)
_OPENS = frozenset({"if", "foreach", "while", "function", "macro", "block"})
_TOGETHER = frozenset({"target_sources", "target_link_libraries", "target_include_directories", "add_executable"})
"""What a program is made of; more may come."""
_OWN = frozenset(
    """add_test enable_testing include add_subdirectory add_executable set_tests_properties gtest_discover_tests
    gtest_add_tests find_package project""".split()  # noqa: SIM905
)
_SWITCH = re.compile(
    r"NDEBUG|\bBUILD_TESTING\b|\bCMAKE_BUILD_TYPE\b|EMULATOR|_LAUNCHER\b|RULE_LAUNCH|\bCTEST_|\bCMAKE_(?:SKIP_)?TEST"
    r"|TEST_INCLUDE_FILE|TEST_LAUNCHER"
)
_ASSIGNS = ("set", "list", "file", "string")
_SETS = frozenset(
    """set unset option list string add_definitions add_compile_definitions add_compile_options set_property
    set_target_properties set_directory_properties target_compile_definitions target_compile_options""".split()  # noqa: SIM905
)
_VARIABLE = re.compile(r"\$\{(\w+)\}")
_TARGET = re.compile(r"\$<TARGET_FILE(?:_\w+)?:([^>]+)>")


class _Command(NamedTuple):
    name: str
    words: tuple[str, ...]
    within: tuple[str, ...]
    """The blocks it stands in, and how often the file was left before it."""


def cmake(text: str) -> Part:
    commands = list(_commands(text))
    tests = [one for one in commands if _is_of_tests(one)]
    last = max((at for at, one in enumerate(commands) if _is_of_tests(one)), default=0)
    names = {_named(one) for one in tests}
    programs = {program for one in tests for program in _programs(one)}
    used = {name for one in tests for word in one.words for name in _VARIABLE.findall(word)}
    looped = {name for one in tests for block in one.within for name in _VARIABLE.findall(block)} - used
    told: dict[str, list[_Command]] = {}
    grows: dict[str, set[str]] = {}
    found: Part = {"switches": [], "overrides": []}
    for at, one in enumerate(commands):
        first = one.words[0] if one.words else ""
        of = set(_told_of(one))
        for name in of & names:
            told.setdefault(name, []).append(one)
        if one.name in ("function", "macro") and first.lower() in _OWN:
            found["overrides"].append(one)
        elif of - names or _is_switch(one, used, programs) or (one.name == "return" and at < last):
            found["switches"].append(one)
        elif one.name in _ASSIGNS and not looped.isdisjoint(one.words[:2]):
            grows.setdefault(f"{one.name} {first}", set()).update(one.words)
        elif one.name in _TOGETHER and first in programs:
            kept = one.words if _LIKE_TEST.search(first) else filter(_LIKE_TEST.search, one.words)
            grows.setdefault(f"{one.name} {first}", set()).update(kept)
    found["tests"] = frozenset((one, tuple(told.get(_named(one), ()))) for one in tests)
    return found | {name: frozenset(words) for name, words in grows.items()}


def _is_switch(one: _Command, used: Collection[str], programs: Collection[str]) -> bool:
    """Whether a command decides over tests without being one."""
    if one.name == "add_custom_command":
        return one.words[:1] == ("TARGET",) and not set(programs).isdisjoint(one.words)
    if one.name in _ASSIGNS and not set(used).isdisjoint(one.words[:2]):
        return True
    return one.name in _SETS and any(map(_SWITCH.search, one.words))


def _commands(text: str) -> Iterator[_Command]:
    """The commands of a CMake file; what CMake takes for none is left out."""
    blocks: list[str] = []
    for said in statements(text, '"'):
        match = _COMMAND.fullmatch(said)
        if match is None:
            continue
        name, words = match[1].lower(), tuple(_WORD.findall(match[2]))
        if name.startswith("end") and name[3:] in _OPENS:
            del blocks[-1:]
        elif name in ("else", "elseif") and blocks:
            blocks[-1] = _after(blocks[-1], said)
        else:
            yield _Command(name, words, tuple(blocks))
        if name in _OPENS:
            _open(blocks, said)


def _is_of_tests(one: _Command) -> bool:
    if one.name in _OPENS or one.name in ("set_tests_properties", "set_property"):
        return False
    if one.name == "include":
        return any(map(_LIKE_TEST.search, one.words))
    return "test" in one.name or one.name == "add_subdirectory"


def _named(one: _Command) -> str:
    at = one.words.index("NAME") + 1 if "NAME" in one.words else 0
    return one.words[at] if at < len(one.words) else ""


def _told_of(one: _Command) -> Sequence[str]:
    """The tests that a command tells something of."""
    if one.name == "set_tests_properties":
        return one.words[: one.words.index("PROPERTIES")] if "PROPERTIES" in one.words else one.words
    if one.name != "set_property" or one.words[:1] != ("TEST",):
        return ()
    return tuple(takewhile(lambda word: word not in ("PROPERTY", "APPEND", "APPEND_STRING"), one.words[1:]))


def _programs(one: _Command) -> Iterator[str]:
    """The programs that a test is run by."""
    if "COMMAND" in one.words[:-1]:
        yield one.words[one.words.index("COMMAND") + 1]
    elif one.name == "add_test":
        yield from one.words[1:2]
    elif one.name not in ("include", "add_subdirectory"):
        yield from one.words[:1]
    for word in one.words:
        yield from _TARGET.findall(word)


def presets(text: str) -> Part:
    """Of CMake's presets: those of tests, and what the others say of tests."""
    data = json.loads(text)
    found: Part = {}
    for name in ("testPresets", "workflowPresets"):
        found[name] = frozenset(json.dumps(one, sort_keys=True) for one in data.get(name, ()))
    for name in ("configurePresets", "buildPresets"):
        for one in data.get(name, ()):
            said = {**one.get("cacheVariables", {}), **one.get("environment", {})}
            found[f"{name} {one.get('name')}"] = {key: said[key] for key in said if _SWITCH.search(key)}
    return found


# --- Meson ------------------------------------------------------------------------------------------

_MESON_TEST = re.compile(r"(?:\w+ ?= ?)?(?:test|benchmark|subdir)\(")
_MESON_SETUP = re.compile(r"(?:\w+ ?= ?)?add_test_setup\(|.*b_ndebug")
_MESON_DONE = re.compile(r"subdir_done\(")
_ASSIGNED = re.compile(r"(\w+) ?(\+?=) ?(\w*)(.*)", re.DOTALL)
_QUOTED = re.compile(r"'[^'\n]*'")


def meson(text: str) -> Part:
    blocks: list[str] = []
    tests, setup = list[tuple[str, tuple[str, ...], int]](), list[str]()
    assigned: list[tuple[str, str, str, set[str]]] = []
    for one in statements(text):
        word = one.partition(" ")[0].partition("(")[0]
        if word in ("endif", "endforeach"):
            del blocks[-1:]
        elif word in ("else", "elif") and blocks:
            blocks[-1] = _after(blocks[-1], one)
        elif word in ("if", "foreach"):
            _open(blocks, one)
        elif _MESON_TEST.match(one):
            tests.append((one, tuple(blocks), sum(map(bool, map(_MESON_DONE.match, setup)))))
        elif _MESON_SETUP.match(one) or _MESON_DONE.match(one):
            setup.append(one)
        elif match := _ASSIGNED.fullmatch(one):
            assigned.append((match[1], match[2], match[3], set(_QUOTED.findall(match[4]))))
    used = set(re.findall(r"\w+", _QUOTED.sub("", " ".join(one for one, _, _ in tests))))
    found: Part = {"tests": frozenset(tests), "setup": [one for one in setup if not _MESON_DONE.match(one)]}
    for name, how, head, words in assigned:
        if name in used:
            found.setdefault(f"made {name}", []).append((how, head))
            found[f"of {name}"] = found.get(f"of {name}", frozenset()) | words
    return found


# --- Bazel ------------------------------------------------------------------------------------------

_BAZEL_TEST = re.compile(r"\w*_tests?\(|\btest_suite\(|^load\(.*test")
_OVERRIDES = re.compile(r"\b(?:local_path_override|local_repository|new_local_repository|register_\w+)\(")


def bazel(text: str) -> Part:
    """The tests of a package; what makes or loads one under a name is no test of its own."""
    said = [one for one in statements(text) if not one.startswith(("def ", '"'))]
    names = frozenset(one for one in said if _BAZEL_TEST.search(one))
    return {"tests": names, "made": [one for one in said if re.match(r"\w*tests? ?=", one)]}


def bazel_module(text: str) -> Part:
    """Rules of languages that are taken from the workspace itself, and what stands for their programs."""
    return matching(text, _OVERRIDES)


# --- others -----------------------------------------------------------------------------------------

_CALL_END = re.compile(r'"(?:\\.|[^"\\\n])*+"|//[^\n]*|[()]')


def calls(text: str, head: re.Pattern[str]) -> Iterator[str]:
    """The calls that begin as `head`, an opening bracket at its end, to where their brackets close."""
    at = 0
    while found := head.search(text, at):
        depth, at = 1, len(text)
        for token in _CALL_END.finditer(text, found.end()):
            depth += (token[0] == "(") - (token[0] == ")")
            if not depth:
                at = token.end()
                break
        yield " ".join(text[found.start() : at].split())


def growing(found: Iterable[str]) -> Part:
    """Statements of which more may come."""
    return {"tests": frozenset(found)}
