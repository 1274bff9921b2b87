"""The documentation holds: links lead somewhere, examples run, tables say what the code says."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness import Workspace, opened
from proctor.contract import built, schema
from proctor.contract.load import load
from proctor.journal.events import KINDS
from proctor.words import Dimension, ExitCode, IterationEnd, LoopRule, RequestKind, Rule, SessionStatus, TaskStatus

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]


def page(name: str) -> str:
    return (DOCS / name).read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.S | re.M)


def prose(text: str) -> str:
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.S | re.M)


def anchors(text: str) -> set[str]:
    """The anchors that a Markdown page has: its headings, as hosts of code name them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_something(path: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(path.read_text())):
        if target.startswith(("http://", "https://")):
            continue
        name, _, anchor = target.partition("#")
        found = path.parent / name if name else path
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text()), target


def test_every_example_of_a_contract_loads(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    examples = [*blocks(page("contract.md"), "yaml"), *blocks(page("agents.md"), "yaml"), *blocks(readme, "yaml")]
    assert len(examples) >= 2
    for text in examples:
        (tmp_path / "proctor.yaml").write_text(text)
        load(tmp_path)


def test_the_contract_s_page_names_every_key_and_what_is_refused() -> None:
    text = page("contract.md")
    known = schema.schema()
    keys = {key for part in (known, *known["$defs"].values()) for key in part.get("properties", ())}
    assert [key for key in sorted(keys) if not re.search(rf"\b{key}\b", text)] == []
    refused = text.partition("## What is refused")[2].partition("\n## ")[0]
    for pattern in built._NOT_BUILT:
        assert f"`{pattern}`" in refused or f"`{pattern.rpartition('.')[2]}`" in refused, pattern


@pytest.fixture
def greeter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    work = tmp_path / "work"
    (work / "tests").mkdir(parents=True)
    (work / "tests" / "holds.sh").write_text('grep -q "$1" greetings.txt\n')
    yield from opened(lambda: Workspace(work))


@pytest.mark.parametrize(("language", "program"), [("sh", "sh"), ("python", "python")])
def test_the_example_workers_do_their_tasks(greeter: Workspace, language: str, program: str) -> None:
    (example,) = blocks(page("protocol.md"), language)
    assert sum(bool(line.strip()) for line in example.splitlines()) <= 15
    (listed,) = blocks(page("protocol.md"), "json")
    (greeter.path / "tasks.json").write_text(listed)
    (greeter.path / "worker").write_text(example)
    (greeter.path / "proctor.yaml").write_text(
        f"goal: Greet in two languages\nworker: {{kind: command, command: [{program}, worker]}}\n"
        "state: {protect: [tests/, worker]}\nbudget: {iterations: {limit: 4, on_exhaustion: park}}\n"
        'approvals: {allow: ["edit(*)"]}\n'
    )
    run = greeter.proctor("run", "--headless")
    assert run.returncode == ExitCode.DONE, run.stdout + run.stderr
    status = greeter.status()
    assert [task["claim"] for task in status["tasks"]] == ["done", "done"]
    assert greeter.events("task_committed") == [], "there is no repository here"
    assert all(task["commit"] for task in json.loads((greeter.path / "tasks.json").read_text()))
    assert {name: status["budget"][name]["used"] for name in ("tokens", "tool_calls")} == {
        "tokens": 2560,
        "tool_calls": 2,
    }


def test_the_exit_codes_are_those_of_the_vocabulary() -> None:
    words = {code.value: code.name.lower().partition("_")[0] for code in ExitCode} | {130: "you"}
    sentence = " ".join((ROOT / "README.md").read_text().split())
    sentence = sentence.partition("`run --headless` exits with")[2].partition("`--once`")[0]
    told = {int(code): text for code, text in re.findall(r"[:,] (\d+) ([a-z ]+)", sentence)}
    listed = {int(code): text for code, text in re.findall(r"^\| (\d+) \| (.+) \|$", page("supervisor.md"), re.M)}
    assert told.keys() == listed.keys() == words.keys()
    assert [code for code in words if words[code] not in told[code]] == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("journal.md", KINDS),
        ("supervisor.md", SessionStatus),
        ("supervisor.md", RequestKind),
        ("protocol.md", IterationEnd),
        ("workspace.md", TaskStatus),
        ("budget.md", Dimension),
        ("progress.md", (*Rule, *LoopRule)),
    ],
)
def test_a_page_leaves_out_no_word_of_the_vocabulary(name: str, words: object) -> None:
    text = page(name)
    assert [str(word) for word in words if f"`{word}`" not in text] == []  # type: ignore[attr-defined]


def test_every_room_has_its_page() -> None:
    index = page("README.md")
    rooms = {path.parent.name for path in (ROOT / "src" / "proctor").glob("*/*.py") if path.name != "__init__.py"}
    listed = dict(re.findall(r"^\| `(\w+)/` \| \[[^]]+\]\(([\w.]+)(?:#[\w-]+)?\) \|$", index, re.M))
    assert listed.keys() == rooms
    assert [name for name in listed.values() if not (DOCS / name).exists()] == []
    assert [path.name for path in DOCS.glob("*.md") if f"({path.name})" not in index and path.name != "README.md"] == []


def test_every_invariant_names_tests_that_there_are() -> None:
    text = page("architecture.md").partition("## What must never break")[2]
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(set(re.findall(r"^(\d+)\. ", text, re.M))) == 10
    assert len(named) >= 10
    for path, test in named:
        assert re.search(rf"^(async )?def {test}\(", (ROOT / path).read_text(), re.M), (path, test)


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [*project["dependencies"], *(one for group in project["optional-dependencies"].values() for one in group)]
    reasons = page("dependencies.md")
    lines = [line for line in reasons.splitlines() if line.startswith("| `")]
    for requirement in named:
        package = re.split(r"[<>=;\s]", requirement)[0]
        assert any(f"`{package}`" in line for line in lines), package
