"""The second look at a parsed line: whether it holds only what every shell reads as the grammar did.

Each token must be spelt as its kind says, and nothing but blanks may stand between tokens, so that a shell, which cuts
a line into tokens from left to right, can only cut it the same way.
"""

from __future__ import annotations

import re

from tree_sitter import Node

from proctor.approvals.globs import words

RESERVED = words("if then elif else fi for while until do done case esac select function { } ! [[ ]]")
"""Words that a shell takes for its own where a command could begin."""

_SPELT = {
    "word": re.compile(r"(?!#)(?:[\w@%+=:,./~^*?\[\]!{}#-]|\\[^\n\r\0])+"),
    "number": re.compile(r"-?\d+"),
    "variable_name": re.compile(r"\w+", re.ASCII),
    "special_variable_name": re.compile(r"[@*#?$!0-9_-]"),
    "string_content": re.compile(r"(?:[^\"\\`$\0\r]|\\[^\n\0]|\$(?=[\s.,:;/%]|$))*"),
    "raw_string": re.compile(r"'[^'\0\r]*'"),
    "ansi_c_string": re.compile(r"\$'(?:[^'\\\0\r]|\\[^'\0cuUx0-9])*'"),
    "file_descriptor": re.compile(r"\d"),
    "comment": re.compile(r"#[^\n\r\0]*"),
    "test_operator": re.compile(r"-[defghknprstuwxzLOGSN]"),
    "extglob_pattern": re.compile(r"[\w.*?/-]+"),
    "heredoc_start": re.compile(r"'[\w.-]+'|\"[\w.-]+\"|[\w.-]+"),
}
_OPERATORS = words(
    """; & && || | |& ( ) { } > >> >| &> &>> >& < <& << <<- <<< ;; ! = == != += [ ] [[ ]] $ ${ $( ` " <( >( :-
    - :+ :? ? + #
    if then elif else fi for in while until do done case esac function >&- <&-"""
)
_SHAPES = words(
    """program list pipeline negated_command command command_name redirected_statement file_redirect
    heredoc_redirect herestring_redirect heredoc_body heredoc_end variable_assignment variable_assignments
    concatenation string
    simple_expansion expansion command_substitution process_substitution subshell compound_statement
    if_statement elif_clause else_clause while_statement for_statement do_group case_statement case_item
    function_definition test_command binary_expression unary_expression negation_expression declaration_command
    unset_command"""
) | frozenset(_SPELT)
_BREAKS = words(
    """program list pipeline subshell compound_statement if_statement elif_clause else_clause while_statement
    for_statement do_group case_statement case_item function_definition command_substitution
    process_substitution heredoc_redirect"""
)
"""Within these a new line ends a command, or stands where a shell skips it."""
_GLUED = words("concatenation string simple_expansion expansion variable_assignment command_substitution")
"""Within these, words that touch are meant to."""
_ENDS = frozenset(b";&|<>() \t\n")
DEEPEST = 200

_BLANK = re.compile(r"[ \t]*")
_CONTINUED = re.compile(r"(?:[ \t]+\\\n|\\\n[ \t]+)(?:[ \t]|\\\n)*")
_BROKEN = re.compile(r"(?:[ \t\n]|[ \t]\\\n)*")
_LOOKUP = re.compile(rb"\\\n|`|\$[({\[]")


def holds(root: Node, source: bytes) -> bool:
    """Whether the tree is surely what a shell makes of the text."""
    if root.has_error or b"\r" in source or b"\0" in source:
        return False
    lead, tail = source[: root.start_byte], source[root.end_byte :]
    return not (lead + tail).strip(b" \t\n") and _holds(root, source, 0)


def _holds(node: Node, source: bytes, depth: int) -> bool:
    if depth > DEEPEST:
        return False
    if node.is_missing or not _spelt(node) or not _shaped(node, source):
        return False
    if node.type == "heredoc_body":
        return True
    place = node.start_byte
    for child in node.children:
        if child.type == "$" and node.type != "simple_expansion":
            return False
        if child.start_byte == place > node.start_byte and _same_word(node, child, source):
            return False
        if not _gap(node, source[place : child.start_byte]) or not _holds(child, source, depth + 1):
            return False
        place = child.end_byte
    return node.child_count == 0 or _gap(node, source[place : node.end_byte])


def _same_word(parent: Node, child: Node, source: bytes) -> bool:
    """Whether a shell would take for one word what the grammar cut in two: this child and the one it touches."""
    place, before = child.start_byte, child.prev_sibling
    if parent.type in _GLUED or source[:place].endswith(b"<<-"):
        return False
    left = source[place - 1] not in _ENDS or (before is not None and _substituted(before, -1))
    right = source[place] not in _ENDS or _substituted(child, 0)
    return left and right


def _substituted(node: Node, end: int) -> bool:
    """Whether a node begins (0) or ends (-1) with a substitution, whose brackets are part of a word."""
    while node.child_count and not node.type.endswith("_substitution"):
        node = node.children[end]
    return node.type.endswith("_substitution")


def _gap(parent: Node, gap: bytes) -> bool:
    if not gap:
        return True
    if parent.type in _GLUED and parent.type != "command_substitution":
        return parent.type == "string" and not gap.strip()
    text = gap.decode("utf-8", "replace")
    allowed = _BROKEN if parent.type in _BREAKS else _BLANK
    return allowed.fullmatch(text) is not None or _CONTINUED.fullmatch(text) is not None


def _spelt(node: Node) -> bool:
    if not node.is_named:
        return node.type in _OPERATORS and (node.text or b"").strip() == node.type.encode()
    if node.type not in _SHAPES:
        return False
    pattern = _SPELT.get(node.type)
    return (
        pattern is None
        or node.child_count > 0
        or pattern.fullmatch((node.text or b"").decode("utf-8", "replace")) is not None
    )


def _shaped(node: Node, source: bytes) -> bool:
    match node.type:
        case "heredoc_redirect":
            return _heredoc(node, source)
        case "file_redirect":
            return _copied(node)
        case "redirected_statement":
            return not any(child.type in ("&>", "&>>") for one in node.children[:-1] for child in one.children)
        case "command_substitution":
            return not (node.text or b"").lstrip().startswith(b"`") or b"\\" not in (node.text or b"")
        case "expansion":
            return _expansion(node)
        case "compound_statement" | "for_statement":
            return node.children[0].type in ("{", "for")
        case "test_command":
            return _test(node)
        case "word" if node.child_count:
            return False
    return True


def _heredoc(node: Node, source: bytes) -> bool:
    """A here-document ends where its first line says so, and nothing in it is run."""
    parts = {child.type: child for child in node.children}
    start, body, end = (parts.get(f"heredoc_{name}") for name in ("start", "body", "end"))
    if start is None or end is None:
        return False
    word = (start.text or b"").strip(b"'\"")
    first = source.find(b"\n", start.end_byte) + 1
    text = source[first : end.start_byte]
    if not first or (body is not None and body.start_byte != first):
        return False
    if (start.text or b"")[:1] not in (b"'", b'"') and _LOOKUP.search(text):
        return False
    lines = source[first:].split(b"\n")
    tabs = any(child.type == "<<-" for child in node.children)
    place = first
    for line in lines:
        if (line.lstrip(b"\t") if tabs else line) == word:
            return place + len(line) == end.end_byte
        place += len(line) + 1
    return False


def _copied(node: Node) -> bool:
    """Shells differ in what follows `>&`, but for a descriptor, and in what follows `&> file`."""
    kinds = [child.type for child in node.children]
    if "&>" in kinds or "&>>" in kinds:
        return len(kinds) == 2
    place = next((n for n, kind in enumerate(kinds) if kind in (">&", "<&")), None)
    return place is None or re.fullmatch(rb"\d+|-", node.children[place + 1].text or b"") is not None


def _expansion(node: Node) -> bool:
    """`${x}`, `${#x}`, `${x:-plain}`: what evaluates nothing."""
    kinds = [child.type for child in node.children]
    rest = kinds[2:-1] if kinds[1:2] == ["variable_name"] else None
    if kinds[1:] == ["#", "variable_name", "}"] or rest == []:
        return True
    return rest is not None and rest[0] in (":-", "-", ":+", "+", ":?", "?") and set(rest[1:]) <= {"word", "number"}


def _test(node: Node) -> bool:
    """A test that neither runs nor evaluates anything: `[ -f x ]`, `[[ a == b ]]`."""
    single = node.children[0].type == "["
    allowed = {"=", "!=", "!", *(() if single else ("==", "&&", "||"))}
    return node.children[0].type in ("[", "[[") and all(
        child.type in allowed for child in _operators(node) if child not in (node.children[0], node.children[-1])
    )


def _operators(node: Node) -> list[Node]:
    """The operators of a test, those in its words left out."""
    found = []
    for child in node.children:
        if not child.is_named:
            found.append(child)
        elif child.type in ("binary_expression", "unary_expression", "negation_expression"):
            found += _operators(child)
    return found
