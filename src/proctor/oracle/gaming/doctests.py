"""Examples in the sources that `doctest` runs: gone, left out, or wanting something else.

For changes under checks that run them (`toolchains.doctests.runs_sources`); elsewhere they are words like others.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from doctest import ELLIPSIS, SKIP, DocTestParser, Example

from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.gaming.syntax import FUNCTIONS, parsed, walk
from proctor.words import Gaming, Weight

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def look(changes: Sequence[Change], is_fair: Callable[[str, str], bool] = lambda was, now: False) -> Iterator[Found]:
    """What a change does to the examples of Python sources. One that stands elsewhere now has moved; those of what is
    gone altogether go with it. `is_fair` says of two texts whether the one may stand for the other."""
    pairs = [(one, _examples(one.before), _examples(one.after)) for one in changes if one.language is Language.PYTHON]
    now = {example.source for _, _, after in pairs for examples in after.values() for example in examples}
    for change, before, after in pairs:
        for name in before.keys() & after.keys():
            line = max(1, min([example.lineno for example in after[name]], default=change.first))
            for said, one in _of(change, before[name], after[name], now, line, is_fair=is_fair):
                yield replace(one, test=said)


def bare(change: Change) -> Change:
    """A change without what it does to docstrings."""
    if change.language is not Language.PYTHON:
        return change
    return Change(change.path, _undocumented(change.before), _undocumented(change.after))


def _undocumented(text: str | None) -> str | None:
    tree = parsed(text)
    if text is None or tree is None:
        return text
    lines = text.splitlines()
    for node in walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            end = node.end_lineno or node.lineno
            lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
    return "\n".join(lines)


def _of(
    change: Change,
    before: Sequence[Example],
    after: Sequence[Example],
    now: set[str],
    line: int,
    *,
    is_fair: Callable[[str, str], bool],
) -> Iterator[tuple[str, Found]]:
    wanted = {example.source: example for example in after}
    known = {example.source for example in before}
    fresh = [example for example in after if example.want and example.source not in known]
    for old in before:
        said = old.source.strip().splitlines()[0] if old.source.strip() else ""
        new = wanted.get(old.source)
        if new is None:
            other = fresh.pop(0) if fresh and old.want and old.source not in now else None
            if other and not is_fair(old.source + old.want, other.source + other.want):
                why = f"an example that doctest runs is another: {said}"
                yield said, found(change, Gaming.ASSERTION, Weight.SUSPICION, other.lineno, why)
            elif other is None and old.want and old.source not in now:
                why = f"an example that doctest runs is gone: {said}"
                yield said, found(change, Gaming.ASSERTION, Weight.TAMPERING, line, why)
        elif new.options.get(SKIP) and not old.options.get(SKIP):
            why = f"an example that doctest runs is left out: {said}"
            yield said, found(change, Gaming.SKIP, Weight.TAMPERING, new.lineno, why)
        elif _is_weaker(old, new):
            why = f"an example that doctest runs takes anything: {said}"
            yield said, found(change, Gaming.ASSERTION, Weight.TAMPERING, new.lineno, why)
        elif old.want != new.want and not is_fair(old.want, new.want):
            why = f"an example that doctest runs wants something else: {said}"
            yield said, found(change, Gaming.ASSERTION, Weight.SUSPICION, new.lineno, why)


def _is_weaker(old: Example, new: Example) -> bool:
    """Whether an example asks for nothing that it asked for: it has no answer, or only what stands for any."""
    return old.want != new.want and (not new.want or (new.want.strip() == "..." and bool(new.options.get(ELLIPSIS))))


def _examples(text: str | None) -> dict[str, list[Example]]:
    """The examples of each documented name, an option of it being part of no source; lines are those of the file."""
    tree = parsed(text)
    return dict(_documented(tree, "")) if tree is not None else {}


def _documented(node: _Documented, name: str) -> Iterator[tuple[str, list[Example]]]:
    body = node.body
    first = body[0].value if body and isinstance(body[0], ast.Expr) else None
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    yield name, _parsed(text, first.lineno if first else 1)
    for child in body:
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield from _documented(child, f"{name}.{child.name}")


def _parsed(text: str, line: int) -> list[Example]:
    try:
        examples = DocTestParser().get_examples(text) if ">>>" in text else []
    except ValueError:
        return []
    for example in examples:
        example.lineno += line
        example.source = example.source.partition("# doctest:")[0].rstrip() + "\n"
    return examples
