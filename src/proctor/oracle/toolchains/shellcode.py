"""The commands that a shell runs as it reads a file, in their order. Pure.

tree-sitter's grammar takes the text apart. What runs in a shell of its own (`( )`, `$( )`, pipes, behind `&`) is left
out, as it ends nothing but itself, and so is a function that the file does not call.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

LARGEST = 64 << 10
"""Bytes of a text that is taken apart as a whole; of a larger one each line is, for itself."""
MOST_OPENINGS = 1_000
"""Characters in it that begin something, likewise: the parser's time grows with their square."""
MOST_STEPS = 5_000
DEEPEST = 100

_LANGUAGE = Language(tree_sitter_bash.language())
_OPENS = re.compile(r"[(|\[<{`]")
_CONTINUED = re.compile(r"\\\r?\n")
_APART = frozenset({"subshell", "pipeline", "command_substitution", "process_substitution"})
_SIMPLE = frozenset({"command", "declaration_command", "unset_command"})
_PREFIXES = frozenset({"builtin", "command", "time", "-p", "--"})
_NAMED = re.compile(r"\$(?:[A-Za-z_]\w*|\{[A-Za-z_]\w*\})")
_UNESCAPED = re.compile(r"\\(.)", re.DOTALL)
_HOLDS = re.compile(
    r"(?:true|:|echo|printf)(?:[ \t][^;&|]*)?|\w+=[^$`;&|]*|\(\([ \t]*[1-9]\d*[ \t]*\)\)"
    r"|\[\[?(?![^\]]*\s-[a-zA-Z]\s)[^$`]*\]\]?"
)
"""A condition that nothing decides: no variable, no file, no program."""
_OPTION = re.compile(r"(?<!!)=\s*[\"']?--?[a-zA-Z]")
_MAIN = re.compile(r"BASH_SOURCE|\$\{?0\b")


@dataclass(frozen=True, slots=True)
class When:
    """When a command is run. `sure`: whatever the case. `failing`: after another that failed. `asked`: where an option
    says so, or where the file is run as a program instead of being read."""

    sure: bool = True
    failing: bool = False
    asked: bool = False

    def if_(self, condition: str, holds: bool = True) -> When:
        """The same, if a condition holds, or does not."""
        inverted = condition.startswith("!")
        return When(
            sure=self.sure and holds and bool(_HOLDS.fullmatch(condition)),
            failing=holds is inverted,
            asked=self.asked or (holds and not inverted and _is_asked(condition)),
        )


@dataclass(frozen=True, slots=True)
class Step:
    """A command: its words, of which None is put together as it runs, when it is run, and its line as written."""

    words: tuple[str | None, ...]
    when: When
    line: str


def steps(text: str) -> list[Step]:
    """What a shell runs itself as it reads a text."""
    text = _CONTINUED.sub("", text).replace("\r", "")
    reader = _Reader()
    whole = len(text) <= LARGEST and len(_OPENS.findall(text)) <= MOST_OPENINGS
    for part in [text] if whole else text.splitlines():
        reader.read(part[:LARGEST], When(), "")
    return reader.found


class _Reader:
    def __init__(self) -> None:
        self.found: list[Step] = []
        self._bodies: dict[str, tuple[Node, list[str]]] = {}
        self._called: set[tuple[str, When]] = set()
        self._values: dict[str, str | None] = {}
        self._depth = 0

    def read(self, text: str, when: When, line: str) -> None:
        """The steps of a text; `line`: the one that the text stands in."""
        if self._depth < DEEPEST and len(_OPENS.findall(text)) <= MOST_OPENINGS:
            root = Parser(_LANGUAGE).parse(text.encode("utf-8", "replace")).root_node
            self._walk(root, when, [line] if line else text.split("\n"))

    def _walk(self, node: Node, when: When, lines: list[str]) -> None:
        if node.type in _APART or self._depth > DEEPEST or len(self.found) > MOST_STEPS:
            return
        self._depth += 1
        match node.type:
            case "function_definition":
                name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
                if name is not None and body is not None:
                    self._bodies[_written(name)] = body, lines
            case "variable_assignment":
                self._assign(node, when)
            case kind if kind in _SIMPLE:
                self._command(node, when, lines)
            case "list" if node.named_child_count == 2:
                left, right = node.named_children
                self._walk(left, when, lines)
                self._walk(right, when.if_(_written(left), node.children[1].type == "&&"), lines)
            case "if_statement":
                self._if(node, node.children_by_field_name("condition"), when, lines)
            case "while_statement" | "for_statement" | "c_style_for_statement":
                self._inside(node, replace(when, sure=False), lines)
            case "case_statement":
                subject = node.child_by_field_name("value")
                main = subject is not None and bool(_MAIN.search(_written(subject)))
                for item in node.named_children:
                    if item.type == "case_item":
                        told = [_written(one).strip("\"'") for one in item.children_by_field_name("value")]
                        asked = all(one.startswith("-") or (main and one != "*") for one in told)
                        self._inside(item, replace(when, sure=False, asked=when.asked or asked), lines)
            case _:
                self._inside(node, when, lines)
        self._depth -= 1

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
            self._values[_written(name)] = known if when.sure else None

    def _command(self, node: Node, when: When, lines: list[str]) -> None:
        assigned = [one for one in node.named_children if one.type == "variable_assignment"]
        for one in assigned:
            self._assign(one, when)
        words = [self._word(one) for one in node.children if one not in assigned]
        while words[1:] and words[0] in _PREFIXES:
            words.pop(0)
        line = lines[min(node.start_point.row, len(lines) - 1)]
        if not words:
            return
        name, told = words[0], [word for word in words[1:] if word is not None]
        if name == "eval" and len(told) == len(words) - 1:
            self.read(" ".join(told), when, line)
            return
        self.found.append(Step(tuple(words), when, line))
        if name in self._bodies and (name, when) not in self._called:
            self._called.add((name, when))
            body, its = self._bodies[name]
            self._walk(body, when, its)

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
            case "command_name" | "string" | "concatenation":
                parts = [self._word(one) for one in node.named_children]
                known = [one for one in parts if one is not None]
                return "".join(known) if len(known) == len(parts) else None
            case kind:
                return None if node.is_named else kind


def _is_asked(condition: str) -> bool:
    main = _MAIN.search(condition) and "=" in condition and "!=" not in condition
    return bool(main or _OPTION.search(condition))


def _written(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")
