"""Which files of a repository git may keep converted, although the result has just the size of the file.

Line ends and `$Id$` always change the size. What is left are filters and encodings, named by attributes; those are
asked for only where the word is in some file of attributes at all.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

from proctor.checkpoint.gitstate.places import content
from proctor.checkpoint.seed.origin import Origin
from proctor.checkpoint.store.hygiene import git_program
from proctor.checkpoint.store.plumbing import Git, joined, split
from proctor.trees import remove_tree

RULES = b".gitattributes"
_WORDS = ("filter", "working-tree-encoding")
_SAYS = re.compile("|".join(_WORDS).encode())
_SYSTEM = Path("/etc/gitattributes")
_NOTHING = (b"unspecified", b"unset")


def converted(git: Git, origin: Origin, paths: list[bytes]) -> set[bytes]:
    """Those of the paths of a workspace that attributes may have converted."""
    info, own, prefix = origin.common / "info" / "attributes", _own(), origin.prefix
    inside = (origin.top / os.fsdecode(name) for name in _rules(prefix, paths))
    if not any(_SAYS.search(content(place)) for place in (_SYSTEM, info, own, *inside)):
        return set()
    bare = git.gitdir / "attributes"
    remove_tree(bare)
    try:
        for folder in ("objects", "refs", "info"):
            (bare / folder).mkdir(parents=True)
        (bare / "HEAD").write_bytes(b"ref: refs/heads/none\n")
        (bare / "info" / "attributes").write_bytes(content(info))
        env = {"GIT_DIR": str(bare), "GIT_INDEX_FILE": str(bare / "index"), "GIT_ATTR_NOSYSTEM": "0"}
        said = git.run(
            "check-attr", "-z", "--stdin", *_WORDS, input=joined(prefix + path for path in paths),
            env=env, work=origin.top, config=(f"core.attributesFile={own}",),
        )  # fmt: skip
    finally:
        remove_tree(bare)
    words = split(said)
    return {path[len(prefix) :] for path, value in zip(words[::3], words[2::3], strict=True) if value not in _NOTHING}


def _own() -> Path:
    """The user's own file of attributes."""
    home = os.environ.get("HOME", "/nonexistent")
    xdg = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    ask = [git_program(), "config", "--global", "--type=path", "--get", "core.attributesFile"]
    env = {"HOME": home, "XDG_CONFIG_HOME": xdg, "GIT_DIR": os.devnull}
    said = subprocess.run(ask, cwd="/", env=env, capture_output=True, check=False).stdout.strip()
    return Path(os.fsdecode(said) or f"{xdg}/git/attributes")


def _rules(prefix: bytes, paths: list[bytes]) -> Iterator[bytes]:
    """The files of attributes that have a word on a folder of a repository and what is in it."""
    yield RULES
    at = prefix.find(b"/")
    while at >= 0:
        yield prefix[: at + 1] + RULES
        at = prefix.find(b"/", at + 1)
    if RULES in b"\0".join(paths):  # most often it is not, and this is quick
        yield from (prefix + path for path in paths if path.endswith(RULES))
