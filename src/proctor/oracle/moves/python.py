"""Python's tests as values to compare, by their syntax trees."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import PurePosixPath

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.pyasserts import real
from proctor.oracle.gaming.regions import Region
from proctor.oracle.gaming.syntax import FUNCTIONS, Function, dotted, is_main, parsed
from proctor.oracle.moves.bodies import MOST_ROWS, NAME, SIGN, TARGET, VALUE, Beside, Module, Piece, Statement, Test

_HOOKS = ("setup", "teardown", "setUp", "tearDown", "pytest_", "load_tests", "__")
_LOUD = ("skip", "skipif", "xfail", "usefixtures", "parametrize", "filterwarnings")
_CALM = (
    "pytest.fixture",
    "fixture",
    "contextmanager",
    "contextlib.contextmanager",
    "dataclass",
    "dataclasses.dataclass",
)
_IMPORTS = (ast.Import, ast.ImportFrom)
_DEAD = ("ctx", "type_comment", "kind", "lineno", "type_ignores")


class _Unclear(Exception):
    """A table that is not written out."""


@dataclass(frozen=True)
class _File:
    """What is known of a file: its path, what its imports give, and the tables that it writes out."""

    path: str
    bound: Mapping[str, str]
    tables: Mapping[str, ast.expr]


def read(path: str, text: str) -> Module:
    """The tests of a file, and what stands beside them; nothing of a file that is no Python."""
    tree = parsed(text)
    if tree is None:
        return Module(path)
    tables = {
        dotted(one.targets[0]): one.value
        for one in tree.body
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.value, ast.List | ast.Tuple)
    }
    file = _File(path, dict(_imports(tree.body, path)), tables)
    tests = tuple(_test(file, name, node, classes) for name, node, classes in _tests(tree.body, ()))
    names = {part for test in tests for part in test.region.name.split(".")} & file.bound.keys()
    instead = (Beside(((TARGET, file.bound[name]),), frozenset({name})) for name in sorted(names))
    return Module(path, tests, (*_beside(tree.body, file.bound), *instead))


def _tests(
    body: Sequence[ast.stmt], classes: tuple[ast.ClassDef, ...]
) -> Iterator[tuple[str, Function, tuple[ast.ClassDef, ...]]]:
    for node in body:
        if isinstance(node, FUNCTIONS) and node.name.startswith("test"):
            yield ".".join([*(one.name for one in classes), node.name]), node, classes
        elif isinstance(node, ast.ClassDef):
            yield from _tests(node.body, (*classes, node))
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _tests([one for one in ast.iter_child_nodes(node) if isinstance(one, ast.stmt)], classes)


def _imports(body: Sequence[ast.AST], path: str) -> Iterator[tuple[str, str]]:
    """The names that imports give, each with what it stands for, whole."""
    folders = PurePosixPath(path).parts[:-1]
    for top in body:
        for node in ast.walk(top) if not isinstance(top, (*FUNCTIONS, ast.ClassDef)) else ():
            if isinstance(node, ast.Import):
                for one in node.names:
                    yield (one.asname, one.name) if one.asname else (one.name.partition(".")[0],) * 2
            elif isinstance(node, ast.ImportFrom):
                above = folders[: len(folders) - node.level + 1] if node.level else ()
                module = ".".join(filter(None, (*above, node.module)))
                yield from ((one.asname or one.name, f"{module}.{one.name}") for one in node.names if one.name != "*")


# --- what stands beside tests ---------------------------------------------------------------------


def _beside(body: Sequence[ast.stmt], bound: Mapping[str, str]) -> Iterator[Beside]:
    for node in body:
        if isinstance(node, ast.Import) or _is_idle(node):
            continue
        if isinstance(node, ast.ImportFrom):
            if any(one.name == "*" for one in node.names):
                yield Beside(((SIGN, "*"), (TARGET, f"{'.' * node.level}{node.module or ''}")))
            continue
        if isinstance(node, FUNCTIONS) and node.name.startswith("test"):
            continue
        if isinstance(node, ast.ClassDef) and any(True for _ in _tests([node], ())):
            continue  # what such a class holds goes with its tests
        pieces = tuple(_Writer(bound).write(node))
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield Beside(pieces, frozenset({node.name}), not _acts(node))
        else:
            names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]
            plain = isinstance(node, ast.Assign | ast.AnnAssign) and _is_named(node) and not _calls(node)
            deep = any(isinstance(one, ast.Attribute | ast.Subscript) for one in ast.walk(node))
            gives = names if deep or not plain else [name.id for name in _targets(node) if isinstance(name, ast.Name)]
            yield Beside(pieces, frozenset(gives), plain and names[:1] != ["pytestmark"])


def _is_named(node: ast.stmt) -> bool:
    """Whether a statement gives a value to plain names."""
    return all(isinstance(one, ast.Name) for one in _targets(node))


def _targets(node: ast.stmt) -> list[ast.AST]:
    return [*node.targets] if isinstance(node, ast.Assign) else [getattr(node, "target", node)]


def _calls(node: ast.AST) -> bool:
    """Whether something is called as soon as a statement is read."""
    if isinstance(node, ast.Lambda):
        return False
    return isinstance(node, ast.Call | ast.Await | ast.NamedExpr) or any(map(_calls, ast.iter_child_nodes(node)))


def _is_idle(node: ast.stmt) -> bool:
    if isinstance(node, ast.If):
        return is_main(node.test)
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _acts(node: Function | ast.ClassDef) -> bool:
    """Whether what a definition holds is run unasked, or by tests that do not name it."""
    if node.name.startswith(_HOOKS) or any(dotted(mark) not in _CALM for mark in node.decorator_list):
        return True
    if any(isinstance(mark, ast.Call) and (mark.args or mark.keywords) for mark in node.decorator_list):
        return True
    if isinstance(node, FUNCTIONS):
        return _calls(node.args)
    parts = [*node.bases, *node.keywords]
    return any(map(_calls, parts)) or any(_acts_inside(one) for one in node.body)


def _acts_inside(one: ast.stmt) -> bool:
    if isinstance(one, (*FUNCTIONS, ast.ClassDef)):
        return one.name in ("__init_subclass__", "__set_name__") or any(map(_calls, one.decorator_list))
    return _calls(one)


# --- tests ----------------------------------------------------------------------------------------


def _test(file: _File, name: str, node: Function, classes: Sequence[ast.ClassDef]) -> Test:
    inner = dict(_imports([one for one in ast.walk(node) if isinstance(one, _IMPORTS)], file.path))
    own = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    arguments = {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
    known = {key: value for key, value in {**file.bound, **inner}.items() if key not in own | arguments}
    try:
        rows, marks = _rows(node, file.tables)
        runs = tuple(tuple(_run(body, row, known)) for row in rows for body, row in _looped(node.body, row))
        ids = len(rows)
    except _Unclear:
        rows, marks, ids = [{}], node.decorator_list, 1
        runs = (tuple(_run(node.body, {}, known)),)
    given = set(rows[0]) if rows else set()
    fixtures = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
    fixtures = [one for at, one in enumerate(fixtures) if one not in given and not (at == 0 and classes)]
    writer = _Writer(known)
    head = [piece for one in classes for piece in _of_class(one, file.bound)]
    head += [piece for mark in marks if not _is_quiet(mark) for piece in writer.write(mark)]
    head += [(NAME, one) for one in sorted(fixtures)]
    head += [(SIGN, "async")] if isinstance(node, ast.AsyncFunctionDef) else []
    region = Region(name, Language.PYTHON, node.lineno, ())
    return Test(file.path, region, tuple(head), runs[:MOST_ROWS], frozenset(own), ids)


def _of_class(node: ast.ClassDef, bound: Mapping[str, str]) -> Iterator[Piece]:
    writer = _Writer(bound)
    for part in (*node.decorator_list, *node.bases, *node.keywords):
        yield from writer.write(part)
    for one in node.body:
        is_test = isinstance(one, FUNCTIONS) and one.name.startswith("test")
        if not (is_test or _is_idle(one) or (isinstance(one, ast.ClassDef) and any(True for _ in _tests([one], ())))):
            yield from writer.write(one)


def _is_quiet(mark: ast.expr) -> bool:
    """Whether a mark only sorts tests."""
    name = dotted(mark)
    return not isinstance(mark, ast.Call) and name.startswith("pytest.mark.") and not name.endswith(_LOUD)


Row = dict[str, ast.expr]


def _rows(node: Function, tables: Mapping[str, ast.expr]) -> tuple[list[Row], list[ast.expr]]:
    """The rows of values that a test is run with, and the marks that say something else."""
    every: list[list[Row]] = []
    marks = []
    for mark in node.decorator_list:
        if not (isinstance(mark, ast.Call) and dotted(mark).endswith("parametrize")):
            marks.append(mark)
            continue
        words = {word.arg: word.value for word in mark.keywords}
        names = mark.args[0] if mark.args else words.get("argnames")
        values = mark.args[1] if len(mark.args) > 1 else words.get("argvalues")
        if words.keys() - {"argnames", "argvalues", "ids"} or names is None or values is None:
            raise _Unclear
        every.insert(0, [_row(_names(names), one) for one in _listed(values, tables)])
    rows = [{key: value for part in one for key, value in part.items()} for one in product(*every)]
    if not rows or len(rows) > MOST_ROWS:
        raise _Unclear
    return rows, marks


def _names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [part.strip() for part in node.value.split(",") if part.strip()]
    if isinstance(node, ast.List | ast.Tuple):
        return [str(one.value) for one in node.elts if isinstance(one, ast.Constant)]
    raise _Unclear


def _listed(node: ast.expr, tables: Mapping[str, ast.expr]) -> list[ast.expr]:
    node = tables.get(node.id, node) if isinstance(node, ast.Name) else node
    if not isinstance(node, ast.List | ast.Tuple) or any(isinstance(one, ast.Starred) for one in node.elts):
        raise _Unclear
    return node.elts


def _row(names: Sequence[str], value: ast.expr) -> Row:
    if isinstance(value, ast.Call) and dotted(value).endswith("param"):
        if any(word.arg != "id" for word in value.keywords):
            raise _Unclear
        values = value.args
    elif len(names) == 1:
        values = [value]
    elif isinstance(value, ast.List | ast.Tuple):
        values = value.elts
    else:
        raise _Unclear
    if len(values) != len(names):
        raise _Unclear
    return dict(zip(names, values, strict=True))


def _looped(body: list[ast.stmt], row: Row) -> Iterator[tuple[list[ast.stmt], Row]]:
    """The body of a test once for each row of the loop that is all that it has."""
    said = [one for one in body if not _is_idle(one)]
    loop = said[0] if len(said) == 1 else None
    if not (isinstance(loop, ast.For) and not loop.orelse and isinstance(loop.iter, ast.List | ast.Tuple)):
        yield body, row
        return
    targets = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    names = [one.id for one in targets if isinstance(one, ast.Name)]
    leaves = any(isinstance(one, ast.Break | ast.Continue | ast.Return) for one in ast.walk(loop))
    if len(names) != len(targets) or leaves or len(loop.iter.elts) > MOST_ROWS:
        yield body, row
        return
    inner = loop.body
    first = inner[0]
    if len(inner) == 1 and isinstance(first, ast.With) and all(
        dotted(one.context_expr).endswith(".subTest") and one.optional_vars is None for one in first.items
    ):  # fmt: skip
        inner = first.body
    for one in loop.iter.elts:
        yield inner, row | _row(names, one)


def _run(body: Sequence[ast.stmt], row: Row, known: Mapping[str, str]) -> Iterator[Statement]:
    """The statements of a test with the values of a row; what is only named to be used once in the next statement
    stands there."""
    writer = _Writer(known, dict(row))
    said = [one for one in body if not (_is_idle(one) or isinstance(one, _IMPORTS))]
    stored, loaded = Counter[str](), Counter[str]()
    for name in (part for top in said for part in ast.walk(top) if isinstance(part, ast.Name)):
        (loaded if isinstance(name.ctx, ast.Load) else stored)[name.id] += 1
    for at, one in enumerate(said):
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            local = one.targets[0].id
            after = ast.walk(said[at + 1]) if at + 1 < len(said) else ()
            next_to = sum(isinstance(part, ast.Name) and part.id == local for part in after)
            constant = isinstance(one.value, ast.Constant)
            if stored[local] == 1 and local not in row and (constant or loaded[local] == next_to == 1):
                writer.values[local] = writer.filled(one.value)
                continue
        yield Statement(tuple(writer.write(one)), _only_fails(one))


def _only_fails(node: ast.stmt) -> bool:
    if any(isinstance(one, ast.NamedExpr | ast.Await | ast.Lambda) for one in ast.walk(node)):
        return False
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and node.value in real(node))


class _Writer:
    """Writes syntax as pieces. `bound` are the names that imports give, `values` those that stand for something."""

    def __init__(self, bound: Mapping[str, str], values: dict[str, ast.expr] | None = None) -> None:
        self._bound = bound
        self.values = values or {}

    def filled(self, node: ast.expr) -> ast.expr:
        """An expression with what its names stand for now."""
        values = dict(self.values)

        class Fill(ast.NodeTransformer):
            def visit_Name(self, name: ast.Name) -> ast.expr:
                return values.get(name.id, name)

        return Fill().visit(ast.parse(ast.unparse(node), mode="eval").body)  # type: ignore[no-any-return]

    def write(self, node: ast.AST) -> Iterator[Piece]:
        if isinstance(node, ast.Name | ast.Attribute) and (said := dotted(node)):
            root, _, rest = said.partition(".")
            if root in self.values:
                if not isinstance(node, ast.Name):
                    yield from self._parts(node)
                else:
                    yield from self.write(self.values[root])
            elif root in self._bound:
                yield TARGET, f"{self._bound[root]}.{rest}" if rest else self._bound[root]
            else:
                yield from ((NAME, f".{part}" if at else part) for at, part in enumerate(said.split(".")))
        elif isinstance(node, ast.Constant):
            yield VALUE, repr(node.value)
        else:
            yield from self._parts(node)

    def _parts(self, node: ast.AST) -> Iterator[Piece]:
        yield SIGN, f"({type(node).__name__}"
        for field, value in ast.iter_fields(node):
            for one in value if isinstance(value, list) else [value]:
                if field in _DEAD or (isinstance(one, ast.stmt) and (_is_idle(one) or isinstance(one, _IMPORTS))):
                    continue
                if isinstance(one, ast.AST):
                    yield from self.write(one)
                else:
                    said = f".{one}" if isinstance(node, ast.Attribute | ast.keyword) else str(one)
                    yield (NAME, said) if isinstance(one, str) else (SIGN, repr(one))
            yield SIGN, field
        yield SIGN, ")"
