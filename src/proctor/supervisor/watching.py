"""A running worker, watched beside the loop: signs of life, limits, what it prints and makes, what a screen sees."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from typing import Any

from proctor.doors.gateway import tokens
from proctor.supervisor import enclosure
from proctor.supervisor.session import SPEND_EVERY, Session
from proctor.text import safe_line
from proctor.words import IterationEnd

LINGER = 60.0
"""Seconds of silence after a claim before a worker that does not exit is ended; it counts as completed."""
LOOK_EVERY = 2.0
"""Seconds between looks for repositories that a running worker made."""
MOST_LOOKS_TOLD = 10
"""Rows about the repositories that one worker makes."""
MOST_NESTED = 200
"""Of these, so many are named live."""
COUNTED_BYTES = 256 * 1024
"""Output tokenised at once; beyond it, in a flood, bytes are divided by the ratio seen."""
GAUGES_EVERY = 0.25
"""Seconds between live rows."""


def show(s: Session) -> None:
    """Overwrite the live rows."""
    now = time.monotonic()
    if now - s.shown_at < GAUGES_EVERY:
        return
    s.shown_at = now
    s.account.sample()
    limits = {c.dimension: c.limit for c in s.ceilings}
    live: dict[str, dict[str, Any]] = {
        "gauges": s.account.gauges(limits),
        "worker": {"alive": False, "paused": s.paused},
    }
    if (running := s.running) is not None:
        process = running.worker.running
        live["worker"] = {
            "pid": process.init_pid,
            "alive": True,
            "frozen": process.frozen,
            "paused": s.paused,
            "lines": running.stream.lines,
            "cpu_s": running.cpu,
            "model": running.model,
            "calls": running.gateway.in_flight if running.gateway else 0,
            "held": running.held_calls,
            "touched": running.touched,
            "nested": list(running.nested),
            "nested_more": running.nested_more,
        }
    s.journal.write_live(**live)


def flush_stream(s: Session) -> None:
    """Give the running stream's lines to readers, and index it at a bounded rate."""
    running = s.running
    if running is None:
        return
    stream = running.stream
    stream.flush()
    now = time.monotonic()
    if stream.lines != running.indexed and now - running.indexed_at > SPEND_EVERY:
        running.indexed, running.indexed_at = stream.lines, now
        s.journal.index_stream(running.iteration, stream.offset, stream.lines)


async def count_output(s: Session, whole: bool = False) -> None:
    """Count the tokens of what the worker printed since the last call, off the loop."""
    async with s.counting:
        running = s.running
        if running is None or not running.said:
            return
        said, running.said = running.said, bytearray()
        head = bytes(said[:COUNTED_BYTES])
        count = await asyncio.to_thread(tokens.count_tokens, head, running.model)
        s.account.estimate(generated=round(count * len(said) / len(head)))
    if not whole:
        s.check_budget()


def watch_limits(s: Session) -> None:
    """End a worker before the disk is full, or when the kernel began to end its processes for want of memory."""
    running = s.running
    if running is None or running.reason is not None:
        return
    s.disk.watch_growth()
    if said := s.disk.said or running.worker.running.bounds.exceeded():
        s.end_worker(IterationEnd.DIED, said)


def watch_signs(s: Session) -> None:
    """End a worker that shows no sign of life, or that finished and does not leave."""
    running = s.running
    if running is None or running.worker.running.frozen:
        return
    now = time.monotonic()
    if s.state.limited is not None or (running.gateway and running.gateway.in_flight):
        running.last_sign = now
    cpu = running.worker.running.cpu_seconds()
    if cpu > running.cpu + 0.05:
        running.cpu, running.last_sign = cpu, now
    if running.claimed_at is not None and now - max(running.claimed_at, running.last_sign) > LINGER:
        s.end_worker(IterationEnd.LINGERED, f"silent for {LINGER:.0f} s after its claim")
    idle = s.terms.contract.worker.idle / 1000
    if now - running.last_sign > idle:
        s.end_worker(IterationEnd.IDLE, f"no output, no file change, no CPU for {idle:.0f} s")


async def watch_repositories(s: Session) -> None:
    """Say while a worker runs that it has made repositories. Looking takes a twentieth of the time at most."""
    whose, told, rows = None, set[str](), 0
    while True:
        begun = time.monotonic()
        running = s.running
        if running is not None and running.before is not None:
            found = await asyncio.to_thread(enclosure.new_repositories, s.workspace, running.before)
            if running is not whose:
                whose, told, rows = running, set(), 0
            if (new := [name for name in found if name not in told]) and rows < MOST_LOOKS_TOLD:
                rows += 1
                s.log("git", made_repositories(new))
            told.update(new)
            running.nested = tuple(safe_line(name, 300) for name in found[:MOST_NESTED])
            running.nested_more = len(found) - len(running.nested)
        await asyncio.sleep(max(LOOK_EVERY, 20 * (time.monotonic() - begun)))


def made_repositories(names: Sequence[str]) -> str:
    """One line, however many there are."""
    first = ", ".join(safe_line(name, 200) for name in names[:3])
    more = f" and {len(names) - 3:,} more" if len(names) > 3 else ""
    what, where = ("repositories", "they are") if len(names) > 1 else ("a repository", "it is")
    return f"the worker made {what}, {first}{more}: use no git there until {where} renamed"
