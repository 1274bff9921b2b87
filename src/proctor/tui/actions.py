"""What an operator can do, as plain data: one row an action, shared by keys, footer, palette, help and command line.

An action is offered when everything it needs holds (`proctor.tui.view.holding` says what holds). Letters come
first; an upper-case letter weighs more.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Need(StrEnum):
    """What must hold here and now."""

    SESSION = "a session exists"
    NO_SESSION = "there is no session yet"
    SUPERVISOR = "its supervisor is up"
    MOVING = "the session is going on"
    RESUMABLE = "the session rests and can go on"
    UNFINISHED = "the session is not done"
    AT_CEILING = "a ceiling stopped it"
    GOOD = "there is a good checkpoint"
    UNDO = "there is a rollback to undo"
    REDO = "there is an undone rollback"
    SHOWN = "a request is on the screen"
    WAITING = "a request waits, shown or folded away"
    ANOTHER = "another request waits"
    LOG_HELD = "the log is held"
    LOG_FOLLOWING = "the log follows"
    WARNED = "there are warnings with paths"
    TABS = "the panels are tabs"


@dataclass(frozen=True, slots=True)
class Action:
    """`verb` names it for keymaps, `key` is its key, `label` the footer's word, `help` one sentence.

    `rank` orders the footer (low stays longest; None: not in the footer), `cli` is the command that does the same,
    without `proctor`; the screen's own business has none.
    """

    verb: str
    key: str
    label: str
    help: str
    needs: tuple[Need, ...] = ()
    rank: int | None = None
    cli: str = ""


ACTIONS: tuple[Action, ...] = (
    Action("help", "?", "help", "What every key does here and now.", rank=1),
    Action("palette", ":", "palette", "Find an action by typing its name.", rank=11),
    # --- requests
    Action("approve", "a", "allow", "Grant the request that is shown.", (Need.SHOWN,), cli="approve --id ID"),
    Action("approve_as", "A", "allow changed …", "Grant it, changed or with a word to the worker.", (Need.SHOWN,),
           cli="approve --id ID --reason TEXT"),
    Action("deny", "d", "deny", "Deny the request that is shown.", (Need.SHOWN,), cli="deny --id ID"),
    Action("deny_why", "D", "deny, saying …", "Deny it with a reason that reaches the worker.", (Need.SHOWN,),
           cli="deny --id ID --reason TEXT"),
    Action("inspect", "i", "inspect", "Show the whole request.", (Need.SHOWN,), cli="approvals"),
    Action("minimise", "m", "minimise", "Fold the request away, which keeps waiting; or unfold it.", (Need.WAITING,)),
    Action("next", "n", "next", "The request that waits longest, then the next.", (Need.ANOTHER,), rank=0),
    # --- going on and stopping
    Action("run", "p", "run", "Start the session that the contract describes.", (Need.NO_SESSION,), rank=2, cli="run"),
    Action("resume", "p", "go on", "Go on; after a plateau its counters start anew.", (Need.RESUMABLE,), rank=2,
           cli="resume"),
    Action("pause", "p", "pause", "Freeze the worker, or start none.", (Need.SUPERVISOR, Need.MOVING), rank=5,
           cli="pause"),
    Action("extend", "e", "extend …", "Raise the ceiling that was reached.", (Need.AT_CEILING,), rank=3,
           cli="extend --dimension D --by N"),
    Action("note", "N", "note …", "A word for the worker's next brief.", (Need.SESSION, Need.UNFINISHED), rank=13,
           cli="note TEXT"),
    Action("fresh", "F", "fresh worker", "End this worker; a new one starts from the brief.",
           (Need.SUPERVISOR, Need.MOVING), rank=15, cli="fresh"),
    Action("park", "P", "park", "Stop cleanly, to be resumed.", (Need.SUPERVISOR, Need.UNFINISHED), rank=12,
           cli="park"),
    Action("stop", "S", "stop", "End the session; press twice.", (Need.SUPERVISOR,), rank=8, cli="stop"),
    # --- the work
    Action("rollback", "R", "back", "Give back the last good state; now is kept.", (Need.GOOD,),
           cli="rollback"),
    Action("undo", "u", "undo", "Take the rollback back.", (Need.UNDO,), cli="undo"),
    Action("redo", "U", "redo", "Do the undone rollback again.", (Need.REDO,), cli="undo --redo"),
    Action("checkpoint", "c", "checkpoint", "Keep the workspace as it is now.", (Need.SESSION,), rank=10,
           cli="checkpoint"),
    Action("diff", "v", "diff", "What changed since the last good checkpoint.", (Need.GOOD,), rank=9, cli="diff"),
    Action("budget", "b", "budget", "Every dimension in full.", (Need.SESSION,), rank=10, cli="status"),
    Action("lights", "l", "drift", "Plateau and the lights of drift, and why each is as it is.", (Need.SESSION,),
           rank=18, cli="drift"),
    Action("warnings", "w", "warnings", "Every path that a warning is about, and why.", (Need.WARNED,), rank=14,
           cli="status"),
    Action("checks", "o", "checks", "How much the checks catch, and what nothing verifies.", (Need.SESSION,), rank=18,
           cli="audit --known"),
    # --- the screen
    Action("hold", "f", "hold log", "Hold the log where it is; new lines are counted.",
           (Need.SESSION, Need.LOG_FOLLOWING), rank=16),
    Action("follow", "f", "follow log", "Follow the log again.", (Need.SESSION, Need.LOG_HELD), rank=12),
    Action("copy", "y", "copy", "Copy the request or the newest log lines.", (Need.SESSION,), rank=17),
    Action("tab_1", "1", "show tasks", "Show the tasks.", (Need.SESSION, Need.TABS)),
    Action("tab_2", "2", "show worker", "Show the worker's log.", (Need.SESSION, Need.TABS)),
    Action("tab_3", "3", "show budget", "Show the budget.", (Need.SESSION, Need.TABS)),
    Action("quit", "q", "leave", "Leave the screen. `proctor attach` shows it again.", rank=4),
)  # fmt: skip
BY_VERB = {action.verb: action for action in ACTIONS}


def offered(verb: str, holding: frozenset[Need]) -> bool:
    """Whether the action can be done now."""
    return holding.issuperset(BY_VERB[verb].needs)
