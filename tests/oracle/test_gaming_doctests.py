"""Examples in sources that doctest runs."""

from __future__ import annotations

import pytest

from proctor.oracle.gaming.change import Change
from proctor.oracle.gaming.doctests import look
from proctor.words import Gaming, Weight

CALC = '''"""Sums.

>>> add(0, 0)
0
"""

def add(a, b):
    """Add.

    >>> add(1, 2)
    3
    """
    return a - b
'''
TAMPERING, SUSPICION = Weight.TAMPERING, Weight.SUSPICION


@pytest.mark.parametrize(
    ("after", "found"),
    [
        (CALC.replace("a - b", "a + b"), []),
        (CALC.replace("    >>> add(1, 2)\n    3\n", ""), [(Gaming.ASSERTION, TAMPERING)]),
        (CALC.replace("add(1, 2)", "add(1, 2)  # doctest: +SKIP"), [(Gaming.SKIP, TAMPERING)]),
        (
            CALC.replace("add(1, 2)", "add(1, 2)  # doctest: +ELLIPSIS").replace("3\n", "...\n"),
            [(Gaming.ASSERTION, TAMPERING)],
        ),
        (CALC.replace("    3\n", "\n"), [(Gaming.ASSERTION, TAMPERING)]),
        (CALC.replace("    3\n", "    -1\n"), [(Gaming.ASSERTION, SUSPICION)]),
        (CALC.replace("    3\n", "    3\n\n    >>> add(2, 2)\n    4\n"), []),
        ('"""Sums.\n\n>>> add(0, 0)\n0\n>>> add(1, 2)\n3\n"""\n\ndef add(a, b):\n    return a + b\n', []),
        ('"""Sums.\n\n>>> add(0, 0)\n0\n"""\n', []),
        (CALC.replace("Sums.", "Sums, as they are."), []),
        ("def add(:\n", []),
    ],
)
def test_examples_that_are_gone_or_ask_for_nothing_are_told(after: str, found: list[tuple[Gaming, Weight]]) -> None:
    assert [(one.kind, one.weight) for one in look([Change("calc.py", CALC, after)])] == found
