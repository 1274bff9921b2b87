"""Reading `proctor.yaml`: a contract, or every fault at once, each with file, line, key and a way out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from proctor.contract import built, kinds
from proctor.contract.document import Document, Place, Unreadable, Value, parse, read_bytes
from proctor.contract.kinds import is_on
from proctor.contract.model import Contract
from proctor.contract.problems import A_CEILING, A_CHECK, FILE, ContractError, Faults, Problem
from proctor.contract.queue import peek
from proctor.contract.state import State
from proctor.contract.wrong import nearest
from proctor.text import safe_line
from proctor.words import AtSoft, Dimension, Exhaustion

_SECTIONS = {"state", "progress", "termination", "approvals", "sandbox", "gateway", "notify"}


def load(workspace: Path) -> Contract:
    """The contract of a workspace. Raises `ContractError` with all problems at once."""
    content, document = _document(workspace)
    faults = Faults(document)
    contract = None
    if not isinstance(document.root, dict | None):
        faults.add(
            (), f"a contract is a mapping of keys (goal, worker, budget, progress), not a {_kind(document.root)}"
        )
    else:
        contract = _validate(document, faults)
        for place, message in (*_across(document), *built.refusals(document), *_outside(document, workspace)):
            faults.add(place, message)
        if lack := _lacks_check(document, workspace):
            faults.add(("progress", "checks"), lack)
    if (problems := faults.problems()) or contract is None:
        raise ContractError(problems)
    contract._hash = hashlib.sha256(content).hexdigest()
    contract._lines = document.lines
    return contract


def load_state_only(workspace: Path) -> State:
    """What the contract says about state, for verbs that need no more; what is broken there is the default."""
    try:
        return _lenient_state(_document(workspace)[1])
    except ContractError:
        return State()


def _lenient_state(document: Document) -> State:
    given = document.at(("state",))
    keys = dict(given) if isinstance(given, dict) else {}
    while True:
        try:
            return State.model_validate(keys)
        except ValidationError as error:
            for detail in error.errors():
                keys.pop(str(detail["loc"][0]), None)


def _document(workspace: Path) -> tuple[bytes, Document]:
    if not workspace.is_dir():
        raise ContractError((Problem(str(workspace), 0, "", "the workspace is not a folder"),))
    path = workspace / FILE
    if not path.exists() and not path.is_symlink():
        raise ContractError((Problem(str(path), 0, "", "there is no contract; `proctor init` writes one"),))
    try:
        content = read_bytes(path)
        return content, parse(content)
    except Unreadable as error:
        raise ContractError((Problem(FILE, error.line, "", str(error)),)) from None


def _kind(value: object) -> str:
    return "list" if isinstance(value, list) else "text"


def _validate(document: Document, faults: Faults) -> Contract | None:
    # A section whose every line is commented out reads as null: it is as good as not written.
    given = document.root if isinstance(document.root, dict) else {}
    try:
        return Contract.model_validate({k: v for k, v in given.items() if v is not None or k not in _SECTIONS})
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            faults.add_invalid(detail)
        return None


def _across(document: Document) -> Iterator[tuple[Place, str]]:
    """What one key asks of another."""
    cheaper = document.at(("worker", "cheaper")) is not None
    yield from _worker(document)
    budget = document.at(("budget",))
    if isinstance(budget, dict):
        if not set(budget) - {"levels", "at_soft"}:
            yield ("budget",), f"no ceiling: what may it cost, and what happens then? {A_CEILING}"
        for dimension in Dimension:
            if dimension in budget:
                yield from _ceiling(dimension, budget[dimension], cheaper)
        at_soft = budget.get("at_soft")
        if isinstance(at_soft, list | str) and AtSoft.CHEAPER_MODEL in at_soft and not cheaper:
            yield ("budget", "at_soft"), f"{AtSoft.CHEAPER_MODEL} needs worker.cheaper: {{model: NAME}}"
    yield from _files(document)
    yield from _checks(document)


AGENTS = {"command": ("aider", "mini"), "acp": ("opencode", "gemini", "qwen")}
"""Programs that are known, by the kind of worker that they are."""


def _worker(document: Document) -> Iterator[tuple[Place, str]]:
    kind, agent = (document.at(("worker", key)) for key in ("kind", "agent"))
    known = AGENTS.get(str(kind), ())
    if agent is not None and agent not in known:
        near = nearest(str(agent), known)
        can = f"one of {', '.join(known)}{f'; nearest: {near}' if near else ''}" if known else "left out"
        yield ("worker", "agent"), f"for kind: {safe_line(str(kind), 40)} it is {can}"
    elif known and agent is None and document.at(("worker", "command")) is None:
        what = "the program, as a list of words such as [python, tools/agent.py]"
        yield ("worker", "command"), f"missing: {what}; or worker.agent: {' | '.join(known)}"
    if agent is not None or kind in ("claude", "codex", "acp"):
        for key in ("brief", "terminal"):
            if document.at(("worker", key)) not in (None, "false", "no", "off"):
                yield ("worker", key), "means nothing for an agent that is known, which gets its brief in its own way"
    model = document.at(("worker", "model"))
    if model is not None and document.at(("worker", "cheaper", "model")) == model:
        yield ("worker", "cheaper", "model"), "is worker.model itself; name one that costs less"


def _ceiling(dimension: Dimension, ceiling: object, cheaper: bool) -> Iterator[tuple[Place, str]]:
    place: Place = ("budget", dimension.value)
    if not isinstance(ceiling, dict):
        yield place, "needs {limit: …, on_exhaustion: …}"
        return
    degrade = ceiling.get("on_exhaustion") == Exhaustion.DEGRADE
    if degrade and dimension not in (Dimension.TOKENS, Dimension.COST):
        yield (*place, "on_exhaustion"), "degrade is only for tokens and cost; use stop, park or escalate"
    elif degrade and not cheaper:
        yield (*place, "on_exhaustion"), "degrade needs worker.cheaper: {model: NAME}"
    if not degrade and ceiling.get("reserve") is not None:
        yield (*place, "reserve"), "only `on_exhaustion: degrade` has a reserve"


def _checks(document: Document) -> Iterator[tuple[Place, str]]:
    checks = document.at(("progress", "checks"))
    places: list[Place] = [("progress", "checks", at) for at in range(len(checks) if isinstance(checks, list) else 0)]
    for place in (*places, *kinds.ALONE):
        if document.at((*place, "page")) is not None and document.at(("sandbox", "kind")) in ("weak", "none"):
            yield (*place, "page"), "needs a network of its own, which only `sandbox.kind: bwrap` gives"
        if isinstance(given := document.at(place), dict):
            yield from (((*place, key), why) for key, why in kinds.idle(given, kinds.ALONE.get(place, "")))


def _files(document: Document) -> Iterator[tuple[Place, str]]:
    seen = {FILE: "the contract"}
    for name in ("tasks", "plan", "progress", "rules"):
        given = document.at(("state", name))
        path = str(PurePosixPath(given if isinstance(given, str) else State.model_fields[name].default))
        if path in seen:
            yield ("state", name), f"{path!r} is also {seen[path]}; each needs a file of its own"
        for other, whose in seen.items():
            if path.startswith(f"{other}/") or other.startswith(f"{path}/"):
                yield ("state", name), f"{path!r} and {whose} cannot both be: one would be a folder"
        seen[path] = f"state.{name}"
    entrusted, guarded = document.at(("state", "entrust")), document.at(("state", "protect"))
    tops = {PurePosixPath(path) for path in guarded if isinstance(path, str)} if isinstance(guarded, list) else set()
    for at, entry in enumerate(entrusted if isinstance(entrusted, list) else ()):
        place = PurePosixPath(str(entry))
        if held := tops & {place, *place.parents}:
            why = f"{str(entry)[:80]!r} lies in state.protect ({held.pop()}), which no worker can write"
            yield ("state", "entrust", at), why


def _outside(document: Document, workspace: Path) -> Iterator[tuple[Place, str]]:
    """Paths that leave the workspace through a symbolic link."""
    root = os.path.realpath(workspace)
    for name in ("tasks", "plan", "progress", "rules", "protect", "entrust", "hide"):
        given = document.at(("state", name))
        items: list[tuple[Place, Value]] = [(("state", name), given)]
        if isinstance(given, list):
            items = [(("state", name, index), item) for index, item in enumerate(given)]
        for place, item in items:
            if isinstance(item, str) and os.path.commonpath((root, os.path.realpath(workspace / item))) != root:
                yield place, f"{item[:80]!r} leaves the workspace through a symbolic link"


def _lacks_check(document: Document, workspace: Path) -> str:
    """What to say where nothing proves a task; nothing where something does."""
    checks = document.at(("progress", "checks"))
    if isinstance(checks, list):
        if len(checks) > sum(is_on(check.get("optional")) for check in checks if isinstance(check, dict)):
            return ""
    elif checks is not None:
        return ""  # of the wrong kind, and said so already
    state = _lenient_state(document)
    listed = peek(workspace, state)
    if listed.checked or not listed.readable:  # which is said where it is read
        return ""
    also = "" if listed.total else f"; nor is there a task: write {state.tasks}, or `- [ ]` items in {state.plan}"
    return f"no check: what proves that a task is done? {A_CHECK}{also}"
