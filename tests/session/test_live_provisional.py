"""A checkpoint while a worker runs is kept at once and confirmed after it."""

from __future__ import annotations

from collections.abc import Callable

from harness import Workspace, wait_until
from proctor.journal import events as ev
from proctor.words import Certainty, SessionStatus


def test_an_asked_checkpoint_says_when_it_was_kept_and_when_it_was_confirmed(sample: Callable[..., Workspace]) -> None:
    workspace = sample("restless")
    workspace.begin()
    wait_until(lambda: (s := workspace.state()) and s.status is SessionStatus.ASKING, "a request")
    (workspace.path / "of_the_operator.txt").write_text("x")
    wait_until(lambda: workspace.rows("operator_wrote"), "the watcher has seen it")
    said = workspace.proctor("checkpoint", check=True).stdout
    (confirmed,) = workspace.events("checkpoint_confirmed")
    assert isinstance(confirmed, ev.CheckpointConfirmed)
    assert "kept after" in said
    assert "confirmed after" in said
    state = workspace.state()
    assert state is not None
    taken = state.checkpoints[-1].taken
    assert (taken.id, taken.certainty, state.good) == (confirmed.id, Certainty.CONFIRMED, confirmed.id)
    assert confirmed.missed == ()
