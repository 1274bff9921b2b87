"""One walk of a workspace: what it finds, and what cannot lead it astray."""

from __future__ import annotations

import os
import pickle
import socket
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from proctor.errors import Unrecoverable
from proctor.sandbox.survey import Linked, Special, Survey, survey


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def deepen(top: Path, depth: int) -> int:
    """A folder `depth` levels below, by names that no path of the system can hold; its descriptor."""
    here = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=here)
        following = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = following
    return here


def as_somebody(look: Callable[[], Survey]) -> Survey:
    """What a user without root's rights sees."""
    end, start = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            os.write(start, pickle.dumps(look()))
        finally:
            os._exit(0)
    os.close(start)
    with open(end, "rb") as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return cast(Survey, pickle.loads(said))


def test_nested_repositories_are_found_whatever_they_are_and_links_are_not_followed(
    place: Path, tmp_path: Path
) -> None:
    for name in (".git/modules/x/.git", ".proctor/copy/.git", "vendor/lib/.git/.git", "node_modules/a/.git"):
        (place / name).mkdir(parents=True)
    (tmp_path / "elsewhere/.git").mkdir(parents=True)
    for name in ("module", "linked", "upper"):
        (place / name).mkdir()
    (place / "module/.git").write_text("gitdir: x")
    (place / "linked/.git").symlink_to(tmp_path / "elsewhere/.git")
    (place / "upper/.GIT").mkdir()
    (place / "loop").symlink_to(place)
    (place / "away").symlink_to(tmp_path / "elsewhere")
    found = survey(place)
    assert found.repositories == (
        "linked/.git",
        "module/.git",
        "node_modules/a/.git",
        "upper/.GIT",
        "vendor/lib/.git",
    )
    assert found.whole
    assert not found.unread


def test_sockets_pipes_and_devices_are_named_also_inside_nested_repositories(place: Path) -> None:
    (place / "sub/.git").mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        for server, name in ((one, "live.sock"), (two, "sub/.git/fsmonitor--daemon.ipc")):
            here = os.open(place / os.path.dirname(name), os.O_RDONLY)
            server.bind(f"/proc/self/fd/{here}/{os.path.basename(name)}")
            os.close(here)
    os.mkfifo(place / "pipe")
    wanted = [Special("live.sock", "socket"), Special("pipe", "FIFO")]
    if os.geteuid() == 0:
        os.mknod(place / "zero", 0o20666, os.makedev(1, 5))
        wanted.append(Special("zero", "device"))
    wanted.append(Special("sub/.git/fsmonitor--daemon.ipc", "socket"))
    assert survey(place).specials == tuple(sorted(wanted, key=lambda special: special.path))


def test_files_with_several_names_are_counted_outside_git_and_state_only_when_asked(
    place: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_text("12345")
    for folder in (".git", ".proctor", "a", "sub/.git"):
        (place / folder).mkdir(parents=True)
        os.link(tmp_path / "outside", place / folder / "name")
    (place / "plain").write_text("x")
    assert survey(place, links=True).linked == Linked(1, 5, ("a/name",))
    assert survey(place).linked == Linked()


def test_thousands_of_levels_and_names_of_any_bytes_are_walked(place: Path) -> None:
    bottom = deepen(place, 3000)
    os.mkdir(b"\xff\n\x1b[2J", dir_fd=bottom)
    last = os.open(b"\xff\n\x1b[2J", os.O_RDONLY, dir_fd=bottom)
    os.mkdir(".git", dir_fd=last)
    os.close(bottom)
    os.close(last)
    (place / "z/.git").mkdir(parents=True)
    held = len(os.listdir("/proc/self/fd"))
    found = survey(place)
    assert len(os.listdir("/proc/self/fd")) <= held  # what others left open may be collected meanwhile
    subprocess.run(["rm", "-rf", place], check=True)  # too deep for whatever else would take it away
    assert found.repositories == ("d/" * 3000 + os.fsdecode(b"\xff\n\x1b[2J") + "/.git", "z/.git")
    assert found.folders == 3005


def test_folders_that_cannot_be_read_are_named() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as top:  # root becomes somebody else, who has to get there
        os.chmod(top, 0o777)
        place = Path(top)
        (place / "closed/inner").mkdir(parents=True)
        (place / "open/.git").mkdir(parents=True)
        (place / "closed").chmod(0)
        found = as_somebody(lambda: survey(place))
        (place / "closed").chmod(0o755)
    assert found == Survey(("open/.git",), (), Linked(), ("closed",), 3, whole=True)


def test_a_walk_that_ends_early_says_so_and_can_be_refused(place: Path) -> None:
    for name in "abcde":
        (place / name).mkdir()
    whole = survey(place, most=6)
    assert (whole.whole, whole.folders) == (True, 6)
    whole.must_be_whole(place)
    part = survey(place, most=5)
    assert (part.whole, part.folders) == (False, 5)
    with pytest.raises(Unrecoverable, match=r"more than 5 folders.*work in a folder below"):
        part.must_be_whole(place)


def test_a_survey_that_would_name_too_much_is_not_whole(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        (place / "many" / str(number) / ".git").mkdir(parents=True)
    monkeypatch.setattr("proctor.sandbox.survey.MOST_NAMED", 100)
    found = survey(place)
    assert not found.whole
    assert len(found.repositories) < 20
    with pytest.raises(Unrecoverable, match=r"too many repositories.* many"):
        found.must_be_whole(place)
