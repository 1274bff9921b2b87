"""Git repositories for tests, and photographs of them that git itself takes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

WHO = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@localhost",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@localhost",
    "GIT_EDITOR": "true",
}


class Repo:
    """A work tree and the git folder that is used for it. `borrowed` is a folder of objects to read from besides: a
    session's repository names one that is there in a sandbox alone."""

    def __init__(self, work: Path, git_dir: Path | None = None, borrowed: Path | None = None) -> None:
        self.work = work
        self.git_dir = git_dir or work / ".git"
        self._env = {**os.environ, **WHO, "GIT_DIR": str(self.git_dir), "GIT_WORK_TREE": str(work)}
        if borrowed is not None:
            self._env["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = str(borrowed)

    def run(self, *args: str, ok: tuple[int, ...] = (0,), input: str = "") -> str:
        done = subprocess.run(
            ["git", *args], cwd=self.work, env=self._env, input=input.encode(), capture_output=True, check=False
        )
        assert done.returncode in ok, (args, done.stdout, done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape")

    def commit(self, name: str, content: str = "", message: str = "") -> str:
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content or f"{name}\n")
        self.run("add", "-f", "--", name)
        self.run("commit", "-q", "-m", message or name)
        return self.run("rev-parse", "HEAD").strip()

    def photograph(self) -> dict[str, object]:
        """What git says of the repository, and the bytes of its state in progress and reflogs."""
        asked: tuple[tuple[str, ...], ...] = (
            ("for-each-ref", "--format=%(refname) %(objectname) %(symref)"),
            ("symbolic-ref", "-q", "HEAD"),
            ("rev-parse", "-q", "--verify", "HEAD"),
            ("ls-files", "-s", "-v"),
            ("ls-files", "--resolve-undo"),
            ("diff", "--cached", "--raw", "--no-abbrev"),
            ("status", "--porcelain=v2", "--branch", "--untracked-files=all"),
            ("stash", "list"),
        )
        said: dict[str, object] = {" ".join(args): self.run(*args, ok=(0, 1)) for args in asked}
        files = {}
        for folder, names, found in os.walk(self.git_dir):
            top = folder == str(self.git_dir)
            names[:] = [name for name in names if not (top and name in ("objects", "refs", "modules", "worktrees"))]
            for name in found:
                if not (top and name in ("index", "packed-refs", "HEAD")):
                    path = Path(folder, name)
                    files[str(path.relative_to(self.git_dir))] = path.read_bytes()
        return said | {"files": files}

    def check(self) -> None:
        """Every object that anything leads to is there and whole."""
        self.run("fsck", "--full", "--no-dangling")


def make(work: Path) -> Repo:
    """A repository with two commits on main."""
    work.mkdir(parents=True, exist_ok=True)
    repo = Repo(work)
    repo.run("init", "-q", "-b", "main")
    repo.commit("README", "a project\n")
    repo.commit("src/main.py", "print(1)\n")
    return repo
