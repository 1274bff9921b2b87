"""A random session on a real tree: work, checkpoints, rollbacks, undos and redos, always equal to a copy kept apart."""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from checkpoint.photo import Photograph, beyond_git, git, photograph, repository, unlike
from proctor.checkpoint.history import UndoStack, Way
from proctor.checkpoint.repository import Store

FOLDER_NAMES = [b"a", b"A", b"-d", b"n\nl", b"\xff"]  # none that a rule names: ignored folders are left alone
FOLDERS = st.lists(st.sampled_from(FOLDER_NAMES), min_size=1, max_size=3).map(b"/".join)
PATHS = st.tuples(
    st.lists(st.sampled_from(FOLDER_NAMES), max_size=2),
    st.sampled_from([*FOLDER_NAMES, b"b", b".env", b"out.log"]),
).map(lambda parts: b"/".join([*parts[0], parts[1]]))
CONTENTS = st.sampled_from([b"", b"one\n", b"two\n", b"three\r\n", b"\0binary\xff", b"x" * 5000])
MODES = st.sampled_from([0o644, 0o755, 0o600, 0o444, 0o711, 0o700])
RULES = st.sampled_from([b".env\n", b"*.log\n.env\n", b"# nothing\n"])
GIT_WORK = (
    ("commit", "-qam", "some"),
    ("commit", "-q", "--allow-empty", "-m", "none"),
    ("add", "."),
    ("branch", "side"),
    ("branch", "-D", "side"),
    ("checkout", "-q", "side"),
    ("checkout", "-q", "main"),
    ("tag", "-f", "mark"),
    ("reset", "-q", "--hard", "HEAD~1"),
    ("reset", "-q", "HEAD~1"),
    ("stash",),
    ("stash", "pop"),
    ("merge", "-q", "side"),
    ("pack-refs", "--all"),
    ("update-index", "--assume-unchanged", "file"),
    ("gc", "-q", "--prune=now"),
)

State = tuple[Photograph, dict[bytes, object], dict[str, str]]


class Session(RuleBasedStateMachine):
    """`trees` keeps what every checkpoint must give back; `stack` is what the journal would fold; `touched` what a
    watcher has seen since the tree was last what the checkpoint `last` holds.

    The worker has a git repository: one of the operator's inside the workspace, his own of all of it, or the
    session's."""

    top_of_repository = "lib"
    session = False

    @property
    def git_options(self) -> tuple[str, ...]:
        state = self.work / ".proctor"
        return (f"--git-dir={state}/session.git", f"--work-tree={self.work}") if self.session else ()

    def git(self, *words: str) -> None:
        git(self.work / self.top_of_repository, *self.git_options, *words)

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="proctor-stateful-"))
        self.work = self.folder / "work"
        self.top = os.fsencode(self.work)
        for place in (self.work / ".proctor", self.work / self.top_of_repository):
            place.mkdir(parents=True, exist_ok=True)
        (self.work / ".proctor/.gitignore").write_text("*\n")
        (self.work / self.top_of_repository / "file").write_text("1\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-qm", "first")
        self.restart()
        self.trees: dict[str, tuple[str, State]] = {}
        self.stack = UndoStack()
        self.touched: set[bytes] = set()
        self.git_used = False
        self.taken = 0
        self.take()

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @rule()
    def restart(self) -> None:
        state = self.work / ".proctor"
        own = state / "session.git" if self.session else None
        self.store = Store(self.work, state / "checkpoints.git", ("tasks.json",), repository=own, theirs=not own)

    # --- looking ------------------------------------------------------------------------------

    def state(self) -> State:
        place = self.work / self.top_of_repository
        return photograph(self.work, nested_git=False), beyond_git(self.work), repository(place, *self.git_options)

    def take(self) -> str:
        self.taken += 1
        name = f"c{self.taken}"
        self.last = self.store.snapshot(name).commit
        self.trees[name] = self.last, self.state()
        self.git_used = False
        self.touched.clear()
        return name

    @rule()
    def checkpoint(self) -> None:
        self.take()

    @rule(confirmed=st.booleans())
    def checkpoint_by_what_a_watcher_saw(self, confirmed: bool) -> None:
        """The list is complete, so a look at everything has to bear it out, unless git wrote who knows what."""
        name, taken = f"c{self.taken + 1}", None
        if not self.git_used:
            taken = self.store.provisional(name, [os.fsdecode(path) for path in self.touched], self.last)
        if taken is None or confirmed:
            now = self.store.confirm(name, taken.commit) if taken else self.store.snapshot(name)
            assert taken is None or taken.tree == now.tree
            taken, self.git_used = now, False
        self.taken += 1
        self.trees[name] = taken.commit, self.state()
        self.last = taken.commit
        self.touched.clear()

    # --- work ---------------------------------------------------------------------------------

    def place(self, path: bytes) -> bytes | None:
        """Where a path is in the tree, its folders made; None where a file or a link is in the way."""
        place = self.top
        for part in path.split(b"/")[:-1]:
            place += b"/" + part
            if os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place)):
                return None
            os.makedirs(place, exist_ok=True)
        self.touched.add(path)
        return place + b"/" + path.split(b"/")[-1]

    def file(self, path: bytes) -> bytes | None:
        """Where a path is, if it is a regular file."""
        place = self.place(path)
        return place if place and os.path.isfile(place) and not os.path.islink(place) else None

    def clear(self, place: bytes) -> None:
        if os.path.isdir(place) and not os.path.islink(place):
            shutil.rmtree(place)
        elif os.path.lexists(place):
            os.unlink(place)

    @rule(path=PATHS, content=CONTENTS, mode=MODES)
    def writes(self, path: bytes, content: bytes, mode: int) -> None:
        if place := self.place(path):
            self.clear(place)
            with open(place, "wb") as file:
                file.write(content)
            os.chmod(place, mode)

    @rule(path=PATHS, content=CONTENTS)
    def edits_in_place_and_hides_it(self, path: bytes, content: bytes) -> None:
        if place := self.file(path):
            before = os.stat(place)
            with open(place, "r+b") as file:
                file.write(content)
            os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(path=PATHS)
    def edits_a_mapped_file(self, path: bytes) -> None:
        place = self.file(path)
        if place and os.path.getsize(place):
            with open(place, "r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
                memory[0] = (memory[0] + 1) % 256

    @rule(path=PATHS)
    def removes(self, path: bytes) -> None:
        if place := self.place(path):
            self.clear(place)

    @rule(path=PATHS, to=st.sampled_from([b"a", b"nowhere", b"..", b"/etc"]))
    def links(self, path: bytes, to: bytes) -> None:
        if place := self.place(path):
            self.clear(place)
            os.symlink(to, place)

    @rule(path=PATHS, to=PATHS)
    def gives_a_file_another_name(self, path: bytes, to: bytes) -> None:
        old, new = self.file(path), self.place(to)
        if old and new and not old.startswith(new):
            self.clear(new)
            os.link(old, new)

    @rule(path=PATHS, mode=MODES)
    def makes_a_fifo(self, path: bytes, mode: int) -> None:
        if place := self.place(path):
            self.clear(place)
            os.mkfifo(place)
            os.chmod(place, mode)

    @rule(path=FOLDERS, mode=st.sampled_from([0o755, 0o700, 0o555]))
    def makes_a_folder(self, path: bytes, mode: int) -> None:
        if place := self.place(path):
            self.clear(place)
            os.mkdir(place)
            os.chmod(place, mode)

    @rule(path=PATHS, mode=MODES)
    def changes_a_mode(self, path: bytes, mode: int) -> None:
        if place := self.file(path):
            os.chmod(place, mode)

    @rule(path=PATHS, value=st.sampled_from([b"", b"one", b"\0two"]))
    def sets_an_attribute(self, path: bytes, value: bytes) -> None:
        if place := self.file(path):
            os.setxattr(place, "user.note", value)

    @rule(path=PATHS, to=PATHS)
    def renames(self, path: bytes, to: bytes) -> None:
        old, new = self.place(path), self.place(to)
        if not old or not new or not os.path.lexists(old) or new.startswith(old) or old.startswith(new):
            return
        if not os.path.isdir(old) or os.path.basename(new) in FOLDER_NAMES:
            self.clear(new)
            os.rename(old, new)

    @rule(rules=RULES)
    def changes_the_ignore_rules(self, rules: bytes) -> None:
        with open(self.top + b"/.gitignore", "wb") as file:
            file.write(rules)
        self.touched.add(b".gitignore")

    @rule(content=CONTENTS)
    def works_in_the_repository(self, content: bytes) -> None:
        path = Path(self.top_of_repository, "file")
        (self.work / path).write_bytes(content)
        self.touched.add(os.fsencode(path))

    @rule(words=st.sampled_from(GIT_WORK))
    def uses_git(self, words: tuple[str, ...]) -> None:
        with contextlib.suppress(subprocess.CalledProcessError):  # there is no side, nothing to stash, a conflict
            self.git(*words)
        self.git_used = True

    # --- going back ---------------------------------------------------------------------------

    def go(self, way: Way, target: str) -> None:
        safety = self.take()
        back = self.store.restore(self.trees[safety][0], self.trees[target][0])
        now, then = self.state(), self.trees[target][1]
        for there, wanted in zip(now, then, strict=True):
            assert there == wanted
        assert back.parked == ()
        self.last = self.trees[target][0]
        self.stack = self.stack.moved(way, safety, target)

    @rule(data=st.data())
    def rollback(self, data: st.DataObject) -> None:
        self.go(Way.ROLLBACK, data.draw(st.sampled_from(sorted(self.trees))))

    @precondition(lambda self: self.stack.undo_target)
    @rule()
    def undo(self) -> None:
        assert self.stack.undo_target
        self.go(Way.UNDO, self.stack.undo_target)

    @precondition(lambda self: self.stack.redo_target)
    @rule()
    def redo(self) -> None:
        assert self.stack.redo_target
        self.go(Way.REDO, self.stack.redo_target)

    @rule(data=st.data(), chosen=st.lists(PATHS, min_size=1, max_size=2))
    def rolls_chosen_paths_back(self, data: st.DataObject, chosen: list[bytes]) -> None:
        target = data.draw(st.sampled_from(sorted(self.trees)))
        safety = self.take()
        before, wanted = self.trees[safety][1][0], self.trees[target][1][0]
        self.store.restore(self.trees[safety][0], self.trees[target][0], [os.fsdecode(path) for path in chosen])
        now = photograph(self.work, nested_git=False)
        assert not unlike(now, before, wanted, chosen)
        self.stack = self.stack.moved(Way.ROLLBACK, safety, self.take())

    # --- idle time ----------------------------------------------------------------------------

    @rule()
    def pack(self) -> None:
        self.store.pack()

    @rule(data=st.data())
    def prune(self, data: st.DataObject) -> None:
        dropped = set(data.draw(st.lists(st.sampled_from(sorted(self.trees))))) - self.stack.held
        self.trees = {name: tree for name, tree in self.trees.items() if name not in dropped} or self.trees
        self.store.gc({self.last, *(commit for commit, _ in self.trees.values())})  # a parent is kept
        assert not self.store.verify().lost


class SessionInTheOperatorsRepository(Session):
    top_of_repository = "."


class SessionInItsOwnRepository(Session):
    top_of_repository = "."
    session = True


KINDS = (Session, SessionInTheOperatorsRepository, SessionInItsOwnRepository)


def run(kind: type[Session], examples: int) -> None:
    how = settings(
        max_examples=examples,
        stateful_step_count=25,
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    run_state_machine_as_test(kind, settings=how)


@pytest.mark.parametrize("kind", KINDS)
def test_every_way_back_in_a_random_session_gives_back_all_there_was(kind: type[Session]) -> None:
    run(kind, 5)


@pytest.mark.cases
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_back_in_many_random_sessions_gives_back_all_there_was(kind: type[Session]) -> None:
    run(kind, 100)
