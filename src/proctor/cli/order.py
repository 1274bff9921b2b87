"""Verbs that leave an order and wait for its answer; checkpoint verbs act by themselves where nobody supervises."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import msgspec

from proctor.cli import back
from proctor.cli.read import print_json
from proctor.errors import UsageError
from proctor.journal.events import kind_of
from proctor.journal.state import State
from proctor.journal.store import Damaged, NoJournal
from proctor.supervisor import inbox
from proctor.supervisor.client import Client
from proctor.units import parse_amount, parse_dimension, parse_duration
from proctor.words import ExitCode

SECONDS = 30.0
LONG = 900.0
"""Seconds to wait for an answer: a rollback of a large tree takes its time."""
OFFLINE = ("checkpoint", "prune", "rollback", "undo")
_ACTS = ("checkpoint_taken", "checkpoint_confirmed", "checkpoints_pruned")


def pause(given: argparse.Namespace) -> int:
    return send(given.dir, "pause")


def park(given: argparse.Namespace) -> int:
    return send(given.dir, "park")


def stop(given: argparse.Namespace) -> int:
    return send(given.dir, "stop")


def fresh(given: argparse.Namespace) -> int:
    return send(given.dir, "fresh")


def note(given: argparse.Namespace) -> int:
    text = " ".join(given.text)
    if len(given.text) == 1 and "/" in text and Path(text).is_dir():
        raise UsageError(f"note: {text} is a folder, and no word follows; write `proctor note DIR TEXT`")
    if not text.strip():
        raise UsageError("note: there is nothing in it; write `proctor note TEXT`")
    return send(given.dir, "note", text=text)


def approve(given: argparse.Namespace) -> int:
    return send(given.dir, "approve", id=given.id, reason=given.reason, input=_input(given.input))


def _input(text: str | None) -> dict[str, Any] | None:
    """The input that is granted instead; UsageError for what is no JSON object."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UsageError(f"approve: --input is no JSON object: {error}") from None


def deny(given: argparse.Namespace) -> int:
    return send(given.dir, "deny", id=given.id, reason=given.reason)


def extend(given: argparse.Namespace) -> int:
    return send(given.dir, "extend", dimension=given.dimension, by=given.by)


def checkpoint(given: argparse.Namespace) -> int:
    return send(given.dir, "checkpoint", given.json, note=given.note, name=given.name)


def prune(given: argparse.Namespace) -> int:
    keep = _keep(given)
    if not given.dry_run:
        return send(given.dir, "prune", given.json, keep=keep)
    from proctor.journal.store import Reader, journal_path
    from proctor.supervisor import sweeping
    from proctor.supervisor.process import state_dir_of

    folder = state_dir_of(given.dir)
    with Reader(journal_path(folder)) as reader:
        gone = sweeping.plan(reader, folder, keep)
    if given.json:
        return print_json({"checkpoints": gone.checkpoints, "iterations": gone.iterations, "dry_run": True})
    print(f"would go: {sweeping.Swept(gone, None).describe()}" if gone else "nothing to prune")
    return ExitCode.DONE


def _keep(given: argparse.Namespace) -> int:
    """Milliseconds for which a session's past stays."""
    if given.keep is not None:
        try:
            return parse_duration(given.keep)
        except ValueError as error:
            raise UsageError(f"prune: --keep: {error}") from None
    from proctor.contract.load import load_state_only

    keep = load_state_only(given.dir).checkpoint.keep
    if keep is None:
        raise UsageError(f"prune: {given.dir}: the contract keeps all checkpoints; say how long with --keep, as 30d")
    return keep


def rollback(given: argparse.Namespace) -> int:
    if given.preview:
        return back.preview(given)
    wanted = {"to": given.to, "paths": back.chosen(given) or None, "keep_mine": given.keep_mine or None}
    return send(given.dir, "rollback", given.json, **wanted)


def undo(given: argparse.Namespace) -> int:
    return send(given.dir, "undo", given.json, redo=given.redo)


def send(workspace: Path, verb: str, as_json: bool = False, **args: Any) -> int:
    """Have one order carried out: by the supervisor, by this process, or by the next supervisor."""
    args = {name: value for name, value in args.items() if value not in (None, "")}
    try:
        client = Client(workspace)
    except NoJournal:
        if verb in OFFLINE and verb != "prune":
            return _offline(workspace, verb, args, as_json)
        raise
    with client:
        try:
            state = client.state()
        except Damaged:
            if verb in OFFLINE:
                return _offline(workspace, verb, args, as_json)
            raise
        if verb == "extend":
            _check(state, verb, args)
        if client.alive():
            return _ask(client, verb, args, as_json)
        if verb in OFFLINE:
            return _offline(workspace, verb, args, as_json, client.state().seq)
        if verb in inbox.MAY_WAIT:
            _check(client.state(), verb, args)
            client.order(verb, **args)
            print(f"no supervisor is up; the {verb} is taken in by the next `proctor run`")
            return ExitCode.DONE
    raise UsageError(f"{workspace}: no supervisor is up, so `{verb}` has no effect; `proctor run` starts one")


def _check(state: State, verb: str, args: dict[str, Any]) -> None:
    """Refuse now what a supervisor would refuse, and a ceiling that is mistyped."""
    if verb == "extend":
        try:
            dimension = parse_dimension(args["dimension"])
            by = parse_amount(dimension, args["by"])
        except ValueError as error:
            raise UsageError(f"extend: {error}") from None
        if (limit := state.limit(dimension)) is None:
            raise UsageError(f"extend: {dimension} has no ceiling in the contract")
        from proctor.tui.wording import not_raised

        used = state.used[dimension].used if dimension in state.used else 0
        if said := not_raised(dimension, by, limit, used):
            raise UsageError(f"extend: {said}")
    elif verb in ("approve", "deny"):
        request = state.request(args["id"])
        if request is None or request.outcome is not None:
            waiting = ", ".join(str(one.id) for one in state.open_requests) or "none"
            raise UsageError(f"{verb}: request {args['id']} does not wait for an answer; waiting: {waiting}")


def _ask(client: Client, verb: str, args: dict[str, Any], as_json: bool) -> int:
    after = client.state().seq
    order = client.order(verb, **args)
    answer = client.wait_for(order, LONG if verb in OFFLINE else SECONDS, after)
    if answer is None:
        print(f"proctor: {client.workspace}: the supervisor has not answered; see `proctor status`", file=sys.stderr)
        return ExitCode.FAULT
    if answer.outcome == "done":
        return _done(client, after, answer.detail or "done", as_json)
    from proctor.tui.wording import OUTCOMES

    became = OUTCOMES.get(answer.outcome, answer.outcome)
    print(f"proctor: {verb} {became}: {answer.detail}", file=sys.stderr)
    return ExitCode.FAULT if answer.outcome == "lost" else ExitCode.USAGE


def _offline(workspace: Path, verb: str, args: dict[str, Any], as_json: bool, after: int = 0) -> int:
    from proctor.supervisor.offline import carry_out

    said = carry_out(workspace, verb, args)
    with Client(workspace) as client:
        return _done(client, after, said, as_json)


def _done(client: Client, after: int, said: str, as_json: bool) -> int:
    """Say what was done; as data with the rows that say so."""
    if any(client.rows(after, ("rolled_back",))):
        return back.tell(client.workspace, said, as_json)
    if not as_json:
        print(said)
        return ExitCode.DONE
    rows = {kind_of(row.event): msgspec.to_builtins(row.event) for row in client.rows(after, _ACTS)}
    return print_json({"said": said, **rows})
