"""Orders at the desk: what was ordered first is done first."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from proctor.approvals.rules import Rules
from proctor.journal import events as ev
from proctor.journal.store import Journal, journal_path
from proctor.supervisor import inbox
from proctor.supervisor.desk import Desk
from proctor.supervisor.inbox import Order


class Table:
    """A desk on a real journal and a real inbox, in a session that notes which orders end its step."""

    def __init__(self, folder: Path) -> None:
        self.state_dir = folder
        self.journal = Journal(journal_path(folder))
        self.journal.append(ev.SessionStarted(session="s", workspace=str(folder), goal=""))
        self.paused = True
        self.running: Any = None
        self.wishes: list[Order] = []
        self.waiting_requests = ()
        self.changed = SimpleNamespace(set=lambda: None)
        self.timeline = SimpleNamespace(checkpoint=self._checkpoint)
        self.desk = Desk(self, Rules([], [], []))  # type: ignore[arg-type]

    @property
    def state(self) -> Any:
        return self.journal.state()

    def append(self, *events: ev.Event) -> Any:
        return self.journal.append(*events)

    def interrupt(self, order: Order) -> None:
        self.wishes.append(order)

    def settle_motion(self) -> None:
        """Nothing moves here."""

    async def _checkpoint(self, *_: Any, **__: Any) -> None:
        raise AssertionError("a checkpoint in the middle of a rollback")

    def order(self, verb: str, **args: Any) -> None:
        inbox.leave(self.state_dir, inbox.new_order(verb, "s", self.journal.token, "me", args))

    def answers(self) -> list[tuple[str, str]]:
        rows = (row.event for row in self.journal.rows(kinds=("order_taken",)))
        return [(e.verb, e.outcome) for e in rows if isinstance(e, ev.OrderTaken)]


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


async def test_orders_that_a_rollback_changes_the_meaning_of_wait_until_it_is_done(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def look(order: Order) -> None:
        table.interrupt(order)

    monkeypatch.setattr(table.desk, "_look_back", look)
    table.order("rollback")
    table.desk.take_orders()
    for verb in ("undo", "resume", "checkpoint", "note", "extend"):
        table.order(verb, text="mind", dimension="tokens")
    table.desk.take_orders()
    await table.desk.do_chores()
    assert [order.verb for order in table.wishes] == ["rollback"]
    assert table.answers() == [("note", "done"), ("extend", "refused")]
    table.order("stop")
    table.desk.take_orders()
    assert [order.verb for order in table.wishes] == ["rollback", "stop"]

    back = ev.RolledBack(safety="c2", target="c1", way="rollback")
    table.append(back)
    table.desk.close(table.wishes.pop(0), "done")
    table.desk.take_orders()
    assert [order.verb for order in table.wishes] == ["stop", "undo"]
    assert table.answers()[2:] == [("rollback", "done")]
    table.desk.close(table.wishes.pop(), "done")
    monkeypatch.setattr(table.desk, "_checkpoint", look)
    table.desk.take_orders()
    await table.desk.do_chores()
    assert table.answers()[3:] == [("undo", "done"), ("resume", "done")]
    assert not table.paused
    assert [order.verb for order in table.wishes] == ["stop", "checkpoint"]
    assert [order.verb for _, order in inbox.pending(table.state_dir) if order] == ["checkpoint", "stop"]
