"""Saying what a rollback takes: beforehand, and when it has happened."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from proctor.cli.read import print_json, show
from proctor.errors import ProctorError, UsageError
from proctor.words import ExitCode


def chosen(given: argparse.Namespace) -> tuple[str, ...]:
    """The paths that were named, as they are called inside the workspace. UsageError for what is not inside."""
    found = []
    for path in map(Path, given.paths or ()):
        whole = path.parent.resolve() / path.name if path.is_absolute() else given.dir / path
        name = os.path.relpath(whole, given.dir)
        if name.split(os.sep)[0] == os.pardir:
            raise UsageError(f"rollback: --paths: {path} is not in {given.dir}")
        if name == os.curdir:
            raise UsageError("rollback: --paths: that is the whole workspace; leave --paths out")
        found.append(name)
    return tuple(found)


def preview(given: argparse.Namespace) -> int:
    """What a rollback would take: the operator's own edits first, the patch last. Nothing is touched."""
    from proctor.supervisor import offline, toll

    found = offline.preview(given.dir, given.to, paths=chosen(given), keep_mine=given.keep_mine)
    if given.json:
        return print_json({**toll.facts(found), "patch": found.patch})
    show("\n".join([toll.headline(found), *toll.lines(found), "", found.patch]))
    return ExitCode.DONE


def tell(workspace: Path, said: str, as_json: bool) -> int:
    """What the last rollback took; `said` is it in one line."""
    from proctor.supervisor import offline, toll

    try:
        found = offline.taken(workspace)
    except ProctorError:  # it has happened all the same
        found = None
    if as_json:
        return print_json({"said": said} if found is None else toll.facts(found))
    show("\n".join([said] if found is None else [toll.told(found), *toll.lines(found)]))
    return ExitCode.DONE
