"""A disk whose times are whole seconds: what changed twice in one second looks as it did. A real one, in a file."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import os, sys
from pathlib import Path
from proctor.checkpoint.repository import Store
work = Path(sys.argv[1]) / "work"
(work / ".proctor").mkdir(parents=True)
(work / "folder").mkdir()
store = Store(work, work / ".proctor/checkpoints.git")
alike = 0
for number in range(6):
    (work / "file").write_text(f"one {number}")
    one, then = store.snapshot("one"), os.stat(work / "file")
    (work / "folder" / f"{number}").write_text("")
    with open(work / "file", "r+") as file:
        file.write(f"two {number}")
    now = os.stat(work / "file")
    alike += (then.st_mtime_ns, then.st_ctime_ns) == (now.st_mtime_ns, now.st_ctime_ns)
    two = store.snapshot("two", one.commit)
    assert store.read(two.commit, "file") == f"two {number}".encode()
    assert store.read(two.commit, f"folder/{number}") == b""
    store.restore(two.commit, one.commit)
    assert (work / "file").read_text() == f"one {number}"
    assert not (work / "folder" / f"{number}").exists()
    at_once = store.provisional("three", ["file"], store.snapshot("present").commit)
    with open(work / "file", "r+") as file:
        file.write(f"six {number}")
    assert store.read(store.confirm("three", at_once.commit).commit, "file") == f"six {number}".encode()
assert alike
"""
MOUNTED = """
truncate -s 32M "$1/image" && mkfs.ext4 -q -F -I 128 "$1/image" && mount -o loop "$1/image" "$1/disk" || exit 75
shift; "$@"
"""


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mkfs.ext4"), reason="wants to mount a disk of its own")
def test_what_changes_within_a_second_of_a_look_is_seen_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    program = [sys.executable, "-c", PROGRAM, str(tmp_path / "disk")]
    command = ["unshare", "-m", "sh", "-c", MOUNTED, "sh", str(tmp_path), *program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 75:
        pytest.skip("no disk can be mounted here")
    assert done.returncode == 0, done.stderr
