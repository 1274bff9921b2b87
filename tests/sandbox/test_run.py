from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import proctor.sandbox.run
from harness import PATIENCE
from proctor.sandbox.policy import Policy
from proctor.sandbox.run import Completed, run
from proctor.sandbox.running import Backend

from .conftest import wait_for

Attempt = Callable[..., Completed]


def test_output_is_kept_up_to_a_limit(bwrap: Backend, policy: Policy, attempt: Attempt, tmp_path: Path) -> None:
    done = attempt(bwrap, policy, "sh", "-c", "echo one; echo two >&2; head -c 5M /dev/zero; exit 7", limit=100)
    assert (done.exit.code, done.timed_out, done.truncated) == (7, False, True)
    said = (tmp_path / "said").read_bytes()
    assert len(said) == 100
    assert said.startswith(b"one\ntwo\n")


def test_a_command_is_ended_at_its_time(
    backend: Backend, policy: Policy, attempt: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = time.monotonic() + PATIENCE
    clock = SimpleNamespace(monotonic=lambda: float(begun.exists() or time.monotonic() > bound))
    begun = policy.workspace / "begun"
    monkeypatch.setattr(proctor.sandbox.run, "time", clock)
    script = "echo begun; (setsid sleep 1000 &); touch begun; sleep 1000"
    done = attempt(backend, policy, "sh", "-c", script, timeout=0.5)
    assert (done.exit.code, done.exit.ran, done.timed_out, done.truncated) == (None, False, True, False)
    assert done.seconds == 1.0
    assert (tmp_path / "said").read_text() == "begun\n"


def test_a_flood_is_ended_before_its_time(bwrap: Backend, policy: Policy, attempt: Attempt) -> None:
    done = attempt(bwrap, policy, "yes")
    assert (done.timed_out, done.truncated, done.exceeded) == (False, True, "it wrote more than 256M of output")


def test_a_command_that_closes_its_output_is_waited_for(bwrap: Backend, policy: Policy, attempt: Attempt) -> None:
    done = attempt(bwrap, policy, "sh", "-c", "exec >&- 2>&-; sleep 0.2; exit 4")
    assert (done.exit.code, done.timed_out) == (4, False)


def test_a_process_left_behind_does_not_hold_the_output_open(
    backend: Backend, policy: Policy, attempt: Attempt
) -> None:
    done = attempt(backend, policy, "sh", "-c", "(setsid sleep 1000 &); exit 2")
    assert (done.exit.code, done.timed_out) == (2, False)


def test_input_can_be_given(bwrap: Backend, policy: Policy, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("hello")
    with (tmp_path / "input").open() as given:
        done = run(bwrap, ["cat"], policy, 20, tmp_path / "said", 100, stdin=given.fileno())
    assert done.exit.code == 0
    assert (tmp_path / "said").read_text() == "hello"


SUPERVISOR = """
import sys
from pathlib import Path
from proctor.errors import ProctorError
from proctor.sandbox.choose import passthrough
from proctor.sandbox.policy import Policy
try:
    sys.exit(passthrough(sys.argv[3:], Policy(Path(sys.argv[2])), kind=sys.argv[1]))
except ProctorError as error:
    print("proctor:", error, file=sys.stderr)
    sys.exit(int(error.exit_code))
"""


@pytest.fixture
def interruptible() -> Iterator[None]:
    """What is started can be interrupted, also where the tests run in the background of a shell, which ignores that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(params=["bwrap", "weak", "none"])
def foreground(request: pytest.FixtureRequest, workspace: Path) -> Callable[..., subprocess.Popen[str]]:
    def go(*argv: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", SUPERVISOR, request.param, workspace, *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    return go


def test_streams_and_exit_status_are_passed_through(foreground: Callable[..., subprocess.Popen[str]]) -> None:
    out, err = (process := foreground("sh", "-c", "cat; echo bad >&2; exit 9")).communicate("given", timeout=PATIENCE)
    assert (process.returncode, out, err) == (9, "given", "bad\n")


def test_a_command_that_is_not_there_is_refused_in_our_words(foreground: Callable[..., subprocess.Popen[str]]) -> None:
    _, err = (process := foreground("no-such-program")).communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert err.strip() == "proctor: no-such-program: not found inside the sandbox, or not a program"


def test_termination_ends_a_command_that_ignores_it(
    foreground: Callable[..., subprocess.Popen[str]], workspace: Path
) -> None:
    process = foreground("sh", "-c", "trap '' TERM HUP INT; touch begun; while :; do touch beat; sleep 0.01; done")
    wait_for((workspace / "beat").exists)
    process.terminate()
    process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + signal.SIGTERM
    (workspace / "beat").unlink()
    time.sleep(0.05)
    assert not (workspace / "beat").exists()


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_reaches_the_command(foreground: Callable[..., subprocess.Popen[str]], workspace: Path) -> None:
    process = foreground("sh", "-c", "trap 'echo interrupted; exit 5' INT; touch begun; while :; do sleep 0.05; done")
    wait_for((workspace / "begun").exists)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (5, "interrupted\n")


def test_it_ends_with_the_program_that_started_it(workspace: Path) -> None:
    script = "import subprocess, sys; subprocess.run(sys.argv[1:])"
    beat = "while :; do echo $$ > beat; sleep 0.01; done"
    parent = subprocess.Popen(
        [sys.executable, "-c", script, sys.executable, "-c", SUPERVISOR, "bwrap", workspace, "sh", "-c", beat]
    )
    wait_for((workspace / "beat").exists)
    parent.kill()
    parent.wait()

    def silent() -> bool:
        (workspace / "beat").unlink(missing_ok=True)
        time.sleep(0.05)
        return not (workspace / "beat").exists()

    wait_for(silent)


def test_a_policy_that_cannot_be_kept_runs_nothing(bwrap: Backend, policy: Policy, tmp_path: Path) -> None:
    (policy.workspace / "linked").symlink_to("tests")
    with pytest.raises(Exception, match="symbolic link"):
        run(bwrap, ["touch", "ran"], replace(policy, protect=("linked",)), 20, tmp_path / "said", 100)
    assert not (policy.workspace / "ran").exists()


def test_what_watches_over_a_command_can_end_it(workspace: Path) -> None:
    watched = """
    @contextlib.contextmanager
    def watch(kill):
        kill()
        yield
    """
    script = f"import contextlib\n{textwrap.dedent(watched)}\n{SUPERVISOR.replace('1])', '1], watch=watch)')}"
    argv = [sys.executable, "-c", script, "bwrap", workspace, "sleep", "60"]
    assert subprocess.run(argv, timeout=PATIENCE, check=False).returncode == 128 + signal.SIGKILL
