"""A look that remembers the folders sees all that a look sees that remembers nothing."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from checkpoint.photo import git, write
from proctor.checkpoint.look import folders
from proctor.checkpoint.record import Held, Notes
from proctor.checkpoint.repository import Store
from proctor.checkpoint.store.draft import Draft
from proctor.checkpoint.store.plumbing import Git

Change = Callable[[Path], object]


@pytest.fixture(autouse=True)
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Folders count as unchanging at once, not after two seconds: what a test has just made is remembered."""
    monkeypatch.setattr(folders, "FRESH", 0)


@pytest.fixture
def work(work: Path) -> Path:
    git(work, "init", "-q")
    write(work / ".gitignore", "node_modules/\n*.log\nlib/\n")
    write(work / "node_modules/a/index.js", "1\n")
    write(work / "lib/tracked.py", "1\n")
    write(work / "lib/junk/x", "1\n")
    write(work / "src/out.log", "1\n")
    write(work / "src/large.log", b"l" * (2 << 20))
    (work / "hollow/in").mkdir(parents=True)
    git(work, "add", ".gitignore", "README", "src/main.py")
    git(work, "add", "-f", "lib/tracked.py")
    git(work, "commit", "-qm", "one")
    return work


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """The folders that looks have read."""
    seen: list[bytes] = []
    names = folders.Survey._names

    def watched(self: folders.Survey, place: bytes, path: bytes) -> tuple[bytes, bytes, bytes, bytes, int, bool]:
        seen.append(path)
        return names(self, place, path)

    monkeypatch.setattr(folders.Survey, "_names", watched)
    return seen


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The git commands that were started."""
    seen: list[str] = []
    start = Git.start

    def watched(self: Git, *args: str, **kwargs: object) -> object:
        seen.append(args[0])
        return start(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "start", watched)
    return seen


def held(store: Store, name: str = "c") -> Held:
    return store.held(store.snapshot(name).commit)


def agreed(store: Store, work: Path, cold: Store | None = None) -> Held:
    """What a look sees; without the memory it sees the same, and so does a store that never saw the tree."""
    quick = held(store, "quick")
    (work / ".proctor/checkpoints.git/folders").unlink()
    full = held(Store(work, work / ".proctor/checkpoints.git", ("tasks.json", "PROGRESS.md", "RULES.md")), "full")
    assert (quick.tree, quick.manifest) == (full.tree, full.manifest)
    assert words(quick.notes) == words(full.notes)
    if cold:
        new = held(cold)
        assert (quick.tree, quick.manifest) == (new.tree, new.manifest)
        assert words(quick.notes) == words(new.notes)
    return quick


def words(notes: Notes) -> Notes:
    """All but what each look has of its own."""
    return replace(notes, parent="", unstable=frozenset())


def append(path: Path, more: str) -> None:
    with path.open("a") as file:
        file.write(more)


def swap(one: Path, other: Path) -> None:
    aside = one.with_name("aside")
    one.rename(aside)
    other.rename(one)
    aside.rename(other)


def to_link(work: Path) -> None:
    (work / "src/deep").rename(work / "elsewhere")
    (work / "src/deep").symlink_to("../elsewhere")


def to_file(work: Path) -> None:
    shutil.rmtree(work / "src/deep")
    write(work / "src/deep", "a file now\n")


def to_folder(work: Path) -> None:
    (work / "README").unlink()
    write(work / "README/in", "a folder now\n")


def within_old_times(work: Path) -> None:
    before = (work / "src").stat()
    write(work / "src/late.py", "1\n")
    os.utime(work / "src", ns=(before.st_atime_ns, before.st_mtime_ns))


def names_of_any_bytes(work: Path) -> None:
    top = os.fsencode(work)
    for name in (b"\xff", b"n\nl", b"-d", b"a b"):
        os.mkdir(top + b"/" + name)
        write(Path(os.fsdecode(top + b"/" + name + b"/\xfe\xff")), "1\n")


CHANGES: dict[str, Change] = {
    "nothing": lambda work: None,
    "a new file": lambda work: write(work / "src/new.py", "1\n"),
    "a new file in a folder whose time is put back": within_old_times,
    "an edit": lambda work: write(work / "src/main.py", "2\n"),
    "a file gone": lambda work: (work / "src/main.py").unlink(),
    "a file renamed": lambda work: (work / "src/main.py").rename(work / "src/deep/main.py"),
    "a file replaced by another of its name": lambda work: (work / "README").replace(work / "src/main.py"),
    "a new tree": lambda work: write(work / "new/and/deep/x.py", "1\n"),
    "a tree gone": lambda work: shutil.rmtree(work / "src"),
    "a folder renamed": lambda work: (work / "src").rename(work / "source"),
    "two folders swapped": lambda work: swap(work / "src", work / "hollow"),
    "a folder that became a link": to_link,
    "a folder that became a file": to_file,
    "a file that became a folder": to_folder,
    "an empty folder": lambda work: (work / "src/empty").mkdir(),
    "an empty folder gone": lambda work: (work / "hollow/in").rmdir(),
    "a folder that became empty": lambda work: (work / "src/deep/er/x.py").unlink(),
    "a folder's mode": lambda work: (work / "src/deep").chmod(0o700),
    "an attribute of a folder": lambda work: os.setxattr(work / "src/deep", "user.a", b"1"),
    "a nested repository": lambda work: git(work / "src/deep", "init", "-q"),
    "a FIFO": lambda work: os.mkfifo(work / "src/pipe"),
    "a file that became a FIFO": lambda work: ((work / "README").unlink(), os.mkfifo(work / "README")),
    "names of any bytes": names_of_any_bytes,
    "a name that git cannot hold": lambda work: write(work / "src/.Git/x", "1\n"),
    "an ignored file": lambda work: write(work / "src/deep/more.log", "1\n"),
    "a large ignored file": lambda work: write(work / "src/deep/more.log", b"l" * (2 << 20)),
    "a new ignored folder": lambda work: write(work / "src/node_modules/x", "1\n"),
    "a change in an ignored folder": lambda work: write(work / "node_modules/b/index.js", "1\n"),
    "a tracked file in an ignored folder": lambda work: write(work / "lib/tracked.py", "2\n"),
    "another tracked in an ignored folder": lambda work: (
        write(work / "lib/junk/y", "1\n"),
        git(work, "add", "-f", "lib/junk/y"),
    ),
    "an ignored folder that holds nothing tracked any more": lambda work: (work / "lib/tracked.py").unlink(),
    "an ignored folder gone": lambda work: shutil.rmtree(work / "node_modules"),
    "rules that leave out less": lambda work: write(work / ".gitignore", "*.log\n"),
    "rules gone": lambda work: (work / ".gitignore").unlink(),
    "rules in a folder": lambda work: write(work / "src/.gitignore", "!*.log\n"),
    "rules that name what is kept": lambda work: write(work / "src/.gitignore", "deep/\n"),
    "rules for what is new": lambda work: (append(work / ".gitignore", "gen/\n"), write(work / "gen/x", "1\n")),
    "rules of the user's repository": lambda work: (
        write(work / ".git/info/exclude", "*.tmp\n"),
        write(work / "src/a.tmp", "1\n"),
    ),
    "rules of the user's own": lambda work: (
        write(work.parent / "home/.config/git/ignore", "*.tmp\n"),
        write(work / "src/a.tmp", "1\n"),
    ),
    "rules that are ignored themselves": lambda work: write(work / ".gitignore", ".gitignore\n*.log\n"),
    "a thousand files in one folder": lambda work: [write(work / f"many/{n}", "1\n") for n in range(1000)],
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_look_that_remembers_sees_what_one_sees_that_does_not(
    store: Store, work: Path, tmp_path: Path, case: str
) -> None:
    write(work.parent / "home/.config/git/ignore", "")
    agreed(store, work)
    first, second = held(store), held(store)
    assert first.tree == second.tree
    CHANGES[case](work)
    cold = Store(work, tmp_path / "other/checkpoints.git", ("tasks.json",))
    after = agreed(store, work, None if case == "rules that name what is kept" else cold)
    assert held(store).tree == after.tree
    assert (after.tree, after.notes) != (first.tree, first.notes) or case == "nothing"


def test_an_unchanged_tree_costs_one_comparison_and_reads_no_folder(
    store: Store, work: Path, reads: list[bytes], commands: list[str]
) -> None:
    held(store)
    held(store)
    reads.clear()
    commands.clear()
    first = held(store)
    assert reads == []
    assert "diff-files" in commands
    assert not {"ls-files", "check-ignore", "update-index", "write-tree"} & set(commands)
    assert held(Store(work, work / ".proctor/checkpoints.git", ("tasks.json", "PROGRESS.md", "RULES.md"))) == first
    assert reads == []


def test_only_folders_that_changed_are_read(store: Store, work: Path, reads: list[bytes]) -> None:
    held(store)
    held(store)
    write(work / "src/deep/new.py", "1\n")
    reads.clear()
    held(store)
    assert reads == [b"src/deep"]


def test_a_folder_that_changed_shortly_before_is_read_again(
    store: Store, work: Path, reads: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "FRESH", 2_000_000_000)
    held(store)
    reads.clear()
    held(store)
    assert {b"src", b"src/deep"} <= set(reads)


def test_folders_of_a_file_system_without_such_times_are_read_each_time(
    store: Store, reads: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folders, "file_system", lambda _: "vfat")
    held(store)
    reads.clear()
    held(store)
    assert b"src/deep" in reads


@pytest.mark.parametrize("damage", ["gone", "empty", "garbage", "cut", "a bit", "an older one"])
def test_a_memory_that_is_damaged_or_old_is_as_good_as_none(store: Store, work: Path, damage: str) -> None:
    held(store)
    place = work / ".proctor/checkpoints.git/folders"
    old = place.read_bytes()
    write(work / "src/new.py", "1\n")
    held(store)
    body = place.read_bytes()
    flipped = body[:40] + bytes([body[40] ^ 1]) + body[41:]
    damages = {"empty": b"", "garbage": b"\0x", "cut": body[:-9], "a bit": flipped, "an older one": old}
    if damage == "gone":
        place.unlink()
    else:
        place.write_bytes(damages[damage])
    write(work / "src/newer.py", "1\n")
    agreed(store, work)
    agreed(Store(work, work / ".proctor/checkpoints.git", ("tasks.json", "PROGRESS.md", "RULES.md")), work)


def test_what_was_remembered_for_an_index_that_never_came_is_not_believed(store: Store, work: Path) -> None:
    held(store)
    write(work / "src/new.py", "1\n")
    with store._git.locked(), Draft(store._git) as draft:
        store._tree.record(draft)  # and the process dies
    assert "src/new.py" in [entry.path for entry in store.entries(store.snapshot("c").commit)]
    agreed(store, work)


def test_another_process_that_looks_is_noticed(store: Store, work: Path, store_of: Callable[[Path], Store]) -> None:
    other = store_of(work)
    for number in range(3):
        write(work / f"src/a{number}.py", "1\n")
        held(store)
        write(work / f"src/b{number}.py", "1\n")
        held(other)
    agreed(store, work)


def test_after_a_rollback_nothing_is_missed(store: Store, work: Path) -> None:
    before = store.snapshot("c1")
    write(work / "src/new.py", "1\n")
    write(work / ".gitignore", "*.py\n")
    write(work / "src/ignored.py", "1\n")
    after = store.snapshot("c2")
    store.restore(after.commit, before.commit)
    assert agreed(store, work).tree == before.tree
    store.restore(store.snapshot("c3").commit, after.commit)
    assert agreed(store, work).tree == after.tree
    write(work / "src/later.py", "1\n")
    agreed(store, work)


def test_after_a_rollback_only_what_it_changed_is_read(store: Store, work: Path, reads: list[bytes]) -> None:
    write(work / "src/deep/gone/y.py", "1\n")
    before = store.snapshot("c1")
    shutil.rmtree(work / "src/deep/gone")
    write(work / "src/new.py", "1\n")
    after = store.snapshot("c2")
    held(store)
    reads.clear()
    store.restore(after.commit, before.commit)
    assert set(reads) == {b"src", b"src/deep", b"src/deep/gone"}
    assert agreed(store, work).tree == before.tree


def test_what_the_harness_owns_by_now_is_no_part_of_what_is_remembered(store: Store, work: Path) -> None:
    held(store)
    other = Store(work, work / ".proctor/checkpoints.git", ("notes",))
    write(work / "notes/mine", "1\n")
    assert "notes/mine" not in [entry.path for entry in other.entries(other.snapshot("c").commit)]
    assert "notes/mine" in [entry.path for entry in store.entries(store.snapshot("c").commit)]


def test_a_folder_that_could_not_be_read_for_a_while_is_whole_again(
    store: Store, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = held(store)
    names = folders.Survey._names

    def closed(self: folders.Survey, place: bytes, path: bytes) -> tuple[bytes, bytes, bytes, bytes, int, bool]:
        if path == b"src":
            raise PermissionError
        return names(self, place, path)

    (work / "src").chmod(0o700)
    with monkeypatch.context() as patch:
        patch.setattr(folders.Survey, "_names", closed)
        assert held(store).notes.skipped[b"src"] == "a folder that cannot be read"
    (work / "src").chmod(0o755)
    assert agreed(store, work).tree == before.tree


def test_what_is_mounted_over_a_folder_is_seen_and_so_is_that_it_went(work: Path) -> None:
    program = textwrap.dedent("""
        import subprocess, sys
        from pathlib import Path
        from proctor.checkpoint.look import folders
        from proctor.checkpoint.repository import Store
        folders.FRESH = 0
        work = Path(sys.argv[1])
        store = Store(work, work / ".proctor/checkpoints.git", ())
        before = [store.snapshot("c").tree for _ in range(2)]
        subprocess.run(["mount", "-t", "tmpfs", "none", work / "src/deep"], check=True)
        (work / "src/deep/over").write_text("1")
        over = store.snapshot("c")
        names = [entry.path for entry in store.entries(over.commit)]
        assert "src/deep/over" in names and "src/deep/er/x.py" not in names, names
        (work / "src/deep/again").write_text("1")
        assert "src/deep/again" in [entry.path for entry in store.entries(store.snapshot("c").commit)]
        subprocess.run(["umount", work / "src/deep"], check=True)
        assert [store.snapshot("c").tree] == before[:1] == before[1:]
    """)
    run = ["unshare", "-rm", sys.executable, "-c", program, str(work)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        pytest.skip("no namespaces here")
    assert done.returncode == 0, done.stderr


def test_of_ignored_folders_only_their_change_is_noted(store: Store, work: Path) -> None:
    first = held(store)
    assert first.notes.stirs.keys() >= {b"node_modules"}
    assert held(store).notes.stirred(first.notes) == frozenset()
    write(work / "node_modules/b", "1\n")
    second = held(store)
    assert second.notes.stirred(first.notes) == {b"node_modules"}
    assert second.tree == first.tree
    write(work / "node_modules/a/other.js", "1\n")
    assert held(store).notes.stirred(second.notes) == {b"node_modules"}
    shutil.rmtree(work / "node_modules")
    assert b"node_modules" in held(store).notes.stirred(second.notes)
    old = Notes.decode(second.notes.encode().replace(b'"stirs"', b'"other"'))
    assert second.notes.stirred(old) == frozenset()


def test_random_work_is_seen_whole(store: Store, work: Path) -> None:
    chance = random.Random(7)
    names = ["a", "b", "node_modules", "x.log", "\udcff"]

    def place() -> Path:
        return work.joinpath(*(chance.choice(names) for _ in range(chance.randint(1, 3))))

    for _ in range(30):
        for _ in range(chance.randint(1, 3)):
            here, there = place(), place()
            try:
                match chance.randrange(6):
                    case 0 | 1:
                        write(here, chance.choice(["1\n", "2\n"]))
                    case 2:
                        here.mkdir(parents=True)
                    case 3:
                        here.rename(there)
                    case 4:
                        shutil.rmtree(here) if here.is_dir() and not here.is_symlink() else here.unlink()
                    case 5:
                        here.symlink_to("a")
            except OSError:
                continue
        quick = held(store, "quick")
        full = held(Store(work, work.parent / "other/checkpoints.git", ("tasks.json", "PROGRESS.md", "RULES.md")))
        assert (quick.tree, quick.manifest) == (full.tree, full.manifest)
        (work.parent / "other/checkpoints.git/folders").unlink()


def test_a_folder_that_holds_something_kept_beside_what_a_rollback_left_is_not_empty(store: Store, work: Path) -> None:
    write(work / "out/kept", "1\n")
    write(work / "out/x.log", b"l" * (2 << 20))
    write(work / ".gitignore", "*.log\n")
    before = store.snapshot("c1")
    write(work / ".gitignore", "")
    after = store.snapshot("c2")
    assert "out/x.log" in [entry.path for entry in store.entries(after.commit)]
    store.restore(after.commit, before.commit)
    assert b"out" not in held(store).manifest.empty
    write(work / ".gitignore", "")
    assert b"out" not in held(store).manifest.empty
