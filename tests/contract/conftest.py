from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.contract.load import ContractError, load

SMALLEST = """\
goal: Port the billing service
worker: {kind: command, command: [python, agent.py]}
budget: {iterations: {limit: 40, on_exhaustion: park}}
progress: {checks: [{run: [pytest, -q]}]}
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], Path]:
    def write(text: str | bytes) -> Path:
        content = text if isinstance(text, bytes) else text.encode()
        (tmp_path / "proctor.yaml").write_bytes(content)
        return tmp_path

    return write


@pytest.fixture
def refusal(write: Callable[[str | bytes], Path]) -> Callable[[str | bytes], list[str]]:
    """The lines of the refusal of a contract that must not load."""

    def refusal(text: str | bytes) -> list[str]:
        with pytest.raises(ContractError) as caught:
            load(write(text))
        return str(caught.value).splitlines()

    return refusal
