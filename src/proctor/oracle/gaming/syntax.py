"""Python's syntax trees as the rules look at them."""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
Shape = int
_TELLING = (
    ast.Call, ast.Compare, ast.Subscript, ast.Attribute, ast.Constant, ast.Assign, ast.Import, ast.ImportFrom,
    ast.BinOp, ast.Raise, ast.ClassDef, *FUNCTIONS,
)  # fmt: skip


@lru_cache(maxsize=160)
def parsed(text: str | None) -> ast.Module | None:
    """The tree of a source; None for no source, and for text that is none."""
    if text is None:
        return None
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def dotted(node: ast.AST | None) -> str:
    """The name of `a.b.c`; of a call the name of what is called; "" for anything else."""
    if isinstance(node, ast.Call):
        node = node.func
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    return ".".join([node.id, *reversed(parts)])


def said(node: ast.AST | None) -> str | None:
    """The text that a literal is, also one that is put together from some; None where it is none."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    parts: list[str | None] = [None]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [said(node.left), said(node.right)]
    elif isinstance(node, ast.JoinedStr):
        parts = [said(one.value if isinstance(one, ast.FormattedValue) else one) for one in node.values]
    return None if None in parts else "".join(filter(None, parts))


def called(node: ast.AST | None) -> str:
    """The last part of the name of what a call calls, also where the rest is no name."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else dotted(node.func)


def functions(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, Function]]:
    """Functions and methods with their qualified names, not those inside of functions."""
    for node in children(tree):
        if isinstance(node, FUNCTIONS):
            yield inside + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from functions(node, f"{inside}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from functions(node, inside)


def at_import(tree: ast.Module) -> Iterator[ast.stmt]:
    """Statements that run when the module is imported: not those of functions, not those under `__main__`."""
    waiting: list[ast.stmt] = list(tree.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, FUNCTIONS):
            continue
        if isinstance(node, ast.If) and is_main(node.test):
            waiting += node.orelse
            continue
        yield node
        for part in ("body", "orelse", "finalbody"):
            waiting += getattr(node, part, [])
        for handler in getattr(node, "handlers", []):
            waiting += handler.body


def own(node: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements inside it."""
    for child in children(node):
        if not isinstance(child, ast.stmt | ast.ExceptHandler):
            yield from walk(child)


def bound(tree: ast.AST) -> dict[str, ast.expr]:
    """What names are given; of a name that is given more than one thing the last."""
    names: dict[str, ast.expr] = {}
    for node in walk(tree):
        if isinstance(node, ast.Assign):
            names |= {one.id: node.value for one in node.targets if isinstance(one, ast.Name)}
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr) and isinstance(node.target, ast.Name) and node.value:
            names[node.target.id] = node.value
        elif isinstance(node, ast.For | ast.comprehension) and isinstance(node.target, ast.Name):
            names[node.target.id] = node.iter
        elif isinstance(node, ast.withitem) and isinstance(node.optional_vars, ast.Name):
            names[node.optional_vars.id] = node.context_expr
    return names


def imported(tree: ast.Module | None) -> dict[str, str]:
    """What the names stand for that a file imports."""
    names: dict[str, str] = {}
    for node in walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            for one in node.names:
                first = one.name.partition(".")[0]
                names[one.asname or first] = one.name if one.asname else first
        elif isinstance(node, ast.ImportFrom):
            names |= {one.asname or one.name: f"{node.module or ''}.{one.name}".strip(".") for one in node.names}
    return names


def named(names: Iterable[str], known: Mapping[str, str]) -> Iterator[str]:
    """Imported names, each with its module."""
    for name in names:
        first, _, rest = name.partition(".")
        if first in known:
            yield f"{known[first]}.{rest}" if rest else known[first]


def reached(node: ast.AST, names: Mapping[str, ast.expr]) -> Iterator[ast.AST]:
    """The parts of an expression, and of what the names in it are given."""
    waiting, seen = [node], set[str]()
    while waiting:
        for part in walk(waiting.pop()):
            yield part
            if isinstance(part, ast.Name) and part.id in names and part.id not in seen:
                seen.add(part.id)
                waiting.append(names[part.id])


def children(node: ast.AST) -> tuple[ast.AST, ...]:
    """What a piece of syntax holds, kept with it: the rules go over the same trees again and again."""
    held = vars(node).get("held")
    if held is None:
        held = vars(node)["held"] = tuple(ast.iter_child_nodes(node))
    return held


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """A piece of syntax with all that it holds, the outer before the inner."""
    waiting = deque([node])
    while waiting:
        node = waiting.popleft()
        waiting += children(node)
        yield node


def is_main(test: ast.expr) -> bool:
    """Whether a condition asks for `__name__ == "__main__"`, and for nothing else that could be true as well."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(map(is_main, test.values))
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = (test.left, test.comparators[0])
    return {getattr(one, "id", getattr(one, "value", None)) for one in sides} == {"__name__", "__main__"}


def is_true(node: ast.AST | None) -> bool:
    """Whether an expression is a constant that counts as true; text may be a condition in words."""
    return isinstance(node, ast.Constant) and bool(node.value) and not isinstance(node.value, str)


def is_certain(node: ast.AST | None) -> bool:
    """Whether an expression is true whatever happens: a constant, or one in other words."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return isinstance(node.operand, ast.Constant) and not node.operand.value
    if isinstance(node, ast.BoolOp):
        return (any if isinstance(node.op, ast.Or) else all)(map(is_certain, node.values))
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.Is):
        return not isinstance(node.left, ast.Call) and same(node.left, node.comparators[0])
    if isinstance(node, ast.Call) and len(node.args) == 1 and dotted(node) == "bool":
        return is_certain(node.args[0])
    return is_true(node)


def documents(tree: ast.AST) -> set[int]:
    """The constants that are docstrings, by identity."""
    return {
        id(node.value) for node in walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }


def on_lines(tree: ast.AST, lines: Iterable[tuple[int, str]]) -> Iterator[ast.AST]:
    """What the rules look at, of what begins on some lines of a source."""
    numbers = {number for number, _ in lines}
    return (node for node in walk(tree) if isinstance(node, _TELLING) and node.lineno in numbers)


def same(one: ast.AST | list[ast.stmt], other: ast.AST | list[ast.stmt]) -> bool:
    """Whether two pieces of syntax say the same."""
    return shape(one) == shape(other)


def shape(node: ast.AST | list[ast.stmt]) -> Shape:
    """What is the same for pieces of syntax that say the same, places and comments left out. It is kept with each part:
    the rules ask for it again and again."""
    if isinstance(node, list):
        return hash(tuple(map(shape, node)))
    if "shape" not in vars(node):
        for part in reversed(list(walk(node))):
            vars(part)["shape"] = hash((type(part), *(_shape(getattr(part, name, None)) for name in part._fields)))
    return int(vars(node)["shape"])


def _shape(value: object) -> Shape | str:
    """The shape of what a part of a tree holds."""
    if isinstance(value, ast.AST):
        return int(vars(value)["shape"])
    return hash(tuple(map(_shape, value))) if isinstance(value, list) else repr(value)


def text_of(node: ast.AST) -> str:
    """An expression in words, short."""
    try:
        return ast.unparse(node)[:80]
    except (RecursionError, ValueError, AttributeError):
        return "…"
