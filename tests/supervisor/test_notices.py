"""What the commands of `notify` run is out of the worker's reach, or they are refused."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from proctor.contract.load import load
from proctor.errors import UsageError
from proctor.sandbox.choose import bubblewrap
from proctor.sandbox.run import run
from proctor.supervisor import enclosure, policies
from proctor.supervisor.preflight import preflight

CONTRACT = """\
goal: try
worker: {kind: command, command: [/bin/true]}
state: {commits: none}
sandbox: {kind: bwrap}
budget: {iterations: {limit: 3, on_exhaustion: stop}}
progress: {checks: [{run: [/bin/true]}]}
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    place.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=place, check=True)
    (place / "tasks.json").write_text('[{"id": "1", "task": "one"}]')
    return place


def test_what_notices_run_is_read_only_to_its_end(workspace: Path, tmp_path: Path) -> None:
    notify = "notify: [{run: [./tell]}, {run: [python3, tools/tell.py]}, {run: [sh, -c, '. ./more/said']}]"
    for name in ("tell", "tools/tell.py", "more/said", "more/free", "own"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).touch()
    (workspace / "tell").write_text("#!/bin/sh\nexec timeout 9 ./own\n")
    (workspace / "proctor.yaml").write_text(CONTRACT + notify)
    preflight(workspace)
    script = """for name in tell tools/tell.py tools/json.py more/said own; do
        ! (echo x >> $name) 2> /dev/null || exit 3
    done; echo x >> more/free"""
    terms = load(workspace)
    walls = enclosure.enclose(policies.base(workspace, terms), terms, tmp_path / "session.git")
    done = run(bubblewrap(), ["sh", "-c", script], walls.policy, 30, tmp_path / "log", 1 << 20)
    assert done.exit.code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("[./tell]", "notify: tell is not there: a worker could make it"),
        ("[sh, tools/tell.sh]", "notify: tools/tell.sh is not there"),
        ("[sh, -c, '. ./tools/said']", "notify: tools/said is not there"),
        ("[env, -C, tools, ./said]", "notify: tools/said is not there"),
        ("[python3, -I, tools/tell.py]", "notify: tools/tell.py is not there"),
        ("[sh, link]", "notify: link is a link"),
        ("[python3, -m, tools.tell]", "notify: Python looks for modules in the workspace first"),
        ("[python3, at_the_top.py]", "notify: Python looks for modules in the workspace first"),
        ("[python3, -c, 'import json']", "notify: Python looks for modules in the workspace first"),
    ],
)
def test_a_notice_that_a_worker_could_turn_is_refused(workspace: Path, words: str, said: str) -> None:
    (workspace / "link").symlink_to("proctor.yaml")
    (workspace / "at_the_top.py").touch()
    (workspace / "proctor.yaml").write_text(CONTRACT + f"notify: [{{run: {words}}}]")
    with pytest.raises(UsageError, match=said):
        preflight(workspace)


@pytest.mark.parametrize(
    "words",
    [
        "[notify-it, -t, hello]",
        "[/usr/bin/env, true]",
        "[sh, -c, 'echo $PROCTOR_TEXT >> told.log']",
        "[python3, -Im, it]",
    ],
)
def test_a_notice_that_runs_nothing_of_the_workspace_is_let_through(workspace: Path, words: str) -> None:
    (workspace / "proctor.yaml").write_text(CONTRACT + f"notify: [{{run: {words}}}]")
    preflight(workspace)
