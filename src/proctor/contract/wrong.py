"""What is wrong with a value, where in it, and what was probably meant: one way for the contract and the task list."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import msgspec

Step = str | int


class Wrong(ValueError):
    """`what` is wrong with what stands at `place` inside the value that is read; `str()` is both."""

    def __init__(self, place: Sequence[Step], what: object) -> None:
        self.place, self.what = tuple(place), str(what)
        super().__init__(f"{spoken(self.place)}: {what}" if self.place else self.what)

    def within(self, *around: Step) -> Wrong:
        """The same, seen from further out."""
        return Wrong((*around, *self.place), self.what)


def wrong_at(place: Sequence[Step], error: ValueError) -> Wrong:
    """What was wrong with the value at a place."""
    return error.within(*place) if isinstance(error, Wrong) else Wrong(place, error)


def spoken(place: Sequence[Step]) -> str:
    """`progress.checks[0].run`; a key that does not print is shown escaped."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            name = step[:60] if step.isprintable() and step else repr(step[:60])  # or it would look like another key
            text += f".{name}" if text else name
    return text


def nearest(word: str, valid: Iterable[str], cutoff: float = 0.6) -> str:
    """The valid word that is most like another, whatever its case and its dashes; "" where none is like it."""
    plain = {_plain(one): one for one in valid}
    found = get_close_matches(_plain(word), plain, 1, cutoff)
    return plain[found[0]] if found else ""


def _plain(word: str) -> str:
    return word.replace("-", "_").lower()


def unknown_key(key: str, valid: Sequence[str], home: str = "") -> str:
    """What to say of a key that does not exist here; `home` is the section in which it would."""
    if near := nearest(key, valid, 0.8 if home else 0.6):
        return f"unknown key, nearest: {near}"
    return f"unknown key here; it belongs in {home}" if home else f"unknown key; the keys here are {', '.join(valid)}"


def only(keys: Iterable[object], valid: Sequence[str]) -> None:
    """Wrong where one of the keys does not exist."""
    for key in keys:
        if key not in valid:
            raise Wrong((str(key),), unknown_key(str(key), valid))


_WANTED = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object with keys of its own",
    "null": "null",
}
_GOT = {**_WANTED, "float": "a fraction"}
_TYPES = re.compile(r"Expected `([^`]+)`, got `([^`]+)`")
_LENGTH = re.compile(r"Expected `(\w+)` of length (>=|<=) (\d+)")
_BOUND = re.compile(r"Expected `\w+` (>=|<=) (-?\d+)")
_MISSING = re.compile(r"Object missing required field `(\w+)`")
_PLACE = re.compile(r"\[(\d+)\]|([^.\[\]$`]+)")


def of_type(error: msgspec.ValidationError) -> Wrong:
    """A value of another type than it has to be, in plain words."""
    what, _, path = str(error).partition(" - at `$")
    place: list[Step] = [int(number) if number else name for number, name in _PLACE.findall(path)]
    if found := _MISSING.fullmatch(what):
        return Wrong((*place, found[1]), "missing")
    if found := _TYPES.fullmatch(what):
        kinds = [one for one in found[1].split(" | ") if one != "null" and (one, "float" in found[1]) != ("int", True)]
        wanted = " or ".join(_WANTED.get(one, one) for one in kinds)
        return Wrong(place, f"should be {wanted}, not {_GOT.get(found[2], found[2])}")
    if found := _LENGTH.fullmatch(what):
        few = found[2] == ">="
        return Wrong(place, "should not be empty" if few else f"should be no longer than {found[3]} characters")
    if found := _BOUND.fullmatch(what):
        return Wrong(place, f"should be {'at least' if found[1] == '>=' else 'at most'} {found[2]}")
    return Wrong(place, what)
