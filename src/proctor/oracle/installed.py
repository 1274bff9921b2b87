"""What is installed in a borrowed environment, told by a manifest: whether packages were changed in place.

A manifest has a line for every file and link: its size, its times and inode, the hash of its content (of a link, what
it points to), its path. Left out are compiled files, caches and the records of installers. To see what changed costs a
look at each file; a content is read only where size, times or inode are others, since the time of a content can be set
back, but not the time of the last change of the inode.

Packages come and go, and that is honest work: a file of a package that stands there in another version is not looked
at.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from proctor.oracle.frozen import digest_of

Look = tuple[int, int, int, int]
"""How a file looks without being read: size, time of its content, time of its inode, inode."""

_LEFT_OUT = re.compile(
    r"(?:^|/)(?:__pycache__|\.cache|\.vite|\.vitest|\.vite-temp|[^/]+\.(?:dist|egg)-info)/"
    r"|(?:^|/)(?:\.package-lock\.json|\.modules\.yaml|\.pnpm-workspace-state[^/]*\.json|\.yarn-(?:integrity|state\.yml)|\.lock)$"
    r"|^\.pnpm/lock\.yaml$"
)
_SITE = re.compile(r"lib(?:64)?/python[\d.]+t?/site-packages/")
_NODE_PACKAGE = re.compile(r".*node_modules/(?:@[^/]+/)?[^/]+(?=/)")
_MODULES = (".py", ".so", ".pyd", ".js", ".mjs", ".cjs", ".json", ".node")
_WHOLE = frozenset({"__init__", "index", "package"})


@dataclass(frozen=True, slots=True)
class Manifest:
    """An environment as it was: its files by path below it, and what tells the version of each package's files.

    `seen` is what this process has found to be as it was.
    """

    files: Mapping[str, tuple[Look, str]]
    versions: Mapping[str, str]
    seen: dict[str, Look] = field(default_factory=dict)


def encode(environment: Path) -> bytes:
    """The manifest of an environment as it is."""
    lines, versions = [], _versions(environment)
    for path, status in _files(environment):
        look, digest = _look(status), _digest(f"{environment}/{path}", status)
        lines.append(f"{' '.join(map(str, look))} {digest} {path}")
    return "\0".join([json.dumps(versions, sort_keys=True), *sorted(lines)]).encode("utf-8", "surrogateescape")


def decode(data: bytes) -> Manifest:
    head, *lines = data.decode("utf-8", "surrogateescape").split("\0")
    files = {}
    for line in lines:
        size, content, inode, number, digest, path = line.split(" ", 5)
        files[path] = (int(size), int(content), int(inode), int(number)), digest
    return Manifest(files, json.loads(head))


def changed(environment: Path, before: Manifest) -> Iterator[str]:
    """Paths below an environment that were changed, removed or shadowed in a package that is still the same version."""
    gone = set(before.files)
    names: set[str] | None = None
    for path, status in _files(environment):
        gone.discard(path)
        known, look = before.files.get(path), _look(status)
        if known is None:
            names = names if names is not None else {_imported(old) for old in before.files}
            if path.endswith(_MODULES) and _imported(path) in names and _is_there(environment, path, before):
                yield path
        elif look not in (known[0], before.seen.get(path)):
            if _digest(f"{environment}/{path}", status) == known[1]:
                before.seen[path] = look
            elif _is_there(environment, path, before):
                yield path
    yield from (path for path in gone if _is_there(environment, path, before))


def _is_there(environment: Path, path: str, before: Manifest) -> bool:
    """Whether the package that a file is of stands there in the version that it had."""
    package = _package(path)
    version = before.versions.get(package)
    if version is None:
        return True
    if _SITE.match(package):
        return all((environment / record).is_dir() for record in version.split("\n"))
    return _node_version(environment / package) == version


def _package(path: str) -> str:
    """What of an environment is installed as one: below site-packages a name, in node_modules a folder."""
    if site := _SITE.match(path):
        return site[0] + path[site.end() :].partition("/")[0]
    found = _NODE_PACKAGE.match("node_modules/" + path)
    return found[0].removeprefix("node_modules/") if found else ""


def _versions(environment: Path) -> dict[str, str]:
    """For each package what tells its version: the records of its distributions, or what its package.json says."""
    found: dict[str, set[str]] = {}
    for record in environment.glob("lib*/python*/site-packages/*.dist-info/RECORD"):
        site = record.parent.parent.relative_to(environment)
        with open(record, encoding="utf-8", errors="surrogateescape") as lines:
            tops = {line.partition(",")[0].partition("/")[0] for line in lines}
        for top in tops - {"..", record.parent.name}:
            found.setdefault(f"{site}/{top}", set()).add(f"{site}/{record.parent.name}")
    versions = {package: "\n".join(sorted(records)) for package, records in found.items()}
    if environment.name == "node_modules":
        for path, _ in _files(environment):
            package = _package(path)
            if path == f"{package}/package.json":
                versions[package] = _node_version(environment / package)
    return versions


def _node_version(package: Path) -> str:
    try:
        place = package / "package.json"
        if not place.is_file():
            return ""
        with place.open("rb") as file:
            said = json.loads(file.read(1 << 20))
        return str(said.get("version", "")) if isinstance(said, dict) else ""
    except (OSError, ValueError, RecursionError):
        return ""


def _imported(path: str) -> str:
    """What a file is imported as: its path without its suffix, or its folder."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return folder if stem in _WHOLE else f"{folder}/{stem}"


def _files(environment: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The files and links of an environment that a manifest is of; what cannot be read is not there."""
    folders = [""]
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(f"{environment}/{folder}") as entries:
                for entry in entries:
                    path = f"{folder}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        if not _LEFT_OUT.search(path + "/"):
                            folders.append(path + "/")
                    elif not _LEFT_OUT.search(path):
                        status = entry.stat(follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode):
                            yield path, status
        except OSError:
            continue


def _look(status: os.stat_result) -> Look:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _digest(path: str, status: os.stat_result) -> str:
    """The hash of a content, of a link what it points to; that of nothing where it cannot be read."""
    try:
        if stat.S_ISLNK(status.st_mode):
            return hashlib.sha256(os.fsencode(os.readlink(path))).hexdigest()
        return digest_of(path)
    except OSError:
        return "unreadable"
