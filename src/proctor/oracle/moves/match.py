"""Which tests of the tree after stand for which of the tree before. Pure.

A test stands for one that is gone if all that this one did is in it, in the same order and about the same things: as it
was, or with names that the change gives to what they stood for, or with the values of a row of its table. It must be
new, and have run and passed whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import PurePosixPath

from proctor.oracle.gaming.change import Language, language_of
from proctor.oracle.gaming.failed import Failing, ending, failing
from proctor.oracle.gaming.tokens import lexed
from proctor.oracle.moves import python, rust, scripts, uses
from proctor.oracle.moves.bodies import NAME, SIGN, TARGET, VALUE, Beside, Module, Pieces, Statement, Test
from proctor.oracle.moves.trees import Move, Tree

_READ = (Language.PYTHON, Language.SCRIPT, Language.GO, Language.RUST)


def stand_ins(
    gone: Sequence[str], new: Mapping[str, bool], old: Collection[str], before: Tree, after: Tree
) -> dict[str, str]:
    """For ids that are gone the ids of the tests that stand for them, as far as there are any.

    `new` are all ids after, each with whether it passed; `old` all ids before.
    """
    move = Move(before, after)
    was, now = _modules(before), _modules(after)
    known = _by_id(gone, was, before)
    fresh = _by_id(list(new), now, after)
    ids: dict[Test, list[str]] = {}
    for id, tests in fresh.items():
        for test in tests:
            ids.setdefault(test, []).append(id)
    doubtful = {test for tests in fresh.values() if len(tests) > 1 for test in tests}
    usable = {
        test: _Candidate(test, now[test.path], some)
        for test, some in ids.items()
        if test not in doubtful and len(some) >= test.ids and all(new[id] and id not in old for id in some)
    }
    tests = list(dict.fromkeys(test for tests in known.values() for test in tests))
    found = _pair(tests, list(usable.values()), _Trees(move, was))
    return {
        id: found[tests[-1]].named(id, tests[-1])
        for id, tests in known.items()
        if tests and all(test in found for test in tests)
    }


@dataclass(eq=False)
class _Candidate:
    """A test that may stand for others. `taken` says of each of its runs how many of its statements do, `first` of what
    it stands for with which run it begins."""

    test: Test
    module: Module
    ids: Sequence[str]
    taken: dict[int, int] = field(default_factory=dict)
    first: dict[Test, int] = field(default_factory=dict)

    def named(self, id: str, test: Test) -> str:
        """The id by which it stands for one: of the same parameters, or of the row that does."""
        end = id[len(id.partition("[")[0]) :]
        alike = [one for one in self.ids if end and one.endswith(end)]
        of_row = self.ids[self.first[test] :] if len(self.ids) == len(self.test.runs) else self.ids
        return (alike or of_row)[0]

    @property
    def is_sound(self) -> bool:
        """Whether what is left of the runs that stand for others can only make it fail."""
        rests = [self.test.runs[at][end:] for at, end in self.taken.items()]
        known = {p for at, end in self.taken.items() for one in self.test.runs[at][:end] for p in one.pieces}
        known |= set(self.test.head)
        return (len(self.test.runs) == 1 or not any(rests)) and all(
            one.asserts and all(piece in known for piece in one.pieces if piece[0] == TARGET)
            for rest in rests
            for one in rest
        )


def _modules(tree: Tree) -> dict[str, Module]:
    """The files of a tree that may hold tests."""
    found = {}
    fixtures = {path: text for path, text in tree.modules.items() if path.endswith(".py")}
    for path, text in {**fixtures, **tree.texts}.items():
        language = language_of(path, text)
        if language is Language.PYTHON:
            found[path] = python.read(path, text, tree)
        elif language in _READ:
            found[path] = scripts.read(path, text, language, tree)
    return {path: replace(one, beside=(*one.beside, *_shared(path, found))) for path, one in found.items()}


def _shared(path: str, modules: Mapping[str, Module]) -> Iterator[Beside]:
    """What stands in other files and counts for the tests of one: fixtures, and the tests of a Go package."""
    folder = PurePosixPath(path).parent
    for other, module in modules.items():
        pure = PurePosixPath(other)
        is_fixtures = path.endswith(".py") and pure.name == "conftest.py" and folder.is_relative_to(pure.parent)
        if other != path and (
            is_fixtures or (pure.parent == folder and path.endswith("_test.go") and other.endswith("_test.go"))
        ):
            yield from module.beside


def _by_id(ids: Iterable[str], modules: Mapping[str, Module], tree: Tree) -> dict[str, list[Test]]:
    """The tests that ids are the names of; of a file that could not be loaded all its tests."""
    tests = [test for module in modules.values() for test in module.tests]
    found: dict[str, list[Test]] = {}
    for id in ids:
        hits = [test for test in tests if _is_of(test, id, tree)]
        exact = [test for test in hits if _is_exact(test, id, tree)]
        there = [test for test in hits if test.path == id.partition("::")[0]]
        found[id] = exact or (there if _has_file(id, tree) else hits)
    return found


def _has_file(id: str, tree: Tree) -> bool:
    """Whether a tree has the very file that an id names."""
    path, _, inside = id.partition("::")
    parts = path.split(".") if not inside else []
    return path in tree.paths or any("/".join(parts[:end]) + ".py" in tree.paths for end in range(1, len(parts)))


def _is_exact(test: Test, id: str, tree: Tree) -> bool:
    path, _, inside = id.partition("::")
    if test.region.language is Language.SCRIPT:
        return (path, inside) == (test.path, test.region.name)
    if test.region.language is Language.RUST:
        folder, module = rust.home(test.path, tree)
        crate, _, kind = path.partition("/")
        modules = inside.split("::")[:-1]
        own = (
            modules[: len(module) - 1] == list(module[1:]) and len(modules) <= len(module)
            if module
            else (kind == PurePosixPath(test.path).stem)
        )
        crate = crate.replace("-", "_")
        own = own and (not module or kind.replace("-", "_") in ("", crate) or module[1:2] == ("bin",))
        return tree.crates.get(folder, "").replace("-", "_") == crate and own
    dotted = test.path.removesuffix(".py").replace("/", ".")
    return path == test.path or id == f"{dotted}.{test.region.name}"


def _is_of(test: Test, id: str, tree: Tree) -> bool:
    if test.region.language is Language.GO:
        package, _, inside = id.partition("::")
        here = tree.go_package(test.path) == package
        return here and (not inside or inside.partition("/")[0] == test.region.name)
    if test.region.language is Language.SCRIPT and "::" in id and not id.endswith(ending(test.region.name)):
        return False
    return failing(test.path, test.region, (id,)) is not Failing.NO


@dataclass(frozen=True)
class _Trees:
    """What is known of the trees: what became of names, and what the one before has of tests."""

    move: Move
    was: Mapping[str, Module]


def _pair(tests: Sequence[Test], usable: Sequence[_Candidate], of: _Trees) -> dict[Test, _Candidate]:
    """For tests that are gone those that stand for them."""
    barred: set[_Candidate] = set()
    while True:
        names: dict[str, str] = {}
        free = [one for one in usable if one not in barred]
        for one in free:
            one.taken.clear()
        found: dict[Test, _Candidate] = {}
        while True:  # what one test takes may let another one follow
            known = len(found)
            for test in tests:
                if test not in found:
                    _find(test, free, names, found, of)
            if len(found) == known:
                break
        unsound = {one for one in found.values() if not one.is_sound}
        if not unsound:
            return found
        barred |= unsound


def _find(
    test: Test, free: Sequence[_Candidate], names: dict[str, str], found: dict[Test, _Candidate], of: _Trees
) -> None:
    """Find what stands for a test, first among those of its name."""
    for one in sorted(free, key=lambda one: one.test.region.short != test.region.short):
        known = _Names(of.move, dict(names), test, one.test)
        if _stands(test, one, known, of.was):
            found[test] = one
            names |= known.names
            return


def _stands(old: Test, one: _Candidate, known: _Names, was: Mapping[str, Module]) -> bool:
    """Whether a test stands for one that is gone; takes what of it does."""
    if old.region.language is not one.test.region.language or not old.runs:
        return False
    if not known.are_same(old.head, one.test.head) or not known.are_same_targets(one.test.leans):
        return False
    if not _is_seen(old, one.test, known.move):
        return False
    taken = dict(one.taken)
    begun = [_take(run, one.test, taken, known) for run in old.runs]
    if None in begun or not _is_alone(old, one, begun):
        return False
    if not _same_beside(old, was[old.path], one, known, was):
        return False
    one.taken.update(taken)
    one.first[old] = begun[0] or 0
    return True


def _is_alone(old: Test, one: _Candidate, begun: Sequence[int | None]) -> bool:
    """Whether each time that a test was run it is run alone, where something is made anew between."""
    if not (one.test.is_anew or any(beside.is_each for beside in one.module.beside)):
        return True
    was, now = (max(1, len(test.runs) // test.ids) for test in (old, one.test))
    pairs = {(at // was, (first or 0) // now) for at, first in enumerate(begun)}
    new = {there for _, there in pairs}
    return len(pairs) == len(new) == len({at for at, _ in pairs}) and new.isdisjoint(at // now for at in one.taken)


def _take(run: Sequence[Statement], test: Test, taken: dict[int, int], known: _Names) -> int | None:
    """Which run of a test holds all of a run of another one; None for none. It is taken."""
    for at, other in enumerate(test.runs):
        begin = taken.get(at, 0)
        if run and len(other) - begin >= len(run) and all(said.stays for said in other[:begin]):
            trial = known.copy()
            pairs = zip(run, other[begin:], strict=False)
            if all(trial.are_same(a.pieces, b.pieces) for a, b in pairs):
                known.names = trial.names
                taken[at] = begin + len(run)
                return at
    return None


def _is_seen(old: Test, new: Test, move: Move) -> bool:
    """Whether nothing out of sight may count for one test and not for the other: a `conftest.py` that stays where it
    is, what a Go package has in files that do, and a macro of Rust's that is new."""
    was, now = (PurePosixPath(one.path).parent for one in (old, new))
    if old.region.language is Language.RUST and any(
        text.count(word) > move.before.texts.get(path, "").count(word)
        for path, text in move.after.texts.items()
        for word in ("macro_rules", "macro_use")
    ):
        return False
    if was == now:
        return True
    if old.region.language is Language.GO:
        kept = move.before.paths & move.after.paths - move.after.texts.keys()
        return not any(path.endswith("_test.go") and PurePosixPath(path).parent in (was, now) for path in kept)
    if any(
        path.endswith("__init__.py") and path not in move.before.paths and text.strip()
        and PurePosixPath(new.path).is_relative_to(PurePosixPath(path).parent)
        for path, text in move.after.texts.items()
    ):  # fmt: skip
        return False
    above, below = (
        {path for path in tree.paths - tree.texts.keys()
         if path.endswith("conftest.py") and folder.is_relative_to(PurePosixPath(path).parent)}
        for tree, folder in ((move.before, was), (move.after, now))
    )  # fmt: skip
    return above <= below and (above == below or all(kind != NAME for kind, _ in new.head))


def _same_beside(old: Test, module: Module, one: _Candidate, known: _Names, was: Mapping[str, Module]) -> bool:
    """Whether nothing beside a test makes another one of it, and nothing is gone that it needs."""
    names = known.beside()
    own, used = set(one.test.region.name.split(".")), {*one.test.words, *one.test.leans}
    same, others = _held_against(one.module, module)
    kept, spare = [*same], list[Beside]()
    for new in others:
        alike = module.shapes.get(new.shape, ())
        is_alike = any(names.copy().are_same(beside.pieces, new.pieces) for beside in alike)
        (kept if is_alike else spare).append(new)
    frail = {name for new in kept if new.frail for name in new.gives}
    kept = [new for new in kept if not new.test]
    used.update(*(new.words for new in kept))
    frail &= used
    frail |= {name for new in (kept if frail else ()) if uses.is_handing_out(new, frail) for name in new.gives}
    values, calls = uses.asked(one.test)
    if one.test.region.language is Language.GO and _is_said(frail, one.test.path, names.move.after):
        return False

    def is_harmless(new: Beside) -> bool:
        bent = new.words & frail or any(what in values and by not in calls for what, by in uses.handed(new))
        is_plain = new.plain and (new.test == one.test.region.name or not bent)
        hides = new.gives & (used if new.test and one.test.region.name.startswith(new.test) else used | own)
        if hides or is_plain:
            return not hides
        return bool(new.test or not new.words & used) and any(new.pieces in one.has for one in was.values())

    return all(map(is_harmless, spare)) and _has_all(old, module, one.module, names)


@lru_cache(256)
def _held_against(now: Module, was: Module) -> tuple[list[Beside], list[Beside]]:
    """What stands beside the tests of a file as it did in another, without its plain tests; and what else does."""
    same = [one for one in now.beside if (not one.test or one.frail) and one.pieces in was.has]
    return same, [one for one in now.beside if one.pieces not in was.has]


def _is_said(names: Collection[str], path: str, tree: Tree) -> bool:
    """Whether a source of a Go package that is not what it was says variables of its tests."""
    folder = PurePosixPath(path).parent
    return bool(names) and any(
        token.text in names
        for one, text in tree.texts.items()
        if one.endswith(".go") and not one.endswith("_test.go") and PurePosixPath(one).parent == folder
        for token in lexed(text, Language.GO)
    )


def _has_all(old: Test, was: Module, now: Module, names: _Names) -> bool:
    """Whether what a test needs of its file is in the other one too."""
    beside = [one for one in was.beside if not one.test]
    wanted = old.words | old.leans
    while more := {word for one in beside if one.gives & wanted for word in one.words} - wanted:
        wanted = wanted | more
    return all(
        one.pieces in now.has
        or any(names.copy().are_same(one.pieces, new.pieces) for new in now.shapes.get(one.shape, ()))
        for one in beside
        if one.hook or one.gives & wanted
    )


class _Names:
    """What names of one test are in the other, as far as they differ."""

    def __init__(self, move: Move, names: dict[str, str], old: Test, new: Test) -> None:
        self.move = move
        self.names = names
        self._old, self._new = old, new
        self._local: dict[str, str] = {}

    def copy(self) -> _Names:
        other = _Names(self.move, dict(self.names), self._old, self._new)
        other._local = dict(self._local)
        return other

    def beside(self) -> _Names:
        """The names for what stands beside the tests: those that they give themselves are none there."""
        bare = (replace(test, own=frozenset()) for test in (self._old, self._new))
        return _Names(self.move, dict(self.names), *bare)

    def are_same_targets(self, leans: Iterable[str]) -> bool:
        """Whether all that a test leans on is where it was."""
        return all(self.move.same_target(one, one, self._old.region.language) == {} for one in leans)

    def are_same(self, old: Pieces, new: Pieces) -> bool:
        """Whether pieces say the same; keeps the names that differ."""
        if len(old) != len(new) or any(a[0] != b[0] or (a[0] in (SIGN, VALUE) and a != b) for a, b in _zip(old, new)):
            return False
        return all(a == b if a[0] not in (NAME, TARGET, VALUE) else self._is_same(a, b) for a, b in _zip(old, new))

    def _is_same(self, old: tuple[str, str], new: tuple[str, str]) -> bool:
        (kind, a), (other, b) = old, new
        if kind != other:
            return False
        if kind == NAME:
            return self._is_name(a, b)
        if kind == VALUE:
            return a == b
        told = self.move.same_target(a, b, self._old.region.language)
        if told is None or not all(self._holds(self.names, *two) for two in told.items()):
            return False
        self.names |= told
        return True

    def _is_name(self, a: str, b: str) -> bool:
        if (a in self._old.own) != (b in self._new.own):
            return False
        if a in self._old.own:
            if not self._holds(self._local, a, b):
                return False
            self._local[a] = b
            return True
        if a.startswith(".") and b.startswith("."):
            a, b = a[1:], b[1:]
        if a == b:
            return self.names.get(a, a) == b
        if not (self._holds(self.names, a, b) and (a in self.names or self.move.same_name(a, b))):
            return False
        self.names[a] = b
        return True

    @staticmethod
    def _holds(names: Mapping[str, str], a: str, b: str) -> bool:
        """Whether a pair goes with those that are known."""
        return names.get(a, b) == b and all(a == one for one, other in names.items() if other == b)


def _zip(old: Pieces, new: Pieces) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    return zip(old, new, strict=True)
