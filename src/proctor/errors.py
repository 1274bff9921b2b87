"""Errors with an exit code and one sentence for a person: raised low, shown once, at the edge."""

from __future__ import annotations

import errno

from proctor.words import ExitCode


class ProctorError(Exception):
    """Something a person can act on. `str()` is one line: what, where, what to do."""

    exit_code: ExitCode = ExitCode.FAULT


class UsageError(ProctorError):
    """The command line, the contract or the workspace files are not usable as they are."""

    exit_code = ExitCode.USAGE


class Unrecoverable(ProctorError):
    """The session cannot go on here: workspace gone, disk full, journal corrupt, sandbox refused.

    `word` is the last part of the session's `why`: `error:WORD`.
    """

    exit_code = ExitCode.UNRECOVERABLE

    def __init__(self, sentence: str, word: str) -> None:
        super().__init__(sentence)
        self.word = word


def is_full(error: BaseException) -> bool:
    """Whether something failed for want of room on a disk."""
    if isinstance(error, Unrecoverable):
        return error.word == "disk"
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
