"""Two trees, held against each other as the oracle does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.oracle.moves import match
from proctor.oracle.moves.trees import Tree

Files = Mapping[str, str]
CALC = "def speed(a):\n    return 7 + 3 * a\n"


def stand_ins(
    before: Files,
    after: Files,
    gone: Sequence[str],
    new: Sequence[str],
    *,
    old: Sequence[str] = (),
    passed: bool = True,
) -> dict[str, str]:
    """For ids that are gone those that stand for them; `new` are the ids after, which `passed`."""

    def tree(one: Files, other: Files) -> Tree:
        named = ("go.mod", "Cargo.toml")
        texts = {path: text for path, text in one.items() if other.get(path) != text and not path.endswith(named)}
        modules = {path: text for path, text in one.items() if path.endswith((*named, "conftest.py"))}
        return Tree(frozenset(one), texts, modules)

    known = {*gone, *old, *(id for id in new if id.partition("::")[0] in before and before == after)}
    return match.stand_ins(gone, dict.fromkeys(new, passed), known, tree(before, after), tree(after, before))
