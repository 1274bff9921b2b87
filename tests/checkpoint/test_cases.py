"""One hazard a case: whatever a worker does to a tree, a rollback gives back every byte, and an undo the rest."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from checkpoint.photo import git, photograph, times, write
from proctor.checkpoint.repository import Store

Step = Callable[[Path], None]


def nothing(work: Path) -> None:
    pass


def edits(work: Path) -> None:
    write(work / "src/main.py", "print(2)\n")
    write(work / "new.txt", "new\n")
    (work / "README").unlink()


def same_size(work: Path) -> None:
    before = (work / "README").stat()
    write(work / "README", "A PROJECT\n")
    os.utime(work / "README", ns=(before.st_atime_ns, before.st_mtime_ns))


def executable(work: Path) -> None:
    (work / "README").chmod(0o755)
    (work / "run.sh").chmod(0o644)


def uncommon_modes(work: Path) -> None:
    (work / "README").chmod(0o600)
    (work / "run.sh").chmod(0o500)
    (work / "data.bin").chmod(0o444)
    (work / "src").chmod(0o700)
    (work / "src/deep").chmod(0o555)


def readonly_folder(work: Path) -> None:
    write(work / "locked/inner/file", "1")
    (work / "locked/inner").chmod(0o555)
    (work / "locked").chmod(0o555)


def readonly_folder_changed(work: Path) -> None:
    (work / "locked").chmod(0o755)
    (work / "locked/inner").chmod(0o755)
    write(work / "locked/inner/file", "2")
    write(work / "locked/more", "2")
    (work / "locked/inner").chmod(0o511)
    (work / "locked").chmod(0o511)


def empty_folders(work: Path) -> None:
    (work / "empty/in/in").mkdir(parents=True)
    (work / "other").mkdir(mode=0o700)


def empty_folders_filled(work: Path) -> None:
    write(work / "empty/in/file", "no more")
    shutil.rmtree(work / "empty/in/in")
    (work / "other").rmdir()
    write(work / "other", "a file now")


def links(work: Path) -> None:
    (work / "to_file").symlink_to("README")
    (work / "to_folder").symlink_to("src")
    (work / "broken").symlink_to("nowhere")
    (work / "away").symlink_to("/etc")
    (work / "to_itself").symlink_to("to_itself")


def links_turned(work: Path) -> None:
    (work / "to_file").unlink()
    write(work / "to_file", "a file")
    (work / "to_folder").unlink()
    write(work / "to_folder/main.py", "a folder")
    (work / "broken").unlink()
    (work / "broken").symlink_to("README")


def file_to_folder(work: Path) -> None:
    (work / "README").unlink()
    write(work / "README/in/side", "a folder now")


def folder_to_file(work: Path) -> None:
    shutil.rmtree(work / "src")
    write(work / "src", "a file now")


def folder_to_link(work: Path) -> None:
    (work / "src").rename(work / "source")
    (work / "src").symlink_to("source")


def link_to_folder_outside(work: Path) -> None:
    shutil.rmtree(work / "src")
    outside = work.parent / "outside"
    write(outside / "main.py", "not ours")
    (work / "src").symlink_to(outside)


def strange_names(work: Path) -> None:
    root = os.fsencode(work)
    for name in (
        b"new\nline",
        b"-dash",
        b":colon",
        b'quo"te',
        b"back\\slash",
        b"sp ace ",
        b"\xff\xfe",
        b"*?[a]",
        b"!not",
    ):
        with open(os.path.join(root, name), "wb") as file:
            file.write(name)
    os.mkdir(os.path.join(root, b"f\xf8lder\n"))
    with open(os.path.join(root, b"f\xf8lder\n", b"\xe9"), "wb") as file:
        file.write(b"latin")


def strange_names_gone(work: Path) -> None:
    root = os.fsencode(work)
    for name in os.listdir(root):
        if os.path.isfile(os.path.join(root, name)) and name not in (b"README",):
            os.unlink(os.path.join(root, name))
    shutil.rmtree(os.path.join(root, b"f\xf8lder\n"))


def case_change(work: Path) -> None:
    (work / "README").rename(work / "readme")
    write(work / "ReadMe", "a third\n")


def conversions(work: Path) -> None:
    write(work / ".gitattributes", "* text=auto eol=crlf ident filter=lfs working-tree-encoding=UTF-16\n")
    write(work / "crlf.txt", b"a\r\nb\n\r\n$Id$\n")
    write(work / "src/main.py", b"$Id$\r\nprint(1)\n")


def large(work: Path) -> None:
    write(work / "three.bin", os.urandom(3 << 20))
    write(work / "twenty.bin", b"ab" * (10 << 20))
    write(work / "none", b"")


def large_changed(work: Path) -> None:
    with open(work / "three.bin", "r+b") as file:
        file.seek(1 << 20)
        file.write(b"changed")
    (work / "twenty.bin").unlink()


def renames(work: Path) -> None:
    (work / "src/deep").rename(work / "shallow")
    (work / "run.sh").rename(work / "src/run.sh")


def everything_gone(work: Path) -> None:
    for path in work.iterdir():
        if path.name != ".proctor":
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def hidden_secrets(work: Path) -> None:
    write(work / ".gitignore", ".env\nnode_modules/\n*.log\n")
    write(work / ".env", "KEY=1\n", 0o600)
    write(work / "src/.env", "KEY=2\n")
    write(work / "src/a.log", "log\n")


def hidden_secrets_changed(work: Path) -> None:
    write(work / ".env", "KEY=stolen\n")
    (work / "src/.env").unlink()
    write(work / "src/deep/.env", "KEY=3\n")


def nested(work: Path) -> None:
    for name in ("vendor/lib", "empty"):
        (work / name).mkdir(parents=True)
        git(work / name, "init", "-q")
    write(work / "vendor/lib/lib.c", "int x;\n")
    write(work / "vendor/lib/.gitignore", "*.o\nout/\n")
    write(work / "vendor/lib/lib.o", "small and ignored\n")
    write(work / "vendor/lib/sub/deep.c", "int y;\n")
    git(work / "vendor/lib", "add", "lib.c")
    git(work / "vendor/lib", "commit", "-qm", "one")


def nested_changed(work: Path) -> None:
    write(work / "vendor/lib/lib.c", "int z;\n")
    write(work / "vendor/lib/new.c", "int n;\n")
    write(work / "vendor/lib/new.o", "o\n")
    shutil.rmtree(work / "vendor/lib/sub")
    write(work / "empty/first", "1\n")


CASES: dict[str, tuple[Step, Step]] = {
    "nothing": (nothing, nothing),
    "edits": (nothing, edits),
    "same size and time": (nothing, same_size),
    "executable": (nothing, executable),
    "uncommon modes": (nothing, uncommon_modes),
    "uncommon modes back": (uncommon_modes, lambda work: (work / "src/deep").chmod(0o755)),
    "readonly folders": (nothing, readonly_folder),
    "readonly folders changed": (readonly_folder, readonly_folder_changed),
    "empty folders": (nothing, empty_folders),
    "empty folders filled": (empty_folders, empty_folders_filled),
    "links": (nothing, links),
    "links turned": (links, links_turned),
    "file to folder": (nothing, file_to_folder),
    "folder to file": (nothing, folder_to_file),
    "folder to link": (nothing, folder_to_link),
    "link outside": (nothing, link_to_folder_outside),
    "strange names": (nothing, strange_names),
    "strange names gone": (strange_names, strange_names_gone),
    "case": (nothing, case_change),
    "conversions": (nothing, conversions),
    "large": (large, large_changed),
    "renames": (nothing, renames),
    "everything gone": (nested, everything_gone),
    "ignored secrets": (hidden_secrets, hidden_secrets_changed),
    "ignore rules arrive": (nothing, hidden_secrets),
    "nested repositories": (nested, nested_changed),
    "nested repositories arrive": (nothing, nested),
}


@pytest.mark.parametrize("case", CASES)
def test_a_rollback_gives_back_every_byte_and_its_undo_the_rest(store: Store, work: Path, case: str) -> None:
    first, second = CASES[case]
    first(work)
    before, was = store.snapshot("c1"), photograph(work, nested_git=False)
    second(work)
    after, then = store.snapshot("c2", before.commit), photograph(work, nested_git=False)

    back = store.restore(after.commit, before.commit)
    assert photograph(work, nested_git=False) == was
    assert back.tree == before.tree
    assert store.tree_of_working_tree().tree == before.tree

    again = store.snapshot("c3", after.commit)
    assert again.tree == before.tree
    forward = store.restore(again.commit, after.commit)
    assert photograph(work, nested_git=False) == then
    assert forward.tree == after.tree
    assert (before.tree == after.tree) == (was == then)


@pytest.mark.parametrize("case", CASES)
def test_files_that_do_not_differ_are_not_touched(store: Store, work: Path, case: str) -> None:
    first, second = CASES[case]
    first(work)
    before, was = store.snapshot("c1"), times(work)
    second(work)
    after = store.snapshot("c2")
    same = {path: when for path, when in times(work).items() if was.get(path) == when}
    store.restore(after.commit, before.commit)
    now = times(work)
    changed = {change.path for change in store.diff(before.commit, after.commit, ignored=True)}
    assert {path: when for path, when in same.items() if now.get(path) != when}.keys() <= changed


@pytest.mark.parametrize("case", CASES)
def test_a_copy_of_a_checkpoint_equals_the_tree(store: Store, work: Path, tmp_path: Path, case: str) -> None:
    for step in CASES[case]:
        step(work)
    taken = store.snapshot("c1")
    store.materialise(taken.commit, tmp_path / "copy")
    assert photograph(tmp_path / "copy") == photograph(work, nested_git=False)
