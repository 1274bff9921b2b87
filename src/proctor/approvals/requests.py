"""What a request is about: the part of a tool's input that rules, counts and screens look at. All of it is foreign."""

from __future__ import annotations

import contextlib
import hashlib
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec

from proctor.approvals import shell
from proctor.approvals.globs import HOLE, words
from proctor.approvals.reading import Reading, harmless
from proctor.journal.state import RequestState
from proctor.words import RequestOutcome

SHELL = "shell"
READ = "read"
WRITE = "write"
HOST = "host"
FETCH = "fetch"

_SYNONYMS = {"edit": WRITE}
_COMMAND = ("command", "cmd", "script")
_FOLDER = ("cwd", "workdir", "working_dir", "directory", "dir_path")
_PATHS = words(
    """path paths file files file_path filePath filepath filename notebook_path absolute_path abs_path move_path
    old_path new_path source destination dir_path"""
)
_PATCHES = frozenset({"patch", "diff", "input", "patch_text", "patchText", "unified_diff"})
_IN_PATCH = re.compile(
    r"^(?:[ \t]*\*\*\*[ \t]*(?:(?:Add|Update|Delete) File|Move to):|\+\+\+ (?:b/)?|--- (?:a/)?)(.+)",
    re.MULTILINE,
)
_ENVIRONMENT = words("env envs environment environ env_vars envVars environment_variables environmentVariables")
_OTHERWISE = words("shell executable interpreter stdin")
"""What makes a command another one than it says: the program that reads it, and what that reads."""
UNSURE = "perhaps more"
"""Among the parts of a line that cannot be read to its end."""
_REMARKS = frozenset({"description", "justification", "reason", "timeout", "timeout_ms", "yield_time_ms"})
"""What a worker says about a call or how long it may take: another word makes no other request."""
CUT = "…"
"""What ends a text, or stands in a list, of which a part was left out."""
_DEEPEST = 8
_MOST_PATHS = 1_000
_LONGEST = 1 << 16
"""Characters of all paths of an input together."""


def canonical(tool: str) -> str:
    """The one name of a tool that has several."""
    return _SYNONYMS.get(tool, tool)


def command(given: Mapping[str, Any]) -> str | tuple[str, ...] | None:
    """The command of a shell call: a line, or words that no shell sees; None where it has none."""
    for key in _COMMAND:
        value = given.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list | tuple) and all(isinstance(part, str) for part in value):
            return tuple(value)
    return None


def folders(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The folders that a shell call names to be run in: which of them counts is the agent's to know."""
    return tuple(value for key in _FOLDER if isinstance(value := given.get(key), str) and value)


def elsewhere(given: Mapping[str, Any], workspace: str) -> str | None:
    """The folder that a shell call is to be run in, if it is not the workspace's own."""
    own = (".", workspace.rstrip("/"))
    return next((where for where in folders(given) if (where.rstrip("/") or "/") not in own), None)


def variables(given: Mapping[str, Any]) -> tuple[str, ...]:
    """The variables that a shell call sets beside its command, and what else there makes it another one."""
    found = [f"{key}: {value}" for key in _OTHERWISE if (value := given.get(key)) not in (None, "", False)]
    for value in (given[key] for key in _ENVIRONMENT if given.get(key)):
        if isinstance(value, Mapping):
            found += [f"{name}={text}" for name, text in value.items()]
            continue
        for one in value if isinstance(value, list | tuple) else (value,):
            named = isinstance(one, Mapping) and "name" in one
            found.append(f"{one['name']}={one.get('value', '')}" if named else str(one))
    return tuple(sorted(found))


def reading(given: Mapping[str, Any], elsewhere: bool = False) -> Reading | None:
    """What a shell call comes to, with the variables that stand beside its command; None where it has none.
    `elsewhere`: it does not run in the workspace's folder."""
    if (said := command(given)) is None:
        return None
    found = shell.read(said, elsewhere) if isinstance(said, str) else shell.read_words(said, elsewhere)
    if beside := variables(given):
        fine = harmless(beside)
        found.commands = [
            replace(one, prefix=(*beside, *one.prefix), harmless=one.harmless and fine) for one in found.commands
        ]
    return found


def paths(given: Mapping[str, Any]) -> tuple[str, ...]:
    """Every path that an input names, those in its patches too. ValueError where not all of them can be judged."""
    found: dict[str, None] = {}
    for path in _paths(given, 0):
        found[path] = None
        if len(found) > _MOST_PATHS or sum(map(len, found)) > _LONGEST or path.endswith(CUT):
            raise ValueError("not every path is known")
    return tuple(found)


def _paths(value: Any, depth: int) -> Iterator[str]:
    if depth > _DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, Mapping):
        for key, one in value.items():
            if key in _PATHS and isinstance(one, str):
                yield one
            elif (key in _PATHS or key == "include") and isinstance(one, list | tuple):
                yield from (part for part in one if isinstance(part, str))
                yield from _paths([part for part in one if not isinstance(part, str)], depth + 1)
            elif key in _PATCHES and isinstance(one, str):
                named = (match[1].strip() for match in _IN_PATCH.finditer(one))
                yield from (path for path in named if path not in ("", "/dev/null"))
            elif key == "changes" and isinstance(one, Mapping):
                yield from map(str, one)
                yield from _paths(list(one.values()), depth + 1)
            else:
                yield from _paths(one, depth + 1)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _paths(part, depth + 1) if part != CUT else (CUT,)


def spellings(path: str, workspace: str) -> tuple[str, ...]:
    """A path as it really is, seen from the workspace's folder and from the root."""
    absolute = posixpath.normpath(posixpath.join(workspace or "/", path))
    if absolute.startswith("//"):
        absolute = absolute[1:]
    if not workspace:
        return (posixpath.normpath(path) if path else path,)
    if absolute == workspace or absolute.startswith(f"{workspace}/"):
        return posixpath.relpath(absolute, workspace), absolute
    return (absolute,)


def hosts(given: Mapping[str, Any]) -> tuple[str, ...]:
    """A host as it may be named: alone, and with its port."""
    host = str(given.get("host", "")).lower().removesuffix(".")
    return (host, f"{host}:{given['port']}") if "port" in given else (host,)


def argument(tool: str, given: Mapping[str, Any]) -> str:
    """The one text that stands for an input: its command, its paths, its host or address, or all of it."""
    if canonical(tool) == SHELL and (said := command(given)) is not None:
        return said if isinstance(said, str) else " ".join(said)
    if tool == HOST:
        return hosts(given)[-1]
    known: tuple[str, ...] = (*_COMMAND, "url", "query", "pattern", "host")
    if tool == FETCH:
        known = ("url", "query")
    else:
        with contextlib.suppress(ValueError):
            if named := paths(given):
                return " ".join(named)
    for key in known:
        if isinstance(value := given.get(key), str):
            return value
    return msgspec.json.encode(given).decode() if given else ""


def parts(tool: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """What one call would do: the commands that a line runs and the files it writes, or every path that it names."""
    if canonical(tool) != SHELL or (found := reading(given)) is None:
        try:
            return paths(given)
        except ValueError:
            return (argument(tool, given),)
    runs = [
        " ".join((*one.prefix, *one.words)) for one in found.every() if not (one.free and one.runs and one.harmless)
    ]
    runs += [f"writes {path}" for path in found.writes]
    if not found.sure:
        runs.append(UNSURE)
    return tuple(dict.fromkeys(one.replace(HOLE, CUT) for one in runs))


def identity(tool: str, given: Mapping[str, Any]) -> tuple[str, str]:
    """Equal for two requests that ask for the same."""
    tool = canonical(tool)
    if tool == SHELL and (said := command(given)) is not None:
        return tool, msgspec.json.encode([said, folders(given), variables(given)]).decode()
    if tool == HOST:
        return tool, hosts(given)[-1]
    meant = {key: value for key, value in given.items() if key not in _REMARKS}
    return tool, msgspec.json.encode(meant, order="sorted").decode()


def digest(tool: str, given: Mapping[str, Any]) -> str:
    """The same for two requests that ask for the same, however large they are."""
    return hashlib.sha256(repr(identity(tool, given)).encode("utf-8", "replace")).hexdigest()[:32]


def alike(requests: Iterable[RequestState], wanted: str) -> tuple[RequestState, ...]:
    """Those requests that have this digest, oldest first."""
    return tuple(
        one
        for one in requests
        if one.opened.tool and (one.opened.digest or digest(one.opened.tool, one.opened.input)) == wanted
    )


def denials(requests: Iterable[RequestState]) -> tuple[RequestState, ...]:
    """Those requests that were denied, by whomever."""
    return tuple(one for one in requests if one.outcome is RequestOutcome.DENIED)
