"""What is wrong with a contract, said so that it can be mended: file, line, key, and the nearest valid one."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from proctor.contract.document import Document, Place
from proctor.contract.model import Contract
from proctor.contract.values import WorkerKind
from proctor.contract.wrong import Wrong, nearest, spoken, unknown_key
from proctor.errors import UsageError
from proctor.text import safe_line
from proctor.words import Exhaustion

FILE = "proctor.yaml"

MOST = 200
"""Faults that are told one by one."""

A_CEILING = "e.g. iterations: {limit: 40, on_exhaustion: park}"
A_CHECK = "e.g. checks: [{run: [pytest, -q]}]"


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault. `line` is 0 where the fault is not in a line, `key` empty where it is not of a key."""

    file: str
    line: int
    key: str
    message: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return safe_line(f"{where}: {self.key}: {self.message}" if self.key else f"{where}: {self.message}")


class ContractError(UsageError):
    """The contract cannot be used. `str()` is every problem, one a line."""

    def __init__(self, problems: tuple[Problem, ...]) -> None:
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = problems


_KEY = re.compile(rf"((?:{'|'.join(Contract.model_fields)})(?:\.[\w-]+|\[\d+\])*)(?=: )")
_STEP = re.compile(r"\[(\d+)\]|([\w-]+)")


def located(contract: Contract, message: str) -> str:
    """A message that begins with a key of the contract, with the file and the line on which that stands, or else what
    is nearest around it; any other message as it is."""
    found = _KEY.match(message)
    if found is None:
        return message
    place: Place = tuple(int(number) if number else name for number, name in _STEP.findall(found[1]))
    while isinstance(place[-1], int) and place not in contract.lines:
        place = place[:-1]  # one word that stands for a list of one
    near = (place[:depth] for depth in range(len(place), 0, -1))
    line = next((f":{contract.lines[one]}" for one in near if one in contract.lines), "")
    return f"{FILE}{line}: {spoken(place)}{message[found.end() :]}"


class Faults:
    """Faults in the order of their lines, one a place; what follows from another fault is left out."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._found: dict[tuple[Place, int], str] = {}
        self._more = 0
        for place, line, message in document.problems:
            self._note(place, line, message)
        self._unread = {place for place, _, _ in document.problems if place and not document.at(place)}

    def add(self, place: Place, message: str) -> None:
        """A fault of a key or an item."""
        if not any(place[:depth] in self._unread for depth in range(1, len(place) + 1)):
            self._note(place, self._document.line(place), message)

    def add_invalid(self, detail: ErrorDetails) -> None:
        """A fault that the model found. Its location has steps that only the model knows, which are left out."""
        place: Place = ()
        for step in detail["loc"]:
            if (*place, step) in self._document.lines:
                place = (*place, step)
        if detail["type"] == "missing":
            place = (*place, detail["loc"][-1])
        error = detail["ctx"]["error"] if detail["type"] == "value_error" else None
        if detail["type"] == "too_short" and any(one[: len(place)] == place for one, _ in self._found):
            return  # of what is in it, nothing could be read
        if isinstance(error, Wrong):
            self.add((*place, *error.place), error.what)
        else:
            self.add(place, _message(detail, place) if len(self._found) < MOST else "")

    def problems(self) -> tuple[Problem, ...]:
        """All of them; of a file that is nothing but faults, as many as a person can use."""
        ordered = sorted(self._found.items(), key=lambda item: item[0][1])
        found = [Problem(FILE, line, spoken(place), message) for (place, line), message in ordered]
        return (*found, *([Problem(FILE, 0, "", f"and {self._more} more")] if self._more else []))

    def _note(self, place: Place, line: int, message: str) -> None:
        if len(self._found) < MOST or (place, line) in self._found:
            self._found.setdefault((place, line), message)
        else:
            self._more += 1


_MISSING = {
    "goal": "missing: what shall be true at the end?",
    "worker": "missing: who does the work? e.g. worker: {kind: command, command: [python, tools/agent.py]}",
    "budget": f"missing: what may it cost, and what happens then? {A_CEILING}",
    "kind": f"missing: one of {', '.join(WorkerKind)}",
    "limit": "missing: how much?",
    "on_exhaustion": f"missing: what happens at this ceiling? {', '.join(Exhaustion)}",
    "run": "missing: the command, as a list of words such as [pytest, -q]",
}
_SUCH = {
    "checks": "should be a list such as [{run: [pytest, -q]}]",
    "notify": "should be a list such as [bell, {run: [./tell.sh]}]",
}
_WANTED = {
    "dict_type": "should be names with their values, such as {NAME: …}",
    "tuple_type": "should be a list such as [one, two]",
    "too_short": "should not be empty",
    "string_too_short": "should not be empty",
    "string_type": "should be a text",
    "bool_parsing": "should be true or false",
    "bool_type": "should be true or false",
}


def _message(detail: ErrorDetails, place: Place) -> str:
    kind = detail["type"]
    if kind == "extra_forbidden":
        return _unknown_key(place)
    if kind == "missing" or detail["input"] is None:
        return _MISSING.get(str(place[-1]), "missing" if kind == "missing" else "has no value")
    if kind == "value_error":
        return str(detail["ctx"]["error"])
    if kind == "enum":
        options = [word.strip(" '") for word in str(detail["ctx"]["expected"]).replace(" or ", ",").split(",")]
        if not isinstance(detail["input"], str):
            return f"should be one of {', '.join(options)}"
        near = nearest(detail["input"], options)
        hint = f", nearest: {near}" if near else ""
        return f"{detail['input'][:60]!r} is not one of {', '.join(options)}{hint}"
    if kind == "string_too_long":
        return f"is longer than {detail['ctx']['max_length']:,} characters"
    if kind == "model_type":
        return f"should hold keys of its own: {', '.join(_valid(place))}"
    return _SUCH.get(str(place[-1])) or _WANTED.get(kind) or detail["msg"].lower()


def _unknown_key(place: Place) -> str:
    key = str(place[-1])
    return unknown_key(key, _valid(place[:-1]), _home(Contract, key) or "")


def _valid(place: Place) -> list[str]:
    """The keys that there are at a place."""
    models: list[type[BaseModel]] = [Contract]
    for step in place:
        models = _inside(models, step)
    return [name for model in models for name in _keys(model)]


def _keys(model: type[BaseModel]) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in model.model_fields.items()}


def _models(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models(part)]


def _inside(models: list[type[BaseModel]], step: str | int) -> list[type[BaseModel]]:
    """The models one step further in; an index or a free name (of a price, of an upstream) stays where it is."""
    found = [model for outer in models for model in _models(_keys(outer).get(str(step)))]
    return found or models


def _home(model: type[BaseModel], key: str) -> str | None:
    """The section in which a misplaced key is at home."""
    for name, annotation in _keys(model).items():
        for inner in _models(annotation):
            if key in _keys(inner):
                return name
            if deeper := _home(inner, key):
                return f"{name}.{deeper}"
    return None
