"""What git cannot say of a file is kept beside it, given back, and costs a tree that has none of it nothing."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint.photo import photograph, times, write
from proctor.checkpoint.look import extras
from proctor.checkpoint.policy import Keep
from proctor.checkpoint.record import Manifest, linked
from proctor.checkpoint.repository import Change, ChangeKind, Store
from proctor.errors import Unrecoverable

Step = Callable[[Path], None]
StoreOf = Callable[[Path], Store]


def extra(top: Path) -> dict[str, object]:
    """What a photograph does not show: names of one file, modes of FIFOs, attributes and access lists."""
    found: dict[str, object] = {}
    names: dict[int, set[str]] = {}
    for path in top.rglob("*"):
        inside, state = str(path.relative_to(top)), path.lstat()
        if inside.startswith(".proctor"):
            continue
        if stat.S_ISFIFO(state.st_mode):
            found[inside] = stat.S_IMODE(state.st_mode)
        elif not path.is_symlink():
            found[inside] = {name: os.getxattr(path, name) for name in os.listxattr(path)}
        if path.is_file() and state.st_nlink > 1:
            names.setdefault(state.st_ino, set()).add(inside)
    return found | {"one file": sorted(map(sorted, names.values()))}


def access(most: int) -> bytes:
    """An access list as the system stores it: its owner, user 1001 and the mask have most."""
    rows = ((1, most, -1), (2, most, 1001), (4, 4, -1), (0x10, most, -1), (0x20, 4, -1))
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *row) for row in rows)


def nothing(work: Path) -> None:
    pass


def linked_files(work: Path) -> None:
    os.link(work / "README", work / "src/README")
    os.link(work / "README", work / "src/deep/again")
    os.link(work / "run.sh", work / "walk.sh")


def split_by_an_edit(work: Path) -> None:
    (work / "README").unlink()
    write(work / "README", "another\n")
    shutil.copy2(work / "walk.sh", work / "copy")
    (work / "copy").rename(work / "walk.sh")


def written_through(work: Path) -> None:
    write(work / "README", "changed under all its names\n")
    (work / "run.sh").chmod(0o700)


def one_name_less_and_more(work: Path) -> None:
    (work / "src/README").unlink()
    os.link(work / "README", work / "new")
    os.link(work / "data.bin", work / "data2.bin")


def joined_otherwise(work: Path) -> None:
    for path in ("README", "walk.sh"):
        (work / path).unlink()
    os.link(work / "run.sh", work / "README")
    os.link(work / "src/README", work / "walk.sh")


def fifos(work: Path) -> None:
    os.mkfifo(work / "pipe", 0o600)
    os.mkfifo(work / "src/wide")
    (work / "src/wide").chmod(0o666)
    (work / "pipes/alone").mkdir(parents=True)
    os.mkfifo(work / "pipes/alone/one", 0o644)


def fifos_turned(work: Path) -> None:
    (work / "pipe").unlink()
    write(work / "pipe/in/side", "a folder now\n")
    (work / "src/wide").chmod(0o600)
    (work / "pipes/alone/one").unlink()
    write(work / "pipes/alone/one", "a file now\n")
    (work / "README").unlink()
    os.mkfifo(work / "README")
    shutil.rmtree(work / "src/deep")
    os.mkfifo(work / "src/deep")


def attributes(work: Path) -> None:
    os.setxattr(work / "README", "user.comment", b"\0\xff any bytes")
    os.setxattr(work / "src", "user.of a folder", b"1")
    (work / "hollow").mkdir()
    os.setxattr(work / "hollow", "user.empty", b"")
    os.setxattr(work / "run.sh", "user.a", b"1")
    (work / "run.sh").chmod(0o555)


def attributes_changed(work: Path) -> None:
    os.removexattr(work / "README", "user.comment")
    os.setxattr(work / "src", "user.of a folder", b"2")
    os.setxattr(work / "src/main.py", "user.new", b"3" * 3000)
    write(work / "run.sh.new", "#!/bin/bash\n").rename(work / "run.sh")
    (work / "hollow").rmdir()


def access_lists(work: Path) -> None:
    os.setxattr(work / "README", "system.posix_acl_access", access(6))
    os.setxattr(work / "src", "system.posix_acl_default", access(7))
    write(work / "src/born.py", "with the list of its folder\n")


def access_lists_changed(work: Path) -> None:
    os.removexattr(work / "README", "system.posix_acl_access")
    write(work / "src/main.py.new", "print(3)\n").rename(work / "src/main.py")
    write(work / "src/under/x.py", "x\n")
    shutil.rmtree(work / "src/deep")


def special_bits(work: Path) -> None:
    (work / "run.sh").chmod(0o4755)
    (work / "README").chmod(0o2644)
    (work / "src").chmod(0o2775)
    (work / "tmp").mkdir()
    (work / "tmp").chmod(0o1777)


def special_bits_lost(work: Path) -> None:
    write(work / "run.sh.new", "#!/bin/bash\n").rename(work / "run.sh")
    (work / "README").chmod(0o600)
    shutil.rmtree(work / "src/deep")
    (work / "tmp").chmod(0o755)


CASES: dict[str, tuple[Step, Step]] = {
    "links arrive": (nothing, linked_files),
    "links split by an edit": (linked_files, split_by_an_edit),
    "links written through": (linked_files, written_through),
    "one name less and more": (linked_files, one_name_less_and_more),
    "links joined otherwise": (linked_files, joined_otherwise),
    "fifos arrive": (nothing, fifos),
    "fifos turned": (fifos, fifos_turned),
    "attributes arrive": (nothing, attributes),
    "attributes changed": (attributes, attributes_changed),
    "access lists arrive": (nothing, access_lists),
    "access lists changed": (access_lists, access_lists_changed),
    "special bits arrive": (nothing, special_bits),
    "special bits lost": (special_bits, special_bits_lost),
}


@pytest.mark.parametrize("case", CASES)
def test_what_git_cannot_say_comes_back_and_its_undo_too(store: Store, work: Path, tmp_path: Path, case: str) -> None:
    first, second = CASES[case]
    first(work)
    before, was = store.snapshot("c1"), (photograph(work), extra(work))
    second(work)
    after, then = store.snapshot("c2"), (photograph(work), extra(work))
    assert before.skipped == after.skipped == ()
    assert before.tree != after.tree

    back = store.restore(after.commit, before.commit)
    assert (photograph(work), extra(work)) == was
    assert (back.tree, back.parked) == (before.tree, ())
    store.restore(store.snapshot("c3").commit, after.commit)
    assert (photograph(work), extra(work)) == then

    store.materialise(after.commit, tmp_path / "copy")
    assert (photograph(tmp_path / "copy"), extra(tmp_path / "copy")) == then
    assert store.snapshot("c4").tree == after.tree


@pytest.mark.parametrize("case", CASES)
def test_an_index_made_anew_says_the_same(store: Store, store_of: StoreOf, work: Path, case: str) -> None:
    for step in CASES[case]:
        step(work)
        taken = store.snapshot("c1")
    for name in ("index", "known"):
        (work / ".proctor/checkpoints.git" / name).unlink()
    assert store_of(work).snapshot("c2").tree == taken.tree


def test_a_file_is_never_joined_with_one_that_is_not_kept(store: Store, work: Path) -> None:
    write(work / ".gitignore", "cache/\n")
    (work / "cache").mkdir()
    os.link(work / "README", work / "cache/same")
    os.link(work / "README", work / "also")
    before = store.snapshot("c1")
    (work / "also").unlink()
    write(work / "also", "a project\n")
    store.restore(store.snapshot("c2").commit, before.commit)
    assert (work / "README").samefile(work / "also")
    assert not (work / "also").samefile(work / "cache/same")
    write(work / "README", "changed\n")
    assert (work / "cache/same").read_text() == "a project\n"


def test_a_rollback_of_one_name_lets_the_others_be(store: Store, work: Path) -> None:
    linked_files(work)
    before = store.snapshot("c1")
    store.restore(store.snapshot("c2").commit, before.commit, ["README"])
    assert (work / "README").samefile(work / "src/README")
    write(work / "README", "changed under all its names\n")
    store.restore(store.snapshot("c3").commit, before.commit, ["README"])
    assert (work / "README").read_text() == "a project\n"
    assert (work / "src/README").read_text() == "changed under all its names\n"
    assert (work / "src/README").samefile(work / "src/deep/again")


@pytest.mark.parametrize("call", ["link", "setxattr", "mkfifo", "chmod"])
def test_a_fault_at_what_git_cannot_say_leaves_all_as_it_was(
    store: Store, work: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    for step in (linked_files, fifos, attributes, special_bits):
        step(work)
    before, was = store.snapshot("c1"), (photograph(work), extra(work))
    for step in (attributes_changed, split_by_an_edit, special_bits_lost):
        step(work)
    (work / "pipe").unlink()
    after, then = store.snapshot("c2"), (photograph(work), extra(work))
    go, calls = getattr(os, call), []

    def fail_once(*args: object, **kwargs: object) -> object:
        calls.append(args)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return go(*args, **kwargs)

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fail_once)
        with pytest.raises(Unrecoverable, match="No space left"):
            store.restore(after.commit, before.commit)
    assert (photograph(work), extra(work)) == then
    store.restore(store.snapshot("c3").commit, before.commit)
    assert (photograph(work), extra(work)) == was


def test_a_rollback_of_some_paths_fits_together_what_the_two_manifests_say(store: Store, work: Path) -> None:
    fifos(work)
    write(work / "held/one", "1\n")
    os.setxattr(work / "held", "user.a", b"1")
    before = store.snapshot("c1")
    shutil.rmtree(work / "pipes")
    shutil.rmtree(work / "held")
    (work / "pipe").unlink()
    after = store.snapshot("c2")
    store.restore(after.commit, before.commit, ["pipes/alone/one"])
    assert (work / "pipes/alone/one").is_fifo()
    assert not (work / "pipe").exists()
    store.restore(store.snapshot("c3").commit, before.commit, ["held"])
    assert os.getxattr(work / "held", "user.a") == b"1"
    store.restore(store.snapshot("c4").commit, after.commit, ["held/one", "pipes/alone/one"])
    assert not (work / "held").exists()
    assert list((work / "pipes/alone").iterdir()) == []


def test_a_name_written_after_the_safety_checkpoint_is_not_replaced(store: Store, work: Path) -> None:
    os.link(work / "README", work / "also")
    before = store.snapshot("c1")
    (work / "also").unlink()
    write(work / "also", "a project\n")
    after = store.snapshot("c2")
    write(work / "also", "written by somebody else\n")
    with pytest.raises(Exception, match="also"):
        store.restore(after.commit, before.commit)
    assert (work / "also").read_text() == "written by somebody else\n"


def test_files_that_a_rollback_does_not_write_keep_their_times_and_written_ones_get_new_ones(
    store: Store, work: Path
) -> None:
    linked_files(work)
    os.setxattr(work / "data.bin", "user.a", b"1")
    for path in ("README", "run.sh", "src/main.py", "data.bin"):
        os.utime(work / path, (10**9, 10**9))
    before, was = store.snapshot("c1"), times(work)
    (work / "README").unlink()
    write(work / "README", "another\n")
    write(work / "src/main.py", "print(2)\n")
    os.setxattr(work / "data.bin", "user.a", b"2")
    after = store.snapshot("c2")
    store.restore(after.commit, before.commit)
    now = times(work)
    assert now.pop("src/main.py")[0] > was.pop("src/main.py")[0] == 10**18
    assert now == was


def test_sockets_and_devices_are_named_as_not_kept(store: Store, work: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        os.chdir(work)
        server.bind("socket")
    if os.geteuid() == 0:
        os.mknod(work / "null", 0o600 | stat.S_IFCHR, os.makedev(1, 3))
    before = store.snapshot("c1")
    assert before.skipped[-1] == "socket: a socket or device"
    assert len(before.skipped) == (2 if os.geteuid() == 0 else 1)
    write(work / "README", "changed\n")
    assert store.restore(store.snapshot("c2").commit, before.commit).parked == ()
    assert (work / "socket").is_socket()


def test_holes_stay_holes(store: Store, work: Path) -> None:
    with open(work / "sparse", "wb") as file:
        file.write(b"head")
        file.seek(20 << 20)
        file.write(b"middle")
        file.truncate(30 << 20)
    subprocess.run(["cp", "--sparse=always", work / "sparse", work / "twin"], check=True)
    before, was = store.snapshot("c1"), photograph(work)
    (work / "sparse").unlink()
    store.restore(store.snapshot("c2").commit, before.commit)
    assert photograph(work) == was
    (work / "twin").unlink()
    (work / "twin").hardlink_to(work / "sparse")
    store.restore(store.snapshot("c3").commit, before.commit)
    assert photograph(work) == was
    for name in ("sparse", "twin"):
        state = (work / name).stat()
        assert (state.st_nlink, state.st_blocks * 512 < 1 << 20) == (1, True)


def test_attributes_without_end_are_left_out_and_named(
    store: Store, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extras, "ATTRIBUTES_LIMIT", 3000)
    for path in ("README", "data.bin", "src"):
        os.setxattr(work / path, "user.a", b"x" * 1400)
    before = store.snapshot("c1")
    assert before.skipped == ("src: kept without its extended attributes, there are too many of them",)
    (work / "README").unlink()
    store.restore(store.snapshot("c2").commit, before.commit)
    assert os.getxattr(work / "README", "user.a") == b"x" * 1400


def test_a_difference_tells_of_what_git_cannot_say(store: Store, work: Path) -> None:
    os.mkfifo(work / "gone")
    before = store.snapshot("c1")
    os.mkfifo(work / "come")
    (work / "gone").unlink()
    os.setxattr(work / "README", "user.a", b"1")
    after = store.snapshot("c2")
    assert store.diff(before.commit, after.commit) == (
        Change("README", ChangeKind.MODE),
        Change("come", ChangeKind.ADDED),
        Change("gone", ChangeKind.DELETED),
    )


def test_a_manifest_of_nothing_special_is_what_it_always_was() -> None:
    old = b'{"empty":["hollow"],"folders":{"src":448},"modes":{"a":384}}'
    manifest = Manifest.decode(old)
    assert manifest == Manifest({b"a": 0o600}, {b"src": 0o700}, frozenset({b"hollow"}))
    assert manifest.encode() == old


def test_a_manifest_says_what_it_was_told() -> None:
    odd = b"\xff\n"
    manifest = Manifest(
        links=linked([[b"b", odd, b"a"], [b"alone"]]),
        fifos={odd: 0o644},
        attributes={odd: (("user.a", b"\0\xff"), ("user.b", b""))},
    )
    assert Manifest.decode(manifest.encode()) == manifest
    assert manifest.links == {b"a": b"a", b"b": b"a", odd: b"a"}
    assert manifest.differing(Manifest()) == {b"a", b"b", odd}


def test_names_from_two_manifests_are_never_mixed() -> None:
    mine = Manifest(links=linked([[b"a", b"b"]]))
    theirs = Manifest(links=linked([[b"a", b"c", b"d"]]))
    assert mine.merged(theirs, lambda path: path == b"c").links == mine.links
    assert mine.merged(theirs, lambda path: path in (b"c", b"d")).links == linked([[b"a", b"b"], [b"c", b"d"]])
    assert mine.merged(theirs, lambda path: True).links == theirs.links
    assert mine.merged(mine, lambda path: path == b"a").links == mine.links


def test_files_that_have_nothing_special_cost_no_call_of_their_own(
    store: Store, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.setxattr(work / "README", "user.a", b"1")
    linked_files(work)
    store.snapshot("c1")
    store.snapshot("c2")
    asked: list[set[bytes]] = []

    def spy(top: bytes, paths: set[bytes], umask: int) -> extras.Words:
        asked.append(set(paths))
        return extras.words_of(top, paths, umask)

    monkeypatch.setattr("proctor.checkpoint.look.snapshot.words_of", spy)
    store.snapshot("c3")
    names = {b"README", b"src/README", b"src/deep/again", b"run.sh", b"walk.sh"}
    assert asked == [names]
    (work / "src/main.py").chmod(0o600)
    os.link(work / "data.bin", work / "data2.bin")
    store.snapshot("c4")
    assert asked[1] == names | {b"src/main.py", b"data.bin", b"data2.bin"}


def test_a_large_file_is_kept_if_the_contract_says_so(work: Path) -> None:
    gitdir = work / ".proctor/checkpoints.git"
    with open(work / "large", "wb") as file:
        file.truncate(80 << 20)
    assert Store(work, gitdir).snapshot("c1").skipped == ("large: 80M, over the limit of 64M",)
    store = Store(work, gitdir, keep=Keep(max_file=1 << 30))
    before = store.snapshot("c2")
    assert before.skipped == ()
    (work / "large").unlink()
    store.restore(store.snapshot("c3").commit, before.commit)
    assert (work / "large").stat().st_size == 80 << 20
    assert (work / "large").stat().st_blocks * 512 < 1 << 20
