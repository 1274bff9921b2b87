"""What calls come to: estimated before they are asked, counted from the provider's own figures after, and never twice.

One meter for one worker. It learns how this worker's requests and its model's tokens relate from each answer.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import AnyStr

from proctor.budget.dimensions import Usage
from proctor.doors.gateway import tokens
from proctor.doors.gateway.providers.base import Asked
from proctor.doors.gateway.tokens import BYTES_PER_TOKEN

KEPT = ("previous_response_id", "conversation", "cachedContent", "cached_content")
"""Keys of what a provider has kept of a conversation, which is read again and cannot be seen."""
FEW_BYTES = 512
SHORT_TAIL = 4_096
"""So few bytes, and so few of a new tail, are taken for a token in four of them: a thread to count them would take
longer than it is worth."""
SAMPLE = 4_096
MOST_SAMPLES = 8
"""Of a longer text so many pieces of `SAMPLE` bytes are counted, spread over it, and the rest is taken to be alike."""
MOST_PROMPTS = 8
LONGEST_PROMPT = 4 * 1024 * 1024
MOST_TEXTS = 1 << 16
"""Bytes and texts of a prompt that is kept to find the new tail of the next one; a longer one is counted anew each
time."""
MOST_ANSWERED = 4_096
"""Requests remembered to know a repeated one."""
INLINE_BYTES = 1024 * 1024
"""More than this is hashed off the loop."""


@dataclass(frozen=True, slots=True)
class Counted:
    """The texts of a prompt, their size and their tokens as counted here."""

    texts: list[str]
    size: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """Tokens expected of a prompt: `tokens` as counted here, `prefix` in the provider's. `counted` is the last prompt
    of its kind that was counted by its texts."""

    tokens: int = 0
    prefix: int = 0
    counted: Counted | None = None


class Meter:
    """Counts for one worker, on one event loop; `close()` ends its thread."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "gateway-count")
        self._known: OrderedDict[Hashable, tuple[bytes, Estimate, float]] = OrderedDict()
        """The last body of each agent, what it was taken for, and its ratio."""
        self._ratio = 1.0
        self._longest = 0
        """Tokens of the longest conversation so far."""
        self._answered: OrderedDict[bytes, set[str]] = OrderedDict()

    def warm(self) -> None:
        """Load what counts, before the first call needs it."""
        self._pool.submit(tokens.count_tokens, "")

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def estimate(self, asked: Asked, prompt: Callable[[], list[str]]) -> Estimate:
        """What of the prompt was in this agent's last one counts as it did then; the new tail is counted. What comes
        of both is taken by the ratio in which the provider's count last stood to such a one."""
        last, before, ratio = self._known.get(_kind(asked), (b"", Estimate(), self._ratio))
        kept, counted = _common(last, asked.raw), before.counted
        new = len(asked.raw) - kept
        if max(new, len(last) - kept) <= SHORT_TAIL and counted is not None:
            count = before.tokens * kept // len(last) + -(-new // BYTES_PER_TOKEN)
        else:
            counted = await self._counted(prompt(), counted, asked.model)
            count = counted.tokens
        return Estimate(count, round(count * ratio) + (self._longest if _continues(asked) else 0), counted)

    async def generated(self, text: bytes, model: str) -> int:
        """Tokens of what was seen of an answer."""
        return await self._count(text, model)

    def learn(self, asked: Asked, estimate: Estimate, usage: Usage) -> None:
        """An answer told how many tokens the prompt was."""
        self._longest = max(self._longest, usage.total)
        counted = estimate.counted
        if not estimate.tokens or not usage.prefix or _continues(asked):
            return
        self._ratio = min(8.0, max(0.125, usage.prefix / estimate.tokens))
        if counted and len(counted.texts) <= MOST_TEXTS and max(counted.size, len(asked.raw)) <= LONGEST_PROMPT:
            self._known[_kind(asked)] = asked.raw, estimate, self._ratio
            self._known.move_to_end(_kind(asked))
            if len(self._known) > MOST_PROMPTS:
                self._known.popitem(last=False)

    async def answered(self, asked: Asked, message: str) -> tuple[bool, bool]:
        """Notes an answered call; whether it is a duplicate of an answer noted before, or else a repeat of its
        request. The same id for other requests, as some servers give, makes neither."""
        if len(asked.raw) > INLINE_BYTES:
            digest = await asyncio.get_running_loop().run_in_executor(self._pool, _digest, asked)
        else:
            digest = _digest(asked)
        ids = self._answered.get(digest)
        if ids is None:
            self._answered[digest] = {message}
            if len(self._answered) > MOST_ANSWERED:
                self._answered.popitem(last=False)
            return False, False
        self._answered.move_to_end(digest)
        if message and message in ids:
            return True, False
        if len(ids) < MOST_ANSWERED:
            ids.add(message)
        return False, True

    async def _counted(self, texts: list[str], before: Counted | None, model: str) -> Counted:
        tail, count, few = texts, 0, FEW_BYTES
        if before is not None:
            same, more = _alike(before.texts, texts)
            count = before.tokens * (_size(texts[:same]) + more) // max(1, before.size)
            tail = [texts[same][more:], *texts[same + 1 :]] if more else texts[same:]
            few = SHORT_TAIL
        count += await self._count("\n".join(tail).encode(errors="replace"), model, few)
        return Counted(texts, _size(texts), count)

    async def _count(self, text: bytes, model: str, few: int = FEW_BYTES) -> int:
        if len(text) <= few:
            return -(-len(text) // BYTES_PER_TOKEN)
        return await asyncio.get_running_loop().run_in_executor(self._pool, _sampled, text, model)


def _kind(asked: Asked) -> Hashable:
    return asked.api, asked.model, asked.agent


def _continues(asked: Asked) -> bool:
    return any(asked.body.get(name) for name in KEPT)


def _digest(asked: Asked) -> bytes:
    """What tells equal requests."""
    digest = hashlib.sha256(asked.path.encode() + b"\n")  # which processors have instructions for
    digest.update(asked.raw)
    return digest.digest()


def _size(texts: list[str]) -> int:
    return sum(map(len, texts)) + len(texts)


def _alike(one: list[str], other: list[str]) -> tuple[int, int]:
    """How many texts both begin with, and how many characters of the next."""
    pairs = enumerate(zip(one, other, strict=False))
    texts = next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
    both = texts < len(one) and texts < len(other)
    return texts, _common(one[texts], other[texts]) if both else 0


def _common(one: AnyStr, other: AnyStr) -> int:
    """With how much both begin."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if other.startswith(one[least:middle], least):
            least = middle
        else:
            most = middle - 1
    return least


def _sampled(text: bytes, model: str) -> int:
    if len(text) <= SAMPLE * MOST_SAMPLES:
        return tokens.count_tokens(text, model)
    step = (len(text) - SAMPLE) // (MOST_SAMPLES - 1)
    sample = b"".join(text[at : at + SAMPLE] for at in range(0, len(text) - SAMPLE + 1, step))
    return tokens.count_tokens(sample, model) * len(text) // len(sample)
