"""The name of a failure: the same for the same class of failure, however its wording varies."""

from __future__ import annotations

import re
from collections.abc import Iterable
from hashlib import sha256

from proctor.words import Verdict

_LENGTH = 4_000
"""Characters of a message that count; the beginning names the failure, the rest is its story."""

_NAMES = re.compile(r"\b(?:Name|UnboundLocal|Import|ModuleNotFound|Attribute)Error\b|\b[Nn]o module named\b")
"""Messages whose quotes hold the name that is missing. Another name is another failure; elsewhere quotes hold data."""

_QUOTED = re.compile(r"""(?<!\w)(?:'[^'\n]*'|"[^"\n]*"|`[^`\n]*`)(?!\w)""")

_VARYING: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]"), ""),
    (re.compile(r"\b0[xX][0-9a-fA-F]+\b"), "<hex>"),
    (re.compile(r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"), "<hex>"),
    (re.compile(r"\b(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{12,64}\b"), "<hex>"),
    (re.compile(r"(?<![\w./])(?:~|[A-Za-z]:)?/[^\s:'\"`,;()<>\[\]]+"), "<path>"),
    (re.compile(r"\b\d+(?:\.\d+)?\s?(?:ns|us|µs|ms|s|secs?|seconds?|mins?|minutes?|hours?|h)\b"), "<time>"),
)

_LEFT = r"(?:failed|failing|failures?|errors?|problems?|violations?|issues?|mismatch(?:es)?|missing|remaining|left)\b"
_NUMBER = re.compile(
    r"(?<![A-Za-z_\d])(?<!failures=)(?<!errors=)[-+]?\d+(?:[.,:]\d+)*"
    rf"(?![\d.,]*\s+(?:{_LEFT}|of\s+\d))(?![\d.,]*\s?%(?!\]))"
)
"""Any number but a measure of the work: fewer failures, a higher percentage are another verdict, another line number is
not. A percentage in brackets is a runner's way through its tests."""


def normalise(message: str) -> str:
    """The message without what differs from run to run: colours, addresses, hashes, absolute paths, durations,
    numbers (but counts of what is wrong or left, and percentages), quoted data, spacing."""
    lines = map(_normalise_line, message[:_LENGTH].splitlines())
    return "\n".join(line for line in lines if line)


def failure(check: str, verdict: Verdict, failing: Iterable[str], message: str) -> str:
    """The digest of a failure class: which check, how it ended, the failing ids, the normalised message.

    16 hexadecimal digits; the order and repetition of ids do not matter. Empty for a verdict that is no failure.
    """
    if verdict is Verdict.PASSED:
        return ""
    parts = check, verdict, "\x1f".join(sorted(set(failing))), normalise(message)
    return sha256("\x1e".join(parts).encode(errors="surrogatepass")).hexdigest()[:16]


def _normalise_line(line: str) -> str:
    for pattern, word in _VARYING:
        line = pattern.sub(word, line)
    if not _NAMES.search(line):
        line = _QUOTED.sub("<quoted>", line)
    return " ".join(_NUMBER.sub("#", line).split())
