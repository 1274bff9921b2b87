"""The verbs: one table for the command line, the help and the README. Each verb loads its own code when called."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from proctor.words import Dimension

Add = Callable[[argparse.ArgumentParser], object]


@dataclass(frozen=True, slots=True)
class Verb:
    """One verb: `module:function` in this package, one line of help, and its arguments."""

    name: str
    code: str
    help: str
    arguments: tuple[Add, ...] = ()
    takes_dir: bool = True

    def run(self, given: argparse.Namespace) -> int:
        """Load the verb's code and call it; its exit code."""
        module, _, function = self.code.partition(":")
        return int(getattr(import_module(f"proctor.cli.{module}"), function)(given))


def _flag(name: str, text: str) -> Add:
    return lambda parser: parser.add_argument(name, action="store_true", help=text)


def _value(name: str, text: str, **more: Any) -> Add:
    return lambda parser: parser.add_argument(name, help=text, **more)


def _sandbox(parser: argparse.ArgumentParser) -> None:
    """What argparse cannot know: the command's words are not ours to parse."""
    parser.usage = "%(prog)s [-h] [--explain] [--yes] [--json] [DIR] -- CMD ..."
    parser.epilog = "CMD and its words come last, after --, for example: proctor sandbox -- sh -c 'ls ~; id'"


JSON = _flag("--json", "print data as JSON")
REASON = _value("--reason", "a word to the worker", metavar="T", default="")
INPUT = _value("--input", "grant this input, a JSON object, instead of the one asked for", metavar="JSON")
ID = _value("--id", "which request", metavar="ID", required=True, type=int)
WHICH = "a checkpoint: its id, its name, or `start`; "
AT = _value("--id", WHICH + "the last good one if not named", metavar="ID")
RUN = (
    _flag("--headless", "no screen: print events, exit with the reason's code"),
    _flag("--once", "exactly one iteration, for a scheduler"),
    _flag("--yes", "grant tool and host requests and the copying of files with a second name, on record"),
    _value("--wait", "headless: return 6 when a request waited so long", metavar="10m"),
    _value("--theme", "the screen's theme", metavar="NAME"),
    _flag("--no-mouse", "leave the mouse to the terminal"),
    JSON,
)

VERBS: tuple[Verb, ...] = (
    Verb("init", "contract:init", "write a contract and the workspace files where they are missing", (JSON,)),
    Verb("check", "contract:check", "say in plain words what was agreed; refuse while it is incomplete",
         (JSON, _flag("--schema", "print the contract's JSON schema for editors"),
          _flag("--suspension", "run the worker until it asks, and show that everything stands still"))),
    Verb("run", "run:run", "start or go on, with the screen", RUN),
    Verb("attach", "run:attach", "the screen of a session that is up", RUN[4:6]),
    Verb("list", "read:list_sessions", "the sessions of this machine", (JSON,), takes_dir=False),
    Verb("status", "read:status", "where the session stands", (JSON,)),
    Verb("drift", "drift:drift", "the seven ways in which a long run rots: a light each, and why", (JSON,)),
    Verb("watch", "read:watch", "one line per event, for logs and screen readers",
         (_flag("--plain", "plain lines"), JSON, _flag("--no-follow", "print what there is, and end"))),
    Verb("pause", "order:pause", "freeze the worker, or start none"),
    Verb("resume", "run:resume", "go on after a pause, a park or a plateau",
         (_flag("--reset-plateau", "start the plateau counters anew"), *RUN)),
    Verb("park", "order:park", "end the iteration cleanly, to be resumed"),
    Verb("stop", "order:stop", "end the session now"),
    Verb("fresh", "order:fresh", "end the iteration; a new worker starts from the brief"),
    Verb("note", "order:note", "a word for the next brief", (_value("text", "the note", nargs="+", metavar="TEXT"),)),
    Verb("approvals", "read:approvals", "what waits for you", (JSON,)),
    Verb("approve", "order:approve", "grant a request", (ID, REASON, INPUT)),
    Verb("deny", "order:deny", "deny a request", (ID, REASON)),
    Verb("checkpoint", "order:checkpoint", "keep the workspace as it is now",
         (_value("--name", "your own word for it, wherever an ID is asked for; it is never pruned", metavar="NAME"),
          _value("--note", "what for", default="", metavar="TEXT"), JSON)),
    Verb("checkpoints", "checkpoints:checkpoints", "every checkpoint there is",
         (_flag("--verify", "prove that every byte of each can be had"), JSON)),
    Verb("show", "checkpoints:show", "one checkpoint: where the work stood, what it holds and does not", (AT, JSON)),
    Verb("diff", "checkpoints:diff", "what changed since a checkpoint",
         (_value("--from", WHICH + "the last good one if not named", dest="from_", metavar="ID"),
          _value("--to", WHICH + "the present if not named", metavar="ID"), JSON)),
    Verb("rollback", "order:rollback", "take the work back to the last good checkpoint",
         (_value("--to", WHICH + "the last good one if not named", metavar="ID"),
          _value("--paths", "only these files and folders", nargs="+", metavar="P"),
          _flag("--keep-mine", "leave what you wrote since then in place"),
          _flag("--preview", "show what would go, and do nothing"), JSON)),
    Verb("undo", "order:undo", "take the last rollback back",
         (_flag("--redo", "do the undone rollback again"), JSON)),
    Verb("prune", "order:prune", "let go of old checkpoints and raw output that nothing needs",
         (_value("--keep", "what is younger stays; as the contract says if not named", metavar="30d"),
          _flag("--dry-run", "say what would go, and do nothing"), JSON)),
    Verb("export", "checkpoints:export", "a checkpoint's files as one commit, for elsewhere",
         (AT, _value("--bundle", "into a git bundle", metavar="FILE"),
          _value("--branch", "onto a branch of your repository, which is not checked out", metavar="NAME"), JSON)),
    Verb("audit", "audit:audit", "measure whether the checks catch incomplete work",
         (_value("--for", "how long; as the contract says if not named", dest="for_", metavar="10m"),
          _flag("--known", "measure nothing, say what is known"), JSON)),
    Verb("extend", "order:extend", "raise a ceiling",
         (_value("--dimension", f"which: {', '.join(Dimension)}", metavar="D", required=True),
          _value("--by", "by how much", metavar="N", required=True))),
    Verb("sandbox", "work:sandbox", "run any command, after --, exactly as a worker would be run",
          (_flag("--explain", "say what a worker could read, write and reach"),
          _flag("--yes", "copy files with a second name, however many"), JSON, _sandbox)),
    Verb("demo", "demo:demo", "copy a sample workspace somewhere fresh and run it",
         (_value("name", "which sample", nargs="?", default="csv_tool", metavar="NAME"), *RUN,
          _value("--into", "where to copy it", metavar="DIR"), _flag("--list", "name the samples")), takes_dir=False),
)  # fmt: skip
BY_NAME = {verb.name: verb for verb in VERBS}


def table() -> str:
    """The verbs as a Markdown table, for the README."""
    rows = [f"| `{verb.name}` | {verb.help} |" for verb in VERBS]
    return "\n".join(["| verb | does |", "|---|---|", *rows]) + "\n"
