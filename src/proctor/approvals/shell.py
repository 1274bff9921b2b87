"""A shell line, taken apart into the commands it would run.

tree-sitter's grammar reads it; it reads some lines otherwise than a shell does. So a reading is `sure` only if the line
holds nothing but forms that every shell reads alike, each token checked again here (`plain.py`). Of any other line it
is a guess: good enough to find what is denied in it, never to allow it.
"""

from __future__ import annotations

import posixpath
import re

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from proctor.approvals import plain, programs, spelling
from proctor.approvals.globs import HOLE
from proctor.approvals.meaning import DEEPEST, Meaning, TooMuch
from proctor.approvals.reading import LONGEST, Command, Reading, harmless

MOST_OPENINGS = 1_000
"""Characters among them that begin something: the parser's time grows with their square."""
MOST_NODES = 5_000
"""Pieces of a line: each is looked at more than once."""
MOST_COMMANDS = 500
MOST_LINES = 40
"""Lines within a line: scripts given to `sh -c`, and the like."""

_LANGUAGE = Language(tree_sitter_bash.language())
_OUTPUT = frozenset({">", ">>", ">|", "&>", "&>>", ">&", "<>"})
_SIMPLE = frozenset({"command", "declaration_command", "unset_command"})
_REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_ROWS = frozenset({"pipeline", "list", "negated_command", "redirected_statement"})
_WORDS = frozenset(
    {"word", "number", "string", "raw_string", "ansi_c_string", "concatenation", "simple_expansion", "expansion"}
    | {"command_substitution", "process_substitution", "arithmetic_expansion", "brace_expression"}
)


def read(line: str, elsewhere: bool = False) -> Reading:
    """Read one line of a shell, of any length and whatever it holds. `elsewhere`: it does not run in the workspace's
    folder, so that no relative path in it is known."""
    reader = _Reader()
    try:
        reader.found.commands += reader.line(line, 0)
    except TooMuch:
        reader.give_up(line)
    if not reader.found.commands and not reader.found.writes:
        reader.found.sure = False
    return _placed(reader.found, elsewhere)


def read_words(words: tuple[str, ...], elsewhere: bool = False) -> Reading:
    """Read a command that is handed over in words, without a shell."""
    reader = _Reader()
    line = "\n".join(words)
    reader.found.lines.append(line)
    try:
        if not words or HOLE in line:
            raise TooMuch
        reader.found.commands.append(reader.meaning(words, (), 0))
    except TooMuch:
        reader.give_up(line)
    return _placed(reader.found, elsewhere)


def _placed(reading: Reading, elsewhere: bool) -> Reading:
    """The reading of a line that may leave the folder in which it begins: then no relative path in it is known."""
    commands = [one for one in reading.every() if one.words]
    if elsewhere or any(programs.base(one.words[0]) in programs.MOVING or "-execdir" in one.words for one in commands):
        for place, path in enumerate(reading.writes):
            reading.writes[place] = path if path.startswith("/") else f"{HOLE}/{path}"
        if any("/" in one.words[0] and not one.words[0].startswith("/") for one in commands):
            reading.sure = False
    return reading


class _Reader(Meaning):
    """One reading under way."""

    def __init__(self) -> None:
        super().__init__()
        self._commands: list[Command] = []
        self._behind: dict[int, list[str]] = {}
        """Words that stand behind a redirection, by the node of the command that they belong to."""
        self._count = self._bytes = self._openings = self._nodes = 0

    def give_up(self, line: str) -> None:
        """Leave it at what was found so far."""
        self.found.sure = False
        self.found.commands += self._commands
        if line not in self.found.lines:
            self.found.lines.append(line)

    # --- lines --------------------------------------------------------------------------------

    def line(self, line: str, depth: int) -> list[Command]:
        """The commands of a line, which may stand in another."""
        source = line.encode("utf-8", "replace")
        self._bytes += len(source)
        self._openings += sum(line.count(one) for one in "(|[<")
        if self._bytes > LONGEST or self._openings > MOST_OPENINGS or HOLE in line:
            raise TooMuch
        if len(self.found.lines) >= MOST_LINES:
            raise TooMuch
        self.found.lines.append(line)
        root = Parser(_LANGUAGE).parse(source).root_node
        self._nodes += root.descendant_count
        if self._nodes > MOST_NODES:
            raise TooMuch
        if not plain.holds(root, source):
            self.found.sure = False
        before, self._commands = self._commands, []
        self._walk(root, depth)
        commands, self._commands = self._commands, before
        return commands

    def _walk(self, node: Node, depth: int) -> None:
        if depth > DEEPEST:
            raise TooMuch
        match node.type:
            case kind if kind in _SIMPLE:
                self._prefixed(*self._gathered(node, depth), depth)
            case "redirected_statement":
                self._redirected(node, depth)
            case "variable_assignments":
                self._prefixed((), [self._assignment(one, depth) for one in node.named_children], depth)
            case "variable_assignment":
                self._prefixed((), [self._assignment(node, depth)], depth)
            case "for_statement":
                name = node.child_by_field_name("variable")
                self._prefixed((), [f"{_text(name)}={HOLE}"] if name else [], depth)
                self._inside(node, depth)
            case kind if kind in _REDIRECTS:
                self._prefixed(tuple(self._redirect(node, depth)), [], depth)
            case "command_substitution":
                self._substitution(node, depth)
            case _:
                self._inside(node, depth)

    def _inside(self, node: Node, depth: int) -> None:
        for child in node.named_children:
            self._walk(child, depth + 1)

    def _add(self, command: Command) -> None:
        self._count += 1
        if self._count > MOST_COMMANDS:
            raise TooMuch
        self._commands.append(command)

    # --- commands -----------------------------------------------------------------------------

    def _gathered(self, node: Node, depth: int) -> tuple[tuple[str, ...], list[str]]:
        """The words of a command, and the variables that are set for it."""
        words: list[str] = []
        prefix: list[str] = []
        for child in node.children:
            match child.type:
                case "variable_assignment" if node.type == "command":
                    prefix.append(self._assignment(child, depth))
                case "variable_assignment":
                    words.append(self._assignment(child, depth))
                case kind if kind in _REDIRECTS:
                    words += self._redirect(child, depth)
                case "command_name":
                    words.append(self._joined(child, depth))
                case "comment" | "ERROR":
                    self._walk(child, depth + 1)
                case _:
                    words.append(self._word(child, depth))
        words += self._behind.pop(node.id, [])
        return tuple(words), prefix

    def _redirected(self, node: Node, depth: int) -> None:
        """A command and its redirections, among which more of its words may stand; of several commands, the last."""
        words: list[str] = []
        bodies = [child for child in node.named_children if child.type not in _REDIRECTS]
        for child in node.named_children:
            if child.type in _REDIRECTS:
                words += self._redirect(child, depth)
        last = bodies[0] if bodies else None
        while last is not None and last.type in _ROWS and last.named_children:
            last = next((one for one in reversed(last.named_children) if one.type not in _REDIRECTS), None)
        if last is not None and last.type in _SIMPLE:
            self._behind[last.id] = words
        elif words:
            self.found.sure &= last is None
            self._prefixed(tuple(words), [], depth)
        for child in bodies:
            self._walk(child, depth + 1)

    def _prefixed(self, words: tuple[str, ...], prefix: list[str], depth: int) -> None:
        if not words and not prefix:
            return
        fine = harmless(prefix)
        if not words:
            return self._add(Command((), tuple(prefix), free=fine, harmless=fine))
        self._add(self.meaning(words, tuple(prefix), depth, fine))
        return None

    # --- redirections and substitutions ---------------------------------------------------------

    def _redirect(self, node: Node, depth: int) -> list[str]:
        """Take a redirection down; the words behind it, which are its command's."""
        operator, words = "", list[str]()
        for child in node.named_children if node.type == "heredoc_redirect" else node.children:
            match child.type:
                case "file_descriptor" | "heredoc_start" | "heredoc_end":
                    continue
                case "file_redirect" | "herestring_redirect":
                    words += self._redirect(child, depth + 1)
                case kind if kind in _WORDS:
                    words.append(self._word(child, depth))
                case _ if child.is_named:
                    self._walk(child, depth + 1)
                case _:
                    operator = _text(child).strip()
        if node.type != "file_redirect":
            return words if node.type == "heredoc_redirect" else words[1:]
        self._place(operator, words[0] if words else "")
        return words[1:]

    def _place(self, operator: str, place: str) -> None:
        """One file that is written or read, or a descriptor that is copied or closed."""
        if operator.endswith("-") or (operator in (">&", "<&") and re.fullmatch(r"\d+-?|-", place)):
            return
        if operator in _OUTPUT:
            self._writes(place)
        elif place:
            self.found.reads.append(place)
        if not place or re.match(r"/dev/(tcp|udp)/", posixpath.normpath(place)):
            self.found.sure = False

    def _substitution(self, node: Node, depth: int) -> None:
        text = _text(node).strip()
        if text.startswith("`") and "\\" in text:
            inner = re.sub(r"\\([$`\\])", r"\1", text.strip("`"))
            self._commands += self._unsure(inner, depth + 1)
        self._inside(node, depth)

    # --- words --------------------------------------------------------------------------------

    def _assignment(self, node: Node, depth: int) -> str:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        if name is not None and name.type != "variable_name":
            self._inside(name, depth + 1)
        if value is not None and value.type == "array":
            self._inside(value, depth + 1)
            return f"{_text(name)}={HOLE}"
        return f"{_text(name)}={self._word(value, depth) if value is not None else ''}"

    def _word(self, node: Node, depth: int) -> str:
        if depth > DEEPEST:
            raise TooMuch
        match node.type:
            case "word" | "number" | "variable_name" | "heredoc_start" | "test_operator" | "regex" | "extglob_pattern":
                return spelling.unquoted(_text(node)) if node.child_count == 0 else self._joined(node, depth)
            case "string":
                return self._string(node, depth)
            case "raw_string":
                return _text(node)[1:-1]
            case "ansi_c_string":
                return spelling.decoded(_text(node)[2:-1])
            case "concatenation":
                return self._joined(node, depth)
            case _:
                self._walk(node, depth + 1)
                return HOLE if node.is_named else _text(node).strip()

    def _joined(self, node: Node, depth: int) -> str:
        raw = "".join(_text(child) for child in node.children if child.type in ("word", "number", "{", "}", ","))
        if _braced(re.sub(r"\\.", "", raw)) or any(child.type == "brace_expression" for child in node.children):
            for child in node.children:
                self._word(child, depth + 1)
            return HOLE
        return "".join(self._word(child, depth + 1) for child in node.children)

    def _string(self, node: Node, depth: int) -> str:
        """What stands between double quotes; blanks belong to it even where the grammar skips them."""
        source, start = _text(node).encode("utf-8", "replace"), node.start_byte
        said, place = "", start + 1
        for child in node.children[1:-1]:
            lead = len(_raw(child)) - len(_raw(child).lstrip()) if child.type not in ("string_content",) else 0
            said += spelling.quoted(source[place - start : child.start_byte + lead - start].decode("utf-8", "replace"))
            if child.type == "string_content":
                said += spelling.quoted(_text(child))
            elif child.is_named:
                self._walk(child, depth + 1)
                said += HOLE
            else:
                said += _text(child).strip()
            place = child.end_byte
        end = node.end_byte - 1
        return (
            said + spelling.quoted(source[place - start : end - start].decode("utf-8", "replace"))
            if place < end
            else said
        )


def _braced(raw: str) -> bool:
    """Whether braces may stand for several words."""
    inside = raw[raw.find("{") : raw.rfind("}") + 1] if "{" in raw else ""
    return "," in inside or ".." in inside


def _raw(node: Node) -> bytes:
    return node.text or b""


def _text(node: Node | None) -> str:
    return "" if node is None else _raw(node).decode("utf-8", "replace")
