from __future__ import annotations

from pathlib import Path

from proctor.checkpoint.policy import DEFAULT, Keep
from proctor.contract.load import load, load_state_only
from proctor.supervisor.store import keeping

CONTRACT = """\
goal: Port the billing service
worker: {kind: command, command: [python, agent.py]}
budget: {iterations: {limit: 40, on_exhaustion: park}}
progress: {checks: [{run: [pytest, -q]}]}
"""
CHECKPOINT = "state: {checkpoint: {include: [dist/], exclude: ['*.csv'], max_file: 5G}}\n"


def test_checkpoints_keep_what_the_contract_says_and_a_file_that_may_be_kept_fits_into_one(tmp_path: Path) -> None:
    (tmp_path / "proctor.yaml").write_text(CONTRACT + CHECKPOINT)
    wanted = Keep(include=("dist/",), exclude=("*.csv",), max_file=5 << 30, max_total=5 << 30)
    assert keeping(load(tmp_path).state) == wanted


def test_a_contract_that_is_incomplete_or_not_there_leaves_the_defaults(tmp_path: Path) -> None:
    assert keeping(load_state_only(tmp_path)) == DEFAULT
    (tmp_path / "proctor.yaml").write_text("goal: half\n" + CHECKPOINT)
    assert keeping(load_state_only(tmp_path)).exclude == ("*.csv",)
    (tmp_path / "proctor.yaml").write_text("state: {checkpoint: {exclude: ['*.csv', ../x]}}\n")
    assert keeping(load_state_only(tmp_path)) == DEFAULT
