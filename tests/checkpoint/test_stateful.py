"""A random session on a real tree: work, checkpoints, rollbacks, undos and redos, always equal to a copy kept apart."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from checkpoint.photo import Photograph, photograph
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


class Session(RuleBasedStateMachine):
    """`trees` keeps every checkpoint's photograph; `stack` is what the journal would fold."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="proctor-stateful-"))
        self.work = self.folder / "work"
        self.work.mkdir()
        self.top = os.fsencode(self.work)
        self.store = Store(self.work, self.work / ".proctor/checkpoints.git", ("tasks.json",))
        self.trees: dict[str, tuple[str, Photograph]] = {}
        self.stack = UndoStack()
        self.take()

    def teardown(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def take(self) -> str:
        name = f"c{len(self.trees) + 1}"
        self.trees[name] = (self.store.snapshot(name).commit, photograph(self.work))
        return name

    def place(self, path: bytes) -> bytes | None:
        """Where a path is in the tree, its folders made; None where a file or a link is in the way."""
        place = self.top
        for part in path.split(b"/")[:-1]:
            place += b"/" + part
            if os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place)):
                return None
            os.makedirs(place, exist_ok=True)
        return place + b"/" + path.split(b"/")[-1]

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
        place = self.place(path)
        if place and os.path.isfile(place) and not os.path.islink(place):
            before = os.stat(place)
            with open(place, "r+b") as file:
                file.write(content)
            os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))

    @rule(path=PATHS)
    def removes(self, path: bytes) -> None:
        if place := self.place(path):
            self.clear(place)

    @rule(path=PATHS, to=st.sampled_from([b"a", b"nowhere", b"..", b"/etc"]))
    def links(self, path: bytes, to: bytes) -> None:
        if place := self.place(path):
            self.clear(place)
            os.symlink(to, place)

    @rule(path=FOLDERS, mode=st.sampled_from([0o755, 0o700, 0o555]))
    def makes_a_folder(self, path: bytes, mode: int) -> None:
        if place := self.place(path):
            self.clear(place)
            os.mkdir(place)
            os.chmod(place, mode)

    @rule(path=PATHS, mode=MODES)
    def changes_a_mode(self, path: bytes, mode: int) -> None:
        place = self.place(path)
        if place and os.path.isfile(place) and not os.path.islink(place):
            os.chmod(place, mode)

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

    @rule()
    def checkpoint(self) -> None:
        self.take()

    def go(self, way: Way, target: str) -> None:
        safety = self.take()
        back = self.store.restore(self.trees[safety][0], self.trees[target][0])
        assert photograph(self.work) == self.trees[target][1]
        assert back.parked == ()
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

    @rule()
    def restart(self) -> None:
        self.store = Store(self.work, self.work / ".proctor/checkpoints.git", ("tasks.json",))


TestSession = Session.TestCase
TestSession.settings = settings(
    max_examples=20,
    stateful_step_count=25,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
    print_blob=True,
)
