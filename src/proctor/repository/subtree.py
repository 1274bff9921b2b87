"""A folder of a repository as a repository of its own: its commit and its index, written by plumbing."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from proctor.checkpoint.record import is_below
from proctor.checkpoint.store.hygiene import git_program
from proctor.errors import UsageError
from proctor.repository.layout import Layout
from proctor.repository.source import Facts, borrowed, complaint, environment

_LEFT_OUT = (b"tree ", b"parent ", b"gpgsig ", b"gpgsig-sha256 ", b"mergetag ", b" ")
"""Headers of a commit that would be untrue of the new one; a line that begins with a blank goes on the one before."""


def tree_of(layout: Layout, facts: Facts) -> str:
    """The tree that HEAD has for the workspace; "" where it has none."""
    assert layout.git_dir is not None
    if not facts.head:
        return ""
    if not layout.prefix:
        whole = ["rev-parse", "--verify", f"{facts.head}^{{tree}}"]
        return _git(whole, environment(layout.git_dir, layout.top)).decode().strip()
    ask = ["ls-tree", "-z", "--full-tree", facts.head, "--", layout.prefix]
    about, _, _ = _git(ask, environment(layout.git_dir, layout.top)).partition(b"\t")
    kind, _, name = about.decode().partition(" tree ")
    return name if kind == "040000" else ""


def entries_below(entries: tuple[bytes, ...], prefix: str) -> tuple[bytes, ...]:
    """The lines of an index that are of the folder, with the folder taken off their paths."""
    start = os.fsencode(prefix) + b"/"
    found = (line.partition(b"\t") for line in entries)
    return tuple(about + b"\t" + path[len(start) :] for about, _, path in found if path.startswith(start))


def commit(layout: Layout, facts: Facts, tree: str, draft: Path) -> str:
    """Writes the commit that holds the tree alone, in the words of HEAD's, into the draft; its id.

    The same commit and tree give the same id.
    """
    assert layout.git_dir is not None
    assert layout.common is not None
    said = _git(["cat-file", "commit", facts.head], environment(layout.git_dir, layout.top))
    headers, _, message = said.partition(b"\n\n")
    kept: list[bytes] = []
    is_kept = False
    for line in headers.split(b"\n"):
        is_kept = not line.startswith(_LEFT_OUT) or (is_kept and line.startswith(b" "))
        kept += [line] if is_kept else []
    new = b"\n".join([f"tree {tree}".encode(), *kept]) + b"\n\n" + message
    env = _on(draft, layout, layout.common)
    return _git(["hash-object", "-t", "commit", "-w", "--literally", "--stdin"], env, new).decode().strip()


def without(layout: Layout, tree: str, hide: Sequence[str], draft: Path) -> str:
    """Writes what is left of a tree without the hidden paths into the draft; its id."""
    assert layout.common is not None
    env = _on(draft, layout, layout.common)
    _git(["read-tree", tree], env)
    named = _git(["ls-files", "-z", "--", *hide], {**env, "GIT_LITERAL_PATHSPECS": "1"})
    _git(["update-index", "--force-remove", "-z", "--stdin"], env, named)
    left = _git(["write-tree", "--missing-ok"], env).decode().strip()
    (draft / "index").unlink()
    return left


def pack(layout: Layout, commit: str, draft: Path) -> None:
    """Copies into the draft all that its commit ("" for none) and its index hold, so that nothing has to be borrowed.

    What the operator's repository lacks itself, as a partial clone may, is left out.
    """
    assert layout.common is not None
    words = ["pack-objects", "--revs", "--indexed-objects", "--missing=allow-any", "-q"]
    fed = f"{commit}\n".encode() if commit else b""
    _git([*words, str(draft / "objects" / "pack" / "pack")], _on(draft, layout, layout.common), fed)


def index(layout: Layout, entries: Sequence[bytes], draft: Path) -> None:
    """Writes an index with these lines into the draft; what is known of the files themselves is left to git inside."""
    assert layout.common is not None
    env = _on(draft, layout, layout.common)
    lines = [line.partition(b" ") for line in entries]
    _git(["update-index", "-z", "--index-info"], env, b"".join(rest + b"\0" for _, _, rest in lines))
    for option, marks in (("--skip-worktree", b"Ss"), ("--assume-unchanged", b"abcdefghijklmnopqrstuvwxyz")):
        paths = [rest.partition(b"\t")[2] for tag, _, rest in lines if tag in marks]
        if paths:
            _git(["update-index", option, "-z", "--stdin"], env, b"".join(path + b"\0" for path in paths))


def tracked(entries: Sequence[bytes], places: Sequence[str]) -> tuple[bytes, ...]:
    """The files of an index, by its lines, that are one of these places or lie in one."""
    tops = {os.fsencode(place) for place in places}
    paths = (line.partition(b"\t")[2] for line in (entries if tops else ()))
    return tuple(dict.fromkeys(path for path in paths if is_below(path, tops)))


def pass_over(layout: Layout, paths: Sequence[bytes], draft: Path) -> None:
    """Marks files of the draft's index as ones whose state in the workspace does not count."""
    assert layout.common is not None
    fed = b"".join(path + b"\0" for path in paths)
    _git(["update-index", "--skip-worktree", "-z", "--stdin"], _on(draft, layout, layout.common), fed)


def _on(draft: Path, layout: Layout, common: Path) -> dict[str, str]:
    """The environment for writing into the draft with the operator's objects at hand."""
    quoted = (str(folder).replace("\\", "\\\\").replace('"', '\\"') for folder in borrowed(common))
    return environment(
        draft,
        layout.workspace,
        GIT_OBJECT_DIRECTORY=str(draft / "objects"),
        GIT_ALTERNATE_OBJECT_DIRECTORIES=":".join(f'"{name}"' for name in quoted),
        GIT_INDEX_FILE=str(draft / "index"),
        GIT_CONFIG_GLOBAL=os.devnull,
        GIT_CONFIG_NOSYSTEM="1",
    )


def _git(words: Sequence[str], env: dict[str, str], fed: bytes = b"") -> bytes:
    done = subprocess.run([git_program(), *words], cwd="/", env=env, input=fed, capture_output=True, check=False)
    if done.returncode:
        raise UsageError(f"{env['GIT_DIR']}: git {words[0]}: {complaint(done.stderr)}")
    return done.stdout
