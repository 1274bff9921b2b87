"""Changes kept as diffs with whole files in them, and what the detectors say of them.

A diff begins with lines of words; `expect: KIND WEIGHT` says what must be found, `failed: ID` which test failed before
the work, `compared: PATH` which file a check compares with, `wanted: TEXT` what it wants to be put out. A file without
changed lines is one of the frozen tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from proctor.oracle.gaming.change import Change, Found
from proctor.oracle.gaming.find import look
from proctor.words import Gaming, Weight

HERE = Path(__file__).parent


@dataclass
class Case:
    """One diff. `expected` is None for an honest one."""

    name: str
    expected: tuple[Gaming, Weight] | None = None
    told: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    compared: dict[str, str] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    tests: dict[str, str] = field(default_factory=dict)

    def findings(self) -> list[Found]:
        return look(self.changes, self.tests, self.told, self.failed, compared=self.compared)

    @property
    def is_found(self) -> bool:
        """Whether what it does is found, with the weight it should have."""
        return any((one.kind, one.weight) == self.expected for one in self.findings())


def cases(kind: str) -> Iterator[Case]:
    """All diffs of a folder, by name."""
    for path in sorted((HERE / kind).glob("*.diff")):
        yield read(path.stem, path.read_text())


def read(name: str, text: str) -> Case:
    """A case from its text."""
    case = Case(name)
    head, *parts = text.split("\n--- ")
    for line in head.splitlines():
        if line.startswith("expect: "):
            kind, weight = line.removeprefix("expect: ").split()
            case.expected = Gaming(kind), Weight(weight)
        elif line.startswith("failed: "):
            case.failed.append(line.removeprefix("failed: "))
        elif line.startswith("compared: "):
            case.compared[line.removeprefix("compared: ")] = ""
        elif line.startswith("wanted: "):
            case.compared["a check"] = line.removeprefix("wanted: ")
        else:
            case.told.append(line)
    for part in parts:
        old, new, _, *lines = part.removesuffix("\n").split("\n")
        path = new.removeprefix("+++ b/") if "/dev/null" not in new else old.removeprefix("a/")
        before = "".join(f"{line[1:]}\n" for line in lines if line[:1] in ("", " ", "-"))
        after = "".join(f"{line[1:]}\n" for line in lines if line[:1] in ("", " ", "+"))
        if path in case.compared:
            case.compared[path] = before
        elif before == after:
            case.tests[path] = after
        else:
            case.changes.append(
                Change(path, None if "/dev/null" in old else before, None if "/dev/null" in new else after)
            )
    return case
