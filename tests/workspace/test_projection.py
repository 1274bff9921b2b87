"""The projected files say what the journal says, whatever a worker did to them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proctor.errors import UsageError
from proctor.words import TaskStatus
from proctor.workspace import tasks
from proctor.workspace.log import Entry
from proctor.workspace.marking import Mark
from proctor.workspace.projection import Projection

LIST = '[\n {"id": 14, "task": "Port refunds", "owner": "me"},\n {"id": 15, "task": "Port invoices"}\n]\n'
MARKS = [Mark(14, TaskStatus.FAILED), Mark(15, TaskStatus.PENDING)]
AT = datetime(2026, 11, 29, 14, 3, tzinfo=UTC)


@pytest.fixture
def projection(tmp_path: Path) -> Projection:
    (tmp_path / "tasks.json").write_text(LIST)
    (tmp_path / "PLAN.md").write_text("# Plan\n- [ ] One\n- [ ] Two\n")
    (tmp_path / "PROGRESS.md").write_text("# Log\n")
    (tmp_path / "RULES.md").write_text("Never retry.\nRun the linter.\n")
    projection = Projection(tmp_path, tmp_path / ".proctor" / "projection")
    projection.keep()
    projection.project(MARKS)
    return projection


def text(projection: Projection, name: str) -> str:
    return (projection.workspace / name).read_text()


def test_the_marks_stand_in_the_task_list(projection: Projection) -> None:
    assert [(task["status"], task["verified_by"]) for task in json.loads(text(projection, "tasks.json"))] == [
        ("failed", None),
        ("pending", None),
    ]
    assert '"owner": "me", "status": "failed"' in text(projection, "tasks.json")


def test_nothing_is_undone_when_nothing_was_done(projection: Projection) -> None:
    before = (projection.workspace / "tasks.json").stat()
    projection.project(MARKS)
    assert projection.restore() == ()
    after = (projection.workspace / "tasks.json").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_status_that_a_worker_wrote_is_put_back_and_told(projection: Projection) -> None:
    good = text(projection, "tasks.json")
    edited = good.replace('"failed"', '"done"').replace('"Port invoices"', '"Do nothing", "check": {"run": ["true"]}')
    (projection.workspace / "tasks.json").write_text(edited)
    aside = ".proctor/projection/set-aside/001-tasks.json"
    assert projection.restore() == (
        'tasks.json: task 14: status "failed" had become "done"; put back',
        "tasks.json: task 15: task changed; put back",
        f"tasks.json: task 15: check changed; put back (as found: {aside})",
    )
    assert text(projection, "tasks.json") == good
    assert text(projection, aside) == edited
    assert projection.restore() == ()


def test_tasks_that_a_worker_removed_added_or_moved_are_put_back(projection: Projection) -> None:
    path = projection.workspace / "tasks.json"
    good = json.loads(path.read_text())
    path.write_text(json.dumps([good[1], {"id": 99, "task": "x", "check": {"run": ["true"]}}]))
    lines = projection.restore()
    assert lines[0] == "tasks.json: task 14 removed; put back"
    assert lines[1].startswith("tasks.json: task 99 added; put back")
    path.write_text(json.dumps(good[::-1]))
    assert projection.restore()[0].startswith("tasks.json: order changed; put back")
    assert json.loads(path.read_text()) == good


def test_a_list_that_is_only_laid_out_anew_is_left_alone(projection: Projection) -> None:
    path = projection.workspace / "tasks.json"
    path.write_text(json.dumps(json.loads(path.read_text()), indent=4))
    before = path.read_text()
    assert projection.restore() == ()
    assert path.read_text() == before


def broken(path: Path) -> None:
    path.write_text("[{")


def symlink(path: Path) -> None:
    path.unlink()
    path.symlink_to("/etc/passwd")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "inner").touch()


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def flooded(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def binary(path: Path) -> None:
    path.write_bytes(b"\x00\xff")


def deleted(path: Path) -> None:
    path.unlink()


@pytest.mark.parametrize("spoil", [broken, symlink, folder, fifo, flooded, binary, deleted])
@pytest.mark.parametrize("name", ["tasks.json", "PROGRESS.md", "RULES.md"])
def test_a_file_that_a_worker_spoiled_is_put_back(
    projection: Projection, name: str, spoil: Callable[[Path], None]
) -> None:
    good = text(projection, name)
    spoil(projection.workspace / name)
    (line,) = projection.restore()
    assert line.startswith(f"{name}: ")
    assert "put back" in line
    assert text(projection, name).startswith(good)
    kept = [*(projection.store / "set-aside").iterdir()] if (projection.store / "set-aside").exists() else []
    assert len(kept) == (0 if spoil is deleted or "lines" in line else 1)


def test_a_plan_that_is_the_task_list_is_put_back_and_no_list_takes_its_place(projection: Projection) -> None:
    (projection.workspace / "tasks.json").unlink()
    projection.keep()
    projection.project([Mark(1, TaskStatus.DONE)])
    assert not (projection.workspace / "tasks.json").exists()
    good = text(projection, "PLAN.md")
    (projection.workspace / "PLAN.md").write_text("# Plan\n- [x] One\n")
    (projection.workspace / "tasks.json").write_text('[{"id": 1, "task": "x", "check": {"run": ["true"]}}]')
    lines = projection.restore()
    assert lines[0].startswith("tasks.json: made while a worker ran; now .proctor/")
    assert lines[1].startswith("PLAN.md: changed; put back")
    assert text(projection, "PLAN.md") == good
    assert [task.id for task in tasks.read(projection.workspace, "tasks.json", "PLAN.md", ())] == [1, 2]


def test_a_plan_beside_a_task_list_is_not_touched(projection: Projection) -> None:
    (projection.workspace / "PLAN.md").write_text("another plan")
    assert projection.restore() == ()
    assert text(projection, "PLAN.md") == "another plan"


def test_what_the_operator_changed_between_iterations_is_taken_over(projection: Projection) -> None:
    (projection.workspace / "tasks.json").write_text('[{"id": 7, "task": "New"}]')
    projection.keep()
    assert projection.restore() == ()


def test_a_worker_s_lines_stay_in_the_log_with_its_false_claim_annotated(projection: Projection) -> None:
    (projection.workspace / "PROGRESS.md").write_text("# Log\nI read the code.\nTask 14 is done.\n")
    projection.append(Entry(AT, "task 14 failed", found="3 tests fail", next="task 14"), MARKS)
    assert text(projection, "PROGRESS.md") == (
        "# Log\nI read the code.\nTask 14 is done.\n> proctor: task 14 is failed: not verified\n\n"
        "## 2026-11-29 14:03 task 14 failed\n\n- found: 3 tests fail\n- next: task 14\n"
    )
    assert projection.restore() == ()


def test_entries_and_rules_that_a_worker_removed_come_back(projection: Projection) -> None:
    projection.append(Entry(AT, "task 14 failed"), MARKS)
    (projection.workspace / "PROGRESS.md").write_text("# Log\nall good\n")
    (projection.workspace / "RULES.md").write_text("Never retry.\nBe bold.\n")
    assert projection.restore() == (
        "PROGRESS.md: 1 lines removed or changed while a worker ran; put back",
        "RULES.md: 1 lines removed or changed while a worker ran; put back",
    )
    assert "task 14 failed" in text(projection, "PROGRESS.md")
    assert text(projection, "PROGRESS.md").endswith("all good\n")
    assert text(projection, "RULES.md") == "Never retry.\nRun the linter.\nBe bold.\n"


def test_a_log_starts_with_its_first_entry(tmp_path: Path) -> None:
    projection = Projection(tmp_path, tmp_path / ".proctor")
    projection.append(Entry(AT, "session started"), [])
    projection.append(Entry(AT, "task 1 passed"), [])
    assert text(projection, "PROGRESS.md") == (
        "## 2026-11-29 14:03 session started\n\n## 2026-11-29 14:03 task 1 passed\n"
    )


def test_a_log_that_has_grown_too_long_is_set_aside_and_begun_anew(projection: Projection) -> None:
    flood = "# Log\n" + "worker was here\n" * 100_000
    (projection.workspace / "PROGRESS.md").write_text(flood)
    projection.append(Entry(AT, "task 14 failed"), MARKS)
    aside = ".proctor/projection/set-aside/001-PROGRESS.md"
    assert text(projection, "PROGRESS.md") == f"Earlier entries: {aside}\n\n{Entry(AT, 'task 14 failed')}"
    assert text(projection, aside) == flood
    assert projection.restore() == ()


def test_without_a_kept_copy_nothing_is_put_back(tmp_path: Path) -> None:
    (tmp_path / "tasks.json").write_text("[{")
    assert Projection(tmp_path, tmp_path / ".proctor").restore() == ()


def test_files_that_cannot_be_read_are_refused_at_the_start(projection: Projection) -> None:
    binary(projection.workspace / "PROGRESS.md")
    with pytest.raises(UsageError, match=r"PROGRESS\.md:1: not UTF-8 text"):
        projection.keep()
