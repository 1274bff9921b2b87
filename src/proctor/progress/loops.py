"""Does a worker run in circles inside its iteration? Rules over its tool calls and what they came to. Pure.

A call is known by its tool, its input and its result, as digests: no remark beside a call, no note and no word such as
`error` in an output enters equality, only whether the call itself failed. A result that nobody told is equal to none.
A poll is no circle: neither a slow call nor one whose output changes, nor several calls of one batch, which were made
before any of their results could be read.

    circles = Circles()
    for one in recorded:
        circles = circles.after(call(one.tool, one.input, one.result, ok=not one.error, ms=one.ms))
        found = judge(circles, times)        # None, or a `Circle` with its light: suspect warns, firing ends
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from proctor.text import safe_line
from proctor.words import Light, LoopRule

SLOW_MS = 5_000
"""A call that took so long waited for something."""

PERIODS = (2, 3, 4)
"""Lengths of a cycle, in calls."""

REMEMBERED = 64
"""The last calls of an iteration that are looked at."""

MOST_DENIALS = 200

LOOKS = frozenset({"read", "search", "fetch", "question"})
"""Tools that change nothing: one that works does not end a row of errors."""

_REMARKS = frozenset({"description", "justification", "explanation", "reason", "timeout", "timeout_ms"})
_SUBJECT = ("path", "command", "pattern", "query", "url")
_PLACES = frozenset({"path", "paths"})
_WAITS = re.compile(r"\b(?:sleep|wait)\b")
_VARYING = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\b0[xX][0-9a-fA-F]+\b|\b\d+\.\d+ ?(?:ms|s|sec|secs|seconds)\b")
"""What differs between two runs of one thing that did the same: colours, addresses, fractions of seconds."""


class Call(msgspec.Struct, frozen=True):
    """One tool call and what it came to. `asked` names tool and input, `result` these and the output, `error` the
    error if it failed; empty where a thing is not known. `looks`: it changes nothing by its nature."""

    said: str
    asked: str
    result: str = ""
    error: str = ""
    looks: bool = False
    slow: bool = False
    batch: int = 0


class Circle(msgspec.Struct, frozen=True):
    """A rule that holds: `suspect` warns, `firing` ends the iteration. `window` is how many calls it rests on."""

    rule: LoopRule
    light: Light
    window: int
    evidence: tuple[str, ...]


class Circles(msgspec.Struct, frozen=True):
    """What is remembered of one iteration: its last calls, oldest first, and how often each request was denied.
    `denied` is the one that was denied just now, `said` what it is."""

    calls: tuple[Call, ...] = ()
    denials: tuple[tuple[str, int], ...] = ()
    denied: str = ""
    said: str = ""

    def after(self, one: Call) -> Circles:
        """With one more call that has come to something."""
        return Circles((*self.calls[-REMEMBERED + 1 :], one), self.denials)

    def after_denial(self, request: str, said: str) -> Circles:
        """With one more denial; `request` is equal for two requests that ask for the same, `said` is for people."""
        times = dict(self.denials)
        times[request] = times.pop(request, 0) + 1
        return replace(self, denials=tuple(times.items())[-MOST_DENIALS:], denied=request, said=safe_line(said, 160))


NONE = Circles()


def call(
    tool: str,
    given: Mapping[str, Any],
    output: str | None,
    *,
    ok: bool,
    ms: int = 0,
    batch: int | None = None,
    digest: str = "",
) -> Call:
    """A call as the rules see it. `output` is None where nobody told; `digest` stands for all of it where it is only
    the beginning. Calls of one `batch` were made together; None: by itself."""
    tool = "write" if tool == "edit" else tool
    meant = {key: value for key, value in given.items() if key not in _REMARKS}
    asked = _digest(tool, msgspec.json.encode(meant, order="sorted", enc_hook=repr).decode())
    subject = next((value for key in _SUBJECT if isinstance(value := given.get(key), str)), "")
    one = Call(
        safe_line(f"{tool} {subject or (msgspec.json.encode(meant, enc_hook=repr).decode() if meant else '')}", 160),
        asked,
        looks=tool in LOOKS,
        slow=ms >= SLOW_MS or (tool == "shell" and bool(_WAITS.search(subject))),
        batch=-1 if batch is None else batch,
    )
    if output is None or not (output or meant or not ok):  # nothing is known of it
        return one
    if ok and tool == "write" and not meant.keys() - _PLACES:  # nor of what was written
        return one
    came = digest or _VARYING.sub("", output)
    one = replace(one, result=_digest(asked, str(ok), came))
    if ok:
        return one
    general = tool == "shell" and output.strip()  # another command that fails in the same words fails the same way
    about = "" if general else _digest(tool, subject) if tool == "write" and subject else asked
    return replace(one, error=_digest(tool, about, came), said=safe_line(f"{one.said}: {output}", 200))


def judge(circles: Circles, times: Mapping[LoopRule, int]) -> Circle | None:
    """The rule that holds after the last call or denial; one that ends the iteration before one that warns."""
    rules: tuple[tuple[LoopRule, Callable[[Circles, int], Circle | None]], ...] = (
        (LoopRule.SAME_CALL, same_call),
        (LoopRule.CYCLE, cycle),
        (LoopRule.SAME_ERROR, same_error),
        (LoopRule.SAME_DENIAL, same_denial),
    )
    found = [circle for rule, look in rules if (n := times.get(rule, 0)) and (circle := look(circles, n))]
    found.sort(key=lambda circle: circle.light is not Light.FIRING)
    return found[0] if found else None


def same_call(circles: Circles, times: int) -> Circle | None:
    """The last `times` calls had the same tool, input and result."""
    run = circles.calls[-times:]
    if len(run) < max(times, 2) or not _repeats(run, 1):
        return None
    return _circle(LoopRule.SAME_CALL, Light.FIRING, run[-1:], times, f"{times} times the same call with one result")


def cycle(circles: Circles, times: int) -> Circle | None:
    """The same two to four calls, with the same results, `times` times in a row."""
    for period in PERIODS:
        run = circles.calls[-period * times :]
        if times > 1 and len(run) == period * times and _repeats(run, period):
            what = f"{times} times in a row the same {period} calls with the same results"
            return _circle(LoopRule.CYCLE, Light.FIRING, run[-period:], len(run), what)
    return None


def same_error(circles: Circles, times: int) -> Circle | None:
    """The same error `times` times, and nothing that could change anything worked in between; one time less warns."""
    if not circles.calls or circles.denied or not (error := circles.calls[-1].error):
        return None
    run: list[Call] = []
    for one in reversed(circles.calls):
        if not one.error and not one.looks:
            break
        if one.error == error and not one.slow and not (run and _together(one, run[-1])):
            run.append(one)
    if len(run) < max(times - 1, 2):
        return None
    light = Light.FIRING if len(run) >= times else Light.SUSPECT
    return _circle(LoopRule.SAME_ERROR, light, run[::-1], len(run), f"{len(run)} times the same error")


def same_denial(circles: Circles, times: int) -> Circle | None:
    """The request that was denied last was denied `times` times: that warns, since the next try is put to the
    operator. Once more ends the iteration."""
    count = dict(circles.denials).get(circles.denied, 0)
    if count < times:
        return None
    light = Light.FIRING if count > times else Light.SUSPECT
    return Circle(LoopRule.SAME_DENIAL, light, count, (f"{count} times denied the same", circles.said))


def _repeats(run: Sequence[Call], period: int) -> bool:
    """Whether a run is one pattern of `period` calls again and again, each known and made in the light of the last."""
    if run[-1].result != run[-1 - period].result or any(not one.result or one.slow for one in run):
        return False
    if period > 1 and len({one.result for one in run[:period]}) == 1:
        return False
    pairs = [(run[at - period], one) for at, one in enumerate(run) if at >= period]
    return all(before.result == after.result and not _together(before, after) for before, after in pairs)


def _together(one: Call, other: Call) -> bool:
    return one.batch == other.batch >= 0


def _circle(rule: LoopRule, light: Light, run: Sequence[Call], window: int, what: str) -> Circle:
    said = [run[0].said, *(after.said for before, after in pairwise(run) if before.said != after.said)]
    return Circle(rule, light, window, (what, *said))


def _digest(*parts: str) -> str:
    return sha256("\x1e".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]
