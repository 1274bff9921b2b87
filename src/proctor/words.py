"""The vocabulary of `proctor`: every word that a row, a screen or a command line may hold.

The values are stable: users, samples and probes rely on them. Nothing here has behaviour.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class SessionStatus(StrEnum):
    """The one status word of a session, the same on every surface."""

    RUNNING = "running"
    ASKING = "asking"
    WAITING = "waiting"
    PAUSED = "paused"
    PLATEAU = "plateau"
    PARKED = "parked"
    STOPPED = "stopped"
    FAILED = "failed"
    DONE = "done"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"


class TaskStatus(StrEnum):
    """`failed` is still selected, `blocked` is not, `review` needs a person."""

    PENDING = "pending"
    DONE = "done"
    FAILED = "failed"
    BLOCKED = "blocked"
    REVIEW = "review"


OWN_TESTS = "by tests that the worker wrote"
"""What the reason of a pass says where nothing else decided it."""
DROPPED = "dropped by the operator"
"""Why a task is blocked that nobody wants any more."""
STANDS = {
    TaskStatus.DONE: "passed",
    TaskStatus.BLOCKED: "set aside",
    TaskStatus.REVIEW: "needs you",
    TaskStatus.PENDING: "open",
    TaskStatus.FAILED: "open",
}
"""Where a task stands, in words."""


class Verdict(StrEnum):
    """What a check said; only `passed` proves anything."""

    PASSED = "passed"
    FAILED = "failed"
    TIMEOUT = "timeout"
    INFRA = "infra"
    UNSTABLE = "unstable"
    VACUOUS = "vacuous"


class Phase(StrEnum):
    """When a check ran: before the work, after it, once more to confirm a pass, before a worker starts, again on a
    verified task, or after the last task. Only the first two say anything of a task's progress."""

    BASELINE = "baseline"
    WORK = "work"
    REPEAT = "repeat"
    SMOKE = "smoke"
    REGRESSION = "regression"
    FINAL = "final"


class RequestOutcome(StrEnum):
    GRANTED = "granted"
    DENIED = "denied"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    WITHDRAWN = "withdrawn"


class RequestKind(StrEnum):
    """What waits for the operator."""

    TOOL = "tool"
    HOST = "host"
    EXTENSION = "extension"
    PLATEAU = "plateau"
    TAMPERING = "tampering"
    REVIEW = "review"
    LINKS = "links"
    EXPOSED = "exposed"
    CONFLICT = "conflict"
    PLAN_ROT = "plan_rot"


class Certainty(StrEnum):
    """Of a checkpoint: taken from the list of changes alone, or held against a walk of the whole tree."""

    PROVISIONAL = "provisional"
    CONFIRMED = "confirmed"


class Source(StrEnum):
    """Where a figure came from; `unknown` is never shown as zero."""

    MEASURED = "measured"
    REPORTED = "reported"
    ESTIMATED = "estimated"
    UNKNOWN = "unknown"


class Dimension(StrEnum):
    """What a budget counts. Units: milliseconds, tokens, micro-dollars, bytes, or plain counts."""

    WALL_CLOCK = "wall_clock"
    ELAPSED = "elapsed"
    TOKENS = "tokens"
    PREFIX_TOKENS = "prefix_tokens"
    GENERATED_TOKENS = "generated_tokens"
    COST = "cost"
    TOOL_CALLS = "tool_calls"
    ITERATIONS = "iterations"
    FILES_TOUCHED = "files_touched"
    LINES_CHANGED = "lines_changed"
    BYTES_WRITTEN = "bytes_written"


class Api(StrEnum):
    """What a model is asked through. `other` is any path that is no model call."""

    MESSAGES = "messages"
    COUNT_TOKENS = "count_tokens"
    RESPONSES = "responses"
    CHAT = "chat"
    GEMINI = "gemini"
    OTHER = "other"


class CallEnd(StrEnum):
    """How a model call ended. Only `answered` and `cut` can cost something."""

    ANSWERED = "answered"
    CUT = "cut"
    FAILED = "failed"
    REFUSED = "refused"
    LOST = "lost"


class Level(StrEnum):
    """How near a dimension is to its ceiling."""

    OK = "ok"
    ALERT = "alert"
    SOFT = "soft"
    HARD = "hard"


class Exhaustion(StrEnum):
    """What happens at a hard ceiling."""

    STOP = "stop"
    PARK = "park"
    ESCALATE = "escalate"
    DEGRADE = "degrade"


class AtSoft(StrEnum):
    """What a soft ceiling changes."""

    NARROW = "narrow"
    SKIP_OPTIONAL_CHECKS = "skip_optional_checks"
    NO_NEW_TASKS = "no_new_tasks"
    CHEAPER_MODEL = "cheaper_model"


class Rule(StrEnum):
    """The plateau rules, by their contract key."""

    NO_CHANGE = "no_change"
    SHRINKING = "shrinking"
    SAME_FAILURE = "same_failure"
    REVISIT = "revisit"
    NO_OP = "no_op"
    STALLED = "stalled"


class LoopRule(StrEnum):
    """The rules inside an iteration, by their contract key."""

    SAME_CALL = "same_call"
    SAME_ERROR = "same_error"
    CYCLE = "cycle"
    SAME_DENIAL = "same_denial"


class Drift(StrEnum):
    """The seven ways in which a long run rots."""

    PREMATURE_VICTORY = "premature_victory"
    PLAN_ROT = "plan_rot"
    STATE_POLLUTION = "state_pollution"
    TEST_GAMING = "test_gaming"
    TUNNEL_VISION = "tunnel_vision"
    SILENT_REGRESSION = "silent_regression"
    BUDGET_RUNAWAY = "budget_runaway"


class Light(StrEnum):
    QUIET = "quiet"
    SUSPECT = "suspect"
    FIRING = "firing"


class Response(StrEnum):
    """The contract's answer to a fired plateau; never "again"."""

    NARROW = "narrow"
    BLOCK = "block"
    ESCALATE = "escalate"
    PARK = "park"
    STOP = "stop"


class CheckpointKind(StrEnum):
    """Why a checkpoint was taken; `safety` ones are never "last good"."""

    START = "start"
    TASK = "task"
    ASKED = "asked"
    SAFETY = "safety"
    END = "end"


class TamperKind(StrEnum):
    """What was undone for a verdict."""

    CHANGED = "changed"
    ADDED = "added"
    INSTALLED = "installed"
    SHADOWS = "shadows"
    RUNNER = "runner"


RULES = {
    Rule.NO_CHANGE: "no check changed its answer",
    Rule.SHRINKING: "each change is smaller than the one before",
    Rule.SAME_FAILURE: "the same failure comes back",
    Rule.REVISIT: "the work returns to where it was",
    Rule.NO_OP: "iterations change nothing",
    Rule.STALLED: "no task moves",
}
"""What each plateau rule saw, in words."""


class Gaming(StrEnum):
    """What a change does to checks instead of to the work."""

    SKIP = "skip"
    ASSERTION = "assertion"
    MASKED = "masked"
    EXIT = "exit"
    EQUAL = "always_equal"
    SNIFFING = "sniffing"
    LITERAL = "literal"
    UNREAD = "unread"


class Weight(StrEnum):
    """What a finding is worth: `tampering` is answered as the contract says, `suspicion` is shown."""

    TAMPERING = "tampering"
    SUSPICION = "suspicion"


class IterationEnd(StrEnum):
    """How an iteration's worker ended; never evidence of success."""

    EXITED = "exited"
    DIED = "died"
    START_FAILED = "start_failed"
    IDLE = "idle"
    BUDGET = "budget"
    OPERATOR = "operator"
    LINGERED = "lingered"
    INTERRUPTED = "interrupted"
    UNCOVERED = "uncovered"
    SUSPENDED = "suspended"
    LOOPING = "looping"


class Step(StrEnum):
    """The seven steps of the one loop, in order."""

    LOAD = "load"
    SELECT = "select"
    RESERVE = "reserve"
    ACT = "act"
    JUDGE = "judge"
    COMMIT = "commit"
    DECIDE = "decide"


class ExitCode(IntEnum):
    """Exit codes of `run --headless`; they follow the reason, whatever the action was."""

    DONE = 0
    FAULT = 1
    USAGE = 2
    BUDGET = 3
    PLATEAU = 4
    UNRECOVERABLE = 5
    REQUEST_OPEN = 6
    OPERATOR = 130
