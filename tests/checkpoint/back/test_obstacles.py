"""What would stop a rollback half way is found before anything is touched, and each path is named."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from checkpoint.photo import photograph, write
from proctor.checkpoint.back import obstacles
from proctor.checkpoint.repository import Store
from proctor.errors import Unrecoverable


def can(kind: str) -> bool:
    """Whether there is a name space of one's own to be had: to mount in (`-m`), of users (`-r`)."""
    command = ["unshare", kind, "true"]
    return bool(shutil.which("unshare")) and subprocess.run(command, capture_output=True, check=False).returncode == 0


as_root = pytest.mark.skipif(os.geteuid() != 0, reason="wants to give files to another user")
OTHER = 1001

ROLLBACK = """
import os, sys, git  # before what is only for root cannot be read any more
from pathlib import Path
from proctor.checkpoint.repository import Store
from proctor.errors import ProctorError
work, safety, target = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
if len(sys.argv) > 4:
    os.setgroups([]), os.setgid(int(sys.argv[4])), os.setuid(int(sys.argv[4]))
try:
    back = Store(work, work / ".proctor/checkpoints.git").restore(safety, target)
    print("done", *back.said)
except ProctorError as error:
    print(error)
"""


def roll_back(work: Path, safety: str, target: str, *, user: int | None = None, within: tuple[str, ...] = ()) -> str:
    """Roll back in a process of its own, perhaps as another user or in another name space; what it says."""
    who = () if user is None else (str(user),)
    command = (*within, sys.executable, "-c", ROLLBACK, str(work), safety, target, *who)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture
def others(work: Path) -> Iterator[Callable[[], None]]:
    """Gives everything to another user, who can reach it."""
    above = [folder for folder in work.parents if folder.stat().st_uid == os.geteuid() and folder != Path("/")]
    modes = {folder: folder.stat().st_mode & 0o7777 for folder in above}

    def give() -> None:
        for folder in above:
            folder.chmod(0o755)
        for path in (work, *work.rglob("*")):
            os.chown(path, OTHER, OTHER, follow_symlinks=False)

    yield give
    for folder, mode in modes.items():
        folder.chmod(mode)


# --- owners ---------------------------------------------------------------------------------------


@as_root
def test_folders_of_others_that_cannot_be_written_stop_a_rollback_before_it_begins(
    store: Store, work: Path, others: Callable[[], None]
) -> None:
    before = store.snapshot("c1")
    for name in ("src/main.py", "src/deep/er/x.py", "README"):
        write(work / name, "changed\n")
    after = store.snapshot("c2")
    others()
    os.chown(work / "src", 0, 0)
    os.chown(work / "src/deep/er", 0, 0)
    was = photograph(work)
    said = roll_back(work, after.commit, before.commit, user=OTHER)
    assert "nothing was rolled back" in said
    assert "src: a folder of root's, not writable for you" in said
    assert "src/deep/er: a folder of root's" in said
    assert photograph(work) == was


@as_root
def test_a_file_of_another_in_a_folder_of_one_s_own_is_written_anew_and_that_is_said(
    store: Store, work: Path, others: Callable[[], None]
) -> None:
    before, was = store.snapshot("c1"), photograph(work)
    write(work / "README", "changed\n")
    write(work / "new", "root's\n")
    after = store.snapshot("c2")
    others()
    os.chown(work / "README", 0, 0)
    os.chown(work / "new", 0, 0)
    said = roll_back(work, after.commit, before.commit, user=OTHER)
    assert said.startswith("done README: was root's, is ")
    assert photograph(work) == was
    assert (work / "README").stat().st_uid == OTHER


@as_root
def test_the_mode_of_another_s_file_cannot_be_changed_and_that_is_found_before(
    store: Store, work: Path, others: Callable[[], None]
) -> None:
    before = store.snapshot("c1")
    (work / "README").chmod(0o604)
    write(work / "src/main.py", "changed\n")
    after = store.snapshot("c2")
    others()
    os.chown(work / "README", 0, 0)
    was = photograph(work)
    said = roll_back(work, after.commit, before.commit, user=OTHER)
    assert "README: root's; only its owner may change its mode" in said
    assert photograph(work) == was


@as_root
@pytest.mark.parametrize("owner", [OTHER, 0])
def test_what_a_link_leads_to_is_neither_opened_nor_in_the_way(
    store: Store, work: Path, tmp_path: Path, others: Callable[[], None], owner: int
) -> None:
    outside = tmp_path / "outside"
    write(outside / "deep/er/x.py", "not ours\n")
    (work / "src/hollow").mkdir()
    before, was = store.snapshot("c1"), photograph(work)
    shutil.rmtree(work / "src")
    (work / "src").symlink_to(outside)
    after = store.snapshot("c2")
    others()
    for path in (*outside.rglob("*"), outside):
        os.chown(path, owner, owner)
        path.chmod(0o555)
    seen = photograph(outside)
    assert roll_back(work, after.commit, before.commit, user=OTHER) == "done"
    assert photograph(work) == was
    assert photograph(outside) == seen


@as_root
def test_a_file_of_another_in_a_folder_where_only_owners_remove_is_found_before(
    store: Store, work: Path, others: Callable[[], None]
) -> None:
    write(work / "shared/file", "1\n")
    (work / "shared").chmod(0o1777)
    before = store.snapshot("c1")
    write(work / "shared/file", "2\n")
    write(work / "README", "2\n")
    after = store.snapshot("c2")
    others()
    os.chown(work / "shared", 0, 0)
    os.chown(work / "shared/file", 0, 0)
    was = photograph(work)
    said = roll_back(work, after.commit, before.commit, user=OTHER)
    assert "shared/file: root's, in a folder where only its owner may remove it" in said
    assert photograph(work) == was


@as_root
@pytest.mark.skipif(not can("-r"), reason="wants a name space of users")
def test_a_file_of_the_harness_is_not_moved_aside(work: Path) -> None:
    store = Store(work, work / ".proctor/checkpoints.git", ("docs/tasks.json",))
    write(work / "docs", "a file\n")
    before = store.snapshot("c1")
    (work / "docs").unlink()
    write(work / "docs/tasks.json", "[]\n")
    after = store.snapshot("c2")
    assert store.outlook(before.commit).obstacles == ("docs/tasks.json: no part of a tree, and it would have to go",)
    with pytest.raises(Unrecoverable, match=r"nothing was rolled back: docs/tasks\.json"):
        store.restore(after.commit, before.commit)
    assert (work / "docs/tasks.json").read_text() == "[]\n"
    store.restore(after.commit, before.commit, ["README"])


def test_root_of_a_name_space_has_no_power_over_the_files_of_others(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    (work / "README").chmod(0o604)
    write(work / "src/deep/er/x.py", "changed\n")
    os.chown(work / "README", OTHER, OTHER)
    os.chown(work / "src/deep/er", OTHER, OTHER)
    after, was = store.snapshot("c2"), photograph(work)
    said = roll_back(work, after.commit, before.commit, within=("unshare", "-r"))
    assert "only its owner may change its mode" in said
    assert "src/deep/er: a folder of " in said
    assert photograph(work) == was
    assert roll_back(work, after.commit, before.commit).startswith("done")


# --- mount points ---------------------------------------------------------------------------------


@pytest.mark.skipif(not can("-m"), reason="wants a name space of its own to mount in")
@pytest.mark.parametrize(
    ("mount", "named"),
    [
        ("mount --bind README README", "README"),
        ("mount -t tmpfs none made", "made"),
        ("mount -t tmpfs none wanted/as/file", "wanted/as/file"),
    ],
    ids=["a file to change", "a folder to go", "a folder where a file is to come"],
)
def test_a_busy_mount_point_is_found_before_anything_is_touched(
    store: Store, work: Path, mount: str, named: str
) -> None:
    write(work / "wanted/as/file", "1\n")
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    write(work / "made/file", "1\n")
    write(work / "src/main.py", "changed\n")
    (work / "wanted/as/file").unlink()
    (work / "wanted/as/file").mkdir()
    after, was = store.snapshot("c2"), photograph(work)
    script = f'cd "{work}" && {mount} && exec "$@"'
    said = roll_back(work, after.commit, before.commit, within=("unshare", "-m", "sh", "-c", script, "sh"))
    assert f"{named}: something is mounted there; unmount it first" in said
    assert photograph(work) == was


@pytest.mark.skipif(not can("-m"), reason="wants a name space of its own to mount in")
def test_what_lies_in_a_mounted_folder_is_rolled_back_like_all_else(store: Store, work: Path) -> None:
    before, was = store.snapshot("c1"), photograph(work)
    write(work / "src/main.py", "changed\n")
    write(work / "src/new.py", "new\n")
    after = store.snapshot("c2")
    script = f'cd "{work}" && mount --bind src src && exec "$@"'
    said = roll_back(work, after.commit, before.commit, within=("unshare", "-m", "sh", "-c", script, "sh"))
    assert said == "done"
    assert photograph(work) == was


@pytest.mark.skipif(not can("-m"), reason="wants a name space of its own to mount in")
def test_a_part_that_is_mounted_read_only_is_found_before_anything_is_touched(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    write(work / "src/main.py", "changed\n")
    write(work / "README", "changed\n")
    after, was = store.snapshot("c2"), photograph(work)
    script = f'cd "{work}" && mount --bind src src && mount -o remount,bind,ro src && exec "$@"'
    said = roll_back(work, after.commit, before.commit, within=("unshare", "-m", "sh", "-c", script, "sh"))
    assert "src: on a read-only file system" in said
    assert photograph(work) == was


def test_the_names_of_mount_points_are_read_as_they_are(
    work: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    line = f"36 35 98:0 / {str(work).replace(' ', chr(92) + '040')}/a\\040b\\012c rw - ext4 /dev/x rw\n"
    listed = write(tmp_path / "mountinfo", line)
    monkeypatch.setattr(obstacles, "_MOUNTS", str(listed))
    assert obstacles.mounts_below(os.fsencode(work)) == {b"a b\nc"}


# --- names that differ in case only ---------------------------------------------------------------


# Where such a disk can be had it is tried on one, further down.


@pytest.fixture
def folding(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the file system did not know upper from lower case."""
    monkeypatch.setattr(obstacles, "folds_case", lambda _: True)


@pytest.mark.usefixtures("folding")
def test_two_names_that_would_be_one_here_are_refused_and_named(store: Store, work: Path) -> None:
    write(work / "src/Name.py", "1\n")
    write(work / "src/name.py", "2\n")
    before = store.snapshot("c1")
    (work / "src/Name.py").unlink()
    (work / "src/name.py").unlink()
    write(work / "README", "changed\n")
    after, was = store.snapshot("c2"), photograph(work)
    with pytest.raises(Unrecoverable, match=r"nothing was rolled back: src/Name\.py: one name with src/name\.py here"):
        store.restore(after.commit, before.commit)
    assert photograph(work) == was
    assert len(store.outlook(before.commit).obstacles) == 2
    store.restore(after.commit, before.commit, paths=["README", "src/name.py"])
    assert (work / "src/name.py").read_text() == "2\n"


@pytest.mark.usefixtures("folding")
def test_a_name_that_would_be_one_with_a_file_that_stays_is_refused(store: Store, work: Path) -> None:
    write(work / "Readme", "another\n")
    before = store.snapshot("c1")
    (work / "Readme").unlink()
    after = store.snapshot("c2")
    with pytest.raises(Unrecoverable, match="Readme: one name with README here"):
        store.restore(after.commit, before.commit)


@pytest.mark.usefixtures("folding")
def test_a_file_that_changed_its_case_only_is_refused(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    os.rename(work / "README", work / "Readme")
    after, was = store.snapshot("c2"), photograph(work)
    with pytest.raises(Unrecoverable, match="README: one name with Readme here"):
        store.restore(after.commit, before.commit)
    assert photograph(work) == was


def test_a_file_system_that_tells_upper_from_lower_case_is_known(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not obstacles.folds_case(os.fsencode(work))
    monkeypatch.setattr(os.path, "lexists", lambda _: True)
    assert obstacles.folds_case(os.fsencode(work))


FOLDED = """
import sys
from pathlib import Path
from proctor.checkpoint.repository import Store
from proctor.errors import ProctorError
work, target, paths = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
store = Store(work, work / ".proctor/checkpoints.git")
now = store.snapshot("now")
try:
    print("done", store.restore(now.commit, target, paths).changed)
except ProctorError as error:
    print(error)
print(*sorted(entry.path for entry in store.entries(now.commit)), end="")
"""
folds = pytest.mark.skipif(
    not (can("-m") and all(map(shutil.which, ("lowntfs-3g", "mkfs.ntfs"))) and os.access("/dev/fuse", os.W_OK)),
    reason="wants ntfs-3g, for a disk on which upper and lower case are one",
)


def on_a_disk_that_folds(work: Path, target: str, *paths: str) -> tuple[str, list[str]]:
    """Copy the workspace onto a disk on which upper and lower case are one, mounted in its place, and roll back there.
    What is said, and the files that the safety checkpoint holds. That disk lists every name in small letters."""
    image, away = work.parent / "image", work.parent / "away"
    with open(image, "wb") as file:
        file.truncate(32 << 20)
    script = """work=$1 image=$2 away=$3; shift 3
    cp -a "$work" "$away" && mkfs.ntfs -q -F -f "$image" >/dev/null 2>&1 &&
    lowntfs-3g -o ignore_case,permissions "$image" "$work" 2>/dev/null && cp -a "$away/." "$work/" && "$@"
    status=$?; umount "$work"; exit $status"""
    command = ["unshare", "-m", "sh", "-c", script, "sh", str(work), str(image), str(away)]
    program = [sys.executable, "-c", FOLDED, str(work), target, *paths]
    done = subprocess.run(command + program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said, held = done.stdout.rsplit("\n", 1)
    return said, held.split()


@folds
def test_on_a_disk_that_folds_two_names_that_would_be_one_are_refused_and_one_of_them_comes(
    store: Store, work: Path
) -> None:
    (work / "README").rename(work / "readme")
    write(work / "src/Name.py", "1\n")
    write(work / "src/name.py", "2\n")
    target = store.snapshot("c1").commit
    (work / "src/Name.py").unlink()
    (work / "src/name.py").unlink()
    twin = shutil.copytree(work, work.parent / "twin/work")
    said, held = on_a_disk_that_folds(work, target)
    assert "nothing was rolled back: src/Name.py: one name with src/name.py here" in said
    assert held == ["data.bin", "readme", "run.sh", "src/deep/er/x.py", "src/main.py"]
    assert on_a_disk_that_folds(twin, target, "src/name.py") == ("done 1", held)


@folds
def test_on_a_disk_that_folds_a_file_or_folder_that_changed_its_case_is_held_once(store: Store, work: Path) -> None:
    (work / "run.sh").rename(work / "Run.sh")
    (work / "src").rename(work / "Src")
    target = store.snapshot("c1").commit
    said, held = on_a_disk_that_folds(work, target)
    assert "Run.sh: one name with run.sh here" in said
    assert held == ["data.bin", "readme", "run.sh", "src/deep/er/x.py", "src/main.py"]


# --- open files -----------------------------------------------------------------------------------


def test_a_process_that_has_a_file_open_is_named_and_keeps_what_it_had(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    write(work / "README", "changed\n")
    write(work / "src/main.py", "changed\n")
    after = store.snapshot("c2")
    with (
        open(work / "README") as held,
        subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[held.fileno()]) as cat,
    ):
        back = store.restore(after.commit, before.commit)
        cat.communicate()
    assert back.said == (f"cat (pid {cat.pid}) has README open",)
    assert (work / "README").read_text() == "a project\n"


def test_an_editor_is_known_by_its_swap_file(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    write(work / "src/main.py", "changed\n")
    after = store.snapshot("c2")
    swap = write(work / "src/.main.py.swp", "vim")
    with open(swap) as held, subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[held.fileno()]) as cat:
        said = store.outlook(before.commit).said
        cat.communicate()
    assert said == (f"cat (pid {cat.pid}) has src/main.py open",)
    assert after.commit


def test_of_a_process_with_many_files_open_some_are_named(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    paths = [write(work / f"f{number}", "1") for number in range(7)]
    held = [open(path) for path in paths]  # noqa: SIM115
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, pass_fds=[file.fileno() for file in held]) as cat:
        (said,) = store.outlook(before.commit).said
        cat.communicate()
    for file in held:
        file.close()
    assert said.endswith("has f0, f1, f2, f3, f4 and 2 more open")
