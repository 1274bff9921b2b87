"""What a verified task changed, in parts."""

from __future__ import annotations

from pathlib import Path

from proctor.checkpoint.repository import Store
from proctor.journal import events as ev
from proctor.oracle.audit import KeyOf
from proctor.oracle.freeze import freeze
from proctor.supervisor.parts import work_of
from proctor.words import CheckpointKind

FIXTURE = "import pytest\n\n@pytest.fixture\ndef four():\n    return 4\n"
MORE = "\n\ndef twice(n):\n    return n * 2\n"


def test_a_file_that_is_frozen_by_a_part_is_work_and_a_test_is_none(tmp_path: Path) -> None:
    work, state = tmp_path / "w", tmp_path / "w/.proctor"
    (work / "app").mkdir(parents=True)
    state.mkdir()
    texts = {
        "app/given.py": FIXTURE,
        "app/plain.py": "",
        "test_half.py": "def test_half(): pass\n",
    }
    texts["conftest.py"] = "from app.given import four\n"
    for name, text in texts.items():
        (work / name).write_text(text)
    frozen = freeze(work, state / "oracle", ["test_half.py"], [("python", "-m", "pytest")])
    assert {"app/given.py", "conftest.py"} <= frozen.by_path.keys()
    store = Store(work, state / "checkpoints.git")
    began = taken(store, "c1")
    for name, text in texts.items():
        (work / name).write_text(text + MORE)
    key = KeyOf((began.tree,))
    parts = work_of(store, began, taken(store, "c2"), key, frozen=frozen, hidden=()).parts
    assert {part.path for part in parts} == {"app/given.py", "app/plain.py"}


def taken(store: Store, name: str) -> ev.CheckpointTaken:
    found = store.snapshot(name)
    return ev.CheckpointTaken(id=name, checkpoint=CheckpointKind.TASK, commit=found.commit, tree=found.tree)
