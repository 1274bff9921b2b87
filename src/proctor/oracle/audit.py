"""How much of a verified change its check notices: the parts that are taken out one by one, and what that says. Pure.

A part is a file of the change, a hunk of one, or a block of a long hunk. Taking it out gives the verified tree without
it; a check that passes on that does not verify it.
"""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache

import msgspec

from proctor.journal.events import CheckFact, Unverified
from proctor.text import safe_line
from proctor.words import Verdict

UNSURE = (Verdict.TIMEOUT, Verdict.INFRA)
"""Verdicts that the machine's own trouble gives too: they count only where the unchanged tree passes at that time."""
LARGEST_PARSED, MOST_PARSED = 256 << 10, 50
"""Bytes of a Python file, and hunks in it, that are looked at for whether they are docstrings."""
PLACE = 300
"""Characters of a path in a report."""

_RANGE = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")
_COMMENT = {
    **dict.fromkeys(("py", "pyi", "sh", "rb", "toml", "yaml", "yml", "cfg"), re.compile(rb"\s*(#.*)?$")),
    **dict.fromkeys(
        ("js", "mjs", "cjs", "jsx", "ts", "tsx", "go", "rs", "c", "h", "cc", "cpp", "java", "kt", "swift"),
        re.compile(rb"\s*(//.*)?$"),
    ),
}


class Outcome(StrEnum):
    """What taking a part out showed."""

    CAUGHT = "caught"
    MISSED = "missed"
    FLAKY = "flaky"
    UNCLEAR = "unclear"


class Hunk(msgspec.Struct, frozen=True):
    """`count` lines of a file, from `line` on (the first is 1), that stand where `old` stood."""

    line: int
    count: int
    old: tuple[bytes, ...] = ()


class Part(msgspec.Struct, frozen=True):
    """What is taken out: a hunk of a file, or the file as a whole, and then a file that was there under another name
    comes back. `blocks` are the parts of a hunk that are worth a look of their own where all of it is noticed."""

    path: str
    hunk: Hunk | None = None
    lines: tuple[int, int] = (0, 0)
    """The first and the last line in the verified file; 0 where it has none, or is none of text."""
    was: str = ""
    blocks: tuple[Part, ...] = ()

    def key(self, *of: str) -> str:
        """Names a run: of these trees, checks and frozen files, without this part."""
        return digest(*of, self.path, self.was, repr(self.hunk))

    def entry(self, why: str = "") -> Unverified:
        """As a report has it."""
        if not why and self.hunk is not None and not self.hunk.count:
            why = "the check passes with the lines that were here, too"
        return Unverified(file=safe_line(self.path, PLACE), lines=self.lines, why=why)


class Result(msgspec.Struct, frozen=True, omit_defaults=True):
    """One question answered: the verdicts of the runs that it took, and how long they took."""

    key: str
    outcome: Outcome
    verdicts: tuple[Verdict, ...] = ()
    seconds: float = 0.0
    reason: str = ""
    slowest: float = 0.0

    def after(self, verdict: Verdict, seconds: float, reason: str) -> Result:
        """With one more run of an unchanged tree; `reason` is of the last one that did not pass."""
        verdicts = (*self.verdicts, verdict)
        return Result(
            self.key,
            unchanged_tree(verdicts),
            verdicts,
            round(self.seconds + seconds, 3),
            self.reason if verdict is Verdict.PASSED else reason,
            max(self.slowest, seconds),
        )


def digest(*words: str) -> str:
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def checks_digest(checks: Iterable[CheckFact]) -> str:
    """Equal for checks that say the same of a tree."""
    return digest(*(msgspec.json.encode(check).decode() for check in checks if not check.optional))


# --- what can be taken out ------------------------------------------------------------------------


def parts_of(path: str, content: bytes, patch: bytes, *, added: bool = False, more: bool = False) -> list[Part]:
    """The parts of one file's change: each hunk, and the whole of it where that is something else. `patch` is git's,
    `content` the verified file, `added` says that there was none before, `more` that its mode changed too.

    Hunks of nothing but comments and blank lines are left out: no check can see them.
    """
    changed = hunks(patch)
    deep = len(changed) <= MOST_PARSED
    found = [_part(path, content, hunk, deep) for hunk in changed]
    if added:
        whole = Part(path, lines=(min(1, len(lines_of(content))), len(lines_of(content))))
        blocks = found[0].blocks if found else ()
        return [msgspec.structs.replace(whole, blocks=blocks)]
    told = [part for part in found if part.hunk is None or not says_nothing(path, content, part.hunk, deep=deep)]
    if found and len(told) < 2 and not more:
        return told
    return [*told, _whole(path, found)]


def _whole(path: str, found: Sequence[Part]) -> Part:
    return Part(path, lines=(found[0].lines[0], found[-1].lines[1]) if found else (0, 0))


def _part(path: str, content: bytes, hunk: Hunk, deep: bool) -> Part:
    blocks = [Part(path, one, _lines(content, one)) for one in blocks_of(content, hunk)]
    told = tuple(one for one in blocks if one.hunk and not says_nothing(path, content, one.hunk, deep=deep))
    return Part(path, hunk, _lines(content, hunk), blocks=told if len(told) > 1 else ())


def _lines(content: bytes, hunk: Hunk) -> tuple[int, int]:
    """The first and the last line that is not blank; the place, where nothing is left."""
    told = [n for n, line in enumerate(_new(content, hunk), hunk.line) if line.strip()]
    return (told[0], told[-1]) if told else (hunk.line, max(hunk.line, hunk.line + hunk.count - 1))


def _new(content: bytes, hunk: Hunk) -> tuple[bytes, ...]:
    return lines_of(content)[hunk.line - 1 : hunk.line - 1 + hunk.count]


def hunks(patch: bytes) -> list[Hunk]:
    """The runs of changed lines in a patch of one file, each as small as can be."""
    found: list[Hunk] = []
    old: list[bytes] = []
    new, at, old_left, new_left = 0, 0, 0, 0
    mark = b""

    def flush() -> None:
        nonlocal new
        if old or new:
            found.append(Hunk(at - new, new, tuple(old)))
        old.clear()
        new = 0

    for line in patch.split(b"\n"):
        if not (old_left or new_left) and not line.startswith(b"\\"):
            flush()
            if head := _RANGE.match(line):
                old_left, new_left = int(head[1] or 1), int(head[3] or 1)
                at = int(head[2]) + (new_left == 0)
            continue
        before, mark = mark, line[:1]
        if mark == b"\\":
            if before == b"-" and old:
                old[-1] = old[-1].removesuffix(b"\n")
        elif mark == b"-":
            old.append(line[1:] + b"\n")
            old_left -= 1
        elif mark == b"+":
            new, at, new_left = new + 1, at + 1, new_left - 1
        else:
            flush()
            at, old_left, new_left = at + 1, old_left - 1, new_left - 1
    flush()
    return found


@lru_cache(4)
def lines_of(content: bytes) -> tuple[bytes, ...]:
    """Lines as git counts them, each with its end."""
    return tuple(_LINE.findall(content))


def without(content: bytes, hunk: Hunk) -> bytes:
    """A file with one hunk taken back."""
    lines = lines_of(content)
    return b"".join([*lines[: hunk.line - 1], *hunk.old, *lines[hunk.line - 1 + hunk.count :]])


def blocks_of(content: bytes, hunk: Hunk) -> list[Hunk]:
    """The blocks of lines that were only added: each begins after a blank line, no deeper than the first."""
    if hunk.old:
        return []
    lines = _new(content, hunk)
    told = [line for line in lines if line.strip()]
    if not told:
        return []
    depth = _depth(told[0])
    starts = [0]
    for number in range(1, len(lines)):
        if lines[number].strip() and not lines[number - 1].strip() and _depth(lines[number]) <= depth:
            starts.append(number)
    ends = [*starts[1:], len(lines)]
    return [Hunk(hunk.line + start, end - start) for start, end in zip(starts, ends, strict=True)]


def _depth(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def says_nothing(path: str, content: bytes, hunk: Hunk, *, deep: bool = True) -> bool:
    """Whether a program means the same without a hunk: nothing in it but comments and blank lines; `deep`: or Python's
    docstrings."""
    suffix = path.rpartition("/")[2].rpartition(".")[2]
    if suffix in ("py", "pyi") and deep and len(content) <= LARGEST_PARSED:
        return _same(content, without(content, hunk))
    comment = _COMMENT.get(suffix)
    return comment is not None and all(comment.match(line) for line in (*hunk.old, *_new(content, hunk)))


def _same(one: bytes, other: bytes) -> bool:
    """Whether two Python files mean the same, docstrings left out."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _meaning(one) == _meaning(other)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


@lru_cache(4)
def _meaning(source: bytes) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)] or [ast.Pass()]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


# --- what it shows --------------------------------------------------------------------------------


def without_part(verdicts: Sequence[Verdict], unchanged: Verdict | None = None) -> Outcome | None:
    """What the runs without a part show so far; None while another is needed. Only what fails twice is caught.

    `unchanged` is what the check said of the whole tree afterwards; it is asked where only time or the machine spoke.
    """
    if not verdicts:
        return None
    if verdicts[-1] is Verdict.PASSED:
        return Outcome.MISSED if len(verdicts) == 1 else Outcome.FLAKY
    if len(verdicts) == 1:
        return None
    if not all(verdict in UNSURE for verdict in verdicts):
        return Outcome.CAUGHT
    if unchanged is None:
        return None
    return Outcome.CAUGHT if unchanged is Verdict.PASSED else Outcome.UNCLEAR


def unchanged_tree(verdicts: Sequence[Verdict]) -> Outcome:
    """What runs on one tree show: `caught` stands for a check that passes each time, `missed` for one that never
    does."""
    passed = {verdict is Verdict.PASSED for verdict in verdicts if verdict not in UNSURE}
    if len(passed) > 1:
        return Outcome.FLAKY
    if not passed or any(verdict in UNSURE for verdict in verdicts):
        return Outcome.UNCLEAR
    return Outcome.CAUGHT if passed == {True} else Outcome.MISSED


class Tally(msgspec.Struct, frozen=True):
    """What is known of one task's parts. `parts` are those that are to be tried, as far as is known."""

    caught: int = 0
    measured: int = 0
    parts: int = 0
    unverified: tuple[Unverified, ...] = ()


def tally(parts: Iterable[Part], results: Mapping[str, Outcome], key: KeyOf, *, steady: bool = True) -> Tally:
    """Count; where a check is not `steady` on the unchanged tree nothing that it says of any part counts."""
    caught = measured = count = 0
    named: list[Unverified] = []
    hunks_named: set[str] = set()
    whole: list[tuple[Part, Unverified]] = []
    for part in parts:
        for one in (part, *asked_of(part, results.get(key(part)))):
            count += 1
            outcome = results.get(key(one))
            if steady and outcome in (None, Outcome.UNCLEAR):
                continue
            measured += 1
            if steady and outcome is Outcome.CAUGHT:
                caught += 1
                continue
            entry = one.entry("" if steady and outcome is Outcome.MISSED else "the check is flaky")
            if one.hunk is None:
                whole.append((one, entry))
            else:
                hunks_named.add(one.path)
                named.append(entry)
    named += [entry for one, entry in whole if one.path not in hunks_named]
    return Tally(caught, measured, count, tuple(joined(sorted(named, key=lambda one: (one.file, one.lines)))))


class KeyOf(msgspec.Struct, frozen=True):
    """Names the runs of one task: its trees, its checks, what is frozen."""

    of: tuple[str, ...]

    def __call__(self, part: Part) -> str:
        return part.key(*self.of)


def asked_of(part: Part, outcome: Outcome | None) -> tuple[Part, ...]:
    """The blocks of a part that are to be tried: where all of it is noticed, some of it may still not be."""
    return part.blocks if outcome is Outcome.CAUGHT else ()


def joined(named: Iterable[Unverified]) -> Iterator[Unverified]:
    """Places that follow each other, as one."""
    last: Unverified | None = None
    for one in named:
        if last and (one.file, one.why) == (last.file, last.why) and 0 < one.lines[0] <= last.lines[1] + 1:
            last = msgspec.structs.replace(last, lines=(last.lines[0], max(last.lines[1], one.lines[1])))
            continue
        if last:
            yield last
        last = one
    if last:
        yield last


def order_of(parts: Sequence[Part], key: KeyOf) -> list[Part]:
    """Whole files first, then hunks in an order of chance that is always the same: what is measured within a budget
    is a fair sample."""
    return sorted(parts, key=lambda part: (part.hunk is not None, key(part)))
