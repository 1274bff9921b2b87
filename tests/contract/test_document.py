from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.contract.document import LARGEST, Unreadable, parse
from proctor.contract.load import ContractError, load

from .conftest import SMALLEST

Refusal = Callable[[str | bytes], list[str]]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (SMALLEST + "goal: again\n", "proctor.yaml:5: goal: given twice, first on line 1"),
        (SMALLEST + "state:\n\ttasks: x\n", "proctor.yaml:6: a tab; indent with spaces"),
        ("- goal\n", "proctor.yaml:1: a contract is a mapping of keys (goal, worker, budget, progress), not a list"),
        ("goal", "proctor.yaml:1: a contract is a mapping of keys (goal, worker, budget, progress), not a text"),
        (b"goal: x\n# caf\xe9\n", "proctor.yaml:2: is not UTF-8: byte 0xe9; save it as UTF-8"),
        (SMALLEST.encode("utf-16"), "proctor.yaml:1: is not UTF-8: byte 0xff; save it as UTF-8"),
        (SMALLEST + "a: \x1b[31m\n", "proctor.yaml:5: holds the control character U+001B"),
        (SMALLEST + "a: &x [1]\nb: *x\n", "*x: aliases are not read; write the value out"),
        (SMALLEST + "notify: !!python/object/apply:os.system ['true']\n", "is not allowed; write a plain value"),
        (SMALLEST + "notify: !secret x\n", "proctor.yaml:5: notify: the tag '!secret' is not allowed"),
        (SMALLEST + "? [a, b]\n: 1\n", "proctor.yaml:5: a key must be a word"),
        (SMALLEST + "---\ngoal: y\n", "proctor.yaml:5: a second document starts here; a contract is one"),
        (SMALLEST + 'hide: "a\\0b"\n', "holds a character that no file name or command can hold"),
        (SMALLEST + "notify: [bell\n", "proctor.yaml:6: is not YAML: while parsing a flow sequence"),
        ("[" * 100_000, "proctor.yaml:1: is nested too deeply"),
        ("{a: " * 30_000, "proctor.yaml:1: is nested too deeply"),
        ("#" * (LARGEST + 1), "proctor.yaml: is larger than 128 KiB"),
        ("", "proctor.yaml:1: goal: missing: what shall be true at the end?"),
        (SMALLEST + '"to\\u200bkens": 1\n', "proctor.yaml:5: 'to\\u200bkens': unknown key"),
    ],
    ids=lambda value: repr(value)[-40:],
)
def test_what_is_no_plain_yaml_is_one_clear_line(refusal: Refusal, content: str | bytes, line: str) -> None:
    lines = refusal(content)
    assert any(line in told for told in lines), lines
    assert all(told.isprintable() and len(told) < 400 for told in lines)


def test_a_bomb_of_aliases_is_refused_before_it_grows(refusal: Refusal) -> None:
    bomb = "a0: &a0 [x, x, x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    lines = refusal(SMALLEST + bomb)
    assert sum("aliases are not read" in line for line in lines) == 99


def test_a_file_that_is_nothing_but_faults_is_told_in_part(refusal: Refusal) -> None:
    lines = refusal(SMALLEST + "".join(f"k{n}: 1\n" for n in range(10_000)))
    assert len(lines) == 201
    assert lines[-1] == "proctor.yaml: and 9800 more"


def test_duplicates_are_told_together_with_other_faults(refusal: Refusal) -> None:
    lines = refusal(SMALLEST + "goal: again\nbudgets: {}\nsandbox: {kind: docker, kind: none}\n")
    assert [line.split(": ")[1] for line in lines] == ["goal", "budgets", "sandbox.kind"]
    assert [line.split(": ")[1] for line in refusal("sandbox:\n  kind: docker\n  kind: none\n")][-2:] == [
        "sandbox.kind"
    ] * 2


def test_a_byte_order_mark_and_windows_line_ends_are_read(tmp_path: Path) -> None:
    (tmp_path / "proctor.yaml").write_bytes(b"\xef\xbb\xbf" + SMALLEST.replace("\n", "\r\n").encode())
    assert load(tmp_path).goal == "Port the billing service"


def test_scalars_stay_the_text_that_was_written() -> None:
    document = parse(b"a: [010, 1:30, yes, 1e3, ~, null, '~', !!str 5, 2026-01-01]\n")
    assert document.at(("a",)) == ["010", "1:30", "yes", "1e3", None, None, "~", "5", "2026-01-01"]
    assert document.problems == []


words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)
trees = st.recursive(
    words | st.none(), lambda t: st.lists(t, max_size=4) | st.dictionaries(words, t, max_size=4), max_leaves=15
)


@given(st.dictionaries(words, trees, max_size=5))
def test_what_a_yaml_writer_writes_is_read_back(tree: dict[str, object]) -> None:
    document = parse(yaml.safe_dump(tree, allow_unicode=False).encode())
    assert document.root == tree
    assert document.problems == []


@given(st.binary(max_size=200) | st.text("{}[]:,-?&*!|>'\"%@` \n\tab#", max_size=60).map(str.encode))
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_bytes_are_a_document_or_one_reason(content: bytes) -> None:
    try:
        reason = str(len(parse(content).problems))
    except Unreadable as error:
        reason = str(error)
    assert "\n" not in reason


@given(content=st.text("{}[]:,- \nabc0k$%", max_size=80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_a_contract_or_a_list_of_lines(content: str, tmp_path: Path) -> None:
    (tmp_path / "proctor.yaml").write_text(SMALLEST + content)
    try:
        lines, problems = [load(tmp_path).goal], 1
    except ContractError as error:
        lines, problems = str(error).splitlines(), len(error.problems)
    assert len(lines) == problems > 0
