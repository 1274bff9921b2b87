"""A running worker's pipes, home and end, with real programs in every sandbox."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness import PATIENCE
from proctor.doors import door as doors
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import DOOR, Policy
from proctor.worker import process
from proctor.worker.base import Ask, Note, Resting, Tool, Trouble, TurnEnded, WorkerEvent
from proctor.worker.dialect import Dialect, Launch, Setting, Stdin
from proctor.worker.pipes import MAX_UNSENT
from proctor.worker.process import Worker, start

WORDS: dict[bytes, WorkerEvent] = {
    b"done": TurnEnded(True),
    b"resting": Resting(1),
    b"hm": Note("hm"),
    b"ask": Ask("a", "shell"),
}
GRACE = 0.6


class Words(Dialect):
    """Says `hello`; of what is said, a few words mean something."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch

    def launch(self, setting: Setting) -> Launch:
        return self._launch

    def begin(self, send: Any, tell: Any) -> None:
        super().begin(send, tell)
        tell(Note("begun"))
        if self._launch.stdin is Stdin.OPEN:
            send(b"hello\n")

    def heard(self, source: str, line: bytes) -> None:
        if line.startswith(b"huge"):
            self.tell(Tool("shell", {"command": "x" * 2_000_000}))
            self.tell(Ask("a", "shell", {"command": "x" * 2_000_000}))
        if line == b"raise":
            raise KeyError(line)
        if line in WORDS:
            self.tell(WORDS[line])

    def answer(self, asked: str, allow: bool, reason: str, changed: dict[str, Any] | None = None) -> None:
        self.send(reason.encode() + b"\n")

    def interrupt(self) -> None:
        self.send(b"stop\n")


@dataclass
class Run:
    """One worker in a folder of its own; `on_line` acts on it."""

    workspace: Path
    launch: Launch
    kind: str = "none"
    on_line: Callable[[Run, bytes], None] = lambda run, line: None
    grace: float = GRACE
    lines: list[tuple[str, bytes, tuple[WorkerEvent, ...]]] = field(default_factory=list)
    worker: Worker | None = None
    code: int | None = None

    async def go(self) -> Run:
        over = asyncio.Event()
        door = doors.make(self.workspace.parent)
        self.door = door.folder

        def hear(source: str, line: bytes, events: tuple[WorkerEvent, ...]) -> None:
            self.lines.append((source, line, events))
            self.on_line(self, line)

        self.worker = start(
            Words(self.launch),
            Setting("the brief", None, "", "", str(self.workspace)),
            backend=choose(self.kind),
            policy=Policy(self.workspace, door=door.folder),
            door=door,
            on_line=hear,
            on_exit=over.set,
            grace=self.grace,
        )
        try:
            await asyncio.wait_for(over.wait(), PATIENCE)
        finally:
            self.code = (await self.worker.close()).code
            self.worker.release()
            door.remove()
        return self

    @property
    def text(self) -> list[str]:
        return [line.decode() for source, line, _ in self.lines if source == "stdout"]


def sh(script: str, stdin: Stdin = Stdin.OPEN, **more: Any) -> Launch:
    return Launch(("sh", "-c", script), stdin=stdin, **more)


def run(*args: Any, **more: Any) -> Run:
    return asyncio.run(Run(*args, **more).go())


def test_each_line_comes_with_its_events_and_what_is_told_between_without_one(tmp_path: Path) -> None:
    done = run(tmp_path, sh("echo hm; echo x >&2", Stdin.NOTHING))
    assert done.lines[0] == ("harness", b"", (Note("begun"),))
    assert ("stdout", b"hm", (Note("hm"),)) in done.lines
    assert ("stderr", b"x", ()) in done.lines


def test_a_line_on_which_a_dialect_fails_is_kept_and_costs_no_other(tmp_path: Path) -> None:
    done = run(tmp_path, sh("printf 'raise\\nhm\\n'", Stdin.NOTHING))
    assert done.lines[1:] == [
        ("stdout", b"raise", (Trouble("a line could not be read: KeyError"),)),
        ("stdout", b"hm", (Note("hm"),)),
    ]


def test_many_lines_at_once_leave_the_loop_to_others_and_all_are_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "SLICE", 0.0)
    turns, seen = [0], set[int]()

    def turn() -> None:
        turns[0] += 1
        asyncio.get_running_loop().call_soon(turn)

    def hear(_: Run, line: bytes) -> None:
        if not turns[0]:
            turn()
        seen.add(turns[0])

    done = run(tmp_path, sh("seq 300; seq 300 >&2", Stdin.NOTHING), on_line=hear)
    assert sorted(done.text, key=int) == [str(n) for n in range(1, 301)]
    assert len(done.lines) == 601
    assert len(seen) > 500


@pytest.mark.parametrize(("stdin", "read"), [(Stdin.BRIEF, "the brief"), (Stdin.NOTHING, ""), (Stdin.OPEN, "hello")])
def test_stdin_is_the_brief_or_nothing_or_open_to_speak_through(tmp_path: Path, stdin: Stdin, read: str) -> None:
    assert run(tmp_path, sh('IFS= read -r x; echo "got:$x"', stdin)).text == [f"got:{read}"]


def test_the_brief_cannot_be_written_to(tmp_path: Path) -> None:
    done = run(tmp_path, sh("echo x 2>/dev/null >/proc/self/fd/0 || echo sealed; cat", Stdin.BRIEF))
    assert done.text == ["sealed", "the brief"]


def test_what_is_too_large_to_be_judged_is_denied_unasked(tmp_path: Path) -> None:
    done = run(tmp_path, sh("read x; echo huge; read y; echo $y; echo done; cat"))
    assert ("stdout", b"huge", (Tool("shell"),)) in done.lines
    assert done.text[1] == "This is too large to be judged: do it in parts."


def test_after_the_last_turn_a_program_is_told_by_the_end_of_its_stdin_and_leaves(tmp_path: Path) -> None:
    done = run(tmp_path, sh("echo done; cat >/dev/null; echo leaving; exit 3"), grace=30)
    assert (done.text, done.code) == (["done", "leaving"], 3)
    assert done.worker is not None
    assert (done.worker.turn, done.worker.overstayed) == (TurnEnded(True), False)


def test_a_question_after_the_last_turn_is_none(tmp_path: Path) -> None:
    done = run(tmp_path, sh("echo ask; echo done; echo ask"))
    assert [event for _, _, events in done.lines for event in events][1:] == [Ask("a", "shell"), TurnEnded(True)]


def test_one_that_does_not_leave_then_is_to_be_ended(tmp_path: Path) -> None:
    done = run(tmp_path, sh("sleep 60 & echo done; wait"))
    assert done.worker is not None
    assert (done.worker.overstayed, done.code) == (True, None)


def test_time_in_which_it_stands_still_is_no_grace(tmp_path: Path) -> None:
    async def go() -> float:
        loop = asyncio.get_running_loop()

        def freeze(running: Run, line: bytes) -> None:
            if line == b"done":
                assert running.worker is not None
                running.worker.running.freeze()
                loop.call_later(1.5, running.worker.running.thaw)

        began = loop.time()
        done = await Run(tmp_path, sh("echo done; sleep 60"), on_line=freeze).go()
        assert done.worker is not None
        assert done.worker.overstayed
        return loop.time() - began

    assert asyncio.run(go()) > 1.5 + GRACE / 2


def test_one_that_left_something_running_may_go_on_through_its_open_stdin(tmp_path: Path) -> None:
    def speak(running: Run, line: bytes) -> None:
        if line == b"resting":
            assert running.worker is not None
            running.worker.interrupt()

    done = run(tmp_path, sh("read x; echo resting; read y; echo $y; echo done; cat"), on_line=speak)
    assert done.text == ["resting", "stop", "done"]


def test_silence_of_one_that_left_something_running_ends_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proctor.worker.process.PATIENCE", 0.5)
    done = run(tmp_path, sh("echo resting; sleep 60"))
    assert done.worker is not None
    assert (done.worker.overstayed, done.worker.turn) == (True, None)


def test_what_a_worker_does_not_read_is_bounded_and_never_waited_for(tmp_path: Path) -> None:
    told: list[bool] = []

    def flood(running: Run, line: bytes) -> None:
        if line == b"ready":
            assert running.worker is not None
            running.worker.running.freeze()
            for number in range(250):
                told.append(running.worker.answer("", True, f"{number:04}" + "x" * 99_995))
            running.worker.answer("", True, "done")  # what is small enough still fits
            running.worker.running.thaw()

    program = "import sys; input(); print('ready', flush=True)\nfor line in sys.stdin: print(line[:4], flush=True)"
    done = run(tmp_path, Launch(("python3", "-c", program), stdin=Stdin.OPEN), on_line=flood)
    kept = [line for line in done.text if line.isdigit()]
    assert kept == sorted(set(kept))  # in order, each whole
    assert MAX_UNSENT // 100_000 <= len(kept) == told.count(True) < 250
    assert done.text[-1] == "done"


def test_one_that_closes_its_stdin_costs_nothing(tmp_path: Path) -> None:
    def speak(running: Run, line: bytes) -> None:
        if line == b"closed":
            assert running.worker is not None
            running.worker.interrupt()
            running.worker.interrupt()

    assert run(tmp_path, sh("exec 0<&-; echo closed; echo over"), on_line=speak).text == ["closed", "over"]


@pytest.mark.parametrize("kind", ["bwrap", "weak", "none"])
def test_files_are_in_a_home_that_is_not_the_operators(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    home.mkdir()
    workspace.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("CODEX_HOME", str(home / ".codex"))
    script = 'cat "$HOME/.agent/settings"; echo; echo new >"$HOME/.agent/settings" && cat "$HOME/.agent/settings"'
    files = {".agent/settings": "a 'quoted' $value"}
    done = run(workspace, sh(f'{script}; echo "${{CODEX_HOME:-none}}"', files=files), kind)
    assert done.text[:2] == ["a 'quoted' $value", "new"]
    assert str(home) not in done.text[2]
    assert os.listdir(home) == []


def test_a_program_that_is_not_there_fails_by_its_own_exit(tmp_path: Path) -> None:
    done = run(tmp_path, Launch(("no-such-program",), files={"a": "b"}), "bwrap")
    assert done.code == 127
    assert any(b"no-such-program" in line for source, line, _ in done.lines if source == "stderr")


def test_variables_of_the_launch_may_name_the_door(tmp_path: Path) -> None:
    done = run(tmp_path, sh('ls "$WHERE"', environment={"WHERE": DOOR}, home=True))
    assert done.text == ["answers", "home"]
