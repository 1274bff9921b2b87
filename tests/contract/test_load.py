from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.contract.load import ContractError, load, load_state_only
from proctor.contract.values import Channel, SandboxKind, WorkerKind
from proctor.errors import UsageError
from proctor.words import AtSoft, Dimension, Exhaustion, ExitCode, Response, Rule

from .conftest import SMALLEST

Write = Callable[[str | bytes], Path]
Refusal = Callable[[str | bytes], list[str]]

FULL = """\
goal: Port the billing service from API v1 to v2
worker:
  kind: command
  command: [sleep, 010]
  model: claude-sonnet-4-5
  cheaper: {model: claude-haiku-4-5}
  idle: 15m
  brief: file
state:
  tasks: tasks.json
  plan: PLAN.md
  progress: PROGRESS.md
  rules: RULES.md
  protect: [tests/, Makefile]
  hide: secrets/
  commits: none
  environment: {tools: [pytest], variables: [API_BASE]}
budget:
  wall_clock:    {limit: 4h,  on_exhaustion: park, per_task: 1h30m, per_iteration: 20m}
  elapsed:       {limit: 24h, on_exhaustion: park}
  tokens:        {limit: 2M,  on_exhaustion: park}
  prefix_tokens: {limit: 1.5M, on_exhaustion: stop}
  cost:          {limit: $20, on_exhaustion: degrade, reserve: 15%}
  tool_calls:    {limit: 3000, on_exhaustion: escalate}
  iterations:    {limit: 40,  on_exhaustion: park}
  files_touched: {limit: 60,  on_exhaustion: escalate}
  lines_changed: {limit: "4,000", on_exhaustion: escalate}
  bytes_written: {limit: 200M, on_exhaustion: stop}
  levels: {alert: 40%, soft: 80}
  at_soft: [narrow, skip_optional_checks, no_new_tasks, cheaper_model]
progress:
  checks: [{run: [pytest, -q], timeout: 5m}, {run: [ruff, check], optional: yes, expect: 3 passed}]
  on_failed: rollback
  on_tampering: park
  plateau: {no_change: 4, shrinking: 0, same_failure: 3, revisit: 0, no_op: 0, stalled: 9, cycle: 0, on_plateau: stop}
termination:
  final: {run: [pytest, -q], repeat: 2}
approvals:
  allow: ["read(*)", "shell(pytest *)"]
  ask: ["shell(git push *)", "host(*)"]
  deny: ["shell(rm -rf /*)"]
  expire: 30m
sandbox:
  kind: weak
  hosts: []
  unix_sockets: false
  agent_settings: trust
  limits: {memory: 1G, processes: 64, file_size: 64M, open_files: 1024, scratch: 64M}
gateway:
  upstream: {anthropic: {base_url: "https://api.example/v1/", key: env:ANTHROPIC_API_KEY}}
  unknown_paths: pass
  record: meta
  enforce_subscription: false
  prices: {my-local-model: 0, other: {input: $3, output: 15, cache_read: 0.30}}
actions: {}
notify: [bell, desktop, {run: [./tell.sh]}]
"""


def test_every_key_that_runs_is_read_into_base_units(write: Write) -> None:
    contract = load(write(FULL))
    assert contract.worker.kind is WorkerKind.COMMAND
    assert contract.worker.command == ("sleep", "010")  # a word stays the word it was
    assert contract.worker.cheaper is not None
    assert contract.worker.cheaper.model == "claude-haiku-4-5"
    assert contract.worker.idle == 900_000
    assert contract.state.protect == ("tests", "Makefile")
    assert contract.state.hide == ("secrets",)
    assert contract.state.environment.variables == ("API_BASE",)
    assert contract.state.owned == ("tasks.json", "PROGRESS.md", "RULES.md")
    limits = {dimension: ceiling.limit for dimension, ceiling in contract.budget.ceilings.items()}
    assert limits == {
        Dimension.WALL_CLOCK: 14_400_000, Dimension.ELAPSED: 86_400_000, Dimension.TOKENS: 2_000_000,
        Dimension.PREFIX_TOKENS: 1_500_000, Dimension.COST: 20_000_000, Dimension.TOOL_CALLS: 3000,
        Dimension.ITERATIONS: 40, Dimension.FILES_TOUCHED: 60, Dimension.LINES_CHANGED: 4000,
        Dimension.BYTES_WRITTEN: 200 << 20,
    }  # fmt: skip
    wall_clock, cost = contract.budget.ceilings[Dimension.WALL_CLOCK], contract.budget.ceilings[Dimension.COST]
    assert (wall_clock.per_task, wall_clock.per_iteration) == (5_400_000, 1_200_000)
    assert (cost.on_exhaustion, cost.reserve) == (Exhaustion.DEGRADE, 15)
    assert (contract.budget.alert, contract.budget.soft) == (40, 80)
    assert contract.budget.at_soft == tuple(AtSoft)
    first, second = contract.progress.checks
    assert (first.run, first.timeout, first.optional) == (("pytest", "-q"), 300.0, False)
    assert (second.optional, second.expect) == (True, "3 passed")
    assert contract.progress.plateau.windows == {Rule.NO_CHANGE: 4, Rule.SAME_FAILURE: 3, Rule.STALLED: 9}
    assert contract.progress.plateau.loops == {"same_call": 4, "same_error": 4, "same_denial": 2}
    assert contract.progress.plateau.on_plateau == (Response.STOP,)
    assert contract.termination.final is not None
    assert contract.approvals.expire == 1_800_000
    assert contract.sandbox.kind is SandboxKind.WEAK
    assert contract.sandbox.limits.memory == 1 << 30
    assert contract.gateway.upstream["anthropic"].base_url == "https://api.example/v1"
    free, other = contract.gateway.prices["my-local-model"], contract.gateway.prices["other"]
    assert (free.input, free.output, free.cache_read) == (0, 0, None)
    assert (other.input, other.output, other.cache_read) == (3_000_000, 15_000_000, 300_000)
    assert contract.notify[:2] == (Channel.BELL, Channel.DESKTOP)
    assert contract.notify[2].run == ("./tell.sh",)  # type: ignore[union-attr]


def test_all_but_goal_worker_one_ceiling_and_one_check_has_a_default(write: Write) -> None:
    contract = load(write(SMALLEST))
    assert contract.worker.idle == 900_000
    assert contract.state.tasks == "tasks.json"
    assert (contract.budget.alert, contract.budget.soft) == (50, 70)
    assert contract.budget.at_soft == (AtSoft.NARROW, AtSoft.SKIP_OPTIONAL_CHECKS)
    assert contract.budget.ceilings[Dimension.ITERATIONS].reserve == 10
    assert list(contract.progress.plateau.windows.values()) == [3, 3, 3, 2, 2, 6]
    assert contract.sandbox.kind is SandboxKind.BWRAP
    assert contract.approvals.expire is None


@pytest.mark.parametrize("gone", ["goal", "worker", "budget", "progress"])
def test_each_of_the_four_that_have_no_default_is_asked_for_by_name(refusal: Refusal, gone: str) -> None:
    rest = "".join(line for line in SMALLEST.splitlines(keepends=True) if not line.startswith(gone))
    (line,) = refusal(rest)
    assert line.startswith("proctor.yaml:1: ")
    assert {"goal": "goal: missing", "worker": "worker: missing", "budget": "budget: missing", "progress": "no check"}[
        gone
    ] in line


def test_a_task_with_a_check_of_its_own_is_check_enough(write: Write, tmp_path: Path) -> None:
    (tmp_path / "tasks.json").write_text(json.dumps([{"id": 1, "task": "x", "check": {"run": ["true"]}}]))
    assert load(write(SMALLEST.replace("progress: {checks: [{run: [pytest, -q]}]}\n", ""))).progress.checks == ()


@pytest.mark.parametrize("given", ['"check": []', '"check": {}', '"check": "pytest"', '"chek": {"run": ["pytest"]}'])
def test_a_check_of_a_task_that_is_empty_or_misspelt_is_told_where_the_task_list_is_read(
    write: Write, tmp_path: Path, given: str
) -> None:
    (tmp_path / "tasks.json").write_text(f'[{{"id": 1, "task": "x", {given}}}]')
    load(write(re.sub("progress: .*", "", SMALLEST)))


def test_an_optional_check_decides_nothing_and_is_not_the_one_check(refusal: Refusal) -> None:
    (line,) = refusal(SMALLEST.replace("-q]}", "-q], optional: true}"))
    assert line.startswith("proctor.yaml:4: progress.checks: no check")


def test_all_errors_are_told_at_once_with_line_key_and_nearest_key(refusal: Refusal) -> None:
    lines = refusal(
        "goal: ''\n"
        "worker: {kind: comand, command: pytest -q, idel: 3m}\n"
        "budget:\n"
        "  tokns: {limit: 2M, on_exhaustion: park}\n"
        "  cost: {limit: twenty, on-exhaustion: park}\n"
        "  iterations: {limit: 0, on_exhaustion: halt}\n"
        "progress:\n"
        "  checks:\n"
        "    - {run: [], timeout: soon}\n"
        "approvals: {allow: [pytest]}\n"
        "tool_calls: {limit: 9, on_exhaustion: stop}\n"
    )
    assert [line.split(": ", 2)[:2] for line in lines] == [
        ["proctor.yaml:1", "goal"],
        ["proctor.yaml:2", "worker.kind"],
        ["proctor.yaml:2", "worker.command"],
        ["proctor.yaml:2", "worker.idel"],
        ["proctor.yaml:4", "budget.tokns"],
        ["proctor.yaml:5", "budget.cost.limit"],
        ["proctor.yaml:5", "budget.cost.on_exhaustion"],
        ["proctor.yaml:5", "budget.cost.on-exhaustion"],
        ["proctor.yaml:6", "budget.iterations.limit"],
        ["proctor.yaml:6", "budget.iterations.on_exhaustion"],
        ["proctor.yaml:9", "progress.checks[0].run"],
        ["proctor.yaml:9", "progress.checks[0].timeout"],
        ["proctor.yaml:10", "approvals.allow[0]"],
        ["proctor.yaml:11", "tool_calls"],
    ]
    text = "\n".join(lines)
    assert "nearest: tokens" in text
    assert "nearest: idle" in text
    assert "nearest: on_exhaustion" in text
    assert "nearest: command" in text
    assert "it belongs in budget" in text


def test_a10_a_limit_misspelt_or_misplaced_is_an_error_and_never_silently_no_limit(refusal: Refusal) -> None:
    for wrong in (
        "budget: {iteration: {limit: 40, on_exhaustion: park}}",
        "budget: {iterations: {max: 40, on_exhaustion: park}}",
        "budget: {iterations: 40}",
        "budget: {iterations: }",
        "budget: {iterations: off}",
        "budget: {iterations: {limit: 40, on_exhaustion: park}, tokens: }",
        "budget: {iterations: {limit: , on_exhaustion: park}}",
        "budget: {levels: {alert: 50%, soft: 70%}}",
        "budget: {}",
        "budget:",
        "budget: [iterations]",
        "iterations: {limit: 40, on_exhaustion: park}",
        "progress: {iterations: 40}",
        "budget: {iterations: {limit: 40, on_exhaustion: park, per_tusk: 2}}",
        "budget: {iterations: {limit: 40, on_exhaustion: park, per_task: 41}}",
    ):
        lines = refusal(SMALLEST.replace("budget: {iterations: {limit: 40, on_exhaustion: park}}", wrong))
        assert any(":3: " in line for line in lines) or "budget: missing" in lines[0], (wrong, lines)


def test_a_ceiling_without_an_action_is_refused(refusal: Refusal) -> None:
    assert refusal(SMALLEST.replace(", on_exhaustion: park", "")) == [
        "proctor.yaml:3: budget.iterations.on_exhaustion: missing: what happens at this ceiling? "
        "stop, park, escalate, degrade"
    ]


def test_degrade_is_for_tokens_and_cost_and_needs_a_cheaper_model(refusal: Refusal, write: Write) -> None:
    (line,) = refusal(SMALLEST.replace("park", "degrade"))
    assert line == (
        "proctor.yaml:3: budget.iterations.on_exhaustion: degrade is only for tokens and cost; "
        "use stop, park or escalate"
    )
    cost = SMALLEST.replace(
        "{iterations: {limit: 40, on_exhaustion: park}}", "{cost: {limit: $2, on_exhaustion: degrade}}"
    )
    (line,) = refusal(cost)
    assert line == "proctor.yaml:3: budget.cost.on_exhaustion: degrade needs worker.cheaper: {model: NAME}"
    load(write(cost.replace("agent.py]", "agent.py], cheaper: {model: small}")))
    (line,) = refusal(SMALLEST.replace("park}", "park, reserve: 10%}"))
    assert "only `on_exhaustion: degrade` has a reserve" in line
    (line,) = refusal(SMALLEST.replace("park}}", "park}, at_soft: [cheaper_model]}"))
    assert line.startswith("proctor.yaml:3: budget.at_soft: cheaper_model needs worker.cheaper")


def test_what_no_worker_can_write_is_entrusted_to_none(refusal: Refusal) -> None:
    state = "state: {protect: [tests/], entrust: [Makefile, tests/conftest.py]}\n"
    (line,) = refusal(SMALLEST + state)
    assert "state.entrust[1]: 'tests/conftest.py' lies in state.protect (tests), which no worker can write" in line


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("state", "{environment: {secrets: [TOKEN]}}"), ("state", "{environment: {setup: [make]}}"),
        ("actions", "{mail: {run: [x]}}"),
    ],
)  # fmt: skip
def test_what_is_not_built_yet_is_refused_by_name(refusal: Refusal, key: str, value: str) -> None:
    base = "".join(line for line in SMALLEST.splitlines(keepends=True) if not line.startswith(key))
    (line,) = refusal(f"{base}{key}: {value}\n")
    assert f": {key}" in line
    assert "built yet in this release" in line


def test_what_checkpoints_keep_is_read_in_bytes_and_patterns(write: Write) -> None:
    terms = load(
        write(SMALLEST + "state: {checkpoint: {include: dist/, exclude: ['*.csv', '!a.csv'], max_file: 5G}}\n")
    )
    kept = terms.state.checkpoint
    assert (kept.include, kept.exclude) == (("dist/",), ("*.csv", "!a.csv"))
    assert (kept.max_file, kept.max_total) == (5 << 30, 2 << 30)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("'#a'", "names nothing"), ("'!'", "names nothing"), ("/", "names nothing"), ("../a", "leaves the workspace"),
        ("'~/a'", "leaves the workspace"), ("a/../b", "leaves the workspace"), ('"a\\nb"', "control character"),
        (".git/hooks", "lies in .git"), ("/.proctor/", "lies in .proctor"),
    ],
)  # fmt: skip
def test_a_pattern_that_would_name_nothing_is_refused(refusal: Refusal, pattern: str, why: str) -> None:
    (line,) = refusal(f"{SMALLEST}state: {{checkpoint: {{exclude: [{pattern}]}}}}\n")
    assert line.startswith("proctor.yaml:5: state.checkpoint.exclude[0]: ")
    assert why in line


@pytest.mark.parametrize(
    "host", ["http://a.example", "a.example:0", "127.1", "'*'", "bücher.example", "'a.example\\te'"]
)
def test_a_host_that_could_be_read_in_two_ways_is_refused(refusal: Refusal, host: str) -> None:
    (line,) = refusal(f"{SMALLEST}sandbox: {{hosts: [a.example, '*.b.example:8080', {host}]}}\n")
    assert line.startswith("proctor.yaml:5: sandbox.hosts[2]: ")


def test_what_is_not_built_yet_may_be_set_to_off(write: Write) -> None:
    text = "state: {commits: none, environment: {secrets: [], setup: null}}\nactions: {}\n"
    progress = "progress: {checks: [{run: [x], repeat: 1, artifact: null}], smoke: null}\n"
    load(write("".join(SMALLEST.splitlines(keepends=True)[:3]) + progress + text))


@pytest.mark.parametrize(
    "path", ["/etc/passwd", "../x", "a/../../x", "~/x", "", ".proctor/x", ".git/config", "a\\tb", "a\\e[31mb"]
)
@pytest.mark.parametrize("key", ["tasks", "plan", "progress", "rules", "protect", "hide"])
def test_a_path_is_relative_and_stays_inside_the_workspace(refusal: Refusal, key: str, path: str) -> None:
    (line,) = refusal(f'{SMALLEST}state: {{{key}: "{path}"}}\n')
    assert line.startswith(f"proctor.yaml:5: state.{key}: ")
    assert line.isprintable()


def test_a_path_that_leaves_through_a_symbolic_link_is_refused(
    refusal: Refusal, tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    (tmp_path / "out").symlink_to(tmp_path_factory.mktemp("elsewhere"))
    (tmp_path / "loop").symlink_to("loop")
    (line,) = refusal(f"{SMALLEST}state: {{protect: [loop, out/tests]}}\n")
    assert line == "proctor.yaml:5: state.protect[1]: 'out/tests' leaves the workspace through a symbolic link"


def test_the_four_files_are_four_files_and_none_is_the_contract(refusal: Refusal) -> None:
    lines = refusal(f"{SMALLEST}state:\n  plan: ./tasks.json\n  rules: proctor.yaml\n")
    assert lines[0] == "proctor.yaml:6: state.plan: 'tasks.json' is also state.tasks; each needs a file of its own"
    assert "is also the contract" in lines[1]


def test_the_whole_workspace_or_a_pattern_cannot_be_protected(refusal: Refusal) -> None:
    lines = refusal(f"{SMALLEST}state: {{protect: [., 'tests/**']}}\n")
    assert [line.split(": ")[1] for line in lines] == ["state.protect[0]", "state.protect[1]"]


def test_a_key_is_named_by_its_place_and_never_written_down(refusal: Refusal) -> None:
    (line,) = refusal(f"{SMALLEST}gateway: {{upstream: {{a: {{base_url: 'https://x.example', key: sk-secret}}}}}}\n")
    assert line.startswith("proctor.yaml:5: gateway.upstream.a.key: says where the key is")
    assert "sk-secret" not in line


def test_one_price_stands_for_all_kinds_of_tokens(write: Write) -> None:
    prices = load(write(SMALLEST + "gateway: {prices: {m: $3, n: {input: $3, output: $15}}}\n")).gateway.prices
    assert (prices["m"].input, prices["m"].output, prices["m"].cache_write_1h) == (3_000_000,) * 3
    assert prices["n"].cache_write_1h is None


def test_d1_a_price_of_zero_is_free_and_nothing_else_is_taken_for_zero(refusal: Refusal, write: Write) -> None:
    assert load(write(SMALLEST + "gateway: {prices: {m: 0}}\n")).gateway.prices["m"].output == 0
    for wrong in ("", "free", "-1", "{input: 1}", "[]", "off"):
        (line,) = refusal(f"{SMALLEST}gateway: {{prices: {{m: {wrong}}}}}\n")
        assert line.startswith("proctor.yaml:5: gateway.prices.m")


def test_a_section_with_nothing_under_it_is_as_good_as_not_written(write: Write) -> None:
    load(write(SMALLEST + "state:\n  # protect: [tests/]\napprovals:\nnotify:\n"))


def test_the_hash_is_that_of_the_file_and_cannot_be_given(write: Write, refusal: Refusal) -> None:
    one = load(write(SMALLEST)).hash
    assert len(one) == 64
    assert load(write(SMALLEST)).hash == one
    assert load(write(SMALLEST + "# a comment\n")).hash != one
    assert "unknown key" in refusal(SMALLEST + "hash: x\n")[0]


def test_a_contract_does_not_change(write: Write) -> None:
    contract = load(write(SMALLEST))
    with pytest.raises(ValueError, match="frozen"):
        contract.goal = "another"  # type: ignore[misc]


def test_a_missing_contract_and_a_workspace_that_is_no_folder_say_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"there is no contract; `proctor init` writes one") as caught:
        load(tmp_path)
    assert caught.value.exit_code is ExitCode.USAGE
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "nothing"):
        with pytest.raises(ContractError, match="the workspace is not a folder"):
            load(path)


def test_the_state_is_read_from_a_contract_that_is_broken_elsewhere(write: Write, tmp_path: Path) -> None:
    assert load_state_only(tmp_path).tasks == "tasks.json"
    workspace = write("worker: 3\nstate: {tasks: todo.json, plan: /etc/passwd, nonsense: 1, protect: [tests/]}\n")
    state = load_state_only(workspace)
    assert (state.tasks, state.plan, state.protect) == ("todo.json", "PLAN.md", ("tests",))
    for text in ("a: [", "- x", "state: 3", "", b"\xff"):
        assert load_state_only(write(text)).tasks == "tasks.json"


def test_a_contract_that_is_a_pipe_or_cannot_be_opened_is_one_line_and_no_wait(tmp_path: Path) -> None:
    path = tmp_path / "proctor.yaml"
    os.mkfifo(path)
    with pytest.raises(ContractError, match=r"^proctor\.yaml: is not a plain file$"):
        load(tmp_path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ContractError, match=r"^proctor\.yaml: cannot be read: is a directory$"):
        load(tmp_path)
    path.rmdir()
    path.symlink_to("nowhere")
    with pytest.raises(ContractError, match=r"^proctor\.yaml: cannot be read: no such file"):
        load(tmp_path)


ONE_OF = "it is one of opencode, gemini, qwen"
MISSING = "missing: the program, as a list of words such as [python, tools/agent.py]"


@pytest.mark.parametrize(
    ("worker", "said"),
    [
        ("{kind: acp}", f"worker.command: {MISSING}; or worker.agent: opencode | gemini | qwen"),
        ("{kind: command}", f"worker.command: {MISSING}; or worker.agent: aider | mini"),
        ("{kind: acp, agent: aider}", f"worker.agent: for kind: acp {ONE_OF}"),
        ("{kind: acp, agent: opencodr}", f"worker.agent: for kind: acp {ONE_OF}; nearest: opencode"),
        ("{kind: claude, agent: opencode}", "worker.agent: for kind: claude it is left out"),
    ],
)  # fmt: skip
def test_an_agent_is_named_where_its_kind_has_several(refusal: Refusal, worker: str, said: str) -> None:
    (line,) = refusal(re.sub(r"worker: .*", f"worker: {worker}", SMALLEST))
    assert line == f"proctor.yaml:2: {said}"


def test_agents_need_no_command(write: Write) -> None:
    for worker in ("{kind: claude}", "{kind: codex}", "{kind: acp, agent: qwen}", "{kind: command, agent: mini}"):
        assert load(write(re.sub(r"worker: .*", f"worker: {worker}", SMALLEST))).worker.command is None
