"""The look at a change as a process of its own: what a worker wrote may be made to cost time and memory.

JSON in, JSON out. It needs the standard library only, so that it starts fast and without the site's packages.
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace

from proctor.oracle.gaming.answers import learned
from proctor.oracle.gaming.change import Change, Found
from proctor.oracle.gaming.data import is_table
from proctor.oracle.gaming.find import look
from proctor.oracle.gaming.literals import in_table
from proctor.words import Weight

SECONDS, BYTES = 40, 1 << 30
"""Processor time and memory of one look."""


def main() -> None:
    """Read `changes`, `frozen` and `large` (path, before, after), `tests`, `told`, `failed`, `examples`, `compared`,
    `joined`; print the findings of the first two, and the paths of the large ones that need no look."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    given = json.load(sys.stdin.buffer)
    frozen = [Change(*change) for change in given["frozen"]]
    covered = {change.path for change in frozen}
    changes = [*frozen, *(one for change in given["changes"] if (one := Change(*change)).path not in covered)]
    found = look(
        changes,
        given["tests"],
        given["told"],
        given.get("failed", ()),
        given.get("examples", False),
        compared=given.get("compared"),
        joined=given.get("joined", ()),
    )
    own = [_said(one) for one in found if one.path not in covered]
    laid_back = [_said(replace(one, weight=Weight.TAMPERING)) for one in found if one.path in covered]
    shown = {one.path for one in found}
    laid_back += [_plain(one) for one in frozen if one.path not in shown]
    large = [Change(*change) for change in given.get("large", ())]
    tables = [one.path for one in large if _is_harmless(one, given["tests"], given["told"])]
    json.dump({"own": own, "frozen": laid_back, "tables": tables}, sys.stdout)


def _is_harmless(change: Change, tests: Mapping[str, str], told: Sequence[str]) -> bool:
    """Whether a large source needs no look: it is gone, or a table without the answers of the tests."""
    if change.after is None:
        return not change.is_test
    return is_table(change) and not any(in_table(change, learned(tests), "\n".join(told)))


def _plain(change: Change) -> dict[str, object]:
    """A frozen file that differs and no more is known of: its first hunk."""
    first, gone = change.first, not change.added
    return {"kind": "", "path": change.path, "line": first, "text": change.line(first, gone),
            "hunk": change.hunk(first, gone) if first else ""}  # fmt: skip


def _said(one: Found) -> dict[str, object]:
    return {"kind": one.kind, "weight": one.weight, "path": one.path, "line": one.line, "why": one.why,
            "text": one.text, "hunk": one.hunk, "words": one.words, "test": one.test}  # fmt: skip


if __name__ == "__main__":
    main()
