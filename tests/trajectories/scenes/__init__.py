"""The scenes of both halves."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from trajectories.making import Scene
from trajectories.scenes import first_healthy, first_stuck, second_healthy, second_stuck

HALVES = {"first": (first_healthy, first_stuck), "second": (second_healthy, second_stuck)}
SALTS = {"first": "", "second": "second/"}


def scenes(half: str, seed: int) -> Iterator[Scene]:
    """All scenes of a half, each with numbers of its own from the seed."""
    makers = (make for part in HALVES[half] for make in part.MADE)
    for number, make in enumerate(makers):
        yield make(Random(f"{SALTS[half]}{seed}/{number}"))
