"""The commands that a shell runs as it reads a file, in their order. Pure.

tree-sitter's grammar takes the text apart. What runs in a shell of its own (`( )`, `$( )`, pipes, behind `&`) is left
out, as it ends nothing but itself, and so is a function that the file does not call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

LARGEST = 64 << 10
"""Bytes of a text that is taken apart as a whole; of a larger one each line is, for itself."""
MOST_OPENINGS = 1_000
"""Characters in it that begin something, likewise: the parser's time grows with their square."""
MOST_STEPS = 20_000
MOST_EVALS = 40
LONGEST = 200
"""Characters of a variable's value that is known."""
DEEPEST = 100

_LANGUAGE = Language(tree_sitter_bash.language())
_OPENS = re.compile(r"[(|\[<{`]")
_CONTINUED = re.compile(r"\\\r?\n")
_APART = frozenset({"subshell", "pipeline", "command_substitution", "process_substitution"})
_SIMPLE = frozenset({"command", "declaration_command", "unset_command"})
_ALONE = _SIMPLE | {"redirected_statement"}
_PREFIXES = frozenset({"builtin", "command", "time", "-p", "--"})
_NAMED = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})")
_NUMBER = re.compile(r"\$\(\(\s*(\d+)\s*\)\)")
_UNESCAPED = re.compile(r"\\(.)", re.DOTALL)
_HOLDS = re.compile(
    r"(?:true|:|echo|printf)(?:[ \t][^;&|<>]*)?|\w+=[^$`;&|]*|\(\([ \t]*[1-9]\d*[ \t]*\)\)"
    r"|(?:test|\[\[?)[ \t]+(?:-n[ \t]+)?([\"']?\w+[\"']?)(?:[ \t]+(?:==?|-eq)[ \t]+\1)?(?:[ \t]*\]\]?)?"
)
"""A condition that holds, whatever the case."""
_OPTION = re.compile(r"\$.*(?<!!)(?:==?|=~)\s*[\"'*^(x\s]*--?[a-zA-Z]", re.DOTALL)
_MAIN = re.compile(r"(?=.*BASH_SOURCE)(?=.*\$\{?0\b).*?(!=|==?|-ef)", re.DOTALL)
_GETOPTS = re.compile(r"while[ \t]+getopts\b")
_PARTS = re.compile(r"&&|\|\||[;{}]|\b(?:then|do|else)\b")
_HEAD = re.compile(r"(?:function[ \t]+[^\s(){}]+|[^\s(){}#]+[ \t]*\()[ \t]*\)?[ \t]*\{?[ \t]*(?:#.*)?")


@dataclass(frozen=True, slots=True)
class When:
    """When a command is run. `sure`: whatever the case. `failing`: itself after another that failed. `asked`: where an
    option says so, or where the file is run as a program instead of being read."""

    sure: bool = True
    failing: bool = False
    asked: bool = False

    def if_(self, condition: str, holds: bool = True) -> When:
        """The same, if a condition holds, or does not."""
        inverted = condition.startswith("!")
        main = _MAIN.match(condition)
        asked = main[1].startswith("!") is not (holds is not inverted) if main else False
        return When(
            sure=self.sure and holds and bool(_HOLDS.fullmatch(condition)),
            asked=self.asked or asked or (holds and not inverted and bool(_OPTION.search(condition))),
        )


@dataclass(frozen=True, slots=True)
class Step:
    """A command: its words, of which None is put together as it runs, when it is run, its line as written, and what it
    has run at the end (`trap`)."""

    words: tuple[str | None, ...]
    when: When
    line: str
    last: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class Run:
    """What a shell runs itself as it reads a text, and the names of the functions that it has then. `whole`: the text
    could be read as a whole; `clear`: nothing of it was too much to be read."""

    steps: list[Step]
    functions: set[str]
    whole: bool
    clear: bool


def run(text: str) -> Run:
    """Take apart what a shell reads, whatever it is."""
    text = _CONTINUED.sub("", text).replace("\r", "")
    reader = _Reader()
    lines = text.split("\n")
    fits = len(text) <= LARGEST and len(_OPENS.findall(text)) <= MOST_OPENINGS
    whole = fits and reader.read(text, When(), "")
    for line in () if whole else lines if fits else _outside(lines):
        if not reader.read(line, When(sure=not line[:1].isspace()), ""):
            for part in _PARTS.split(line):
                reader.read(part.strip(), When(sure=False), line)
    return Run(reader.found, set(reader.bodies), whole, reader.clear)


def _outside(lines: Sequence[str]) -> Iterator[str]:
    """Lines that stand in no function, where functions are written as everybody writes them."""
    last = max((at for at, line in enumerate(lines) if line.startswith("}")), default=-1)
    inside = False
    for at, line in enumerate(lines):
        inside = inside or (at < last and bool(_HEAD.fullmatch(line[:LONGEST])))
        if not inside:
            yield line
        inside = inside and not line.startswith("}")


class _Reader:
    def __init__(self) -> None:
        self.found: list[Step] = []
        self.bodies: dict[str, tuple[Node, list[str]]] = {}
        self.clear = True
        self._called: set[tuple[str, When]] = set()
        self._values: dict[str, str | None] = {}
        self._evals = self._depth = self._inner = 0
        self._main = False
        """Whether what is read where the file is not run as a program has come to its end."""

    def read(self, text: str, when: When, line: str) -> bool:
        """Take the steps of a text, which stands in a `line`; whether all of it could be read."""
        if self._depth >= DEEPEST or len(text) > LARGEST or len(_OPENS.findall(text)) > MOST_OPENINGS:
            self.clear = False
            return True
        root = Parser(_LANGUAGE).parse(text.encode("utf-8", "replace")).root_node
        self._walk(root, when, [line] if line else text.split("\n"))
        return not root.has_error

    def _walk(self, node: Node, when: When, lines: list[str]) -> None:
        if node.type in _APART:
            return
        if self._depth > DEEPEST or len(self.found) > MOST_STEPS:
            self.clear = False
            return
        self._depth += 1
        match node.type:
            case "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name is not None and body is not None:
                    self.bodies[_written(name)] = body, lines
            case "variable_assignment":
                self._assign(node, when)
            case kind if kind in _SIMPLE:
                self._command(node, when, lines)
            case "list" if node.named_child_count == 2:
                self._list(node, when, lines)
            case "if_statement":
                self._if(node, node.children_by_field_name("condition"), when, lines)
            case "while_statement" | "for_statement" | "c_style_for_statement":
                asked = when.asked or bool(_GETOPTS.match(_written(node)))
                self._inside(node, When(sure=False, asked=asked), lines)
            case "case_statement":
                self._case(node, when, lines)
            case _:
                self._inside(node, when, lines)
        self._depth -= 1

    def _list(self, node: Node, when: When, lines: list[str]) -> None:
        left, right = node.named_children
        if_left = when.if_(_written(left), node.children[1].type == "&&")
        if node.children[1].type == "||":
            stops = _written(left).startswith("return ") or _written(left) == "return"  # where it is read, not run
            if_left = replace(if_left, failing=right.type in _ALONE, asked=if_left.asked or stops)
        self._walk(left, when, lines)
        self._walk(right, if_left, lines)
        if _written(right).partition(" ")[0] == "return" and not self._inner:
            elsewhere = when.if_(_written(left), node.children[1].type != "&&")
            self._main = self._main or elsewhere.asked

    def _case(self, node: Node, when: When, lines: list[str]) -> None:
        subject = node.child_by_field_name("value")
        known = subject is None or "$" not in _written(subject)
        for item in node.named_children:
            if item.type == "case_item":
                told = [_written(one).strip("\"'") for one in item.children_by_field_name("value")]
                asked = not known and "*" not in told and any(one.startswith("-") for one in told)
                self._inside(item, When(sure=False, asked=when.asked or asked), lines)

    def _inside(self, node: Node, when: When, lines: list[str]) -> None:
        for child in node.named_children:
            if child.next_sibling is None or child.next_sibling.type != "&":
                self._walk(child, when, lines)

    def _if(self, node: Node, asking: list[Node], when: When, lines: list[str]) -> None:
        condition = " ".join(_written(one) for one in asking if one.is_named)
        for child in node.named_children:
            match child.type:
                case _ if child in asking:
                    self._walk(child, when, lines)
                case "elif_clause":
                    self._if(child, child.named_children[:1], when.if_(condition, False), lines)
                case "else_clause":
                    self._inside(child, when.if_(condition, False), lines)
                case _:
                    self._walk(child, when.if_(condition), lines)

    def _assign(self, node: Node, when: When) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is not None:
            known = self._word(value) if value is not None and node.children[1].type == "=" else None
            self._values[_written(name)] = known if when.sure and len(known or "") <= LONGEST else None

    def _command(self, node: Node, when: When, lines: list[str]) -> None:
        assigned = [one for one in node.named_children if one.type == "variable_assignment"]
        for one in assigned:
            self._assign(one, when)
        words = [self._word(one) for one in node.children if one not in assigned]
        while words[1:] and words[0] in _PREFIXES:
            words.pop(0)
        if not words:
            return
        line = lines[min(node.start_point.row, len(lines) - 1)]
        name, told = words[0], [word for word in words[1:] if word is not None]
        if name == "eval" and len(told) == len(words) - 1 and self._evals < MOST_EVALS:
            self._evals += 1
            self.read(" ".join(told), when, line)
            return
        last = self._trapped(told, line) if name == "trap" else ()
        when = replace(when, asked=when.asked or self._main)
        self.found.append(Step(tuple(words), when, line, last))
        if name in self.bodies and (name, when) not in self._called:
            self._called.add((name, when))
            body, its = self.bodies[name]
            self._inner += 1
            self._walk(body, when, its)
            self._inner -= 1

    def _trapped(self, told: Sequence[str], line: str) -> tuple[Step, ...]:
        """What a trap runs, of which nothing is sure."""
        action = next((word for word in told if word != "--"), "")
        if self._evals >= MOST_EVALS:
            self.clear = False
            return ()
        self._evals += 1
        other = _Reader()
        other.bodies, other._values, other._evals = self.bodies, dict(self._values), self._evals
        other._depth = self._depth
        other.read(action, When(sure=False), line)
        self._evals, self.clear = other._evals, self.clear and other.clear
        return tuple(other.found)

    def _word(self, node: Node) -> str | None:
        """A word as its command gets it; None where it is not known before it runs."""
        text = _written(node)
        match node.type:
            case "raw_string":
                return text[1:-1]
            case "ansi_c_string":
                return None if "\\" in text else text[2:-1]
            case "string_content" | "word" | "number" | "extglob_pattern" | "variable_name":
                return _UNESCAPED.sub(r"\1", text)
            case "simple_expansion" | "expansion" if _NAMED.fullmatch(text):
                return self._values.get(text.strip("${}"))
            case "arithmetic_expansion" if number := _NUMBER.fullmatch(text):
                return number[1]
            case "command_name" | "string" | "concatenation":
                parts = [self._word(one) for one in node.named_children]
                known = [one for one in parts if one is not None]
                return "".join(known) if len(known) == len(parts) else None
            case kind:
                return None if node.is_named else kind


def _written(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
