"""What a checkpoint keeps of a workspace, by the contract: patterns and limits."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Keep:
    """`include` and `exclude` are patterns as in `.gitignore`: ignored files kept all the same, files never kept.

    Bytes: `max_file` of one file, `max_ignored_file` of one ignored file that no pattern includes, `max_total` of
    what one checkpoint adds. `max_ignored` counts such ignored files, `max_files` the files of a workspace without
    git that are taken in without asking.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    max_file: int = 64 << 20
    max_total: int = 2 << 30
    max_ignored_file: int = 1 << 20
    max_ignored: int = 2_000
    max_files: int = 300_000


DEFAULT = Keep()
