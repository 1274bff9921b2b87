"""Python's tests as values to compare, by their syntax trees."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from proctor.oracle.gaming.change import Language
from proctor.oracle.gaming.pyasserts import real
from proctor.oracle.gaming.regions import Region
from proctor.oracle.gaming.syntax import FUNCTIONS, Function, dotted, parsed
from proctor.oracle.moves import plain, pyrows
from proctor.oracle.moves.bodies import MOST_ROWS, NAME, SIGN, TARGET, VALUE, Beside, Module, Piece, Statement, Test
from proctor.oracle.moves.pywords import unworded
from proctor.oracle.moves.trees import Tree

_LOCAL = frozenset({"tmp_path", "monkeypatch", "capsys", "capfd", "caplog", "tmpdir", "recwarn"})
"""Fixtures of pytest's that take nothing from others."""
_IMPORTS = (ast.Import, ast.ImportFrom)
_DEAD = ("ctx", "type_comment", "kind", "lineno", "type_ignores")


@dataclass(frozen=True)
class _File:
    """What is known of a file: its path, what its imports give, the tables that it writes out, and its tree."""

    path: str
    bound: Mapping[str, str]
    tables: Mapping[str, ast.expr]
    tree: Tree


def read(path: str, text: str, of: Tree) -> Module:
    """The tests of a file of a tree, and what stands beside them; nothing of a file that is no Python."""
    tree = parsed(text)
    if tree is None:
        return Module(path)
    bound = dict(_imports(tree.body, path))
    given: dict[str, list[ast.stmt]] = {}
    for name, top in dict.fromkeys(_given(tree.body)):
        given.setdefault(name, []).append(top)
    given = {name: tops for name, tops in given.items() if len(tops) > 1 or name in bound}
    again = {name: tops for name, tops in given.items() if not _is_one(name, tops, path)}
    tables = {
        dotted(one.targets[0]): one.value
        for one in tree.body
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.value, ast.List | ast.Tuple)
    }
    file = _File(path, bound, {name: value for name, value in tables.items() if name not in again}, of)
    found = list(_tests(tree.body, ()))
    tests = tuple(_test(file, name, node, classes) for name, node, classes in found)
    names = {part for test in tests for part in test.region.name.split(".")} & bound.keys()
    instead = (Beside(((TARGET, bound[name]),), frozenset({name})) for name in sorted(names))
    twice = (_again(file, name, tops) for name, tops in again.items())
    others = (_other(file, name, node, test) for (name, node, _), test in zip(found, tests, strict=True))
    return Module(path, tests, (*_beside(tree.body, file), *instead, *twice, *others))


def _is_one(name: str, tops: Sequence[ast.stmt], path: str) -> bool:
    """Whether all that gives a name gives the same: imports of one thing, or one statement said again."""
    if all(isinstance(one, _IMPORTS) for one in tops):
        return len({target for one, target in _imports(tops, path) if one == name}) == 1
    loaded = any(isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
                 for one in ast.walk(tops[0]))  # fmt: skip
    return not loaded and len({ast.dump(one) for one in tops}) == 1


def _given(body: Sequence[ast.stmt]) -> Iterator[tuple[str, ast.stmt]]:
    """The names that a file gives, each with the statement that does; also from within, by `global`."""
    for top in body:
        for node in ast.walk(top):
            if isinstance(node, ast.Global):
                yield from ((name, node) for name in node.names)
        for node in _scope(top):
            if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                yield node.name, top
            elif isinstance(node, _IMPORTS):
                yield from ((one.asname or one.name.partition(".")[0], top) for one in node.names)
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                yield node.id, node if isinstance(top, ast.For | ast.If | ast.Try | ast.With) else top  # type: ignore[misc]
            elif isinstance(name := getattr(node, "name", None), str) and not isinstance(node, ast.alias):
                yield name, top


def _scope(node: ast.AST) -> Iterator[ast.AST]:
    """A piece of syntax and all of it that gives names to the scope that it is in."""
    yield node
    if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
        return
    for one in ast.iter_child_nodes(node):
        if not isinstance(one, ast.comprehension):
            yield from _scope(one)


def _again(file: _File, name: str, tops: Sequence[ast.stmt]) -> Beside:
    """A name that a file gives more than once: what it is in the end is told by all that gives it."""
    pieces = [piece for top in tops for piece in _Writer(file.bound, path=file.path).write(top)]
    return Beside(((SIGN, "again"), (NAME, name), *pieces), frozenset({name}), frail=True)


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
    for top in body:
        for node in ast.walk(top) if not isinstance(top, (*FUNCTIONS, ast.ClassDef)) else ():
            yield from _imported(node, path)


def _imported(node: ast.AST, path: str) -> Iterator[tuple[str, str]]:
    folders = PurePosixPath(path).parts[:-1]
    if isinstance(node, ast.Import):
        for one in node.names:
            yield (one.asname, one.name) if one.asname else (one.name.partition(".")[0],) * 2
    elif isinstance(node, ast.ImportFrom):
        above = folders[: len(folders) - node.level + 1] if node.level else ()
        module = ".".join(filter(None, (*above, node.module)))
        yield from ((one.asname or one.name, f"{module}.{one.name}") for one in node.names if one.name != "*")


# --- what stands beside tests ---------------------------------------------------------------------


def _beside(body: Sequence[ast.stmt], file: _File) -> Iterator[Beside]:
    bound = file.bound
    parts = [part for top in body for part in ast.walk(top)]
    said = {
        part.id if isinstance(part, ast.Name) else part.arg for part in parts if isinstance(part, ast.Name | ast.arg)
    }
    for node in body:
        if plain.is_idle(node) or _is_main(node):
            continue
        if isinstance(node, _IMPORTS):
            yield from _brought(node, file, said)
            continue
        if isinstance(node, FUNCTIONS) and node.name.startswith("test"):
            continue
        is_plain = plain.is_plain(node, bound)
        if isinstance(node, ast.ClassDef) and any(True for _ in _tests([node], ())):
            shell = ((SIGN, "class"), *_of_class(node, file))
            yield Beside(shell, frozenset({node.name}), is_plain, f"{node.name}.")
            continue
        pieces = tuple(_Writer(bound, path=file.path).write(node))
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            hook, each = plain.is_hook(node), plain.is_each(node)
            own = frozenset(_own(node))
            yield Beside(pieces, frozenset({node.name}), is_plain, hook=hook, is_each=each, own=own)
        else:
            names = frozenset(one.id for one in ast.walk(node) if isinstance(one, ast.Name))
            frail = not is_plain or plain.is_frail(getattr(node, "value", None) or node)
            hook, each = any(one.startswith(plain.HOOKS) for one in names), any(map(plain.is_each_name, names))
            yield Beside(pieces, names, is_plain, frail=frail, hook=hook, is_each=each)


def _brought(node: ast.Import | ast.ImportFrom, file: _File, said: Collection[str]) -> Iterator[Beside]:
    """What an import brings into a file: it may be run unasked by its name, or as a fixture that nothing has to say."""
    targets = dict(_imported(node, file.path))
    for one in node.names:
        name = one.asname or one.name.partition(".")[0]
        is_hook = one.name == "*" or (name.startswith(plain.HOOKS) and name != "pytest")
        leads = targets.get(name, ast.unparse(node))
        homes, leaf = file.tree.home(leads, Language.PYTHON)
        is_fixture = one.name in file.tree.autouse or (bool(homes and leaf) and name not in said)
        yield Beside(((SIGN, "*"), (TARGET, leads)), plain=not is_hook and not is_fixture)


def _other(file: _File, name: str, node: Function, test: Test) -> Beside:
    """A test as it stands beside others."""
    writer = _Writer(file.bound, path=file.path)
    parts = (*node.decorator_list, node.args, *filter(None, [node.returns]), *node.body)
    pieces = ((SIGN, "test"), *(piece for part in parts if not plain.is_idle(part) for piece in writer.write(part)))
    given = {one for part in ast.walk(node) if isinstance(part, ast.Global) for one in part.names}
    return Beside(pieces, frozenset(given), plain.is_plain_test(node, file.bound), name, own=frozenset(_own(node)))


def _own(node: ast.AST) -> Iterator[str]:
    """The names that a function gives within itself."""
    for one in ast.walk(node):
        if isinstance(one, ast.arg) or (isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)):
            yield one.arg if isinstance(one, ast.arg) else one.id


def _is_main(node: ast.stmt) -> bool:
    """Whether a statement is for a file that is run by its name alone."""
    return isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) == "__name__ == '__main__'"


# --- tests ----------------------------------------------------------------------------------------


def _test(file: _File, name: str, node: Function, classes: Sequence[ast.ClassDef]) -> Test:
    scope = [part for top in node.body for part in _scope(top)]
    inner = Counter(pair for part in scope for pair in _imported(part, file.path))
    own = {one.id for one in scope if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    own |= {one for part in scope if isinstance(one := getattr(part, "name", None), str)} - {one for one, _ in inner}
    fixtures = plain.arguments(node)[1 if classes else 0 :]
    local = own | {one.arg for one in plain.arguments(node)}
    known = {key: value for key, value in (*file.bound.items(), *inner) if key not in local}
    leans: set[str] = set()
    try:
        rows, marks = pyrows.rows(node, file.bound, file.tables, leans)
        runs = tuple(
            tuple(_run(body, row, known, file, local))
            for row in rows
            for body, row in pyrows.looped(node.body, row, classes)
        )
        ids = len(rows)
    except pyrows.UnclearError:
        rows, marks, ids = [{}], node.decorator_list, 1
        runs = (tuple(_run(node.body, {}, known, file, local)),)
    given = set(rows[0]) if rows else set()
    bare = [one for one in fixtures if one.arg not in given]
    writer = _Writer(known, path=file.path)
    is_plain = isinstance(node, ast.FunctionDef) and not any(
        isinstance(one, ast.Yield | ast.YieldFrom) for one in scope
    )
    head = [piece for one in classes for piece in _of_class(one, file, "unittest.TestCase" if is_plain else "")]
    head += [piece for mark in marks if not plain.is_sorting(mark, file.bound) for piece in writer.write(mark)]
    leans |= {plain.target(mark, file.bound) for mark in marks}
    head += [(NAME, one) for one in sorted(one.arg for one in bare)]
    head += [(SIGN, "async")] if isinstance(node, ast.AsyncFunctionDef) else []
    head += [(SIGN, "yield")] if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in scope) else []
    head += [(SIGN, one) for one in sorted(given)] if {one.arg for one in bare} - _LOCAL else []
    head += [piece for one in _of_signature(node, file.bound) for piece in writer.write(one)]
    head += [(SIGN, sign) for sign, one in (("*", node.args.vararg), ("**", node.args.kwarg)) if one]
    hidden = sorted(local & file.bound.keys())
    head += [piece for one in hidden for piece in ((NAME, one), (TARGET, file.bound[one]))]
    region = Region(name, Language.PYTHON, node.lineno, ())
    is_anew = bool(bare) or plain.is_anew(node, classes, file.bound)
    return Test(file.path, region, tuple(head), runs[:MOST_ROWS], frozenset(own), ids, frozenset(leans - {""}), is_anew)


def _of_signature(node: Function, bound: Mapping[str, str]) -> Iterator[ast.AST]:
    """What is worked out where a function is defined."""
    yield from (one for one in (*node.args.defaults, *node.args.kw_defaults) if one is not None)
    for one in (node.returns, *(one.annotation for one in plain.arguments(node))):
        if one is not None and not plain.is_type(one, bound):
            yield one


def _of_class(node: ast.ClassDef, file: _File, without: str = "") -> Iterator[Piece]:
    """What a class is to its tests; `without` is a base that makes no difference to them."""
    writer = _Writer(file.bound, path=file.path)
    bases = [one for one in node.bases if not without or plain.target(one, file.bound) != without]
    for part in (*node.decorator_list, *bases, *node.keywords):
        yield from writer.write(part)
    for one in node.body:
        is_test = isinstance(one, FUNCTIONS) and one.name.startswith("test")
        if not (
            is_test or plain.is_idle(one) or (isinstance(one, ast.ClassDef) and any(True for _ in _tests([one], ())))
        ):
            yield from writer.write(one)


def _run(
    body: Sequence[ast.stmt], row: pyrows.Row, known: Mapping[str, str], file: _File, local: Collection[str]
) -> Iterator[Statement]:
    """The statements of a test with the values of a row; what is only named to be used once in the next statement
    stands there."""
    writer = _Writer(known, dict(row), file.path)
    said = _without_imports([unworded(one) for one in body if not plain.is_idle(one)], file.path, local)
    stored, loaded = Counter[str](), Counter[str]()
    for name in (part for top in said for part in ast.walk(top) if isinstance(part, ast.Name)):
        (loaded if isinstance(name.ctx, ast.Load) else stored)[name.id] += 1
    for at, one in enumerate(said):
        if isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            name_of = one.targets[0].id
            after = ast.walk(said[at + 1]) if at + 1 < len(said) else ()
            next_to = sum(isinstance(part, ast.Name) and part.id == name_of for part in after)
            constant = isinstance(one.value, ast.Constant)
            once = loaded[name_of] == next_to == 1 and _is_first(name_of, said[at + 1])
            if stored[name_of] == 1 and name_of not in row and (constant or once):
                writer.values[name_of] = writer.filled(one.value)
                continue
        fails = _only_fails(one)
        stays = isinstance(one, ast.Assign) and all(isinstance(part, ast.Name) for part in one.targets)
        yield Statement(tuple(writer.write(one)), fails, fails or stays)


def _is_first(name: str, node: ast.stmt) -> bool:
    """Whether a name is what a statement asks for before anything else."""
    test = node.test if isinstance(node, ast.Assert) else node.value if isinstance(node, ast.Expr) else None
    if isinstance(test, ast.Call) and dotted(test.func).startswith("self.assert"):
        test = next(iter(test.args), None)
    test = test.left if isinstance(test, ast.Compare) else test
    return isinstance(test, ast.Name) and test.id == name


def _without_imports(said: Sequence[ast.stmt], path: str, local: Collection[str]) -> Sequence[ast.stmt]:
    """Statements without the imports that they begin with, where what these give is used and is nothing else."""
    begin = next((at for at, one in enumerate(said) if not isinstance(one, _IMPORTS)), len(said))
    rest = said[begin:]
    pairs = Counter(name for one in said for part in _scope(one) for name, _ in _imported(part, path))
    used = {part.id for one in rest for part in ast.walk(one) if isinstance(part, ast.Name)}
    kept = [
        one for one in said[:begin]
        if not (names := [name for name, _ in _imported(one, path)])
        or any(pairs[name] > 1 or name in local or name not in used for name in names)
    ]  # fmt: skip
    return [*kept, *rest]


def _only_fails(node: ast.stmt) -> bool:
    acts = (ast.NamedExpr, ast.Await, ast.Lambda, ast.Yield, ast.YieldFrom)
    if any(isinstance(one, acts) for one in ast.walk(node)):
        return False
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Expr) and node.value in real(node))


class _Writer:
    """Writes syntax as pieces. `bound` are the names that imports give, `values` those that stand for something."""

    def __init__(self, bound: Mapping[str, str], values: dict[str, ast.expr] | None = None, path: str = "") -> None:
        self._bound = bound
        self._path = path
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
        elif isinstance(node, _IMPORTS):
            yield SIGN, "import *" if any(one.name == "*" for one in node.names) else "import"
            for name, leads in _imported(node, self._path):
                yield from ((NAME, name), (TARGET, leads))
        elif isinstance(node, ast.Constant):
            yield VALUE, repr(node.value)
        else:
            yield from self._parts(node)

    def _parts(self, node: ast.AST) -> Iterator[Piece]:
        node = unworded(node)
        yield SIGN, f"({type(node).__name__}"
        for field, value in ast.iter_fields(node):
            for one in value if isinstance(value, list) else [value]:
                if field in _DEAD or (isinstance(one, ast.stmt) and plain.is_idle(one)):
                    continue
                if isinstance(one, ast.AST):
                    yield from self.write(one)
                else:
                    said = f".{one}" if isinstance(node, ast.Attribute | ast.keyword) else str(one)
                    yield (NAME, said) if isinstance(one, str) else (SIGN, repr(one))
            yield SIGN, field
        yield SIGN, ")"
