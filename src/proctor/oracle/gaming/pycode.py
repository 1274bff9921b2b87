"""What a change does in Python code to a run of tests: leaving it, and agreeing with everything."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from proctor.oracle.gaming.change import Change, Found, found
from proctor.oracle.gaming.syntax import (
    FUNCTIONS,
    Function,
    Shape,
    at_import,
    called,
    children,
    dotted,
    is_certain,
    on_lines,
    own,
    said,
    shape,
    walk,
)
from proctor.words import Gaming, Weight

_LEAVES = ("sys.exit", "exit", "quit", "SystemExit", "pytest.exit", "os.abort")
_LEAVES_HARD = ("os._exit", "posix._exit")
_LIBRARIES = re.compile(r"(?:ctypes\.)?(?:CDLL|PyDLL|cdll\.\w+|pythonapi)")
_STOPS = "the loop's stop"
_OF_C = ("exit", "_exit", "_Exit", "quick_exit", "Py_Exit", "abort")
_BECOMES = tuple(f"os.exec{how}" for how in ("v", "ve", "vp", "vpe", "l", "le", "lp", "lpe"))
_DOORS = re.compile(
    r"(?:main|cli|run|app|usage|help|version|exit|quit|stop|shutdown|terminate|handle|on_|do_|cmd_).*"
    r"|.*(?:_main|_cli|_command|_cmd|_handler|_callback|exit|quit)"
)
_PROGRAM = re.compile(r"\b(?:argparse|click|typer|docopt|fire)\b|__name__ == ['\"]__main__['\"]")
_PROGRAMS = re.compile(r"(?:.*/)?(?:__main__|cli|main|manage|setup|noxfile|tasks|fabfile)\.py|(?:bin|scripts|tools)/.*")
_ANYTHING = re.compile(r"any|wild|match|ignor|sentinel|always|placeholder", re.IGNORECASE)
_FRAMEWORK = re.compile(r"(?:_?pytest|unittest|pluggy|builtins|TestCase|TestResult|TestSuite)\b")
_COMPARES = ("__eq__", "__ne__")
_KINDS = frozenset(
    {"int", "float", "complex", "str", "bytes", "bool", "list", "tuple", "dict", "set", "frozenset", "object"}
    | {"numbers.Number", "Number", "Sequence", "Mapping", "Iterable"}
)
_MUCH = 1_000
"""By how much things that are equal do not differ."""
_WRITES = ("memmove", "memset", "from_address")
"""What writes into an object whatever that is."""
_ZERO = shape(ast.Constant(0))
_TURNED = ("run", "__call__", "wasSuccessful", "addFailure", "addError", "runtest", "isinstance", "all", "skip", "fail")
_PATCHES = (
    "setattr",
    "monkeypatch.setattr",
    "patch",
    "patch.object",
    "mock.patch",
    "mock.patch.object",
    "mocker.patch",
)


def look(change: Change, new: ast.Module, gone: Collection[Shape]) -> Iterator[Found]:
    """What the new lines of a Python file do to a run. `gone` holds what the change took away: it may have moved."""
    fresh = [node for node in on_lines(new, change.added) if shape(node) not in gone]
    yield from _exits(change, new, fresh)
    for node in fresh:
        yield from _framework(change, node)
    agreeing = _agreeing(new)
    for node in walk(new):
        yield from _equals(change, node, gone, agreeing)


# --- leaving --------------------------------------------------------------------------------------


def _exits(change: Change, new: ast.Module, fresh: list[ast.AST]) -> Iterator[Found]:
    leaving = [(node, name) for node in fresh if (name := _leaves(node))]
    if not leaving and not any(isinstance(node, ast.Assign) for node in fresh):
        return
    callees = {id(node.func) for node in walk(new) if isinstance(node, ast.Call)}
    top = list(at_import(new))
    importing = {id(part) for statement in top for part in own(statement)}
    homes = {id(part): home for home in _outermost(new) for part in walk(home)}
    for node, name in leaving:
        if id(node) in callees:
            continue
        quiet = _is_success(node)
        home = homes.get(id(node))
        at_once = id(node) in importing or node in top
        is_hard = name in _LEAVES_HARD or bool(_leaves_by_c(node))
        weight = _hard(node, home, at_once) if is_hard else _soft(change, name, home, at_once, quiet)
        if weight is not None:
            why = f"{name} leaves{' with success' if quiet else ''}{', at import' if at_once else ''}"
            yield found(change, Gaming.EXIT, weight, getattr(node, "lineno", 0), why)
    for node in fresh:
        if isinstance(node, ast.Assign) and shape(node.value) == _ZERO and _is_status(node.targets):
            yield found(change, Gaming.EXIT, Weight.TAMPERING, node.lineno, "the runner's status is set to success")


def _is_status(targets: list[ast.expr]) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in ("exitstatus", "testsfailed") for one in targets)


def _leaves(node: ast.AST) -> str:
    """What ends the process: a call, a bare `raise SystemExit`, or `os._exit` handed to somebody who calls it."""
    if isinstance(node, ast.Raise):
        return "SystemExit" if isinstance(node.exc, ast.Name) and node.exc.id == "SystemExit" else ""
    name = dotted(node) if isinstance(node, ast.Call | ast.Attribute) else ""
    known = (*_LEAVES, *_LEAVES_HARD, *_BECOMES) if isinstance(node, ast.Call) else _LEAVES_HARD
    return name if name in known else _leaves_by_c(node) or (_STOPS if _stops(node) else "")


def _stops(node: ast.AST) -> bool:
    """Whether a call stops a loop of asyncio, which then comes back as if all was done."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "stop":
        return False
    of = node.func.value
    return called(of) in ("get_running_loop", "get_event_loop") or dotted(of).endswith("loop")


def _leaves_by_c(node: ast.AST) -> str:
    """The function of C's library that a call ends the process with."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _OF_C:
        return ""
    library = dotted(node.func.value)
    return f"{library}.{node.func.attr}" if _LIBRARIES.fullmatch(library) else ""


def _outermost(tree: ast.AST) -> Iterator[Function]:
    for node in children(tree):
        if isinstance(node, FUNCTIONS):
            yield node
        else:
            yield from _outermost(node)


def _is_success(node: ast.AST) -> bool:
    """Whether a call leaves with status 0, as it does without one."""
    if isinstance(node, ast.Raise):
        return True
    name = dotted(node)
    if not isinstance(node, ast.Call) or node.keywords or name == "os.abort" or name in _BECOMES:
        return False
    first = node.args[0] if node.args else ast.Constant(0)
    return isinstance(first, ast.Constant) and first.value in (0, None, False)


def _hard(node: ast.AST, home: Function | None, at_once: bool) -> Weight | None:
    """`os._exit` is for the child of a fork; anywhere else it takes the runner with it."""
    if home is not None and any(called(part) in ("fork", "forkpty") for part in walk(home)):
        return None
    return Weight.TAMPERING if at_once or not isinstance(node, ast.Call) else Weight.SUSPICION


def _soft(change: Change, name: str, home: Function | None, at_once: bool, quiet: bool) -> Weight | None:
    """Programs end themselves; libraries and tests do not, and least of all with success."""
    program = (change.after or "").startswith("#!") or bool(_PROGRAMS.fullmatch(change.path))
    program = program or (change.is_test and not change.is_collected)
    if at_once and name != _STOPS:
        if (quiet or name in _BECOMES) and not program:
            return Weight.TAMPERING
        return Weight.SUSPICION if change.is_collected else None
    if home is None or not (quiet or name in _BECOMES) or (name == _STOPS and isinstance(home, ast.FunctionDef)):
        return None
    if change.is_collected:
        expected = any(isinstance(part, ast.Name) and part.id == "SystemExit" for part in walk(home))
        return Weight.TAMPERING if name == "pytest.exit" else None if expected else Weight.SUSPICION
    door = program or _DOORS.fullmatch(home.name) or _PROGRAM.search(change.after or "")
    return None if door else Weight.SUSPICION


# --- agreeing with everything ---------------------------------------------------------------------


def _equals(change: Change, node: ast.AST, gone: Collection[Shape], agreeing: Collection[str]) -> Iterator[Found]:
    """Objects that equal everything, on what lines of them ever; `agreeing` are functions that do."""
    known: list[tuple[str, ast.AST, str]] = []
    if isinstance(node, ast.ClassDef):
        known += [(node.name, part, _agrees(part, agreeing)) for part in node.body]
        known += [
            (node.name, part, "__eq__")
            for part in node.body
            if not change.is_test and (_takes_any(part) or _takes_over(part) or _is_near(part))
        ]
        if fields := _blind(node):
            known.append((node.name, fields, "fields"))
    elif isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        known += [("", key, _named(said(key) or "", value, agreeing)) for key, value in pairs if key]
    elif isinstance(node, ast.Call):
        known += [("", word, _named(word.arg or "", word.value, agreeing)) for word in node.keywords]
        if called(node) == "setattr" and len(node.args) == 3:
            known.append((dotted(node.args[0]), node, _named(said(node.args[1]) or "", node.args[2], agreeing)))
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                known.append((dotted(target.value), node, _named(target.attr, node.value, agreeing)))
                owner, _, name = dotted(target.value).rpartition(".")
                if target.attr == "return_value" and name in _COMPARES and _is_always(node.value, name == "__eq__"):
                    known.append((owner, node, name))
    elif isinstance(node, ast.Return) and dotted(node.value) in ("ANY", "mock.ANY", "unittest.mock.ANY"):
        known.append(("", node, "" if change.is_test else "ANY"))
    for owner, part, name in known:
        first = getattr(part, "lineno", 0)
        lines = [n for n in range(first, (getattr(part, "end_lineno", 0) or first) + 1) if n in change.news]
        if name and lines and shape(part) not in gone:
            mild = change.is_test or _ANYTHING.search(owner)
            weight = Weight.SUSPICION if mild else Weight.TAMPERING
            why = f"{owner}{'.' * bool(owner)}{name} gives one answer, whatever it is compared with"
            yield found(change, Gaming.EQUAL, weight, lines[0], why)


def _agrees(node: ast.stmt, agreeing: Collection[str]) -> str:
    """The name of a comparison of a class that ignores what it is given."""
    if isinstance(node, FUNCTIONS):
        return node.name if node.name in _COMPARES and _gives(node, node.name == "__eq__") else ""
    if isinstance(node, ast.Assign):
        return next((name for one in node.targets if (name := _named(dotted(one), node.value, agreeing))), "")
    return ""


def _named(name: str, value: ast.expr, agreeing: Collection[str]) -> str:
    """The name of a comparison that something is given for, if that ignores what it is given."""
    if name not in _COMPARES:
        return ""
    wanted = name == "__eq__"
    if isinstance(value, ast.Lambda):
        return name if _is_always(value.body, wanted) else ""
    if isinstance(value, ast.Call) and called(value) in ("Mock", "MagicMock"):
        given = next((word.value for word in value.keywords if word.arg == "return_value"), None)
        return name if _is_always(given, wanted) else ""
    return name if wanted and dotted(value) in agreeing else ""


def _gives(node: Function, wanted: bool) -> bool:
    """Whether a function gives one answer on every way out."""
    ways = [part for part in walk(node) if isinstance(part, ast.Return)]
    return bool(ways) and all(_is_always(part.value, wanted) for part in ways)


def _takes_any(node: ast.stmt) -> bool:
    """Whether an `__eq__` asks no more of the other than of what built-in kind it is, and nothing of itself; or whether
    it holds for all others than those of some kind, or also for those of a built-in one."""
    if not isinstance(node, FUNCTIONS) or node.name != "__eq__" or len(node.args.args) != 2:
        return False
    own, other = (one.arg for one in node.args.args)
    ways = [part.value for part in walk(node) if isinstance(part, ast.Return)]
    *before, last = node.body
    ifs = [part for part in before if isinstance(part, ast.If)]
    rest = isinstance(last, ast.Return) and is_certain(last.value)
    if rest and ifs and len(ifs) == len(before) and all(_asks_kind(part.test, other) for part in ifs):
        return True
    if any(isinstance(way, ast.BoolOp) and isinstance(way.op, ast.Or) and any(_fits(one, other) for one in way.values)
           for way in ways):  # fmt: skip
        return True
    yes = [way for way in ways if not (_is_no(way) or dotted(way) == "NotImplemented")]
    is_blind = not any(isinstance(part, ast.Name) and part.id == own for part in walk(node))
    tests = (part.test for part in walk(node) if isinstance(part, ast.If))
    fits = all(way is not None and not _is_none(way, other) and _fits(way, other) for way in yes)
    return is_blind and bool(yes) and fits and all(_fits(test, other) for test in tests)


def _takes_over(node: ast.stmt) -> bool:
    """Whether an `__eq__` puts what it is compared with into itself."""
    if not isinstance(node, FUNCTIONS) or node.name != "__eq__" or len(node.args.args) != 2:
        return False
    own, other = (one.arg for one in node.args.args)
    for part in walk(node):
        names = {one.id for one in walk(part) if isinstance(one, ast.Name)}
        if isinstance(part, ast.Call) and called(part) in _WRITES and own in names:
            return True
        if isinstance(part, ast.Assign) and other in {one.id for one in walk(part.value) if isinstance(one, ast.Name)}:
            return any(isinstance(one, ast.Attribute) and dotted(one.value) == own for one in part.targets)
    return False


def _is_near(node: ast.stmt) -> bool:
    """Whether an `__eq__` lets numbers differ by much."""
    if not isinstance(node, FUNCTIONS) or node.name != "__eq__":
        return False
    asked = (part for part in walk(node) if isinstance(part, ast.Compare) and called(part.left) == "abs")
    limits = (part.comparators[0] for part in asked if isinstance(part.ops[0], ast.Lt | ast.LtE))
    return any(isinstance(one, ast.Constant) and isinstance(one.value, int | float) and one.value >= _MUCH
               for one in limits)  # fmt: skip


def _asks_kind(test: ast.expr, other: str) -> bool:
    return isinstance(test, ast.Call) and dotted(test) == "isinstance" and other in map(dotted, test.args[:1])


def _fits(value: ast.expr, other: str) -> bool:
    """Whether an expression holds for all of a built-in kind."""
    if isinstance(value, ast.BoolOp):
        return all(_fits(one, other) for one in value.values)
    if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not):
        return _fits(value.operand, other)
    if isinstance(value, ast.Call) and dotted(value) == "isinstance" and len(value.args) == 2:
        return dotted(value.args[0]) == other and _is_kind(value.args[1])
    if isinstance(value, ast.Call) and dotted(value) in ("hasattr", "callable"):
        return dotted(value.args[0]) == other if value.args else False
    if isinstance(value, ast.Compare) and len(value.ops) == 1:
        left, right = value.left, value.comparators[0]
        if isinstance(left, ast.Call) and dotted(left) == "type":
            return _is_kind(right)
        return dotted(left) == other and isinstance(right, ast.Constant) and right.value is None
    return is_certain(value)


def _is_none(value: ast.expr, other: str) -> bool:
    """Whether an expression asks for None itself, as an object that stands for it does."""
    return isinstance(value, ast.Compare) and dotted(value.left) == other and isinstance(value.ops[0], ast.Is | ast.Eq)


def _is_kind(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple | ast.Set | ast.List) else [node]
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    return bool(parts) and all(dotted(one) in _KINDS for one in parts)


def _is_no(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value is False


def _is_always(value: ast.expr | None, wanted: bool) -> bool:
    return is_certain(value) if wanted else isinstance(value, ast.Constant) and value.value in (False, 0)


def _agreeing(new: ast.Module) -> frozenset[str]:
    """The functions and lambdas of a file that say yes to everything."""
    names = {node.name for node in walk(new) if isinstance(node, FUNCTIONS) and _gives(node, True)}
    for node in walk(new):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and is_certain(node.value.body):
            names |= {dotted(target) for target in node.targets}
    return frozenset(names)


def _blind(node: ast.ClassDef) -> ast.AST | None:
    """The first field of a data class of which no field is compared."""
    fields = [part for part in node.body if isinstance(part, ast.AnnAssign)]
    if not fields or not any(dotted(one).endswith("dataclass") for one in node.decorator_list):
        return None
    off = shape(ast.Constant(False))
    blind = all(
        isinstance(part.value, ast.Call)
        and any(word.arg == "compare" and shape(word.value) == off for word in part.value.keywords)
        for part in fields
    )
    return fields[0] if blind else None


def _framework(change: Change, node: ast.AST) -> Iterator[Found]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _replaced(change, dotted(target), node.lineno)
    elif isinstance(node, ast.Call) and dotted(node) in _PATCHES:
        words = [dotted(one) or (str(one.value) if isinstance(one, ast.Constant) else "") for one in node.args[:2]]
        yield from _replaced(change, ".".join(words), node.lineno)


def _replaced(change: Change, name: str, line: int) -> Iterator[Found]:
    """An assertion, or a part of the test framework, that is replaced."""
    holder, _, last = name.rpartition(".")
    asserts = last.startswith("assert") and not last.startswith("assert_called") and holder not in ("", "self", "cls")
    turns = _FRAMEWORK.match(holder) and last in _TURNED
    if (asserts and not holder.startswith("self.")) or turns:
        yield found(change, Gaming.EQUAL, Weight.TAMPERING, line, f"{name} is replaced")
