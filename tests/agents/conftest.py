"""The table that the cells make together."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

pytest.register_assert_rewrite("agents.cells")

from agents.agents import AGENTS, version  # noqa: E402
from agents.cells import SCENARIOS  # noqa: E402


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print agent by scenario, with each agent's version and each cell's seconds."""
    cells: dict[tuple[str, str], str] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            given = dict(getattr(report, "user_properties", ()))
            if "cell" in given and report.when == ("setup" if report.skipped and "said" not in given else "call"):
                said = given.get("said", "skipped" if report.skipped else "FAILED")
                cells[tuple(given["cell"])] = said if said != "ok" else f"ok {report.duration:.0f}s"
    if not cells:
        return
    names = [*SCENARIOS, "unanswered"]
    terminalreporter.section("agents")
    for line in table(
        [["agent", "version", *names]]
        + [[agent.name, version(agent), *(cells.get((agent.name, name), "") for name in names)] for agent in AGENTS]
    ):
        terminalreporter.write_line(line)


def table(rows: list[list[str]]) -> Iterable[str]:
    """Columns as wide as what stands in them."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()


@pytest.fixture(autouse=True)
def _state(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a session outside of the test's folder; the key that the upstream wants."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SCRIPTED_KEY", "a-key-of-the-test")
