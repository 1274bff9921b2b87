"""The environment of git commands: nothing that a user, a system or a parent process configured reaches them."""

from __future__ import annotations

import functools
import os
import re
import subprocess
from pathlib import Path

from proctor.errors import Unrecoverable
from proctor.lookup import find_program, search_path

_CONFIG = {
    "core.bare": "true",
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.autocrlf": "false",
    "core.safecrlf": "false",
    "core.eol": "lf",
    "core.symlinks": "true",
    "core.fileMode": "true",
    "core.ignoreCase": "false",
    "core.precomposeUnicode": "false",
    "core.protectHFS": "false",
    "core.protectNTFS": "false",
    "core.sparseCheckout": "false",
    "core.splitIndex": "false",
    "core.checkStat": "default",
    "core.trustctime": "true",
    "core.preloadIndex": "true",
    "core.attributesFile": "/dev/null",
    "core.logAllRefUpdates": "false",
    "core.bigFileThreshold": "16m",
    "core.compression": "1",
    "core.fsync": "loose-object,pack,pack-metadata,reference",
    "core.fsyncMethod": "fsync",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "submodule.recurse": "false",
}


@functools.cache
def git_program() -> str:
    """The absolute path of git, looked up once; never one that lies in a workspace."""
    found = find_program("git")
    if found is None:
        raise Unrecoverable("git was not found on PATH; checkpoints need it: install git", "checkpoints")
    return os.path.realpath(found)


def environment(gitdir: Path, work: Path) -> dict[str, str]:
    """The whole environment of a command on a store: of the parent's, nothing but PATH and TMPDIR.

    An explicit GIT_DIR also keeps git from looking for repositories, and from caring who owns them.
    """
    who = {"NAME": "proctor", "EMAIL": "proctor@localhost"}
    return {
        **({"TMPDIR": os.environ["TMPDIR"]} if "TMPDIR" in os.environ else {}),
        "PATH": _safe_path(os.environ.get("PATH", os.defpath)),
        **_settings(*_homes()),
        **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()},
        "GIT_DIR": str(gitdir),
        "GIT_OBJECT_DIRECTORY": str(gitdir / "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": "",
        "GIT_WORK_TREE": str(work),
        "GIT_INDEX_FILE": str(gitdir / "index"),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_EDITOR": "true",
        "GIT_PAGER": "cat",
        "HOME": str(gitdir),
        "LC_ALL": "C",
    }


def forget_parent() -> None:
    """Drop the `GIT_*` of the parent from this process. GitPython hands them on and obeys some itself; nothing of
    proctor wants them."""
    for name in [name for name in os.environ if name.startswith("GIT_") and not name.startswith("GIT_PYTHON_")]:
        del os.environ[name]


def user_ignores() -> str:
    """The file with the user's own list of what no project keeps."""
    return _user_ignores(*_homes())


def _homes() -> tuple[str, str]:
    home = os.environ.get("HOME", "/nonexistent")
    return home, os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"


_safe_path = functools.cache(search_path)  # every folder above every folder of it is looked at


@functools.cache
def _settings(home: str, xdg: str) -> dict[str, str]:
    config = {**_CONFIG, "core.excludesFile": _user_ignores(home, xdg)}
    if _version() < (2, 36):
        config["core.fsyncObjectFiles"] = "true"
    pairs = {"GIT_CONFIG_COUNT": str(len(config))}
    for number, (key, value) in enumerate(config.items()):
        pairs |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return pairs


@functools.cache
def _user_ignores(home: str, xdg: str) -> str:
    ask = [git_program(), "config", "--global", "--type=path", "--get", "core.excludesFile"]
    env = {"HOME": home, "XDG_CONFIG_HOME": xdg, "PATH": search_path(), "GIT_DIR": os.devnull}
    said = subprocess.run(ask, cwd="/", env=env, capture_output=True, check=False).stdout.strip()
    path = os.fsdecode(said) or f"{xdg}/git/ignore"
    return path if os.path.isfile(path) else os.devnull


@functools.cache
def _version() -> tuple[int, ...]:
    said = subprocess.run([git_program(), "--version"], capture_output=True, check=False, env={}, cwd="/").stdout
    return tuple(int(part) for part in re.findall(rb"\d+", said)[:2])
