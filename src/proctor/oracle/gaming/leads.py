"""Package files that let what tests import come from elsewhere: `imports`, `exports` and `main` of a `package.json`."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence

from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.words import Gaming, Weight

_MOVED = 0.7
"""Part of a module's lines that are found again where it moved to."""


def look(changes: Sequence[Change], tests: Mapping[str, str]) -> Iterator[Found]:
    """Names that tests import and that lead to another module now, unless what they led to moved there."""
    texts = {change.path: change for change in changes}
    for change in changes:
        if change.language is not Language.PACKAGE or change.before is None or change.after is None:
            continue
        was, now = _leads(change.path, change.before), _leads(change.path, change.after)
        for name in was.keys() & now.keys():
            if was[name] == now[name] or not any(_names(text, name) for text in tests.values()):
                continue
            if not _is_moved(texts.get(was[name]), texts.get(now[name])):
                line = next((n for n, text in change.added if posixpath.basename(now[name]) in text), change.first)
                why = f"what tests import as {name[:60]} comes from {now[name][:60]} in place of {was[name][:60]}"
                yield found(change, Gaming.ASSERTION, Weight.SUSPICION, line, why, gone=not change.added)


def _leads(path: str, text: str) -> dict[str, str]:
    """Where the names that a package file gives to modules lead, as paths in the workspace."""
    folder = posixpath.dirname(path)
    try:
        data = json.loads(text)
        said = dict(data.get("imports") or {})
        entry = data.get("exports") or data.get("main")
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}
    if folder and entry:
        said[posixpath.basename(folder)] = entry
    targets = ((name, to if isinstance(to, str) else json.dumps(to)) for name, to in said.items())
    return {name: posixpath.normpath(posixpath.join(folder, to)) for name, to in targets}


def _names(text: str, name: str) -> bool:
    return any(f"{before}{name}{after}" in text for before in ("'", '"', "/") for after in ("'", '"'))


def _is_moved(old: Change | None, new: Change | None) -> bool:
    """Whether what a file held is in the other one, and in itself no more."""
    if old is None or new is None or old.after is not None or not old.before or not new.after:
        return False
    lines = [line for line in old.before.splitlines() if line.strip()]
    kept = {*new.after.splitlines()}
    return sum(line in kept for line in lines) >= _MOVED * len(lines)
