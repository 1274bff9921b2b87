"""The weighing of expressions, JSON and schemas as a process of its own: the first question that is answered with no.

Questions as JSON in, one answer out. What is weighed was written by a worker or by what it built, and may be made to
cost time and memory: whoever asks ends this process in time, and it has no more memory than it takes.
"""

from __future__ import annotations

import json
import math
import re
import resource
import sys
from collections import Counter
from typing import Any

from proctor import jsonpath

BYTES = 2 << 30
"""Memory of one weighing."""
PASSED, FAILED, INFRA = "passed", "failed", "infra"

Question = dict[str, str]


class No(Exception):
    """The answer to a question: `infra` where the rule itself is at fault."""

    def __init__(self, reason: str, verdict: str = FAILED) -> None:
        super().__init__(reason)
        self.verdict = verdict


def main() -> None:
    """Read a list of questions; print the verdict, and a reason where it is not `passed`."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    answer = {"verdict": PASSED, "reason": ""}
    for question in json.load(sys.stdin.buffer):
        try:
            _ANSWERS[question["kind"]](question)
        except No as no:
            answer = {"verdict": no.verdict, "reason": str(no)}
            break
        except (MemoryError, RecursionError):
            answer = {"verdict": FAILED, "reason": f"{question['name']} is too large or too deep to be weighed"}
            break
    json.dump(answer, sys.stdout)


def _regex(question: Question) -> None:
    if not _expression(question["regex"]).search(question["text"]):
        raise No(f"{question['name']} does not match /{question['regex']}/")


def _json(question: Question) -> None:
    name, path = question["name"], question["path"]
    found = jsonpath.find(_value(name, question["text"]), jsonpath.parse(path))
    if not found:
        raise No(f"{name} has nothing at {path}")
    for value in found:
        shown = json.dumps(value)[:80]
        if question["equals"] and not _equal(value, json.loads(question["equals"])):
            raise No(f"{name} has {shown} at {path}, not {question['equals']}")
        text = value if isinstance(value, str) else json.dumps(value)
        if question["matches"] and not _expression(question["matches"]).search(text):
            raise No(f"{name} has {shown} at {path}, which does not match /{question['matches']}/")


def _schema(question: Question) -> None:
    from jsonschema import exceptions, validators
    from jsonschema_specifications import REGISTRY
    from referencing.exceptions import Unresolvable

    name, by = question["name"], question["by"]
    try:
        schema = _value(by, question["schema"])
    except No as no:
        raise No(str(no), INFRA) from no
    value = _value(name, question["text"])
    kind: Any = validators.Draft202012Validator
    given = schema.get("$schema", "") if isinstance(schema, dict) else ""
    if given:
        kind = validators.validator_for(schema, default=None) if isinstance(given, str) else None
    if not isinstance(schema, dict | bool) or kind is None:
        raise No(f"{by} is no JSON Schema" + (f" of a kind that is known: {given}" if given else ""), INFRA)
    try:
        kind.check_schema(schema)
        error = exceptions.best_match(kind(schema, registry=REGISTRY).iter_errors(value))
    except exceptions.SchemaError as wrong:
        raise No(f"{by} is no JSON Schema: {wrong.json_path}: {wrong.message[:200]}", INFRA) from wrong
    except Unresolvable as wrong:
        raise No(f"{by} refers to {wrong.ref}, which is not there; nothing is fetched", INFRA) from wrong
    except re.error as wrong:
        raise No(f"{by} holds what is no regular expression: {wrong}", INFRA) from wrong
    if error is not None:
        raise No(f"{name} is not as {by} says: {error.json_path}: {error.message[:200]}")


def _expression(regex: str) -> re.Pattern[str]:
    try:
        return re.compile(regex, re.MULTILINE)
    except (re.error, OverflowError, RecursionError) as error:
        raise No(f"/{regex}/ is no regular expression: {error}", INFRA) from error


def _value(name: str, text: str) -> Any:
    """What a JSON text says; No where it is none, or could be read in two ways."""

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is not a number that JSON knows")

    def number(word: str) -> float:
        return value if math.isfinite(value := float(word)) else refuse(word)

    def unlike(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(made := dict(pairs)) < len(pairs):
            raise ValueError(f"{Counter(key for key, _ in pairs).most_common(1)[0][0]!r} is given twice in one object")
        return made

    try:
        return json.loads(text, object_pairs_hook=unlike, parse_constant=refuse, parse_float=number)
    except ValueError as error:
        raise No(f"{name} is not JSON: {error}") from error


def _equal(one: Any, other: Any) -> bool:
    """Whether two values are the same in JSON, where true is no number."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return bool(one == other)


_ANSWERS = {"regex": _regex, "json": _json, "schema": _schema}
