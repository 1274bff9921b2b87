"""Sources that a `conftest.py` hands pytest's configuration to, and that have hooks of pytest's all of a sudden."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.toolchains.modules import imported
from proctor.words import Gaming, Weight

_HOOK = re.compile(r"\s*(?:async\s+)?def\s+(pytest_\w+)\s*\(|\s*(pytest_\w+)\s*=(?!=)")
_HANDS = re.compile(
    r"\w[ \t]*\((?:[^()\n]*,)?[ \t]*(?:\w+[ \t]*=[ \t]*)?(?:config|session|item|items|metafunc)[ \t]*[,)]"
)


def look(changes: Sequence[Change], tests: Mapping[str, str]) -> Iterator[Found]:
    """New hooks in sources that a `conftest.py` imports which calls something with what pytest gave it."""
    texts = [text for path, text in tests.items() if path.rpartition("/")[2] == "conftest.py" and _hands(text)]
    taken = {part for text in texts for module, _ in imported(text) for part in module.split(".") if part}
    for change in changes:
        name = change.path.removesuffix("/__init__.py").removesuffix(".py").rpartition("/")[2]
        if change.language is not Language.PYTHON or change.is_test or name not in taken:
            continue
        for number, line in change.added:
            hook = _HOOK.match(line[:400])
            if hook and (hook[1] or hook[2]) not in (change.before or ""):
                why = (
                    f"a hook of pytest's in a source that conftest.py hands its configuration to: {hook[1] or hook[2]}"
                )
                yield found(change, Gaming.ASSERTION, Weight.SUSPICION, number, why)


def _hands(text: str) -> bool:
    return any(
        _HANDS.search(line) for line in text.splitlines() if not line.lstrip().startswith(("def ", "async def "))
    )
