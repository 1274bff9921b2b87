"""Ids of tests, as runners name them. Pure."""

from __future__ import annotations


def holds(group: str, name: str) -> bool:
    """Whether an id is that of a module, package or class that the test `name` belongs to."""
    return name.startswith((group + "::", group + "/", group + " > ")) or f".{group}." in f".{name}."
