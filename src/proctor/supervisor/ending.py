"""How a session ends, and the exit code that says so."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.words import ExitCode, SessionStatus

FAULT = "error:fault"
"""The reason of a session that ended by a fault of proctor itself."""

_CODES = {
    "budget": ExitCode.BUDGET,
    "unpriced": ExitCode.BUDGET,
    "plateau": ExitCode.PLATEAU,
    "drift": ExitCode.BUDGET,
    "plan_rot": ExitCode.REQUEST_OPEN,
    "operator": ExitCode.OPERATOR,
    "dropped": ExitCode.OPERATOR,
    "no_tasks": ExitCode.OPERATOR,
    "error": ExitCode.UNRECOVERABLE,
    "disk": ExitCode.UNRECOVERABLE,
    "request": ExitCode.REQUEST_OPEN,
    "tampering": ExitCode.REQUEST_OPEN,
    "links": ExitCode.REQUEST_OPEN,
}


@dataclass(frozen=True, slots=True)
class Ending:
    """The session's last status and why."""

    status: SessionStatus
    why: str | None

    @property
    def code(self) -> ExitCode:
        """The exit code of `run --headless`: it follows the reason, whatever the action was."""
        return code_of(self.status, self.why)


def code_of(status: SessionStatus, why: str | None) -> ExitCode:
    """The exit code of a status and its reason; success only for `done`."""
    if status is SessionStatus.DONE:
        return ExitCode.DONE
    if why == FAULT:
        return ExitCode.FAULT
    return _CODES.get((why or "").partition(":")[0], ExitCode.FAULT)
