"""A store belongs to one workspace; what is no project has none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from checkpoint.photo import git, write
from proctor.checkpoint import identity
from proctor.checkpoint.identity import Bond
from proctor.checkpoint.repository import Store
from proctor.errors import UsageError


def store_in(workspace: Path) -> Store:
    return Store(workspace, workspace / ".proctor/checkpoints.git")


@pytest.fixture
def bound(work: Path) -> Path:
    store = store_in(work)
    assert store.bond() is Bond.NEW
    store.bind()
    store.snapshot("c1")
    assert store.bond() is Bond.SAME
    return work


def test_a_moved_workspace_goes_on(bound: Path) -> None:
    moved = bound.rename(bound.parent / "moved")
    store = store_in(moved)
    assert store.bond() is Bond.MOVED
    store.bind()
    assert store.bond() is Bond.SAME
    write(moved / "README", "changed\n")
    store.restore(store.snapshot("c2").commit, store.names()["c1"])
    assert (moved / "README").read_text() == "a project\n"


def test_a_moved_workspace_whose_old_folder_is_something_else_now_goes_on(bound: Path) -> None:
    moved = bound.rename(bound.parent / "moved")
    write(bound / "README", "another project\n")
    assert store_in(moved).bond() is Bond.MOVED


def test_a_workspace_moved_to_another_file_system_goes_on(bound: Path) -> None:
    moved = Path(shutil.copytree(bound, bound.parent / "moved", symlinks=True))
    shutil.rmtree(bound)
    assert store_in(moved).bond() is Bond.MOVED


def test_a_copy_goes_on_as_another_one(bound: Path) -> None:
    copy = Path(shutil.copytree(bound, bound.parent / "copy", symlinks=True))
    ours, theirs = store_in(copy), store_in(bound)
    assert ours.bond() is Bond.COPIED
    assert theirs.bond() is Bond.SAME
    ours.bind()
    assert ours.bond() is theirs.bond() is Bond.SAME
    write(copy / "README", "changed\n")
    ours.snapshot("c2")
    assert set(theirs.names()) == {"c1"}


def test_the_same_folder_by_another_way_is_the_same_workspace(bound: Path) -> None:
    link = bound.parent / "link"
    link.symlink_to(bound)
    assert store_in(link).bond() is Bond.SAME


def test_a_store_of_another_workspace_is_refused(bound: Path, tmp_path: Path) -> None:
    write(tmp_path / "other/README", "other\n")
    said = f"holds the checkpoints of {re.escape(str(bound))}, not of {re.escape(str(tmp_path / 'other'))}"
    with pytest.raises(UsageError, match=said) as caught:
        Store(tmp_path / "other", bound / ".proctor/checkpoints.git")
    assert "\n" not in str(caught.value)


def test_a_store_outside_is_refused_to_others_and_goes_on_when_its_workspace_moved(work: Path, tmp_path: Path) -> None:
    place = tmp_path / "state/checkpoints.git"
    Store(work, place).bind()
    copy = Path(shutil.copytree(work, tmp_path / "copy"))
    with pytest.raises(UsageError, match="holds the checkpoints of"):
        Store(copy, place)
    moved = work.rename(tmp_path / "moved")
    assert Store(moved, place).bond() is Bond.MOVED


def test_worktrees_and_clones_have_stores_of_their_own(bound: Path, tmp_path: Path) -> None:
    git(bound, "init", "-q")
    git(bound, "add", "README", "src")
    git(bound, "commit", "-q", "-m", "all")
    git(bound, "worktree", "add", "-q", str(tmp_path / "linked"))
    git(tmp_path, "clone", "-q", str(bound), "clone")
    for other in (tmp_path / "linked", tmp_path / "clone"):
        store = store_in(other)
        assert store.bond() is Bond.NEW
        store.bind()
        write(other / "README", "changed\n")
        store.snapshot("c1")
    assert store_in(bound).names() != store_in(tmp_path / "linked").names() != store_in(tmp_path / "clone").names()


def test_a_note_that_cannot_be_read_is_written_anew(bound: Path) -> None:
    (bound / ".proctor/checkpoints.git/workspace").write_text("garbage")
    store = store_in(bound)
    assert store.bond() is Bond.NEW
    store.bind()
    assert store.bond() is Bond.SAME


def test_homes_and_links_to_them_are_no_workspaces(home: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(home)
    for folder in (home, tmp_path / "link", Path("~").expanduser()):
        with pytest.raises(UsageError, match=r"not a project folder: .* home folder"):
            identity.refuse(folder)


@pytest.mark.parametrize("folder", ["/", "/usr", "/etc", "/home", "/tmp", "/usr/lib", "/proc/self", "/var/log", "/mnt"])
def test_folders_of_the_system_are_no_workspaces(folder: str) -> None:
    with pytest.raises(UsageError, match="not a project folder"):
        identity.refuse(Path(folder))


def test_the_home_of_whoever_owns_it_is_no_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = identity.pwd.getpwuid(os.geteuid())
    fields = [*real]
    fields[5] = str(tmp_path / "theirs")
    monkeypatch.setattr(identity.pwd, "getpwuid", lambda _: type(real)(fields))
    write(tmp_path / "theirs/project/x", "x")
    with pytest.raises(UsageError, match="home folder"):
        identity.refuse(tmp_path / "theirs")
    identity.refuse(tmp_path / "theirs/project")


def test_projects_below_and_beside_are_workspaces(work: Path, tmp_path: Path, home: Path) -> None:
    for folder in (work, work / "src", home / "project", Path("/srv/project"), Path("/opt/app"), Path("/workspace")):
        identity.refuse(folder)


@pytest.mark.parametrize(
    ("line", "mine", "refused"),
    [
        ("36 25 8:1 / {} rw shared:1 - ext4 /dev/sdb1 rw", "", True),
        ("36 25 8:1 / {} rw shared:1 - ext4 /dev/sdb1 rw", ".git", False),
        ("36 25 8:1 / {} rw shared:1 - ext4 /dev/sdb1 rw", "proctor.yaml", False),
        ("36 25 8:1 /home/me/project {} rw - ext4 /dev/sda1 rw", "", False),
        ("36 25 0:5 / {} rw - tmpfs tmpfs rw", "", False),
    ],
)
def test_the_top_of_a_disk_is_a_workspace_only_if_it_is_a_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, mine: str, refused: bool
) -> None:
    place = tmp_path / "with space"
    place.mkdir()
    if mine:
        write(place / mine, "")
    table = write(tmp_path / "mountinfo", line.format(str(place).replace(" ", "\\040")) + "\n")
    monkeypatch.setattr(identity, "MOUNTS", str(table))
    monkeypatch.setattr(identity.os.path, "ismount", lambda path: str(path) == str(place))
    if refused:
        with pytest.raises(UsageError, match="the top of a whole disk"):
            identity.refuse(place)
    else:
        identity.refuse(place)


def test_a_bind_mount_is_a_workspace_and_keeps_its_store(work: Path, tmp_path: Path) -> None:
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespaces here")
    store_in(work).bind()
    (tmp_path / "mounted").mkdir()
    program = """
        import subprocess, sys
        from pathlib import Path
        from proctor.checkpoint.repository import Store
        work, mounted = map(Path, sys.argv[1:])
        subprocess.run(["mount", "--bind", work, mounted], check=True)
        store = Store(mounted, mounted / ".proctor/checkpoints.git")
        print(store.bond())
        store.snapshot("c1")
    """
    command = ["unshare", "-rm", sys.executable, "-c", textwrap.dedent(program), str(work), str(tmp_path / "mounted")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("moved\n", "")
