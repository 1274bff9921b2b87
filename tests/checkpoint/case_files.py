"""Cases of the table that are about files: what is kept of them, and what nothing may do to them."""

from __future__ import annotations

import mmap
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from checkpoint.ground import Ground, wait
from checkpoint.photo import git, times, write
from proctor.checkpoint.policy import Keep
from proctor.checkpoint.repository import Store
from proctor.errors import UsageError


def parents_variables(ground: Ground) -> None:
    """K5: git's variables, exported by the parent, have no effect."""
    elsewhere = ground.root / "elsewhere"
    git(ground.root, "init", "-q", str(elsewhere))
    before = git(elsewhere, "for-each-ref"), sorted(elsewhere.rglob("*"))
    for name in ("DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "COMMON_DIR", "ALTERNATE_OBJECT_DIRECTORIES"):
        ground.patch.setenv(f"GIT_{name}", str(elsewhere / ".git"))
    ran = ground.root / "ran"
    ground.patch.setenv("GIT_CONFIG_COUNT", "1")
    ground.patch.setenv("GIT_CONFIG_KEY_0", "core.fsmonitor")
    ground.patch.setenv("GIT_CONFIG_VALUE_0", f"touch {ran}; false")
    ground.there_and_back(lambda work: write(work / "README", "changed\n"))
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        ground.patch.delenv(name)
    assert not ran.exists()
    assert (git(elsewhere, "for-each-ref"), sorted(elsewhere.rglob("*"))) == before


def conversions(ground: Ground) -> None:
    """K6: hooks, signing, a git planted on PATH, filters, line ends, encodings: every byte exact, nothing run."""
    ran = ground.root / "ran"
    hooks = ground.root / "hooks"
    for hook in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
        write(hooks / hook, f"#!/bin/sh\ntouch {ran}\nexit 1\n", 0o755)
    write(ground.work / "node_modules/.bin/git", f"#!/bin/sh\ntouch {ran}\nexit 1\n", 0o755)
    ground.patch.setenv("PATH", f"{ground.work}/node_modules/.bin:{os.environ['PATH']}")
    settings = f"[core]\nhooksPath={hooks}\nautocrlf=true\n[commit]\ngpgSign=true\n[gpg]\nprogram=touch {ran}\n"
    filters = f'[filter "lossy"]\nclean=touch {ran}; tr -d x\n[filter "lfs"]\nclean=git-lfs\nrequired=true\n'
    write(Path(os.environ["HOME"]) / ".gitconfig", settings + filters)
    rules = "*.a filter=lossy\n*.b filter=lfs\n*.c text eol=crlf\n*.d ident\n*.e working-tree-encoding=UTF-16\n"
    write(ground.work / ".gitattributes", rules + "* text=auto\n")
    content = b"xxx\r\n$Id$\nyyy\n"
    for kind in "abcdef":
        write(ground.work / f"file.{kind}", content)
    _, after = ground.there_and_back(lambda work: [write(work / f"file.{kind}", content * 2) for kind in "abcdef"])
    assert all(ground.store().read(after.commit, f"file.{kind}") == content * 2 for kind in "abcdef")
    assert not ran.exists()


def protected(ground: Ground) -> None:
    """K8: what the safety checkpoint does not hold is never removed: newly ignored files, builds, what is too large."""
    store = ground.store(Keep(max_file=1 << 20, max_ignored_file=1 << 10))
    before = store.snapshot("c1")
    kept = {"build/out.o": b"o" * 5000, "secret.key": b"k" * 5000, "model.bin": b"m" * (2 << 20)}
    for path, content in kept.items():
        write(ground.work / path, content)
    write(ground.work / ".gitignore", "build/\nsecret.key\n")  # a rule that no commit holds
    write(ground.work / "README", "changed\n")
    after = store.snapshot("c2")
    assert not kept.keys() & {entry.path for entry in store.entries(after.commit)}
    store.restore(after.commit, before.commit)
    assert (ground.work / "README").read_text() == "a project\n"
    assert {path: (ground.work / path).read_bytes() for path in kept} == kept


def no_change(ground: Ground) -> None:
    """K9: after a turn that only read, and one that changed nothing, nothing is touched and nothing to take back."""
    with ground.session() as timeline:
        start = wait(timeline.snapshot("start"))
        when = times(ground.work)
        for path in ground.work.rglob("*.py"):
            path.read_bytes()
        (ground.work / "new").write_text("1")
        (ground.work / "new").unlink()
        taken = wait(timeline.snapshot("again"))
        assert taken.tree == start.tree
        ground.store().restore(taken.commit, start.commit)
        assert times(ground.work) == when


def any_writer(ground: Ground) -> None:
    """K12: whoever writes, and however, is kept: `sh -c`, `sed -i`, a move, another terminal, a mapped file."""

    def change(work: Path) -> None:
        for script in (
            "echo two > README",
            "sed -i s/1/2/ src/main.py",
            "cp run.sh copy.sh; mv copy.sh run.sh",
            "mkdir -p a/b && : > a/b/c && rm -r src/deep",
        ):
            subprocess.run(["sh", "-c", script], cwd=work, check=True)
        (work / "mapped").write_bytes(bytes(5000))
        with open(work / "mapped", "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
            memory[4000:4004] = b"four"

    before, after = ground.there_and_back(change)
    changed = {change.path for change in ground.store().diff(before.commit, after.commit)}
    assert changed >= {"README", "src/main.py", "a/b/c", "src/deep/er/x.py", "mapped"}


def large_files(ground: Ground) -> None:
    """K15: 3 MB and 20 MB are kept; 2 GB is said not to be kept, and no rollback touches it."""
    with open(ground.work / "huge", "wb") as file:
        file.truncate(2 << 30)
        file.seek(1 << 30)
        file.write(b"in the middle")
    write(ground.work / "three", os.urandom(3 << 20))
    write(ground.work / "twenty", b"twenty" * ((20 << 20) // 6))
    was = (ground.work / "huge").stat()
    store = ground.store()
    before, three = store.snapshot("c1"), (ground.work / "three").read_bytes()
    assert [line.split(":")[0] for line in before.skipped] == ["huge"]
    write(ground.work / "three", b"changed")
    (ground.work / "twenty").unlink()
    store.restore(store.snapshot("c2").commit, before.commit)
    assert (ground.work / "three").read_bytes() == three
    assert (ground.work / "twenty").stat().st_size == 6 * ((20 << 20) // 6)
    now = (ground.work / "huge").stat()
    assert (now.st_ino, now.st_size, now.st_mtime_ns, now.st_blocks) == (
        was.st_ino,
        was.st_size,
        was.st_mtime_ns,
        was.st_blocks,
    )


def no_project(ground: Ground) -> None:
    """K16: a home, `/` and folders of the system are refused, and a tree of too many files outside git is asked about
    before it is read."""
    for folder in (Path("/"), Path(os.environ["HOME"]), Path("/usr/lib"), Path("/proc/self")):
        with pytest.raises(UsageError, match="not a project"):
            Store(folder, ground.root / "store.git")
    for number in range(200):
        write(ground.work / f"many/{number}")
    with pytest.raises(UsageError, match="is this a project"):
        ground.store(Keep(max_files=150)).snapshot("c1")
    assert ground.store().names() == {}
    ground.repository()
    assert ground.store(Keep(max_files=150)).snapshot("c1").files > 200


def same_second(ground: Ground) -> None:
    """K21: an edit in the second in which the index was written, of the same size, with the old time put back."""
    store = ground.store()
    for number in range(5):
        content = f"{number} project\n"
        write(ground.work / "README", content)
        state = (ground.work / "README").stat()
        taken = store.snapshot(f"c{number}")
        with open(ground.work / "README", "r+b") as file:
            file.write(b"X")
        os.utime(ground.work / "README", ns=(state.st_atime_ns, state.st_mtime_ns))
        edited = store.snapshot(f"e{number}", taken.commit)
        assert store.read(edited.commit, "README") == b"X project\n"
        store.restore(edited.commit, taken.commit)
        assert (ground.work / "README").read_text() == content


def modes(ground: Ground) -> None:
    """K22: modes of files and folders, empty folders, FIFOs."""
    work = ground.work
    for number, mode in enumerate((0o600, 0o444, 0o755, 0o711, 0o640)):
        write(work / f"modes/{number}", "1", mode)
    for number, mode in enumerate((0o700, 0o555, 0o750)):
        (work / f"empty{number}/in").mkdir(parents=True)
        (work / f"empty{number}/in").chmod(mode)
        (work / f"empty{number}").chmod(mode)
    os.mkfifo(work / "fifo")

    def change(work: Path) -> None:
        for number, mode in enumerate((0o644, 0o755, 0o600, 0o444, 0o500)):
            (work / f"modes/{number}").chmod(mode)
        (work / "empty0/in").rmdir()
        (work / "empty1").chmod(0o755)
        shutil.rmtree(work / "empty1/in")
        (work / "empty2").chmod(0o711)

    ground.there_and_back(change)
    assert (work / "fifo").is_fifo()


def names(ground: Ground) -> None:
    """K23: names with a newline, a quote, a leading dash or colon, not UTF-8, and such as differ in case only."""
    root = os.fsencode(ground.work)
    strange = [b"new\nline", b'quo"te', b"-dash", b":colon", b":(top)x", b"\xff\xfe", b"Case", b"case", b"caf\xc3\xa9"]

    def made(text: bytes) -> None:
        for name in strange:
            os.makedirs(os.path.join(root, b"in-" + name), exist_ok=True)
            for path in (name, b"in-" + name + b"/" + name):
                with open(os.path.join(root, path), "wb") as file:
                    file.write(text + name)

    made(b"one")

    def change(work: Path) -> None:
        made(b"two")
        for name in strange[::2]:
            os.unlink(os.path.join(root, name))
            shutil.rmtree(os.path.join(root, b"in-" + name))

    ground.there_and_back(change)
