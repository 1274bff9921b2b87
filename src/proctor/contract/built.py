"""What the contract can say and this release does not do yet.

A key that would silently do nothing is worse than one that is refused, so each of these is refused by
name unless it is set to what holds anyway. Building one of them ends with taking its line out of here.
"""

from __future__ import annotations

from collections.abc import Iterator

from proctor.contract.document import Document, Place, Value

_OFF: tuple[Value, ...] = (None, "", "0", "off", "no", "false", "none", "never", [], {})

_NOT_BUILT: dict[str, tuple[Value, ...]] = {
    "state.environment.secrets": _OFF,
    "state.environment.setup": _OFF,
    "budget.records": _OFF,
    "budget.money": _OFF,
    "budget.actions": _OFF,
    "actions": _OFF,
}


def refusals(document: Document) -> Iterator[tuple[Place, str]]:
    """The keys that are set to something this release does not do, each with one sentence."""
    for pattern, allowed in _NOT_BUILT.items():
        for place in _places(document.root, pattern.split("."), ()):
            value = document.at(place)
            if (value.lower() if isinstance(value, str) else value) not in allowed:
                yield place, _sentence(allowed)


def _sentence(allowed: tuple[Value, ...]) -> str:
    if allowed[0] in (None, "1"):
        return "is not built yet in this release; leave it out"
    return f"only `{allowed[0]}` is built yet in this release"


def _places(value: Value, steps: list[str], place: Place) -> Iterator[Place]:
    """Where in the document a dotted pattern is given; `*` stands for every item of a list."""
    if not steps:
        yield place
    elif isinstance(value, list) and steps[0] == "*":
        for index, item in enumerate(value):
            yield from _places(item, steps[1:], (*place, index))
    elif isinstance(value, dict) and steps[0] in value:
        yield from _places(value[steps[0]], steps[1:], (*place, steps[0]))
