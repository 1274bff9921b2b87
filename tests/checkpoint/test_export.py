"""A checkpoint for elsewhere: its files as one commit, and nothing that is only for the operator's eyes."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint.photo import write
from proctor.checkpoint.export import Exported
from proctor.checkpoint.repository import Store
from proctor.errors import UsageError
from proctor.repository import exported
from proctor.repository.layout import find

HIDDEN = ("secrets/", "RULES.md")


def git(where: Path, *words: str) -> str:
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    names = ("-c", "user.name=U", "-c", "user.email=u@example.org", "-c", "safe.directory=*")
    done = subprocess.run(["git", *names, *words], cwd=where, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def everything(gitdir: Path) -> bytes:
    """All content that a repository holds."""
    ids = git(gitdir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    return b"".join(
        subprocess.run(["git", "cat-file", "-p", oid], cwd=gitdir, capture_output=True, check=True).stdout
        for oid in ids
    )


@pytest.fixture
def busy(work: Path) -> Path:
    """A project with all that may, and may not, leave."""
    write(work / ".gitignore", ".env\nnode_modules/\n")
    write(work / ".env", "TOKEN=do-not-tell\n")
    write(work / "secrets/key", "hidden-key\n")
    write(work / "node_modules/x.js", "x\n")
    write(work / "odd", "odd\n", 0o600)
    (work / "link").symlink_to("src/main.py")
    (work / "nothing").mkdir()
    os.mkfifo(work / "pipe")
    return work


def test_a_bundle_is_one_commit_of_the_files(busy: Path, store: Store, tmp_path: Path) -> None:
    taken = store.snapshot("c1", meta=b'{"private": "record"}')
    made = store.bundle(taken.commit, tmp_path / "out.bundle", name="checkpoint-c1", message="one\n", hidden=HIDDEN)
    git(tmp_path, "clone", "-q", "out.bundle", "clone")
    clone = tmp_path / "clone"
    assert git(clone, "rev-list", "--all").split() == [made.commit]
    assert git(clone, "branch", "--show-current").strip() == "checkpoint-c1"
    files = set(git(clone, "ls-files").split())
    assert files == {
        ".gitignore", "README", "data.bin", "link", "odd", "run.sh", "src/deep/er/x.py", "src/main.py"
    }  # fmt: skip
    assert made.files == len(files)
    assert (clone / "data.bin").read_bytes() == (busy / "data.bin").read_bytes()
    assert (clone / "run.sh").stat().st_mode & stat.S_IXUSR
    assert os.readlink(clone / "link") == "src/main.py"


def test_nothing_that_is_the_operators_alone_leaves(busy: Path, store: Store, tmp_path: Path) -> None:
    taken = store.snapshot("c1", meta=b'{"private": "record"}')
    store.bundle(taken.commit, tmp_path / "out.bundle", name="b", message="one\n", hidden=HIDDEN)
    git(tmp_path, "clone", "-q", "--bare", "out.bundle", "bare.git")
    held = everything(tmp_path / "bare.git")
    for secret in (b"do-not-tell", b"hidden-key", b"private"):
        assert secret not in held
    assert b"print(1)" in held


def test_what_a_commit_cannot_have_is_told(busy: Path, store: Store, tmp_path: Path) -> None:
    taken = store.snapshot("c1")
    said = "\n".join(store.bundle(taken.commit, tmp_path / "out.bundle", name="b", message="", hidden=HIDDEN).left)
    for path in (".env", "secrets/key", "node_modules", "pipe", "nothing", "odd"):
        assert path in said


def test_an_older_checkpoint_is_exported_as_it_was(work: Path, store: Store, tmp_path: Path) -> None:
    first = store.snapshot("c1")
    write(work / "README", "later\n")
    store.snapshot("c2")
    store.bundle(first.commit, tmp_path / "out.bundle", name="b", message="")
    git(tmp_path, "clone", "-q", "out.bundle", "clone")
    assert (tmp_path / "clone" / "README").read_text() == "a project\n"


def test_a_bundle_that_would_be_part_of_the_next_checkpoint_is_refused(
    work: Path, store: Store, tmp_path: Path
) -> None:
    taken = store.snapshot("c1")
    (tmp_path / "here").symlink_to(work)
    for place in (work / "out.bundle", work / "src/../out.bundle", tmp_path / "here/src/out.bundle"):
        with pytest.raises(UsageError, match="in the workspace"):
            store.bundle(taken.commit, place, name="b", message="")
        assert not place.exists()
    store.bundle(taken.commit, work / ".proctor/out.bundle", name="b", message="")
    assert store.snapshot("c2").tree == taken.tree


def test_a_file_that_is_there_is_never_overwritten(work: Path, store: Store, tmp_path: Path) -> None:
    taken = store.snapshot("c1")
    (tmp_path / "out.bundle").write_text("mine")
    with pytest.raises(UsageError, match="something already"):
        store.bundle(taken.commit, tmp_path / "out.bundle", name="b", message="")
    assert (tmp_path / "out.bundle").read_text() == "mine"
    with pytest.raises(UsageError, match="no such folder"):
        store.bundle(taken.commit, tmp_path / "none" / "out.bundle", name="b", message="")


def test_the_store_is_the_same_afterwards(work: Path, store: Store, tmp_path: Path) -> None:
    taken = store.snapshot("c1")
    before = sorted(str(path) for path in store.objects.rglob("*"))
    store.bundle(taken.commit, tmp_path / "out.bundle", name="b", message="")
    assert sorted(str(path) for path in store.objects.rglob("*")) == before
    assert store.names() == {"c1": taken.commit}


# --- a branch --------------------------------------------------------------------------------------


@pytest.fixture
def repository(busy: Path) -> Path:
    git(busy, "init", "-q", "-b", "main")
    git(busy, "add", "-A")
    git(busy, "rm", "-q", "--cached", "-r", "secrets")
    git(busy, "commit", "-q", "-m", "first")
    return busy


@pytest.fixture
def branch(repository: Path, store_of: Callable[[Path], Store], tmp_path: Path) -> Callable[..., Exported]:
    store = store_of(repository)
    start = store.snapshot("c1")

    def make(name: str, hidden: tuple[str, ...] = HIDDEN) -> Exported:
        taken = store.snapshot("c2")
        layout = find(repository)
        return exported.branch(
            layout,
            store,
            taken.commit,
            start=start.commit,
            scratch=tmp_path / "bench",
            name=name,
            message="one\n",
            hidden=hidden,
        )

    return make


def test_a_branch_is_one_commit_ahead_of_head_and_nothing_else_moves(
    repository: Path, branch: Callable[..., Exported]
) -> None:
    write(repository / "README", "changed\n")
    write(repository / "new/file", "new\n", 0o755)
    (repository / "data.bin").unlink()
    before = {path: path.read_bytes() for path in (repository / ".git/HEAD", repository / ".git/index")}
    status = git(repository, "status", "--porcelain")
    made = branch("kept")
    assert git(repository, "rev-parse", "kept^", "main").split() == [git(repository, "rev-parse", "HEAD").strip()] * 2
    assert git(repository, "rev-parse", "kept").strip() == made.commit
    changed = git(repository, "diff-tree", "--name-status", "-r", "main", "kept").split("\n")
    assert set(filter(None, changed)) == {"M\tREADME", "A\tnew/file", "D\tdata.bin"}
    assert git(repository, "ls-tree", "kept", "new/").startswith("100755")
    assert {path: path.read_bytes() for path in before} == before
    assert git(repository, "status", "--porcelain") == status


def test_a_branch_holds_no_secret(repository: Path, branch: Callable[..., Exported]) -> None:
    made = branch("kept")
    files = git(repository, "ls-tree", "-r", "--name-only", "kept").split()
    assert not {".env", "secrets/key"} & set(files)
    assert ".env" in "\n".join(made.left)
    assert b"do-not-tell" not in everything(repository / ".git")


def test_a_branch_moves_only_forward(repository: Path, branch: Callable[..., Exported]) -> None:
    git(repository, "branch", "old")
    branch("old")
    at = git(repository, "rev-parse", "old")
    write(repository / "README", "more\n")
    with pytest.raises(UsageError, match="commits that HEAD has not"):
        branch("old")
    assert git(repository, "rev-parse", "old") == at


def test_a_branch_that_is_checked_out_stays(repository: Path, branch: Callable[..., Exported]) -> None:
    with pytest.raises(UsageError, match="checked out"):
        branch("main")
    for name in ("a..b", "-x", "x.lock", "", "proctor/mine"):
        with pytest.raises(UsageError):
            branch(name)


def test_a_branch_needs_a_repository(work: Path, store: Store, tmp_path: Path) -> None:
    taken = store.snapshot("c1")
    with pytest.raises(UsageError, match="--bundle"):
        exported.branch(
            find(work), store, taken.commit, start=taken.commit, scratch=tmp_path / "b", name="x", message="", hidden=()
        )
