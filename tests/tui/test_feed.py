"""The feed: one thread, real journal, real orders; the screen never waits for it and is never drowned by it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import PATIENCE
from proctor.errors import Unrecoverable
from proctor.supervisor import process
from proctor.supervisor.client import Client
from proctor.tui import rows
from proctor.tui.feed import BOX, Feed, News
from proctor.words import SessionStatus
from tui.story import Story


class Reader:
    """Takes what a feed delivers, as a screen would."""

    def __init__(self, workspace: Path) -> None:
        self.woken = threading.Event()
        self.feed = Feed(lambda: Client(workspace), self.woken.set)
        self.news: list[News] = []

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, self.news[-1:]
            if self.woken.wait(0.2):
                self.woken.clear()
                if news := self.feed.take():
                    self.news.append(news)

    @property
    def last(self) -> News:
        return self.news[-1]

    @property
    def texts(self) -> list[str]:
        return [entry.text for news in self.news for entry in news.entries]


@pytest.fixture
def reader(workspace: Path) -> Iterator[Reader]:
    made = Reader(workspace)
    made.feed.start()
    yield made
    made.feed.stop()
    made.feed.join(PATIENCE)
    assert not made.feed.is_alive()


def test_a_session_that_begins_later_is_found(reader: Reader, workspace: Path) -> None:
    reader.until(lambda: bool(reader.news))
    assert reader.last.state is None
    story = Story(workspace).running()
    reader.until(lambda: reader.last.state is not None and reader.last.state.iteration == 4)
    assert reader.last.alive
    story.close()


def test_the_log_has_no_gap_and_nothing_twice(story: Story, reader: Reader) -> None:
    story.running()
    for number in range(300):
        story.say(f"line {number}")
    reader.until(lambda: "line 299" in reader.texts)
    for number in range(300, 340):
        story.say(f"line {number}")
    reader.until(lambda: "line 339" in reader.texts)
    seen = [text for text in reader.texts if text.startswith("line ")]
    hidden = sum(int(t.split()[0].replace(",", "")) for t in reader.texts if "more than can be read" in t)
    assert len(seen) == len(set(seen))
    assert hidden + len(seen) >= 340


def test_an_iteration_is_read_to_its_end_before_the_next_one(story: Story, reader: Reader) -> None:
    story.begin(1)
    story.say("first of one")
    reader.until(lambda: "first of one" in reader.texts)
    story.say("last of one")
    story.begin(1)
    story.say("first of two")
    reader.until(lambda: "first of two" in reader.texts)
    assert reader.texts.index("last of one") < reader.texts.index("first of two")


def test_s20_a_flood_does_not_fill_the_box(story: Story, workspace: Path) -> None:
    story.begin(1)
    feed = Feed(lambda: Client(workspace), lambda: None)
    feed.start()
    try:
        assert story.writer
        for burst in range(20):
            for number in range(1_000):
                story.writer.add("stdout", f"{burst}-{number} " + "x" * 100)
            story.writer.flush()
        deadline = time.monotonic() + PATIENCE
        while (box := feed._box) is None or not any("19-999" in e.text for e in box.entries):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        news = feed.take()
        assert news
        assert len(news.entries) <= BOX
        assert any("more than can be read" in entry.text for entry in news.entries)
    finally:
        feed.stop()
        feed.join(PATIENCE)


def test_an_order_is_left_and_its_answer_comes_back_as_one_line(story: Story, reader: Reader) -> None:
    story.running()
    reader.until(lambda: bool(reader.news) and reader.last.state is not None)
    reader.feed.order("note", text="look at the reader")
    reader.until(lambda: bool(story.answer_orders()))
    reader.until(lambda: any(news.answers for news in reader.news))
    assert [a for news in reader.news for a in news.answers] == [("note", "your note is in the next brief", True)]


def test_a_refusal_is_told_as_one(story: Story, reader: Reader) -> None:
    story.running()
    reader.until(lambda: bool(reader.news) and reader.last.state is not None)
    reader.feed.order("fresh")
    reader.until(lambda: bool(story.answer_orders()))
    reader.until(lambda: any(news.answers for news in reader.news))
    (answer,) = [a for news in reader.news for a in news.answers]
    assert answer == ("fresh", "fresh not done: fresh cannot be done here", False)


def test_without_a_supervisor_an_order_waits_for_the_next_run(workspace: Path) -> None:
    story, reader = Story(workspace, alive=False).running(), Reader(workspace)
    reader.feed.start()
    reader.until(lambda: bool(reader.news) and reader.last.state is not None)
    assert reader.last.state.status is SessionStatus.INTERRUPTED
    reader.feed.order("note", text="later")
    reader.until(lambda: any(news.answers for news in reader.news))
    assert [a for news in reader.news for a in news.answers] == [
        ("note", "note: kept for when the session goes on", True)
    ]
    reader.feed.stop()
    reader.feed.join(PATIENCE)
    story.close()


def test_s10_one_failed_probe_does_not_show_a_session_as_dead(
    story: Story, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    story.running()
    reader.until(lambda: bool(reader.news) and reader.last.alive)
    real, failing = process.alive, iter([False, False])
    monkeypatch.setattr(process, "alive", lambda *args: next(failing, None) is None and real(*args))
    reader.until(lambda: next(failing, "spent") == "spent")
    count = len(reader.news)
    story.say("still there")
    reader.until(lambda: len(reader.news) > count + 1)
    assert all(news.alive for news in reader.news if news.state)
    assert all(news.state.status is not SessionStatus.INTERRUPTED for news in reader.news if news.state)
    monkeypatch.setattr(process, "alive", lambda *args: False)
    reader.until(lambda: not reader.last.alive)
    assert reader.last.state.status is SessionStatus.INTERRUPTED


def test_a_journal_that_cannot_be_read_is_told_and_read_when_it_can_be(workspace: Path, tmp_path: Path) -> None:
    path = workspace / ".proctor" / "journal.db"
    path.parent.mkdir()
    path.write_bytes(b"not a database" * 1000)
    reader = Reader(workspace)
    reader.feed.start()
    reader.until(lambda: bool(reader.news) and bool(reader.last.trouble))
    assert str(path) in reader.last.trouble
    other = Story(tmp_path / "other").running()
    other.close()
    (tmp_path / "other" / ".proctor" / "journal.db").rename(path)
    reader.until(lambda: reader.last.state is not None)
    assert not reader.last.trouble
    reader.feed.stop()
    reader.feed.join(PATIENCE)


def test_a_passing_trouble_repeats_nothing(story: Story, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    story.running()
    reader.until(lambda: "Ran 9 tests in 0.041s" in reader.texts)
    real, faults = Client.version, iter([Unrecoverable("journal.db: the journal stayed locked", "journal")])

    def faulty(client: Client) -> int:
        if fault := next(faults, None):
            raise fault
        return real(client)

    monkeypatch.setattr(Client, "version", faulty)
    reader.until(lambda: bool(reader.last.trouble))
    story.say("afterwards")
    reader.until(lambda: "afterwards" in reader.texts)
    assert reader.texts.count("Ran 9 tests in 0.041s") == 1
    assert not reader.last.trouble


def test_the_rows_that_the_log_reads_are_kinds_that_exist() -> None:
    from proctor.journal.events import KINDS

    assert set(rows.KINDS) <= set(KINDS)


def test_a_screen_that_comes_back_shows_what_the_iterations_just_before_said(story: Story, workspace: Path) -> None:
    story.running()
    made = Reader(workspace)
    made.feed.start()
    try:
        made.until(lambda: "Ran 9 tests in 0.041s" in made.texts)
    finally:
        made.feed.stop()
        made.feed.join(PATIENCE)
    assert made.texts.count("src/csv_tool/reader.py") == 1 + 1 + 3  # of the first, the second, and the fourth
