"""What a verb that reads loads at run time: the static contracts cannot see imports inside functions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from proctor.cli.registry import VERBS, Verb
from proctor.journal.events import SessionStarted, TasksLoaded
from proctor.journal.store import Journal, journal_path
from proctor.supervisor.process import state_dir_of

HEAVY = {"textual", "pydantic", "yaml", "git", "aiohttp", "tiktoken", "genai_prices", "watchfiles"}
READING = [verb for verb in VERBS if verb.code.startswith("read:") or verb.name == "checkpoints"]
ARGUMENTS = {"watch": ["--no-follow"]}


def loaded_by(program: str, cwd: Path) -> set[str]:
    """The top-level packages that a fresh interpreter holds after running a program."""
    report = "\nimport json, sys\nprint(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", program + report], cwd=cwd, capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a session that was never run to its end."""
    folder = state_dir_of(tmp_path)
    folder.mkdir()
    with Journal(journal_path(folder)) as journal:
        journal.append(SessionStarted(session="s", workspace=str(tmp_path), goal="g"), TasksLoaded(tasks=()))
    return tmp_path


def test_there_are_verbs_that_only_read() -> None:
    assert {verb.name for verb in READING} >= {"status", "list", "watch", "approvals", "checkpoints"}


@pytest.mark.parametrize("verb", READING, ids=lambda verb: verb.name)
@pytest.mark.parametrize("form", [[], ["--json"]], ids=["plain", "json"])
def test_a_reading_verb_loads_nothing_heavy(verb: Verb, form: list[str], workspace: Path) -> None:
    words = [verb.name, *form, *ARGUMENTS.get(verb.name, []), *([str(workspace)] if verb.takes_dir else [])]
    loaded = loaded_by(f"from proctor.cli.main import main; assert main({words!r}) == 0", workspace)
    assert loaded & HEAVY == set()


@pytest.mark.parametrize(
    "module",
    ["proctor.journal.store", "proctor.journal.state", "proctor.supervisor.client", "proctor.supervisor.inbox"],
)
def test_the_journal_and_its_clients_load_nothing_heavy(module: str, tmp_path: Path) -> None:
    assert loaded_by(f"import {module}", tmp_path) & HEAVY == set()
