"""What a whole session, and going back and forth in it afterwards, leave of the operator's repository: all of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from checkpoint.photo import git, photograph, write
from harness import Workspace

Make = Callable[..., Workspace]


def picture(work: Path) -> dict[bytes, object]:
    """The git folder but for the session's branch and the objects that are its commits."""
    seen = photograph(work / ".git").items()
    return {path: what for path, what in seen if not path.startswith((b"objects", b"refs/heads/proctor"))}


def test_refs_index_settings_hooks_stash_and_reflog_are_as_they_were(sample: Make) -> None:
    workspace = sample("csv_tool")
    work = workspace.path
    workspace.contract("  commits: none\n", "")
    git(work, "init", "-q", "-b", "trunk")
    git(work, "add", ".")
    git(work, "commit", "-qm", "one")
    write(work / "notes", "stashed\n")
    git(work, "stash", "--include-untracked")
    write(work / "staged", "staged\n")
    git(work, "add", "staged")
    write(work / ".git/hooks/reference-transaction", "#!/bin/sh\nexit 1\n", 0o755)
    before = picture(work)
    code, output = workspace.finish("--yes", "--once")
    assert code == 130, output
    assert workspace.rows("task_done")
    assert picture(work) == before
    assert git(work, "ls-files", "--modified", "src")
    files = {path: path.read_bytes() for path in (work / "src").rglob("*.py")}

    workspace.proctor("rollback", "--to", "c1", check=True)
    assert git(work, "ls-files", "--modified", "src") == ""
    git(work, "-c", "core.hooksPath=/dev/null", "gc", "-q", "--prune=now")
    after = picture(work)
    workspace.proctor("undo", check=True)
    assert {path: path.read_bytes() for path in files} == files
    workspace.proctor("prune", "--keep", "1s", check=True)
    workspace.proctor("undo", "--redo", check=True)
    assert git(work, "ls-files", "--modified", "src") == ""
    assert picture(work) == after
    assert git(work, "stash", "list").count("\n") == 1
    assert git(work, "fsck", "--strict", "--no-dangling") == ""
