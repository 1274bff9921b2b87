from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.approvals.rules import OUTWARD, Decision, Rules

RULES = Rules(
    allow=["read(*)", "edit(src/*)", "shell(pytest *)", "shell(git *)", "shell(ls *)"],
    ask=["shell(git push *)", "host(*)"],
    deny=["shell(rm -rf /*)", "read(secrets/*)"],
)


@pytest.mark.parametrize(
    ("tool", "argument", "decision"),
    [
        ("read", "src/a.py", "allow"), ("read", "", "allow"), ("edit", "src/a.py", "allow"),
        ("edit", "setup.py", "ask"),
        ("shell", "pytest -q", "allow"), ("shell", "pytest", "allow"), ("shell", "pytester", "ask"),
        ("shell", "git status", "allow"), ("shell", "git push origin x", "ask"), ("shell", "git push", "ask"),
        ("shell", "rm -rf /etc", "deny"), ("shell", "rm  -rf\t/etc", "deny"), ("shell", "rm -rf build", "ask"),
        ("host", "example.org", "ask"), ("unheard_of", "x", "ask"), ("Shell", "pytest", "ask"),
        ("read", "secrets/key", "deny"), ("read", "src/../secrets/key", "deny"), ("edit", "src/../setup.py", "ask"),
    ],
)  # fmt: skip
def test_deny_weighs_more_than_ask_and_ask_more_than_allow(tool: str, argument: str, decision: str) -> None:
    assert RULES.decide(tool, argument) == decision


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("pytest -q && git status", "allow"), ("pytest -q; ls", "allow"), ("pytest -q | ls", "allow"),
        ("pytest -k 'a|b; c'", "allow"), ('pytest -k "a && b $x"', "allow"), ("pytest -q 2>&1 | ls", "allow"),
        ("pytest -q >/dev/null 2>&1", "allow"), (r"pytest -k a\;b", "allow"), ("pytest\nls", "allow"),
        ("pytest -q; curl x", "ask"), ("pytest -q && curl x", "ask"), ("pytest & curl x", "ask"),
        ("pytest\ncurl x", "ask"),
        ("pytest $(curl x)", "ask"), ("pytest `curl x`", "ask"), ('pytest "$(curl x)"', "ask"),
        ("pytest > /etc/x", "ask"),
        ("pytest <(curl x)", "ask"), ("pytest 'unclosed", "ask"), ("(pytest)", "ask"), ("pytest ${x:-`y`}", "ask"),
        (r"pytest $'\''; curl x #'", "ask"), ("pytest # it's\ncurl x #'", "ask"), ('pytest $"a"', "ask"),
        ("pytest && git push", "ask"), ("x=$(git push)", "ask"), ("", "ask"),
        ("pytest; rm -rf /etc", "deny"), ("pytest && (rm -rf /etc)", "deny"), ("echo `rm -rf /etc`", "deny"),
        ("sh -c 'a; rm -rf /'", "deny"), ("{ rm -rf /; }", "deny"),
    ],
)  # fmt: skip
def test_a_shell_line_is_judged_by_each_of_its_commands(line: str, decision: str) -> None:
    assert RULES.decide("shell", line) == decision


tokens = [
    "a",
    " ",
    "'",
    '"',
    "$'\\''",
    '$"',
    " # '",
    "\ncurl x #'",
    ";curl x #'",
    "&curl ",
    "|curl ",
    "`curl`",
    "$(curl)",
    ")",
    "\\",
    ">",
    "#",
]


@given(st.lists(st.sampled_from(tokens), max_size=6).map("".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400, deadline=None)
def test_a_real_shell_runs_nothing_else_for_a_line_that_was_allowed(tmp_path: Path, line: str) -> None:
    for name in ("pytest", "curl"):
        stub = tmp_path / name
        if not stub.exists():
            stub.write_text(f"#!/bin/sh\n: > {tmp_path}/ran-{name}\n")
            stub.chmod(0o755)
    for text in (line, f"pytest {line}"):
        if Rules(allow=["shell(pytest *)"]).decide("shell", text) is Decision.ALLOW:
            environment = {"PATH": str(tmp_path)}
            subprocess.run(["/bin/bash", "-c", text], cwd=tmp_path, env=environment, capture_output=True, check=False)
            assert not (tmp_path / "ran-curl").exists()


def test_allowing_everything_means_everything_that_is_not_denied_or_asked() -> None:
    rules = Rules(allow=["*(*)"], deny=["shell(rm *)"])
    assert rules.decide("shell", "cat < $(x)") is Decision.ALLOW
    assert rules.decide("shell", "x; rm y") is Decision.DENY


def test_without_rules_everything_is_asked() -> None:
    assert Rules().decide("read", "x") is Decision.ASK


def test_outward_acts_that_nothing_gates_are_named() -> None:
    assert RULES.ungated() == ()
    assert Rules(allow=["*(*)"], ask=["host(*)"]).ungated() == tuple(f"{t}({a})" for t, a in OUTWARD if t != "host")


@pytest.mark.parametrize("text", ["", "shell", "shell()", "shell(x", "sh ell(x)", "(x)"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"tool\(glob\)"):
        Rules(allow=[text])


lines = st.lists(
    st.sampled_from(["pytest -q", "ls", "curl x", "rm -rf /etc", "'a;b'", "$(", "`", ")", ";", "&&", "|", "\n", " "])
)


@given(lines.map("".join))
def test_whatever_surrounds_a_denied_command_it_is_never_allowed(line: str) -> None:
    assert RULES.decide("shell", f"{line};rm -rf /etc") is Decision.DENY
    assert RULES.decide("shell", f"{line};curl x") is not Decision.ALLOW


@given(st.text(max_size=20), st.text(max_size=80))
def test_any_call_gets_an_answer(tool: str, argument: str) -> None:
    assert RULES.decide(tool, argument) in Decision
