"""Verbs that leave an order and wait for its answer; checkpoint verbs act by themselves where nobody supervises."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from proctor.cli.read import show
from proctor.errors import UsageError
from proctor.journal.state import State
from proctor.journal.store import NoJournal
from proctor.supervisor import inbox
from proctor.supervisor.client import Client
from proctor.units import parse_amount, parse_dimension
from proctor.words import ExitCode

SECONDS = 30.0
LONG = 900.0
"""Seconds to wait for an answer: a rollback of a large tree takes its time."""
OFFLINE = ("checkpoint", "rollback", "undo")


def pause(given: argparse.Namespace) -> int:
    return send(given.dir, "pause")


def park(given: argparse.Namespace) -> int:
    return send(given.dir, "park")


def stop(given: argparse.Namespace) -> int:
    return send(given.dir, "stop")


def fresh(given: argparse.Namespace) -> int:
    return send(given.dir, "fresh")


def note(given: argparse.Namespace) -> int:
    return send(given.dir, "note", text=" ".join(given.text))


def approve(given: argparse.Namespace) -> int:
    return send(given.dir, "approve", id=given.id, reason=given.reason)


def deny(given: argparse.Namespace) -> int:
    return send(given.dir, "deny", id=given.id, reason=given.reason)


def extend(given: argparse.Namespace) -> int:
    return send(given.dir, "extend", dimension=given.dimension, by=given.by)


def checkpoint(given: argparse.Namespace) -> int:
    return send(given.dir, "checkpoint", note=given.note)


def rollback(given: argparse.Namespace) -> int:
    if given.preview:
        from proctor.supervisor.offline import preview

        show(preview(given.dir, given.to, tuple(given.paths or ())) or "nothing would change")
        return ExitCode.DONE
    return send(given.dir, "rollback", to=given.to, paths=given.paths)


def undo(given: argparse.Namespace) -> int:
    return send(given.dir, "undo", redo=given.redo)


def send(workspace: Path, verb: str, **args: Any) -> int:
    """Have one order carried out: by the supervisor, by this process, or by the next supervisor."""
    args = {name: value for name, value in args.items() if value not in (None, "")}
    try:
        client = Client(workspace)
    except NoJournal:
        if verb in OFFLINE:
            return _offline(workspace, verb, args)
        raise
    with client:
        if client.alive():
            return _ask(client, verb, args)
        if verb in OFFLINE:
            return _offline(workspace, verb, args)
        if verb in inbox.MAY_WAIT:
            _check(client.state(), verb, args)
            client.order(verb, **args)
            print(f"no supervisor is up; the {verb} is taken in by the next `proctor run`")
            return ExitCode.DONE
    raise UsageError(f"{workspace}: no supervisor is up, so `{verb}` has no effect; `proctor run` starts one")


def _check(state: State, verb: str, args: dict[str, Any]) -> None:
    """Refuse now what the next supervisor would refuse."""
    if verb == "extend":
        try:
            dimension = parse_dimension(args["dimension"])
            parse_amount(dimension, args["by"])
        except ValueError as error:
            raise UsageError(f"extend: {error}") from None
        if state.limit(dimension) is None:
            raise UsageError(f"extend: {dimension} has no ceiling in the contract")
    elif verb in ("approve", "deny"):
        request = state.request(args["id"])
        if request is None or request.outcome is not None:
            waiting = ", ".join(str(one.id) for one in state.open_requests) or "none"
            raise UsageError(f"{verb}: request {args['id']} does not wait for an answer; waiting: {waiting}")


def _ask(client: Client, verb: str, args: dict[str, Any]) -> int:
    after = client.state().seq
    order = client.order(verb, **args)
    answer = client.wait_for(order, LONG if verb in OFFLINE else SECONDS, after)
    if answer is None:
        print(f"proctor: {client.workspace}: the supervisor has not answered; see `proctor status`", file=sys.stderr)
        return ExitCode.FAULT
    if answer.outcome == "done":
        print(answer.detail or "done")
        return ExitCode.DONE
    print(f"proctor: {verb} {answer.outcome}: {answer.detail}", file=sys.stderr)
    return ExitCode.FAULT if answer.outcome == "lost" else ExitCode.USAGE


def _offline(workspace: Path, verb: str, args: dict[str, Any]) -> int:
    from proctor.supervisor.offline import carry_out

    print(carry_out(workspace, verb, args))
    return ExitCode.DONE
