"""What other agents run for a checkpoint, command by command, as their published source says.

Their clean-up, their locks and their own languages are left out: what is timed is git. `seeded` spares those that
begin with an empty repository the minute that reading 100,000 files takes: they get the user's packs and an index of
HEAD first, which makes nothing that is timed slower.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from subprocess import CalledProcessError

from trees import run


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace, and a folder for what a peer keeps beside it."""

    workspace: Path
    beside: Path

    def git(self, *words: str, env: dict[str, str] | None = None, input: bytes | None = None) -> bytes:
        return run(self.workspace, "git", *words, env=env, input=input)

    def word(self, *words: str, env: dict[str, str] | None = None) -> str:
        return self.git(*words, env=env).decode().strip()

    def seed(self, gitdir: Path) -> None:
        """The user's packs, and an index of HEAD that knows the files' status."""
        for pack in (self.workspace / ".git/objects/pack").iterdir():
            os.link(pack, gitdir / "objects/pack" / pack.name)
        env = {"GIT_DIR": str(gitdir), "GIT_WORK_TREE": str(self.workspace)}
        self.git("read-tree", self.word("rev-parse", "HEAD"), env=env)
        self.git("update-index", "-q", "--refresh", env=env)


# --- opencode: anomalyco/opencode, packages/core/src/git.ts (create, refresh, captureTree) ------------------


def _opencode(place: Place, *words: str, input: bytes | None = None) -> bytes:
    beside = ("--git-dir", str(place.beside), "--work-tree", str(place.workspace))
    return place.git(*beside, *words, input=input)


def opencode_begins(place: Place) -> None:
    place.git("init", "-q", env={"GIT_DIR": str(place.beside), "GIT_WORK_TREE": str(place.workspace)})
    for name, value in (
        ("core.autocrlf", "false"),
        ("core.longpaths", "true"),
        ("core.symlinks", "true"),
        ("core.fsmonitor", "false"),
        ("feature.manyFiles", "true"),
        ("index.version", "4"),
        ("index.threads", "true"),
        ("core.untrackedCache", "true"),
    ):
        _opencode(place, "config", name, value)
    (place.beside / "objects/info/alternates").write_text(f"{place.workspace}/.git/objects\n")
    shutil.copyfile(place.workspace / ".git/index", place.beside / "index")


def opencode(place: Place) -> None:
    listings = (
        ("diff-files", "--name-only", "-z", "--", "."),
        ("ls-files", "--others", "--exclude-standard", "-z", "--", "."),
    )
    with ThreadPoolExecutor(2) as pool:
        changed, new = pool.map(lambda words: _opencode(place, *words), listings)
    if changed or new:
        asked = "git check-ignore --no-index --stdin -z || test $? = 1"  # 1 for none
        if run(place.workspace, "sh", "-c", asked, input=changed + new):
            raise AssertionError("no file of these trees is ignored")
        for path in new.split(b"\0")[:-1]:
            os.stat(os.path.join(os.fsencode(place.workspace), path))
        staged = ("add", "--all", "--sparse", "--pathspec-from-file=-", "--pathspec-file-nul")
        _opencode(place, *staged, input=changed + new)
    _opencode(place, "write-tree")


# --- Gemini CLI: google-gemini/gemini-cli, packages/core/src/services/gitService.ts -------------------------


def _gemini_env(place: Place) -> dict[str, str]:
    settings = {"GIT_CONFIG_GLOBAL": f"{place.beside}/.gitconfig", "GIT_CONFIG_SYSTEM": "/dev/null"}
    return {"GIT_DIR": f"{place.beside}/.git", "GIT_WORK_TREE": str(place.workspace)} | settings


def gemini_begins(place: Place) -> None:
    place.beside.mkdir()
    (place.beside / ".gitconfig").write_text("[user]\nname = g\nemail = g@localhost\n[commit]\ngpgsign = false\n")
    env = {"GIT_CONFIG_GLOBAL": f"{place.beside}/.gitconfig", "GIT_CONFIG_SYSTEM": "/dev/null"}
    run(place.beside, "git", "init", "-q", "--initial-branch=main", env=env)
    run(place.beside, "git", "commit", "-qm", "Initial commit", "--allow-empty", env=env)
    place.seed(place.beside / ".git")
    gemini(place)


def gemini(place: Place) -> None:
    env = _gemini_env(place)
    place.git("add", ".", env=env)
    status = place.git("status", "--porcelain", "-b", "-u", "--null", env=env)
    if status.count(b"\0") > 1:
        place.git("-c", "core.abbrev=40", "commit", "-m", "snapshot", "--no-verify", env=env)
    else:
        place.git("rev-parse", "HEAD", env=env)


# --- Cline before its SDK: cline/cline, src/integrations/checkpoints/CheckpointGitOperations.ts -------------
# Without its two searches for nested `.git` folders, which are made in JavaScript.


def _shadow(place: Place, *options: str) -> None:
    place.beside.mkdir()
    run(place.beside, "git", "init", "-q", *options)
    for name, value in (
        ("core.worktree", str(place.workspace)),
        ("commit.gpgSign", "false"),
        ("user.name", "shadow"),
        ("user.email", "shadow@localhost"),
    ):
        run(place.beside, "git", "config", name, value)
    place.seed(place.beside / ".git")


def cline_begins(place: Place) -> None:
    _shadow(place)
    cline(place)


def cline(place: Place) -> None:
    run(place.beside, "git", "add", ".", "--ignore-errors")
    commit = ("-c", "core.abbrev=40", "commit", "-m", "checkpoint", "--allow-empty", "--no-verify")
    run(place.beside, "git", *commit)


# --- Cline's SDK: cline/cline, sdk/packages/core/src/hooks/checkpoint-hooks.ts ------------------------------


def cline_sdk(place: Place) -> None:
    try:
        stash = place.word("stash", "create", "checkpoint")
    except CalledProcessError:  # the index was out of date, and nothing has changed
        place.git("rev-parse", "HEAD")
        return
    new = place.git("ls-files", "--others", "--exclude-standard", "-z")
    parents = ["-p", place.word("rev-parse", "HEAD")]
    tree = place.word("rev-parse", f"{stash or 'HEAD'}^{{tree}}")
    if new:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "pathspec").write_bytes(new)
            env = {"GIT_INDEX_FILE": f"{folder}/index"}
            place.git("add", "--force", "--pathspec-from-file", f"{folder}/pathspec", "--pathspec-file-nul", env=env)
            untracked = place.word("commit-tree", place.word("write-tree", env=env), "-m", "untracked", env=env)
        if stash:
            parents += ["-p", place.word("rev-parse", f"{stash}^2")]
        else:
            parents += ["-p", place.word("commit-tree", tree, *parents, "-m", "index")]
        stash = place.word("commit-tree", tree, *parents, "-p", untracked, "-m", "checkpoint")
    if stash:
        place.git("update-ref", "refs/cline/checkpoints/bench/1", stash)


# --- Roo Code: RooCodeInc/Roo-Code, src/services/checkpoints/ShadowCheckpointService.ts ---------------------


def roo_begins(place: Place) -> None:
    _shadow(place, "--template=")
    roo(place)


def roo(place: Place) -> None:
    run(place.beside, "git", "add", ".")
    run(place.beside, "git", "-c", "core.abbrev=40", "commit", "-m", "checkpoint", "--allow-empty")


# --- Codex: openai/codex, codex-rs/git-utils/src/ghost_commits.rs -------------------------------------------


def codex(place: Place) -> None:
    place.git("rev-parse", "--is-inside-work-tree")
    place.git("rev-parse", "--show-toplevel")
    head = place.word("rev-parse", "--verify", "HEAD")
    status = place.git("status", "--porcelain=2", "-z", "--untracked-files=all")
    lines = status.decode().split("\0")[:-1]
    paths = [line.split(" ", 1 if line[0] == "?" else 8)[-1] for line in lines]
    with tempfile.TemporaryDirectory() as folder:
        env = {"GIT_INDEX_FILE": f"{folder}/index"}
        place.git("read-tree", head, env=env)
        for at in range(0, len(paths), 64):
            place.git("add", "--all", "--", *paths[at : at + 64], env=env)
        place.git("commit-tree", place.word("write-tree", env=env), "-p", head, "-m", "codex snapshot", env=env)


def nothing(place: Place) -> None:
    pass


Step = Callable[[Place], None]
PEERS: dict[str, tuple[Step, Step]] = {
    "opencode": (opencode_begins, opencode),
    "Gemini CLI": (gemini_begins, gemini),
    "Cline, legacy": (cline_begins, cline),
    "Cline SDK": (nothing, cline_sdk),
    "Roo Code": (roo_begins, roo),
    "Codex": (nothing, codex),
}
"""What each runs once, and for every checkpoint."""
