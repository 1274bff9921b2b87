"""Which programs send a session's notices: those that no worker could have written."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path, PurePath

from proctor.notify import Channels
from proctor.repository import executed


def without(channels: Channels, exposed: Collection[str], workspace: Path) -> Channels:
    """The channels without commands that run what lies at or below `exposed` paths of the workspace."""
    sound = [command for command in channels.commands if not exposed or _run_by(command, workspace).isdisjoint(exposed)]
    return replace(channels, commands=tuple(sound))


def _run_by(command: tuple[str, ...], workspace: Path) -> set[str]:
    paths = executed.by_commands([command], workspace.resolve())
    return set().union(*(_above(path) for path in (command[0], *paths)))


def _above(program: str) -> set[str]:
    """A path of the workspace and the folders above it."""
    place = PurePath(os.path.normpath(program))
    return {str(path) for path in (place, *place.parents)}
