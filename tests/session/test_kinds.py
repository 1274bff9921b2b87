"""A task whose checks ask for an artifact, a schema and a page, through a whole session."""

from __future__ import annotations

import json
from collections.abc import Callable

import yaml

from harness import Workspace
from proctor.journal import events as ev
from proctor.words import Phase, Verdict

WORKER = """\
from pathlib import Path

Path("data.json").write_text('{"answer": 42}')
Path("tests/data.schema.json").write_text("{}")
"""


def test_what_checks_compare_with_is_as_it_was_before_the_work(sample: Callable[..., Workspace]) -> None:
    workspace = sample("plateau")
    (workspace.path / "tools" / "worker.py").write_text(WORKER)
    (workspace.path / "tests").mkdir(exist_ok=True)
    schema = {"required": ["answer"], "properties": {"answer": {"type": "integer"}}}
    (workspace.path / "tests" / "data.schema.json").write_text(json.dumps(schema))
    serve = ["python3", "-m", "http.server", "--bind", "127.0.0.1", "8000"]
    checks = [
        {"artifact": "data.json"},
        {"schema": {"file": "data.json", "schema": "tests/data.schema.json"}},
        {"page": {"run": serve, "port": 8000, "path": "/data.json", "matches": '"answer": \\d+'}},
    ]
    (workspace.path / "tasks.json").write_text(json.dumps([{"id": 1, "task": "Answer", "check": checks}]))
    contract = yaml.safe_load((workspace.path / "proctor.yaml").read_text())
    contract["progress"] = {"on_tampering": "record", "audit": "never"}
    contract["state"] = {"protect": ["tools"]}
    (workspace.path / "proctor.yaml").write_text(yaml.safe_dump(contract))

    code, output = workspace.finish()
    assert code == 0, output

    judged = [e for e in workspace.events("judged") if isinstance(e, ev.Judged)]
    of = {phase: [(e.verdict, e.check, e.reason) for e in judged if e.phase is phase] for phase in Phase}
    assert of[Phase.BASELINE] == [(Verdict.FAILED, "artifact data.json", "data.json is not there")]
    passed = (Verdict.PASSED, "page http://127.0.0.1:8000/data.json", "all that it asks for holds")
    assert of[Phase.WORK] == of[Phase.REPEAT] == [passed]
    (tampered,) = (e for e in workspace.events("tampered") if isinstance(e, ev.Tampered))
    assert "tests/data.schema.json" in tampered.paths
