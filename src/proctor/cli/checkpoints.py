"""Verbs about checkpoints that change nothing of the session: what there is, what one holds, how two differ, and a
copy of one for elsewhere."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proctor.cli.read import print_json
from proctor.cli.read import show as print_patch
from proctor.text import safe_block, safe_line
from proctor.units import counted, format_amount
from proctor.words import Certainty, Dimension, ExitCode

if TYPE_CHECKING:
    from proctor.checkpoint.repository import Verified

MOST = 20
"""Paths of one kind that are shown; `--json` has all."""
_SIGNS = {"added": "+", "deleted": "-", "mode": "m", "retyped": "t"}


def checkpoints(given: argparse.Namespace) -> int:
    """Every checkpoint, oldest first. With --verify, 1 if one is not whole."""
    from proctor.supervisor.past import Past, words

    past = Past(given.dir)
    proof = past.verify() if given.verify and past.state.checkpoints else None
    listed = [{**past.facts(one), **_proof(one.id, proof)} for one in past.state.checkpoints]
    if given.json:
        print_json(listed)
    for one, facts in zip(past.state.checkpoints, listed, strict=True) if not given.json else ():
        marks = [
            "" if one.taken.certainty is Certainty.CONFIRMED else str(one.taken.certainty),
            "borrowed" if one.taken.borrowed else "",
            "undo goes here" if facts["undo"] else "",
            "redo goes here" if facts["redo"] else "",
            f"LOST: {facts['lost']}" if facts.get("lost") else "",
        ]
        said = safe_line("  ".join([words(one), *filter(None, marks)]), 400)
        good = "  <- last good" if facts["last_good"] else ""
        when = f"{one.at.astimezone():%Y-%m-%d %H:%M:%S}"
        print(f"{one.id:>5}  {when}  {one.taken.checkpoint:6}  {counted(one.taken.files, 'file')}  {said}{good}")
    if not listed and not given.json:
        print("no checkpoint yet; `proctor checkpoint` takes one")
    if proof is None:
        return ExitCode.DONE
    for name, why in proof.lost.items():
        print(f"proctor: checkpoint {name} is not whole: {safe_line(why, 400)}", file=sys.stderr)
    if not given.json:
        print(f"{counted(len(proof.whole), 'checkpoint')} of {len(listed):,} whole, to the byte")
    return ExitCode.FAULT if proof.lost else ExitCode.DONE


def _proof(name: str, proof: Verified | None) -> dict[str, Any]:
    if proof is None:
        return {}
    return {"whole": name in proof.whole, "lost": proof.lost.get(name), "lost_files": list(proof.files.get(name, ()))}


def show(given: argparse.Namespace) -> int:
    """One checkpoint: where the work stood, what it holds and does not, what changed since the one before."""
    from proctor.supervisor.past import Past

    found = Past(given.dir).show(given.id)
    if given.json:
        return print_json(found)
    print("\n".join(safe_line(line, 400) for line in _shown(found)))
    return ExitCode.DONE


def _shown(found: Mapping[str, Any]) -> Iterator[str]:
    taken = found["taken"]
    yield f"{found['id']}  {found['said']}{'  <- last good' if found['last_good'] else ''}"
    iteration = f", iteration {taken['iteration']}" if taken.get("iteration") else ""
    yield f"  taken       {datetime.fromisoformat(found['at']).astimezone():%Y-%m-%d %H:%M:%S}{iteration}"
    yield from _stood(found["record"])
    borrowed = "some objects are still your repository's alone" if taken.get("borrowed") else ""
    yield f"  holds       {', '.join(filter(None, (counted(taken.get('files', 0), 'file'), found['took'], borrowed)))}"
    yield from _list("repositories of their own", found["repositories"])
    yield from _list("kept although ignored", found["kept_although_ignored"])
    left = found["not_kept"]
    yield from _list("not kept, ignored folders", left["ignored_folders"])
    yield from _list("not kept, ignored files", left["ignored_files"])
    yield from _list("not kept", [f"{path}: {why}" for path, why in left["skipped"].items()])
    yield from _list("kept without their attributes", left["attributes"])
    yield from _list("not kept of repositories", left["of_repositories"])
    yield from _list("written while it was read", found["unstable"])
    yield from _list("seen only by the look at everything", (found.get("confirmed") or {}).get("missed", ()))
    yield from _revised(found["revised"])
    yield from _tampering(found["tampering"])
    changed = found["changed"]
    if changed["since"]:
        yield from _list(f"changed since {changed['since']}", map(_change, changed["files"]), "nothing that is kept")
        yield from _list("changed, and not kept", changed["folders_not_kept"])
    record = found["record"] or {}
    ids = {"commit": taken["commit"], "tree": taken["tree"], "repositories": taken.get("state"),
           "journal": f"row {record['position']}" if record else "",
           "plan": record.get("plan"), "rules": record.get("rules")}  # fmt: skip
    yield from _list("ids", [f"{word:12} {known}" for word, known in ids.items() if known])


def _stood(record: Mapping[str, Any] | None) -> Iterator[str]:
    """What was verified here and what was not, as the journal had it."""
    if record is None:
        return
    done = [f"{one['task']} ({one['checkpoint']})" for one in record["done"]]
    waiting = [f"{mark['id']} {mark['status']}" for mark in record["marks"] if mark["status"] != "done"]
    yield from _list("verified", done)
    yield from _list("other tasks", waiting)
    yield from _list("blocked", [f"{_who(one)} {one['status']}: {one['why']}" for one in record["blockers"]])
    verdicts = [f"task {one['task']} {one['verdict']}: {one['reason']}".rstrip(": ") for one in record["verdicts"]]
    yield from _list("last verdicts", verdicts)
    used = [f"{name} {format_amount(Dimension(name), figure['used'])}" for name, figure in record["used"].items()]
    yield from _list("used", used)


def _revised(found: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What the operator changed up to here of what is asked for and of what checks rest on, with the diffs."""
    for one in found:
        what = "the plan and its checks" if one["row"] == "plan_revised" else "what checks rest on"
        yield f"  revised     {what}, by you: {', '.join(one['changed'][:5])}"
        yield from (f"    {line}" for line in safe_block(one["diff"], lines=200).splitlines())


def _tampering(found: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """What the changes up to here did to checks, with the hunks."""
    for one in found:
        where = f"{one['path']}:{one['line']}" if one.get("line") else one["path"]
        yield f"  {one['row']:11} iteration {one['iteration']}  {where}  {one.get('why') or one['kind']}"
        yield from (f"    {line}" for line in safe_block(one.get("hunk", ""), lines=12).splitlines())


def _who(one: Mapping[str, Any]) -> str:
    return f"task {one['task']}" if one["request"] is None else f"request #{one['request']}"


def _change(change: Mapping[str, Any]) -> str:
    lines = f"  +{change['added']} -{change['removed']}" if change["added"] or change["removed"] else ""
    return f"{_SIGNS.get(change['kind'], '~')} {change['path']}{lines}"


def _list(title: str, items: Iterable[str], empty: str = "") -> Iterator[str]:
    """A titled list, cut; nothing for an empty one, unless there is a word for that."""
    known = list(items)
    if known or empty:
        yield f"  {title}{'' if known else f': {empty}'}"
    yield from (f"    {safe_line(one, 300)}" for one in known[:MOST])
    if len(known) > MOST:
        yield f"    and {len(known) - MOST:,} more; --json has all"


def diff(given: argparse.Namespace) -> int:
    """What changed between two checkpoints, or since one. The line about them goes to stderr, the patch to stdout."""
    from proctor.supervisor.past import Past, as_data

    found = Past(given.dir).compare(given.from_, given.to)
    if given.json:
        files = [as_data(change) for change in found.changes]
        return print_json({"from": found.before, "to": found.after, "files": files, "patch": found.patch})
    if not found.patch and not found.changes:
        print(f"nothing changed: {safe_line(found.said, 300)}")
        return ExitCode.DONE
    print(safe_line(found.said, 300), file=sys.stderr)
    if found.patch:
        print_patch(found.patch)
    for change in map(as_data, found.changes):  # what a patch cannot say
        if f"diff --git a/{change['path']} b/{change['path']}\n" not in found.patch and change["kind"] == "mode":
            print(safe_line(_change(change), 300), file=sys.stderr)
    return ExitCode.DONE


def export(given: argparse.Namespace) -> int:
    """A checkpoint's files as one commit, in a bundle or on a branch of the operator's repository."""
    from proctor.errors import UsageError
    from proctor.supervisor.past import Past

    if (given.bundle is None) == (given.branch is None):
        raise UsageError("export: say one of --bundle FILE and --branch NAME")
    past = Past(given.dir)
    if given.bundle is not None:
        one, made = past.bundle(given.id, Path(given.bundle).resolve())
        said = f"{given.bundle}: checkpoint {one.id}, {counted(made.files, 'file')}; `git clone` reads it"
    else:
        one, made = past.branch(given.id, given.branch)
        said = f"branch {given.branch}: checkpoint {one.id}, {counted(made.files, 'file')}, commit {made.commit[:12]}"
    if given.json:
        to = {"bundle": given.bundle} if given.bundle is not None else {"branch": given.branch}
        facts = {"checkpoint": one.id, "commit": made.commit, "files": made.files, "left_out": list(made.left)}
        return print_json({**facts, **to})
    print(safe_line(said, 600))
    for line in made.left:
        print(f"  {line}")
    return ExitCode.DONE
