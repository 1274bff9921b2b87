"""A first checkpoint takes over what the user's git knows, and holds what it would hold if every file were read."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint.photo import git, photograph, write
from proctor.checkpoint.look import oddities, snapshot
from proctor.checkpoint.repository import Snapshot, Store
from proctor.checkpoint.store.plumbing import Git
from proctor.words import Certainty

OWNED = ("tasks.json", "PROGRESS.md", "RULES.md")
Taken = Callable[..., tuple[Snapshot, set[str]]]


@pytest.fixture(autouse=True)
def no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a small tree is worth a process of its own, in the tests."""
    monkeypatch.setattr(oddities, "MANY", 1)


@pytest.fixture
def repo(work: Path) -> Path:
    git(work, "init", "-q", "-b", "main")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "all")
    return work


@pytest.fixture
def taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Taken:
    """A first checkpoint, and which files were read for it; proved against one for which all of them were."""
    read: set[str] = set()
    run = Git.run

    def spy(self: Git, *args: str, input: bytes = b"", **rest: object) -> bytes:
        if "update-index" in args and "--add" in args:
            read.update(map(os.fsdecode, input.split(b"\0")[:-1]))
        return run(self, *args, input=input, **rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "run", spy)

    def take(workspace: Path, **store: object) -> tuple[Snapshot, set[str]]:
        read.clear()
        ours = Store(workspace, tmp_path / f"seeded-{workspace.name}/checkpoints.git", OWNED, **store)  # type: ignore[arg-type]
        found = ours.snapshot("c1")
        names = {name for name in read if os.path.lexists(workspace / name)}
        with monkeypatch.context() as patch:
            patch.setattr(snapshot, "seed", lambda *_: None)
            cold = Store(workspace, tmp_path / f"cold-{workspace.name}/checkpoints.git", OWNED, **store)  # type: ignore[arg-type]
            whole = cold.snapshot("c1")
        assert found.tree == whole.tree
        assert not ours.verify().lost
        return found, names

    return take


def test_nothing_is_read_of_a_clean_tree(repo: Path, taken: Taken) -> None:
    assert taken(repo)[1] == set()


def test_only_what_changed_is_read(repo: Path, taken: Taken) -> None:
    write(repo / "README", "changed, and longer\n")
    write(repo / "src/new.py", "new\n")
    write(repo / "staged.py", "staged\n")
    git(repo, "add", "staged.py")
    write(repo / "data.bin", b"staged")
    git(repo, "add", "data.bin")
    write(repo / "data.bin", b"changed after it was staged")
    (repo / "run.sh").unlink()
    assert taken(repo)[1] == {"README", "src/new.py", "data.bin"}


@pytest.mark.parametrize("turn", range(3))
def test_an_edit_of_the_same_size_in_the_same_second_is_seen(repo: Path, taken: Taken, turn: int) -> None:
    write(repo / "README", "one thing\n")
    git(repo, "commit", "-q", "-a", "-m", "one")
    write(repo / "README", "two thing\n")
    assert taken(repo)[1] == {"README"}


def test_it_is_seen_though_the_index_was_copied_since(repo: Path, taken: Taken) -> None:
    write(repo / "README", "one thing\n")
    git(repo, "commit", "-q", "-a", "-m", "one")
    write(repo / "README", "two thing\n")
    later = os.stat(repo / "README").st_mtime_ns + 10**10
    os.utime(repo / ".git/index", ns=(later, later))
    assert taken(repo)[1] == {"README"}


def test_edits_behind_flags_are_seen(repo: Path, taken: Taken) -> None:
    write(repo / "gone.py", "x\n")
    write(repo / "later.py", "x\n")
    git(repo, "add", "gone.py")
    git(repo, "add", "-N", "later.py")
    git(repo, "update-index", "--assume-unchanged", "README")
    git(repo, "update-index", "--skip-worktree", "run.sh", "gone.py")
    write(repo / "README", "A project\n")
    write(repo / "run.sh", "#!/bin/bash\n", 0o755)
    (repo / "gone.py").unlink()
    assert taken(repo)[1] == {"README", "run.sh", "later.py"}


def test_an_unfinished_merge_is_read_where_it_is_unmerged(repo: Path, taken: Taken) -> None:
    git(repo, "switch", "-q", "-c", "other")
    write(repo / "README", "theirs\n")
    git(repo, "commit", "-q", "-a", "-m", "theirs")
    git(repo, "switch", "-q", "main")
    write(repo / "README", "ours\n")
    git(repo, "commit", "-q", "-a", "-m", "ours")
    with pytest.raises(subprocess.CalledProcessError):
        git(repo, "merge", "other")
    assert taken(repo)[1] == {"README"}


def test_files_of_submodules_are_read(repo: Path, tmp_path: Path, taken: Taken) -> None:
    git(tmp_path, "init", "-q", "module")
    write(tmp_path / "module/in.py", "x\n")
    git(tmp_path / "module", "add", "-A")
    git(tmp_path / "module", "commit", "-q", "-m", "in")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "module"), "mod")
    git(repo, "commit", "-q", "-m", "module")
    assert taken(repo)[1] == {"mod/in.py"}
    write(repo / "mod/more.py", "y\n")
    assert taken(repo / "mod")[1] == {"more.py"}


def test_the_harness_own_files_are_left_out(repo: Path, taken: Taken) -> None:
    for name in ("tasks.json", "tasks.json.d/x", ".proctor/x", "RULES.md"):
        write(repo / name, "x\n")
    git(repo, "add", "-f", "-A")
    git(repo, "commit", "-q", "-m", "more")
    found, read = taken(repo)
    assert read == set()
    assert found.files == 6


@pytest.mark.parametrize(
    "how",
    [
        ("update-index", "--index-version=4"),
        ("update-index", "--split-index"),
        ("update-index", "--force-untracked-cache"),
        ("-c", "core.fsmonitor=true", "update-index", "--fsmonitor"),
        ("-c", "index.skipHash=true", "update-index", "--force-write-index"),
    ],
    ids=lambda how: how[-1],
)
def test_all_ways_to_write_an_index_are_understood(repo: Path, taken: Taken, how: tuple[str, ...]) -> None:
    git(repo, *how)
    git(repo, "status")
    write(repo / "src/main.py", "print(2)\n")
    assert taken(repo)[1] == {"src/main.py"}
    git(repo, "add", "-A")
    write(repo / "src/main.py", "print(3)\n")
    assert taken(repo)[1] == {"src/main.py"}


def test_a_sparse_index_is_understood(repo: Path, taken: Taken) -> None:
    git(repo, "sparse-checkout", "set", "--cone", "--sparse-index", "docs")
    assert not (repo / "src").exists()
    assert taken(repo)[1] == set()
    write(repo / "src/main.py", "made all the same\n")
    assert taken(repo)[1] == {"src/main.py"}


def commit_all(repo: Path, *config: str) -> None:
    pairs = [part for pair in config for part in ("-c", pair)]
    git(repo, *pairs, "add", "--renormalize", ".")
    git(repo, *pairs, "add", "-A")
    git(repo, *pairs, "commit", "-q", "-m", "more")
    git(repo, *pairs, "status")


def test_text_auto_alone_makes_nothing_be_read(repo: Path, taken: Taken) -> None:
    write(repo / ".gitattributes", "* text=auto\n*.bin binary\n")
    commit_all(repo)
    assert taken(repo)[1] == set()


def test_files_with_converted_line_ends_are_read(repo: Path, taken: Taken) -> None:
    write(repo / "crlf.txt", b"one\r\ntwo\r\n")
    write(repo / "lf.txt", b"one\ntwo\n")
    commit_all(repo, "core.autocrlf=true", "core.safecrlf=false")
    assert taken(repo)[1] == {"crlf.txt"}


def test_the_attributes_at_the_time_of_the_commit_count(repo: Path, taken: Taken) -> None:
    write(repo / ".gitattributes", "*.txt text eol=crlf\n")
    write(repo / "crlf.txt", b"one\r\ntwo\r\n")
    commit_all(repo)
    write(repo / ".gitattributes", "")
    assert taken(repo)[1] == {"crlf.txt", ".gitattributes"}


def test_expanded_ids_are_read(repo: Path, taken: Taken) -> None:
    write(repo / ".gitattributes", "*.txt ident\n")
    write(repo / "id.txt", "$Id$\n")
    commit_all(repo)
    (repo / "id.txt").unlink()
    git(repo, "checkout", "-q", "id.txt")
    assert len((repo / "id.txt").read_text()) > 40
    assert taken(repo)[1] == {"id.txt"}


@pytest.mark.parametrize("where", [".gitattributes", ".git/info/attributes", "src/.gitattributes", "home"])
def test_filtered_files_are_read_though_the_size_is_the_same(
    repo: Path, home: Path, tmp_path: Path, taken: Taken, where: str
) -> None:
    rule = "*.py filter=turned\n"
    write(home / ".config/git/attributes" if where == "home" else repo / where, rule)
    turned = "tr a-z n-za-m"
    commit_all(repo, f"filter.turned.clean={turned}", f"filter.turned.smudge={turned}", "core.autocrlf=false",
               f"core.attributesFile={home}/.config/git/attributes")  # fmt: skip
    ran = write(tmp_path / "ran.sh", f"#!/bin/sh\ntouch {tmp_path}/ran\nexec {turned}\n", 0o755)
    git(repo, "config", "filter.turned.clean", str(ran))
    git(repo, "config", "filter.turned.required", "true")
    assert taken(repo)[1] == {"src/main.py", "src/deep/er/x.py"}
    assert not (tmp_path / "ran").exists()


def test_reencoded_files_are_read(repo: Path, taken: Taken) -> None:
    write(repo / ".gitattributes", "*.txt working-tree-encoding=UTF-16LE-BOM\n")
    write(repo / "wide.txt", "\ufeffwide\n".encode("utf-16-le"))
    commit_all(repo)
    assert taken(repo)[1] == {"wide.txt"}


def test_a_linked_worktree_is_taken_over(repo: Path, tmp_path: Path, taken: Taken) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "linked"))
    write(tmp_path / "linked/README", "another\n")
    assert taken(tmp_path / "linked")[1] == {"README"}


def test_of_a_larger_repository_only_the_workspace_is_taken_over(repo: Path, taken: Taken) -> None:
    write(repo / "src-more/x.py", "beside\n")
    write(repo / "src.py", "beside\n")
    write(repo / "README", "changed outside\n")
    write(repo / ("src/" + "long/" * 30 + "name" * 60), "a long path\n")
    commit_all(repo)
    write(repo / "src/deep/er/x.py", "y = 1\n")
    assert taken(repo / "src")[1] == {"deep/er/x.py"}


def test_a_repository_before_its_first_commit_is_taken_over(work: Path, taken: Taken) -> None:
    git(work, "init", "-q")
    assert taken(work)[1] == {"README", "src/main.py", "src/deep/er/x.py", "run.sh", "data.bin"}


def test_what_was_only_added_is_taken_over(work: Path, taken: Taken) -> None:
    git(work, "init", "-q")
    git(work, "add", "-A")
    assert taken(work)[1] == set()


def test_a_repository_with_other_ids_is_read(work: Path, taken: Taken) -> None:
    git(work, "init", "-q", "--object-format=sha256")
    git(work, "add", "-A")
    git(work, "commit", "-q", "-m", "all")
    git(work, "repack", "-adq")
    assert len(taken(work)[1]) == 5


@pytest.mark.parametrize("damage", ["index", "short index", "objects", "one object", "a link"])
def test_a_damaged_repository_makes_no_checkpoint_fail(repo: Path, tmp_path: Path, taken: Taken, damage: str) -> None:
    index = repo / ".git/index"
    match damage:
        case "index":
            index.write_bytes(b"garbage" * 100)
        case "short index":
            index.write_bytes(index.read_bytes()[:-40])
        case "objects":
            (repo / ".git/objects").rename(tmp_path / "objects")
        case "one object":
            oid = git(repo, "rev-parse", "HEAD:README").strip()
            (repo / ".git/objects" / oid[:2] / oid[2:]).chmod(0o600)
            (repo / ".git/objects" / oid[:2] / oid[2:]).write_bytes(b"garbage")
        case _:
            (repo / ".git").rename(tmp_path / "elsewhere")
            (repo / ".git").symlink_to(tmp_path / "elsewhere")
    read = taken(repo)[1]
    assert "README" in read


def test_what_git_cannot_say_of_unchanged_files_is_kept(repo: Path, taken: Taken) -> None:
    (repo / "README").chmod(0o600)
    (repo / "data.bin").chmod(0o666)
    os.link(repo / "src/main.py", repo / "src/again.py")
    os.setxattr(repo / "run.sh", "user.note", b"mine")
    commit_all(repo)
    found, read = taken(repo)
    assert read == set()
    store = Store(repo, repo.parent / "seeded-work/checkpoints.git", OWNED)
    assert {entry.path: entry.mode & 0o777 for entry in store.entries(found.commit)}["README"] == 0o600
    was = photograph(repo)
    (repo / "README").chmod(0o644)
    store.restore(store.snapshot("c2").commit, found.commit)
    assert photograph(repo) == was


def test_a_large_file_is_not_kept_though_git_has_it(repo: Path, taken: Taken) -> None:
    write(repo / "large.bin", bytes(2_000_000))
    commit_all(repo)
    from proctor.checkpoint.policy import Keep

    found, read = taken(repo, keep=Keep(max_file=1_000_000))
    assert read == set()
    assert [line.split(":")[0] for line in found.skipped] == ["large.bin"]


def test_the_users_repository_is_not_written(repo: Path, taken: Taken) -> None:
    git(repo, "update-index", "--split-index")
    write(repo / ".git/hooks/post-index-change", f"#!/bin/sh\ntouch {repo}/ran\n", 0o755)

    def state() -> tuple[object, ...]:
        times = {path: path.lstat().st_mtime_ns for path in (repo / ".git").rglob("*")}
        return photograph(repo / ".git"), times

    before = state()
    taken(repo)
    assert state() == before
    assert not (repo / "ran").exists()


def test_a_lost_index_is_made_from_the_users_again(repo: Path, tmp_path: Path, taken: Taken) -> None:
    first = taken(repo)[0]
    (tmp_path / "seeded-work/checkpoints.git/index").unlink()
    write(repo / "README", "changed\n")
    again, read = taken(repo)
    assert read == {"README"}
    assert again.tree != first.tree


def test_at_once_there_is_what_git_finds_and_a_look_adds_the_rest(repo: Path, tmp_path: Path) -> None:
    write(repo / ".gitignore", "*.env\n")
    write(repo / "new", "1\n")
    write(repo / "secret.env", "1\n")
    (repo / "README").unlink()
    (repo / "src/main.py").chmod(0o600)
    (repo / "empty").mkdir()
    store = Store(repo, tmp_path / "at once" / "checkpoints.git")
    at_once = store.provisional("c1", ())
    assert at_once is not None
    assert at_once.certainty is Certainty.PROVISIONAL
    looked = store.confirm("c1", at_once.commit)
    whole = Store(repo, tmp_path / "whole" / "checkpoints.git").snapshot("c1")
    assert looked.tree == whole.tree
    assert {(change.path, change.kind) for change in store.diff(at_once.commit, looked.commit, ignored=True)} == {
        ("secret.env", "added"),
        ("src/main.py", "mode"),
        ("empty", "added"),
    }
    assert store.names() == {"c1": looked.commit}
    assert not store.verify().lost


def test_at_once_there_is_nothing_where_git_knows_nothing(work: Path, tmp_path: Path) -> None:
    assert Store(work, tmp_path / "checkpoints.git").provisional("c1", ()) is None
