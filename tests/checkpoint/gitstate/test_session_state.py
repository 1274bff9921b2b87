"""The session's own repository: what workers do in it is what a checkpoint holds and a rollback takes back."""

from __future__ import annotations

import hashlib
import os
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint.gitstate.gits import Repo, make
from checkpoint.photo import photograph
from proctor.checkpoint.gitstate import gathered
from proctor.checkpoint.repository import Store
from proctor.repository import layout, session


class Session:
    """An operator's repository, the session's beside it, and a store."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.user = make(work)
        (work / ".gitignore").write_text(".proctor\n")
        self.folder = work / ".proctor"
        self.folder.mkdir()
        self.start()
        self.git = Repo(work, self.folder / "session.git", work / ".git" / "objects")

    def start(self) -> None:
        session.prepare(layout.find(self.work), self.folder / "session.git")

    @property
    def store(self) -> Store:
        return Store(self.work, self.folder / "checkpoints.git", repository=self.folder / "session.git")


@pytest.fixture
def live(tmp_path: Path) -> Session:
    return Session(tmp_path / "work")


def merging(git: Repo) -> None:
    git.run("checkout", "-q", "-b", "side")
    git.commit("README", "the side\n")
    git.run("checkout", "-q", "main")
    git.commit("README", "the main\n")
    git.run("merge", "side", ok=(1,))


def rebasing(git: Repo) -> None:
    git.run("checkout", "-q", "-b", "side", "HEAD~1")
    git.commit("src/main.py", "print(2)\n")
    git.run("rebase", "main", ok=(1,))


def bisecting(git: Repo) -> None:
    git.run("bisect", "start", "HEAD", "HEAD~1")


def staging(git: Repo) -> None:
    (git.work / "README").write_text("staged\n")
    git.run("add", "README")
    (git.work / "README").write_text("and more\n")
    (git.work / "new").write_text("later\n")
    git.run("add", "-N", "new")


def hiding(git: Repo) -> None:
    git.run("update-index", "--assume-unchanged", "README")
    git.run("update-index", "--skip-worktree", "src/main.py")
    (git.work / "README").write_text("unseen\n")


def stashing(git: Repo) -> None:
    (git.work / "README").write_text("for later\n")
    git.run("stash", "-q")


def detaching(git: Repo) -> None:
    git.run("checkout", "-q", "--detach", "HEAD~1")


def orphaning(git: Repo) -> None:
    git.run("checkout", "-q", "--orphan", "fresh")


def unstaging_all(git: Repo) -> None:
    git.run("rm", "-q", "-r", "--cached", ".")


def packing(git: Repo) -> None:
    git.commit("more", "more\n")
    git.run("tag", "-a", "-m", "a tag", "v1")
    git.run("pack-refs", "--all", "--prune")
    git.run("gc", "-q")


def aliasing(git: Repo) -> None:
    git.run("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git.run("symbolic-ref", "refs/heads/deep/er/alias", "refs/heads/alias")


def filing(git: Repo) -> None:
    git.run("branch", "-m", "main", "main/filed")


DEEDS = [merging, rebasing, bisecting, staging, hiding, stashing, detaching, orphaning, unstaging_all, packing]
DEEDS += [aliasing, filing]


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: str(deed.__name__))
def test_a_rollback_takes_back_what_a_worker_did_in_git_and_an_undo_brings_it_again(
    live: Session, deed: Callable[[Repo], None]
) -> None:
    store, git = live.store, live.git
    first, was, files_were = store.snapshot("c1"), git.photograph(), photograph(live.work)
    deed(git)
    second, then, files_then = store.snapshot("c2"), git.photograph(), photograph(live.work)
    assert second.state != first.state
    store.restore(second.commit, first.commit)
    assert git.photograph() == was
    assert photograph(live.work) == files_were
    assert store.snapshot("c3").state == first.state
    store.restore(first.commit, second.commit)
    assert git.photograph() == then
    assert photograph(live.work) == files_then
    assert store.snapshot("c4").state == second.state
    git.check()
    assert not store.verify().lost


def test_a_commit_made_after_the_checkpoint_is_there_again_though_its_objects_were_dropped(live: Session) -> None:
    store, git = live.store, live.git
    first = store.snapshot("c1")
    made = git.commit("work.py", "work = 1\n")
    second, then = store.snapshot("c2"), git.photograph()
    store.restore(second.commit, first.commit)
    git.run("gc", "-q", "--prune=now")
    assert git.run("cat-file", "-e", made, ok=(1, 128)) == ""
    store.restore(store.snapshot("c3").commit, second.commit)
    assert git.photograph() == then
    git.check()
    store.gc({second.commit})
    shutil.rmtree(git.git_dir / "objects")
    (git.git_dir / "objects" / "info").mkdir(parents=True)
    live.store.restore(live.store.snapshot("c4").commit, second.commit)


def test_the_state_is_the_same_however_refs_are_stored_and_whatever_the_index_remembers_of_files(live: Session) -> None:
    store, git = live.store, live.git
    git.run("branch", "other")
    first = store.snapshot("c1")
    git.run("pack-refs", "--all", "--prune")
    os.utime(live.work / "README")
    git.run("update-index", "--refresh")
    assert store.snapshot("c2").state == first.state


def test_a_repository_at_rest_keeps_its_name_for_head(live: Session) -> None:
    store, git = live.store, live.git
    first, was = store.snapshot("c1"), git.photograph()
    git.run("checkout", "-q", "-b", "other")
    session.rest(git.git_dir)
    second = store.snapshot("c2")
    store.restore(second.commit, first.commit)
    assert not (git.git_dir / "HEAD").exists()
    session.ready(git.git_dir)
    assert git.photograph() == was
    assert store.snapshot("c3").state == first.state


def test_where_there_was_no_session_repository_yet_it_is_taken_away_and_an_undo_makes_it_again(live: Session) -> None:
    store, git = live.store, live.git
    shutil.rmtree(git.git_dir)
    first = store.snapshot("c1")
    live.start()
    git.commit("work.py", "work = 1\n")
    second, then = store.snapshot("c2"), git.photograph()
    store.restore(second.commit, first.commit)
    assert not git.git_dir.exists()
    assert store.snapshot("c3").state == first.state
    assert store.restore(first.commit, second.commit).said == ()
    assert git.photograph() == then
    git.check()
    assert store.snapshot("c4").state == second.state
    live.start()
    assert git.photograph() == then


def test_one_that_was_made_anew_gets_the_worker_s_refs_back_and_keeps_its_own_settings(live: Session) -> None:
    store, git = live.store, live.git
    git.run("checkout", "-q", "-b", "work")
    made = git.commit("work.py", "work = 1\n")
    git.run("config", "user.name", "worker")
    first = store.snapshot("c1")
    (live.work / "work.py").unlink()
    live.user.commit("README", "the operator's\n")
    live.user.run("config", "user.name", "operator")
    live.start()
    second = store.snapshot("c2")
    back = store.restore(second.commit, first.commit)
    assert git.run("rev-parse", "refs/heads/work").strip() == made
    assert git.run("symbolic-ref", "HEAD") == "refs/heads/work\n"
    assert git.run("config", "user.name") == "operator\n"
    assert any("made anew" in line for line in back.said)
    git.check()


@pytest.mark.parametrize("name", ["index", "HEAD", "packed-refs", "refs/heads/main", "MERGE_HEAD", "objects/pack"])
def test_nothing_that_a_worker_plants_in_place_of_a_file_is_waited_for_or_followed(live: Session, name: str) -> None:
    store, git = live.store, live.git
    first = store.snapshot("c1")
    secret = live.work.parent / "secret"
    secret.write_text("ref: refs/heads/secret\n")
    place = git.git_dir / name
    if place.is_dir():
        shutil.rmtree(place)
    place.parent.mkdir(exist_ok=True)
    for plant in (os.mkfifo, lambda path: path.symlink_to(secret)):
        place.unlink(missing_ok=True)
        plant(place)
        second = store.snapshot("c2")
        store.restore(second.commit, first.commit)
        assert secret.read_text() == "ref: refs/heads/secret\n"
    objects = [path.read_bytes() for path in (live.folder / "checkpoints.git").rglob("*") if path.is_file()]
    assert not any(b"refs/heads/secret" in body for body in objects)


def spoil(place: Path, how: str) -> None:
    """Make of a file or folder of git's what git cannot read, or would wait for."""
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    place.parent.mkdir(exist_ok=True)
    if how == "fifo":
        os.mkfifo(place)
    elif how == "link":
        place.symlink_to(place.parent.parent / "elsewhere")
    elif how == "folder":
        (place / "inner").mkdir(parents=True)
        (place / "inner" / "file").touch()
    else:
        place.write_bytes(b"nonsense\0")


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("", "link"), ("", "fifo"), ("", "file"),
        ("objects", "link"), ("refs", "link"), ("refs/heads", "link"),
        ("index", "folder"), ("HEAD", "folder"), ("packed-refs", "folder"),
        ("packed-refs", "file"), ("packed-refs", "fifo"), ("config", "fifo"), ("shallow", "fifo"),
        ("refs/heads/more", "fifo"), ("objects/info/alternates", "fifo"),
    ],
)  # fmt: skip
def test_one_that_git_could_not_read_any_more_is_made_again_by_a_rollback(live: Session, name: str, how: str) -> None:
    store, git = live.store, live.git
    made = git.commit("work.py", "work = 1\n")
    first, was = store.snapshot("c1"), git.photograph()
    git.commit("work.py", "work = 2\n")
    spoil(git.git_dir / name if name else git.git_dir, how)
    second = store.snapshot("c2")
    back = store.restore(second.commit, first.commit)
    assert [line for line in back.said if "damaged, and is made again" in line]
    assert git.photograph() == was
    assert git.run("rev-parse", "HEAD").strip() == made
    git.check()
    store.restore(store.snapshot("c3").commit, second.commit)
    store.restore(store.snapshot("c4").commit, first.commit)
    assert git.photograph() == was


def test_a_ref_that_was_none_keeps_no_other_commit_from_coming_back_with_the_undo(live: Session) -> None:
    store, git = live.store, live.git
    first = store.snapshot("c1")
    git.run("checkout", "-q", "-b", "work")
    made = git.commit("work.py", "work = 1\n")
    (git.git_dir / "refs/heads/main").write_bytes(b"nonsense")
    second = store.snapshot("c2")
    store.restore(second.commit, first.commit)
    assert git.run("rev-parse", "main") != f"{made}\n"
    store.restore(store.snapshot("c3").commit, second.commit)
    assert (git.git_dir / "refs/heads/work").read_text() == f"{made}\n"


def test_objects_in_a_pack_that_are_too_large_are_never_unpacked_and_the_others_are_kept(
    live: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, git = live.store, live.git
    first = store.snapshot("c1")
    made = git.commit("work.py", "work = 1\n")
    git.run("hash-object", "-w", "--stdin", input="0" * 100_000)
    git.run("repack", "-q", "-a", "-d", "-k")
    monkeypatch.setattr(gathered, "MOST_OBJECT", 10_000)
    second = store.snapshot("c2")
    assert any("too large" in line for line in second.skipped)
    store.restore(second.commit, first.commit)
    shutil.rmtree(git.git_dir / "objects/pack")
    store.restore(store.snapshot("c3").commit, second.commit)
    assert git.run("rev-parse", "HEAD").strip() == made
    git.check()


@pytest.mark.parametrize("packed", [False, True])
def test_one_look_unpacks_only_so_much_and_the_next_goes_on(
    live: Session, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    store, git = live.store, live.git
    ids = [git.run("hash-object", "-w", "--stdin", input=f"{number}" * 10_000).strip() for number in range(4)]
    if packed:
        git.run("repack", "-q", "-a", "-d", "-k")
    monkeypatch.setattr(gathered, "MOST_OBJECT", 10_100)
    monkeypatch.setattr(gathered, "MOST_UNPACKED", 15_000)
    assert any("the next goes on" in line for line in store.snapshot("c1").skipped)
    for number in range(2, 5):
        last = store.snapshot(f"c{number}")
    assert not last.skipped
    assert not store.missing(ids)


def test_a_small_delta_that_makes_much_of_nothing_is_refused(live: Session) -> None:
    base = bytes(0xFFFFFF)
    copies = 64
    both = (len(base), len(base) * copies)
    sizes = b"".join(bytes([*(n >> bit & 127 | 128 for bit in (0, 7, 14, 21)), n >> 28]) for n in both)
    delta = sizes + b"\xf0\xff\xff\xff" * copies
    named = hashlib.sha1(b"blob %d\0" % len(base) + base).digest()
    body = b"PACK\0\0\0\2\0\0\0\2" + b"\xbf\xff\xff\x3f" + zlib.compress(base)
    body += bytes([0x70 | 0x80 | len(delta) & 15, len(delta) >> 4]) + named + zlib.compress(delta)
    place = live.git.git_dir / "objects/pack" / f"pack-{'b' * 40}.pack"
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(body + hashlib.sha1(body).digest())
    assert any("unpacks to too much" in line for line in live.store.snapshot("c1").skipped)


def test_an_object_that_is_not_what_its_name_says_is_not_kept_and_is_said(live: Session) -> None:
    store, git = live.store, live.git
    made = git.commit("work.py", "work = 1\n")
    place = git.git_dir / "objects" / made[:2] / made[2:]
    place.chmod(0o644)
    place.write_bytes(b"nonsense")
    assert any("damaged" in line for line in store.snapshot("c1").skipped)
