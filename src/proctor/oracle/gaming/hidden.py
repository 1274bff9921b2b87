"""Code that its text does not show: in an encoding that nobody writes in, or packed and run once unpacked."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import islice

from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.gaming.syntax import (
    Shape,
    bound,
    called,
    dotted,
    imported,
    named,
    parsed,
    reached,
    said,
    shape,
    walk,
)
from proctor.words import Gaming, Weight

_DECLARED = re.compile(r"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_PLAIN = re.compile(r"utf-?8(?:-sig)?|us-ascii|ascii|latin-?\d+|l1|iso-?8859-?\d+|(?:cp|windows-?)125\d", re.IGNORECASE)
_RUNS = re.compile(r"(?:(?:builtins|__builtins__)\.)?(?:exec|eval|compile)|(?:\w+\.)?(?:FunctionType|CodeType)")
_UNPACKS = re.compile(
    r"(?:\w+_)?(?:b64|b32|b16|a85|b85)decode|decodebytes|decompress|unhexlify|fromhex|a2b_\w+|decrypt|translate|chr"
)
_LOADS = ("marshal.loads", "pickle.loads", "dill.loads", "codecs.decode")
_ESCAPED = re.compile(r"(?:\\(?:x[\da-fA-F]{2}|u[\da-fA-F]{4}|[0-7]{3})){3}")
_PACKED = (
    r"\b(?:atob|unescape|inflateSync|gunzipSync|brotliDecompressSync|fromCharCode|fromCodePoint)\(|\.reverse\(\)\.join"
    r"|\bBuffer\.from\([^()]{0,400}['\"](?:base64|base64url|hex)['\"]|(?:\\(?:x[\da-f]{2}|u[\da-f]{4})){3}"
)
_SCRIPT_RUNS = re.compile(r"\b(?:eval|Function|runIn\w{0,20}Context|Script)\(([^\n]{0,600})")
_SCRIPT_UNPACKS = re.compile(_PACKED, re.IGNORECASE)
_SHELL = re.compile(
    r"(?:\b(?:base64|base32)\s+(?:-\w*[dD]|--decode)\b|\bxxd\s+-\w*r|\bopenssl\s+enc\b)[^\n]*\|\s*(?:sudo\s+)?"
    r"(?:\w*sh|python\d?|node|perl)\b|\b(?:eval|-c)\b[^\n]*\b(?:base64\s+(?:-\w*[dD]|--decode)|xxd\s+-\w*r)\b"
)
_PARTS = 4_000
"""Parts of one expression, and of the names in it, that are looked at."""


def look(change: Change, gone: Collection[Shape]) -> Iterator[Found]:
    """What the new lines of a file hide. `gone` holds what the change took away: it may have moved."""
    match change.language:
        case Language.PYTHON:
            hits = [*_declared(change), *_python(change, gone)]
        case Language.SCRIPT:
            hits = list(_script(change))
        case Language.SHELL | Language.MAKE | Language.CI:
            hits = [(number, "it runs what it unpacks") for number, line in change.added if _SHELL.search(line[:2_000])]
        case _:
            return
    for line, why in hits:
        yield found(change, Gaming.UNREAD, Weight.SUSPICION, line, f"{why}: what that is, is not known")


def _declared(change: Change) -> Iterator[tuple[int, str]]:
    """An encoding in which text is not what it looks like."""
    for number, line in change.added:
        match = _DECLARED.match(line[:400]) if number <= 2 else None
        if match and not _PLAIN.fullmatch(match[1].replace("_", "-")):
            yield number, f"the file is read as {match[1][:40]}"


def _python(change: Change, gone: Collection[Shape]) -> Iterator[tuple[int, str]]:
    tree = parsed(change.after)
    if tree is None:
        return
    names, modules = bound(tree), imported(tree)
    for node in walk(tree):
        if not isinstance(node, ast.Call) or not _RUNS.fullmatch(_runs(node, names)) or shape(node) in gone:
            continue
        parts = list(islice(reached(node, names), _PARTS))
        lines = [line for part in parts if (line := getattr(part, "lineno", 0)) in change.news]
        if lines and any(_unpacks(part, change, modules) for part in parts):
            yield lines[0], "it runs what it unpacks"


def _runs(node: ast.Call, names: Mapping[str, ast.expr]) -> str:
    """The name of what a call calls, also where that is said otherwise: `getattr(builtins, "exec")`."""
    func = names.get(node.func.id, node.func) if isinstance(node.func, ast.Name) else node.func
    if isinstance(func, ast.Call) and called(func) == "getattr" and len(func.args) > 1:
        return said(func.args[1]) or ""
    by_import = isinstance(func, ast.Attribute) and called(func.value) in ("__import__", "import_module")
    return func.attr if by_import and isinstance(func, ast.Attribute) else dotted(func)


def _unpacks(node: ast.AST, change: Change, modules: Mapping[str, str]) -> bool:
    """Whether a piece of syntax turns data into text or code."""
    if isinstance(node, ast.Call):
        how = said(node.args[0]) if node.args else None
        if called(node) == "decode" and how is not None:
            return not _PLAIN.fullmatch(how.replace("_", "-"))
        if dotted(node) == "bytes":
            return any(isinstance(one, ast.List | ast.Tuple | ast.GeneratorExp | ast.ListComp) for one in node.args)
        name = next(named([dotted(node)], modules), dotted(node))
        return bool(_UNPACKS.fullmatch(name.rpartition(".")[2] or called(node))) or name in _LOADS
    if isinstance(node, ast.Name):
        return node.id == "chr"
    if isinstance(node, ast.Slice):
        return isinstance(node.step, ast.UnaryOp)
    return isinstance(node, ast.Constant) and bool(_ESCAPED.search("\n".join(_said(node, change))))


def _said(node: ast.Constant, change: Change) -> list[str]:
    return change.new[node.lineno - 1 : node.end_lineno] if isinstance(node.value, str | bytes) else []


def _script(change: Change) -> Iterator[tuple[int, str]]:
    for number, line in change.added:
        for match in _SCRIPT_RUNS.finditer(line[:2_000]):
            names = "|".join({*re.findall(r"(?<![\w$.'\"])[A-Za-z_$][\w$]{0,60}", match[1])}).replace("$", r"\$")
            named = rf"\b(?:const|let|var)\s+(?:{names})\s*=[^\n]*?(?:{_PACKED})" if names else "(?!)"
            if _SCRIPT_UNPACKS.search(match[1]) or re.search(named, change.after or "", re.IGNORECASE):
                yield number, "it runs what it unpacks"
                break
