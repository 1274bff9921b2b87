"""Every row of the isolation probes, as root and as an ordinary user, in both layouts of a repository.

A deny row that is not ALLOWED without a sandbox proves nothing and fails here; so does an ERROR, which is never
BLOCKED. What proctor does allow is in EXPECTED, and explained in docs/sandbox.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from probes import accounts
from probes.bench import PROBES, Result, header
from probes.boxes import BOXES
from probes.life import EXTRA
from probes.places import place
from probes.run import table

pytestmark = pytest.mark.probes

SECONDS = 3600
ACCOUNTS = ("root", "user")
LAYOUTS = ("plain", "worktree")
ROWS = [*PROBES, *EXTRA]
NEED_ROOT = {"28_sec_shadow_root", "61_k_caps", "62_k_mount", "67_k_proc_sys_write"}
"""Rows that only root is allowed without a sandbox, beside those of ours that say so in their header."""
SKIPPED = {"90_net_proxy_ssrf", "UA_use_gateway"}
"""Rows that may skip: there is no proxy, and a gateway belongs to the tests of the gateway."""
EXPECTED = {"17_fs_dotfiles_ws", "A4_res_disk_many_files"}
WITHOUT_CGROUP = {"A0_res_fork"}
"""What root is allowed beside them where there is no cgroup to bound it."""

Run = tuple[str, str]
"""An account and a layout."""


def needs_root(row: str) -> bool:
    return row in NEED_ROOT or (row in PROBES and header(PROBES[row]).get("CONTROL") == "root")


@pytest.fixture(scope="session")
def found(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[Run, object]]:
    """Runs what was selected when the first row asks: results by row and by sandbox, or why there are none."""
    selected = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    selected = [chosen for chosen in selected if {"run", "row"} <= chosen.keys()]
    results: dict[Run, object] = {}
    columns = {}
    with ExitStack() as stack:
        for name in sorted({chosen["run"][0] for chosen in selected}):
            ground = stack.enter_context(accounts.ground(place()))
            home = ground / "own"
            home.mkdir()
            try:
                account = getattr(accounts, name)(home)
            except accounts.NotHere as why:
                results.update({(name, layout): str(why) for layout in LAYOUTS})
                continue
            for layout in LAYOUTS:
                rows = ",".join(chosen["row"] for chosen in selected if chosen["run"] == (name, layout))
                if not rows:
                    continue
                out = home / f"{layout}.json"
                words = ("--root", str(home / layout), "--layout", layout, "--json", str(out), "--only", rows)
                done = account.run(*words, *BOXES, seconds=SECONDS)
                assert out.exists(), done.stdout[-2000:]
                by_row = {
                    row: {box: Result(**result) for box, result in by_box.items()}
                    for row, by_box in json.loads(out.read_text()).items()
                }
                results[name, layout] = by_row
                columns |= {f"{box}, {name}, {layout}": {r: by_row[r][box] for r in by_row} for box in BOXES}
        yield results
    report = tmp_path_factory.getbasetemp() / "probes.md"
    report.write_text(table(columns))
    print(f"\n{report.read_text()}")


@pytest.fixture(params=[(a, layout) for a in ACCOUNTS for layout in LAYOUTS], ids="-".join, scope="session")
def run(request: pytest.FixtureRequest, found: dict[Run, object]) -> tuple[str, object]:
    results = found[request.param]
    if isinstance(results, str):
        pytest.skip(results)
    return request.param[0], results


@pytest.mark.parametrize("row", ROWS)
def test_a_row_is_what_it_should_be(run: tuple[str, Any], row: str) -> None:
    account, results = run
    bare, inside = results[row]["bare"], results[row]["proctor"]
    if row in SKIPPED and "SKIP" in (bare.word, inside.word):
        pytest.skip(inside.said)
    if inside.goal == "allow":
        assert (bare.word, inside.word) == ("WORKS", "WORKS"), f"{bare.said} / {inside.said}"
        return
    if inside.control != "litter" and bare.word != "ALLOWED":
        if account == "user" and needs_root(row) and inside.word == "BLOCKED":
            pytest.skip("only root is allowed this without a sandbox")
        pytest.fail(f"proves nothing, it is {bare.word} without a sandbox: {bare.said}")
    if row in WITHOUT_CGROUP and account == "root" and inside.word == "ALLOWED":
        pytest.skip("root without a cgroup is not bound")
    assert inside.word == ("ALLOWED" if row in EXPECTED else "BLOCKED"), inside.said


def test_every_row_that_is_allowed_is_explained() -> None:
    text = (Path(__file__).parents[2] / "docs" / "sandbox.md").read_text()
    told = set(re.findall(r"^\| `(\w+)` \|", text.partition("## The probes")[2], re.M))
    assert {row.partition("_")[0] for row in EXPECTED | WITHOUT_CGROUP} <= told
