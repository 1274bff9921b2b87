"""A run without a screen follows the session to its end, whichever verb began it."""

from __future__ import annotations

from collections.abc import Callable

from harness import Workspace
from proctor.journal import events as ev


def test_a_resume_without_a_screen_follows_a_session_that_is_up_to_the_reasons_exit_code(
    sample: Callable[..., Workspace],
) -> None:
    workspace = sample("plateau", pause=0)
    workspace.contract("same_failure: 3, on_plateau: [park]", "same_failure: 2, on_plateau: [escalate]")
    code, said = workspace.finish()
    assert code == 4, said
    up = workspace.supervisor()
    assert up
    refused = workspace.proctor("resume", "--headless", "--once")
    assert refused.returncode == 2
    assert "--once" in refused.stderr
    again = workspace.proctor("resume", "--headless", "--reset-plateau")
    assert again.returncode == 4, again.stdout + again.stderr
    assert again.stdout.startswith("resumed\n")
    fired = [e.iteration for e in workspace.events("plateau_fired") if isinstance(e, ev.PlateauFired)]
    assert len(fired) == 2
    assert f"iteration {fired[1]}" in again.stdout
    assert f"iteration {fired[0]} " not in again.stdout
    assert again.stderr.splitlines()[-1].startswith("proctor: plateau")
    assert workspace.supervisor() == up
