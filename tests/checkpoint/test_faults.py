"""Stale locks, damage, full disks, missing rights, special files, busy writers: one clear line, nothing half done."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checkpoint.photo import git, photograph, write
from proctor.checkpoint.repository import NotRestored, Store
from proctor.checkpoint.store import command, plumbing
from proctor.errors import Unrecoverable, UsageError


@pytest.fixture
def place(work: Path) -> Path:
    return work / ".proctor/checkpoints.git"


def test_locks_of_dead_processes_are_recovered(store: Store, work: Path, place: Path) -> None:
    before = store.snapshot("c1")
    for name in ("index.lock", "HEAD.lock", "packed-refs.lock", "refs/proctor/c1.lock", "refs/proctor/c2.lock"):
        write(place / name)
    write(work / "README", "changed\n")
    store.restore(store.snapshot("c2").commit, before.commit)
    assert (work / "README").read_text() == "a project\n"


def test_the_lock_of_a_live_process_is_waited_for(store: Store, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store.snapshot("c1")
    holder = subprocess.Popen(
        [sys.executable, "-c", "import fcntl,sys\nf=open(sys.argv[1])\nfcntl.flock(f,2)\nprint(flush=True)\ninput()",
         str(work / ".proctor/checkpoints.git/lock")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdout is not None
    holder.stdout.readline()
    monkeypatch.setattr(plumbing, "LOCK_PATIENCE", 0.1)
    with pytest.raises(UsageError, match="another process is using the checkpoint store"):
        store.snapshot("c2")
    holder.communicate(b"\n")
    store.snapshot("c2")


@pytest.mark.parametrize("name", ["index", "known", "HEAD", "config", "info/attributes", "umask"])
@pytest.mark.parametrize("damage", ["gone", "empty", "garbage"])
def test_damage_to_what_can_be_made_anew_is_repaired(
    store: Store, work: Path, place: Path, name: str, damage: str
) -> None:
    (work / "src").chmod(0o700)
    (work / "README").chmod(0o600)
    before, was = store.snapshot("c1"), photograph(work)
    write(work / "README", "changed\n")
    if damage == "gone":
        (place / name).unlink()
    else:
        (place / name).write_bytes(b"" if damage == "empty" else b"\0garbage")
    after = store.snapshot("c2")
    assert [change.path for change in store.diff(before.commit, after.commit)] == ["README"]
    store.restore(after.commit, before.commit)
    assert photograph(work) == was


@pytest.mark.parametrize("seen", ["[1]", "[1,2,3,4,5,6]", '["a",2,3,4,5]', "7"])
def test_a_note_that_says_something_odd_is_as_good_as_none(store: Store, work: Path, place: Path, seen: str) -> None:
    before = store.snapshot("c1")
    known = place / "known"
    body = json.loads(known.read_bytes())
    known.write_text(json.dumps(body | {"fresh": {"README": json.loads(seen)}}))
    write(work / "README", "changed\n")
    assert [change.path for change in store.diff(before.commit, store.snapshot("c2").commit)] == ["README"]


def test_an_index_with_a_flipped_bit_is_not_believed(
    store: Store, store_of: Callable[[Path], Store], work: Path, place: Path
) -> None:
    before = store.snapshot("c1")
    body = bytearray((place / "index").read_bytes())
    body[body.index(b"run.sh")] ^= 1
    (place / "index").write_bytes(body)
    write(work / "new")  # so that the folder's tree is made anew
    after = store_of(work).snapshot("c2")
    assert [change.path for change in store.diff(before.commit, after.commit)] == ["new"]


def test_a_missing_store_is_one_clear_error(store: Store, place: Path) -> None:
    before = store.snapshot("c1")
    shutil.rmtree(place)
    assert store.names() == {}
    for call in (
        lambda: store.restore(before.commit, before.commit),
        lambda: store.diff(before.commit, before.commit),
        lambda: store.entries(before.commit),
    ):
        with pytest.raises(Unrecoverable, match=r"checkpoint store is missing") as caught:
            call()
        assert caught.value.word == "checkpoints"
        assert "\n" not in str(caught.value)


def test_a_store_without_objects_is_one_clear_error_and_is_not_begun_anew(store: Store, place: Path) -> None:
    store.snapshot("c1")
    shutil.rmtree(place / "objects")
    with pytest.raises(Unrecoverable, match="damaged"):
        store.snapshot("c2")
    assert not (place / "objects").exists()


def test_a_damaged_checkpoint_is_named_and_the_others_work(store: Store, work: Path, place: Path) -> None:
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    after = store.snapshot("c2")
    loosen(place)
    lost = place / "objects" / before.commit[:2] / before.commit[2:]
    lost.chmod(0o644)
    lost.write_bytes(b"damaged")
    write(work / "README", "changed again\n")
    with pytest.raises(Unrecoverable, match=f"checkpoint {before.commit[:12]} cannot be read"):
        store.restore(store.snapshot("c3").commit, before.commit)
    assert (work / "README").read_text() == "changed again\n"
    store.restore(store.snapshot("c4").commit, after.commit)
    assert (work / "README").read_text() == "changed\n"


def test_a_lost_file_of_a_checkpoint_takes_nothing_away(store: Store, work: Path, place: Path) -> None:
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    after, then = store.snapshot("c2"), photograph(work)
    object_of(store, place, before.commit, "README").unlink()
    with pytest.raises(Unrecoverable, match=r"1 files of the checkpoint are missing \(README\)"):
        store.restore(after.commit, before.commit)
    assert photograph(work) == then


def test_a_damaged_file_of_a_checkpoint_takes_nothing_away(store: Store, work: Path, place: Path) -> None:
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    write(work / "run.sh", "changed\n")
    after, then = store.snapshot("c2"), photograph(work)
    lost = object_of(store, place, before.commit, "README")
    body = lost.read_bytes()
    lost.chmod(0o644)
    lost.write_bytes(body[:20] + bytes(len(body) - 20))
    with pytest.raises((NotRestored, Unrecoverable)):
        store.restore(after.commit, before.commit)
    assert photograph(work) == then


def loosen(place: Path) -> None:
    """Give every object a file of its own, so that one can be damaged."""
    for number, pack in enumerate((place / "objects/pack").glob("*.pack")):
        content = pack.read_bytes()
        for path in (place / "objects/pack").glob(f"{pack.stem}.*"):
            path.rename(place.parent / f"old-{number}{path.suffix}")
        command = ["git", "--git-dir", str(place), "unpack-objects", "-q"]
        subprocess.run(command, input=content, check=True)


def object_of(store: Store, place: Path, commit: str, path: str) -> Path:
    loosen(place)
    oid = next(entry.oid for entry in store.entries(commit) if entry.path == path)
    return place / "objects" / oid[:2] / oid[2:]


def test_homes_and_the_root_are_no_workspaces(home: Path, tmp_path: Path) -> None:
    for folder in (home, Path("/")):
        with pytest.raises(UsageError, match="not a project folder"):
            Store(folder, tmp_path / "store.git")


def test_a_workspace_that_is_gone_is_one_clear_error(work: Path, tmp_path: Path) -> None:
    store = Store(work, tmp_path / "outside/checkpoints.git")
    store.snapshot("c1")
    shutil.rmtree(work)
    with pytest.raises(Unrecoverable, match="the workspace is gone") as caught:
        store.snapshot("c2")
    assert caught.value.word == "workspace"


def test_a_name_that_would_lead_out_of_the_refs_is_refused(store: Store) -> None:
    for name in ("../../x", "a/b", "", "-x", "a.lock", "x\n"):
        with pytest.raises(UsageError, match="cannot name a checkpoint"):
            store.snapshot(name)
    assert store.names() == {}


def test_a_snapshot_that_fails_names_nothing(store: Store, work: Path, place: Path) -> None:
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    hidden = place.with_name("hidden")
    (place / "objects").rename(hidden)
    with pytest.raises(Unrecoverable):
        store.snapshot("c2")
    hidden.rename(place / "objects")
    assert store.names() == {"c1": before.commit}


@pytest.mark.parametrize("trap", [".gitignore", "src/.gitattributes", "nested/.git/HEAD"])
def test_a_fifo_where_git_reads_rules_blocks_nothing(
    store: Store, work: Path, monkeypatch: pytest.MonkeyPatch, trap: str
) -> None:
    monkeypatch.setattr(command, "_TRAP_CHECK", 0.3)
    before, was = store.snapshot("c1"), photograph(work)
    (work / trap).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(work / trap)
    write(work / "src/main.py", "changed\n")
    after = store.snapshot("c2")
    assert "src/main.py" in [change.path for change in store.diff(before.commit, after.commit)]
    store.restore(after.commit, before.commit)
    assert {path: seen for path, seen in photograph(work).items() if seen[0] != "special"} == was


def test_names_that_git_cannot_hold_are_named(store: Store, work: Path) -> None:
    write(work / "src/.Git/config", "[x]\n")
    (work / ".gitmodules").symlink_to("README")
    taken = store.snapshot("c1")
    assert [line.split(":")[0] for line in taken.skipped] == [".gitmodules", "src/.Git/config"]


def test_paths_longer_than_the_system_takes_are_named(store: Store, work: Path) -> None:
    name = "d" * 200
    at = os.open(work, os.O_RDONLY)
    for _ in range(4096 // len(name) + 1):
        os.close(os.open("f" * 250, os.O_CREAT | os.O_WRONLY, dir_fd=at))
        os.mkdir(name, dir_fd=at)
        above, at = at, os.open(name, os.O_RDONLY, dir_fd=at)
        os.close(above)
    os.close(at)
    before = store.snapshot("c1")
    whys = {line.rpartition(": ")[2] for line in before.skipped}
    assert whys == {"a path longer than the system takes", "a folder that cannot be read"}
    write(work / "README", "changed\n")
    store.restore(store.snapshot("c2").commit, before.commit)
    assert (work / "README").read_text() == "a project\n"
    shutil.rmtree(work / name)


@pytest.fixture
def busy(work: Path) -> Iterator[Callable[[], int]]:
    """A process that writes and removes files as fast as it can; called, it says how many it has written."""
    program = textwrap.dedent("""
        import os, sys
        top, count = sys.argv[1], sys.argv[2]
        number = 0
        while True:
            number += 1
            with open(f"{top}/f{number % 500}", "w") as file:
                file.write(str(number) * 500)
            if number % 3 == 0:
                os.unlink(f"{top}/f{number % 500}")
            if number % 100 == 0:
                with open(f"{count}.new", "w") as file:
                    file.write(str(number))
                os.replace(f"{count}.new", count)
    """)
    (work / "busy").mkdir()
    count = work.parent / "count"
    writer = subprocess.Popen([sys.executable, "-c", program, str(work / "busy"), str(count)])
    while not count.exists():
        pass
    yield lambda: int(count.read_text())
    writer.kill()
    writer.wait()


def test_a_writer_of_a_thousand_files_a_second_breaks_no_snapshot(
    store: Store, work: Path, busy: Callable[[], int]
) -> None:
    write(work / "README", "steady\n")
    taken = [store.snapshot(f"c{number}") for number in range(4)]
    assert busy() > 100
    for snapshot in taken:
        assert store.read(snapshot.commit, "README") == b"steady\n"
    assert all(path.startswith("busy/") for snapshot in taken for path in snapshot.unstable)


def run_in_namespace(script: str, *args: str) -> None:
    """Run Python as root of a user namespace with mounts of its own."""
    probe = subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False)
    if probe.returncode:
        pytest.skip("no user namespaces here")
    command = ["unshare", "-rm", sys.executable, "-c", textwrap.dedent(script), *args]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


PRELUDE = """
import os, subprocess, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from checkpoint.photo import photograph, write
from proctor.checkpoint.repository import NotRestored, Store
from proctor.errors import Unrecoverable
work, place = Path(sys.argv[2]), Path(sys.argv[3])
store = Store(work, place)
"""
TESTS = str(Path(__file__).parent.parent)


def test_a_full_disk_under_the_store_is_one_line_and_the_store_works_when_there_is_room(
    work: Path, tmp_path: Path
) -> None:
    (tmp_path / "small").mkdir()
    run_in_namespace(
        PRELUDE
        + textwrap.dedent("""
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", place.parent], check=True)
        before = store.snapshot("c1")
        write(work / "noise", os.urandom(3 << 20))
        write(work / "README", "changed")
        try:
            store.snapshot("c2")
        except Unrecoverable as error:
            assert error.word == "disk" and len(str(error).splitlines()) == 1, error
        else:
            raise AssertionError("no error")
        assert store.names() == {"c1": before.commit}, store.names()
        subprocess.run(["mount", "-o", "remount,size=20m", place.parent], check=True)
        after = store.snapshot("c2")
        store.restore(after.commit, before.commit)
        assert (work / "README").read_text() == "a project\\n"
        """),
        TESTS,
        str(work),
        str(tmp_path / "small/checkpoints.git"),
    )


def test_a_rollback_that_has_no_room_touches_nothing(tmp_path: Path) -> None:
    for folder in ("small", "store"):
        (tmp_path / folder).mkdir()
    run_in_namespace(
        PRELUDE
        + textwrap.dedent("""
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "none", work], check=True)
        store = Store(work, place)
        write(work / "big", os.urandom(3 << 20))
        before = store.snapshot("c1")
        (work / "big").unlink()
        write(work / ".gitignore", "build/\\n")
        write(work / "build/full", os.urandom(5 << 20))
        after, then = store.snapshot("c2"), photograph(work)
        try:
            store.restore(after.commit, before.commit)
        except Unrecoverable as error:
            assert error.word == "disk" and "are free" in str(error), error
        else:
            raise AssertionError("no error")
        assert photograph(work) == then
        """),
        TESTS,
        str(tmp_path / "small"),
        str(tmp_path / "store/checkpoints.git"),
    )


def test_a_mount_point_that_appears_on_the_way_makes_the_rollback_go_back(work: Path, tmp_path: Path) -> None:
    run_in_namespace(
        PRELUDE
        + textwrap.dedent("""
        before = store.snapshot("c1")
        write(work / "README", "changed\\n")
        write(work / "src/main.py", "changed\\n")
        subprocess.run(["mount", "--bind", work / "src/main.py", work / "src/main.py"], check=True)
        after, then = store.snapshot("c2"), photograph(work)
        from proctor.checkpoint.back import obstacles
        obstacles.mounts_below = lambda _: set()  # as it was a moment before
        try:
            store.restore(after.commit, before.commit)
        except NotRestored as error:
            assert "as before" in str(error), error
        else:
            raise AssertionError("no error")
        now = photograph(work)
        assert now == then, (sorted(now.items() ^ then.items()))
        subprocess.run(["umount", work / "src/main.py"], check=True)
        store.restore(store.snapshot("c3").commit, before.commit)
        assert (work / "README").read_text() == "a project\\n"
        """),
        TESTS,
        str(work),
        str(tmp_path / "checkpoints.git"),
    )


def test_without_rights_a_file_is_named_and_a_locked_folder_of_ones_own_is_opened() -> None:
    # Root becomes somebody else for this, who may not be able to enter root's own folder of temporary files.
    top = Path(tempfile.mkdtemp(prefix="proctor-rights-", dir="/tmp" if os.geteuid() == 0 else None))
    script = PRELUDE + textwrap.dedent("""
        import git, zlib, shutil  # noqa
        if os.geteuid() == 0:
            os.setgroups([]); os.setgid(65534); os.setuid(65534)
        os.environ["HOME"] = "/nonexistent"
        write(work / "locked/in/file", "1\\n")
        write(work / "README", "1\\n")
        os.chmod(work / "locked/in", 0o500)
        os.chmod(work / "locked", 0o500)
        before, was = store.snapshot("c1"), photograph(work)
        os.chmod(work / "locked", 0o700)
        os.chmod(work / "locked/in", 0o700)
        write(work / "locked/in/file", "2\\n")
        write(work / "locked/in/more", "2\\n")
        write(work / "closed", "secret\\n")
        os.chmod(work / "closed", 0)
        write(work / "names/only", "2\\n")
        os.chmod(work / "names", 0o400)
        os.chmod(work / "locked/in", 0o500)
        after = store.snapshot("c2")
        said = ("closed: not readable", "names: a folder that cannot be read")
        assert after.skipped == said, after.skipped
        store.restore(after.commit, before.commit)
        os.chmod(work / "closed", 0o600)
        os.chmod(work / "names", 0o700)
        (work / "closed").unlink()
        (work / "names/only").unlink()
        (work / "names").rmdir()
        assert photograph(work) == was
        os.chmod(place / "objects/pack", 0o500)
        write(work / "README", "2\\n")
        try:
            store.snapshot("c3")
        except Unrecoverable as error:
            assert error.word == "disk" and len(str(error).splitlines()) == 1, error
        else:
            raise AssertionError("no error")
        finally:
            os.chmod(place / "objects/pack", 0o700)
        assert "c3" not in store.names()
    """)
    try:
        top.chmod(0o777)
        (top / "work").mkdir()
        (top / "work").chmod(0o777)
        command = [sys.executable, "-c", script, TESTS, str(top / "work"), str(top / "store/checkpoints.git")]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
        assert done.returncode == 0, done.stderr
    finally:
        shutil.rmtree(top)


def test_an_object_that_the_user_s_gc_removes_is_still_in_the_store(store: Store, work: Path) -> None:
    git(work, "init", "-q")
    git(work, "add", ".")
    git(work, "commit", "-qm", "one")
    before, was = store.snapshot("c1"), photograph(work)
    write(work / "README", "changed\n")
    git(work, "commit", "-qam", "two")
    git(work, "reset", "-q", "--hard", "HEAD~1")
    write(work / "README", "amended\n")
    git(work, "commit", "-qa", "--amend", "-m", "other")
    git(work, "reflog", "expire", "--expire=now", "--all")
    git(work, "gc", "-q", "--prune=now")
    store.restore(store.snapshot("c2").commit, before.commit)
    assert photograph(work) == was


def test_dropped_checkpoints_give_their_space_back_and_the_kept_ones_work(
    store: Store, work: Path, place: Path
) -> None:
    before, was = store.snapshot("c1"), photograph(work)
    write(work / "noise", os.urandom(4 << 20))
    store.snapshot("c2")
    (work / "noise").unlink()
    unnamed = store.snapshot("after")
    store.snapshot("after")
    after = store.snapshot("c3")
    store.gc({before.commit, after.commit, unnamed.commit})
    assert set(store.names().values()) == {before.commit, after.commit, unnamed.commit}
    assert sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) < 1 << 20
    write(work / "README", "changed\n")
    store.restore(store.snapshot("c4").commit, before.commit)
    assert photograph(work) == was
    assert store.entries(unnamed.commit)


def test_threads_that_read_do_not_disturb_one_that_writes(store: Store, work: Path) -> None:
    taken = store.snapshot("c1")
    failures: list[BaseException] = []

    def read() -> None:
        try:
            for _ in range(5):
                store.diff(taken.commit, taken.commit)
                store.entries(taken.commit)
        except BaseException as error:
            failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(5):
        write(work / "README", f"{number}\n")
        store.snapshot(f"c{number + 2}")
    reader.join()
    assert not failures
