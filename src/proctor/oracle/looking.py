"""Looking at what an iteration changed: what it did to checks, in frozen files and in its own, with the hunks.

Text only, nothing is run. The look is bounded in bytes and time and is done by a process of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from proctor.errors import ProctorError
from proctor.journal.events import Finding
from proctor.oracle import apart, tamper
from proctor.oracle.bench import shown
from proctor.oracle.frozen import Frozen, Item
from proctor.oracle.gaming.change import Language, is_test, language_of, spread
from proctor.oracle.gaming.goldens import is_golden
from proctor.oracle.gaming.rows import is_kind
from proctor.oracle.toolchains import doctests, mentions
from proctor.text import safe_line
from proctor.words import Gaming, Weight

SECONDS = 120.0
"""Time that a look may take beside the check; a renaming in hundreds of files takes some. It has less of the
processor."""
MOST = 20
"""Findings of a weight that a row names; the iteration's folder has all."""
KEPT = "findings.json"
_FILE, _TESTS = 256 << 10, 1 << 20
_TABLE = 1 << 20
"""Bytes of a file that is too large to be looked at, up to which it may still be seen to be a mere table."""
_MUCH = 1 << 20
"""Characters of a change, before and after, that may take longer than a look may."""
_LAID_BACK = 20
_MOST_TESTS = 200
_NOT_OURS = re.compile(
    r"(?:.*/)?(?:node_modules|\.venv|venv|site-packages|vendor|\.tox|\.nox|\.git)/.*"
    r"|(?:.*/)?(?:dist|build|target)/.*(?<!\.py)"
    r"|.*(?:\.min\.[cm]?js|\.bundle\.js|\.pb\.go|\.lock|\.pnp(?:\.loader)?\.[cm]js)",
    re.DOTALL,
)
"""Installed packages, and what tools write; none writes Python that nobody is to read."""

_BUILT = re.compile(r"(?:^|/)(?!__pycache__/)([^/.]+)(?:\.[^/]+)?\.(?:pyc|so|pyd)$")
_COMPILED = "a compiled module, which nobody can read"


class Holds(apart.Holds, Protocol):
    """The part of `checkpoint.Store` that a look needs."""

    def mentioned(self, commit: str, words: Sequence[str], but: Collection[str]) -> set[str]: ...


class Said(msgspec.Struct, frozen=True):
    """A finding as the look gives it."""

    kind: str
    path: str
    weight: Weight = Weight.TAMPERING
    line: int = 0
    why: str = ""
    text: str = ""
    hunk: str = ""
    words: tuple[str, ...] = ()
    test: str | None = None

    def finding(self, kind: str = "") -> Finding:
        """As a row has it; `kind` where nothing more is known of a frozen file than that it differs."""
        why, text = safe_line(self.why, 300), safe_line(self.text, 300)
        return Finding(kind=self.kind or kind, path=self.path, line=self.line, why=why, text=text, hunk=self.hunk)


class _Answer(msgspec.Struct, frozen=True):
    own: tuple[Said, ...]
    frozen: tuple[Said, ...]
    tables: tuple[str, ...] = ()
    """Large files that need no look."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a look found, by weight. `own`: some of the tampering is in files that were not laid back."""

    tampering: tuple[Finding, ...] = ()
    suspicion: tuple[Finding, ...] = ()
    own: bool = False

    @property
    def unread(self) -> bool:
        """Whether the change, or a part of it, could not be looked at."""
        return any(one.kind == Gaming.UNREAD for one in (*self.tampering, *self.suspicion))


@dataclass(frozen=True, slots=True)
class Looked:
    """What is to be looked at: the trees before and after a worker, the paths that are not its own doing, those that
    were laid back for the verdict, and what the worker was told, also in files."""

    before: str
    after: str
    others: Collection[str] = ()
    laid_back: Sequence[str] = ()
    told: Sequence[str] = ()
    told_in: Sequence[str] = ()
    failed: Collection[str] = ()
    """Ids of tests that failed before the work."""
    runs: Sequence[str] = ()
    """The commands of checks."""
    wanted: Sequence[str] = ()
    """What checks want to be put out."""
    compared: Sequence[str] = ()
    """The paths of the files that they compare with."""
    first: str = ""
    """The tree that the session began with: tests that were not there are the worker's own; "" if it is not known."""


def look(what: Looked, frozen: Frozen, store: Holds, out: Path) -> Seen:
    """Look at a change, keep the findings in the folder `out`, and say them. Blocks: call it from a thread.

    A change that cannot be had is a suspicion of its own, and so is a large one whose look does not come to its end; of
    any other that is tampering: nobody knows what it holds, and it was made so.
    """
    large = False
    try:
        question, left_out, tests, compiled = _question(what, frozen, store)
        large = sum(len(text or "") for _, *texts in question["changes"] for text in texts) > _MUCH
        if not any(question[part] for part in ("changes", "frozen", "large")) and not (left_out or compiled):
            return Seen()
        answer = _ask(question)
        own = _were_there(_news(answer.own, store, what.before, tests), store, what.first)
    except (ProctorError, OSError, ValueError, subprocess.SubprocessError) as error:
        unread = Finding(kind=Gaming.UNREAD, path="", why=f"the change could not be looked at: {_reason(error)}")
        died = not isinstance(error, ProctorError | OSError) and not large
        return Seen(tampering=(unread,), own=True) if died else Seen(suspicion=(unread,))
    kinds = {shown(path): str(tamper.kind(path, frozen)) for path in what.laid_back}
    wholes = {path: hashlib.sha256((after or "").encode()).hexdigest()[:20] for path, _, after in question["changes"]}
    by_weight: dict[Weight, list[Finding]] = {weight: [] for weight in Weight}
    for one in own:
        by_weight[one.weight].append(replace(one.finding(), whole=wholes.get(one.path, "")))
    gamed, light = by_weight[Weight.TAMPERING], by_weight[Weight.SUSPICION]
    light += [Finding(kind=Gaming.UNREAD, path=shown(path), why="too large to be looked at, or one of too many")
              for path in left_out if not is_golden(path) and shown(path) not in answer.tables]  # fmt: skip
    light += [Finding(kind=Gaming.UNREAD, path=shown(path), why=_COMPILED) for path in compiled]
    heavy = [one.finding(kinds.get(one.path, "")) for one in answer.frozen] + gamed
    seen = Seen(_spread(heavy), _spread(light), bool(gamed))
    if heavy or light:
        out.mkdir(parents=True, exist_ok=True)
        kept = msgspec.json.format(msgspec.json.encode({"tampering": seen.tampering, "suspicion": seen.suspicion}))
        (out / KEPT).write_bytes(kept)
    return seen


def _question(what: Looked, frozen: Frozen, store: Holds) -> tuple[dict[str, Any], list[str], list[str], list[str]]:
    """What the look is asked, the paths that are too large for it, those of what tests and checks hold, and those of
    new compiled modules."""
    pairs, left_out = store.pairs(what.before, what.after, lambda path: is_ours(path, what.others))
    large = store.pairs(what.before, what.after, set(left_out).__contains__, _TABLE)[0] if left_out else ()
    told = [*what.told, *(_stood(store, what.before, path) or "" for path in what.told_in)]
    tests = _tests(frozen, store, what.first)
    texts = _texts(tests, frozen, store, what.first)
    checking = dict(_checking(frozen))
    data = [pair for pair in store.pairs(what.before, what.after, _is_data)[0]
            if pair.before and pair.after and pair.path not in what.others]  # fmt: skip
    compared = mentions.compared("\n".join([*what.runs, *checking.values()]))
    held = frozen.by_path.keys() & {*what.compared, *map(os.path.normpath, compared)}
    named = "\n".join([*texts.values(), *compared])
    read = _only_read([pair.path for pair in data], named, "\n".join(told))
    read -= _named_elsewhere(read, [*tests, *checking], store, what.before)
    new = _new(what, store)
    said = "\n".join(_text(pair.after) or "" for pair in pairs)
    called = {path for path in new if path.rpartition("/")[2] in said} - {pair.path for pair in pairs}
    fresh = store.pairs(what.before, what.after, called.__contains__)[0] if called else ()
    question = {
        "changes": [*map(_shown, pairs), *(_shown(pair) for pair in data if pair.path in read), *map(_shown, fresh)],
        "frozen": [(shown(path), *_ends(path, frozen, store, what.after)) for path in what.laid_back[:_LAID_BACK]],
        "large": [*map(_shown, large)],
        "tests": texts,
        "told": told,
        "failed": sorted(what.failed),
        "compared": {**_held(held, frozen), **{f"check {at}": text for at, text in enumerate(what.wanted)}},
        "joined": [shown(path) for path in _joined(frozen, pairs)],
        "examples": doctests.runs_sources([*what.runs, *checking.values()]),
    }
    compiled = [path for path in new if (name := _BUILT.search(path)) and name[1] in f"{said}\n{named}"]
    return question, left_out, [*tests, *held], compiled


def _new(what: Looked, store: Holds) -> list[str]:
    """The paths of a worker's new files, those of packages and of what tools write left out."""
    there = {*store.paths(what.before), *what.others}
    return [path for path in store.paths(what.after) if path not in there and not _NOT_OURS.fullmatch(path)]


def _held(paths: Iterable[str], frozen: Frozen) -> dict[str, str]:
    """What checks compare with, as it was recorded."""
    texts = ((path, _recorded(frozen, frozen.by_path[path])) for path in paths if not frozen.by_path[path].link)
    return {shown(path): text for path, text in texts if text}


def _joined(frozen: Frozen, pairs: Iterable[apart.Pair]) -> list[str]:
    """The paths of what shells of checks read, with those that such files now read in turn."""
    texts = {pair.path: _text(pair.after) or "" for pair in pairs}
    found = list(frozen.joined)
    for path in found:
        if path in texts:
            found += [one for one in mentions.sources(path, texts[path]) if one in texts and one not in found]
    return found


def _shown(pair: apart.Pair) -> tuple[str, str | None, str | None]:
    return shown(pair.path), _text(pair.before), _text(pair.after)


def _spread(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    return tuple(findings[at] for at in spread([one.kind for one in findings]))


def is_ours(path: str, others: Collection[str] = ()) -> bool:
    """Whether a path is code that somebody writes, and that the worker wrote."""
    if path in others or _NOT_OURS.fullmatch(path):
        return False
    return is_golden(path) or language_of(path, "") is not Language.OTHER or "." not in path.rpartition("/")[2]


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", "backslashreplace")


def _ends(path: str, frozen: Frozen, store: Holds, after: str) -> tuple[str | None, str | None]:
    """A frozen file as it was recorded, and as the worker left it."""
    item = frozen.by_path.get(path)
    before = _recorded(frozen, item) if item is not None else None
    return before, _stood(store, after, path)


def _stood(store: Holds, tree: str, path: str) -> str | None:
    """The beginning of a file in a tree; None where there is none."""
    try:
        return _text(store.read(tree, path)[:_FILE])
    except ProctorError:
        return None


def _recorded(frozen: Frozen, item: Item) -> str | None:
    if item.link is not None:
        return item.link
    with open(frozen.content(item), "rb") as file:
        return _text(file.read(_FILE))


def _tests(frozen: Frozen, store: Holds, first: str) -> list[str]:
    """The paths of the frozen tests, and of others that were there when the session began."""
    others = (path for path in (store.paths(first) if first else ()) if path not in frozen.by_path)
    return list(filter(is_test, (*frozen.by_path, *others)))


def _texts(tests: Sequence[str], frozen: Frozen, store: Holds, first: str) -> dict[str, str]:
    """Tests, as far as they fit."""
    found: dict[str, str] = {}
    room = _TESTS
    for path in [path for path in tests if language_of(path, "") is not Language.OTHER][:_MOST_TESTS]:
        item = frozen.by_path.get(path)
        text = ("" if item.link else _recorded(frozen, item)) if item else _stood(store, first, path)
        if text and len(text) <= room and len(text) < _FILE:
            found[shown(path)] = text
            room -= len(text)
    return found


def _is_data(path: str) -> bool:
    return is_kind(path) and not is_ours(path) and not _NOT_OURS.fullmatch(path)


def _only_read(paths: Iterable[str], tests: str, told: str) -> set[str]:
    """The files that tests name, and that the worker was not told of."""
    return {path for path in paths if (name := path.rpartition("/")[2]) in tests and name not in told}


def _named_elsewhere(paths: Collection[str], tests: Collection[str], store: Holds, before: str) -> set[str]:
    """The files that others than tests name: sources read or make them."""
    names = {path.rpartition("/")[2] for path in paths}
    known = store.mentioned(before, sorted(names), tests) if names else set()
    return {path for path in paths if path.rpartition("/")[2] in known}


def _checking(frozen: Frozen) -> Iterator[tuple[str, str]]:
    """The frozen files that may hold the commands of checks, or their options, with their texts."""
    for item in frozen.items:
        if item.link is None and (
            mentions.names_files(item.path) or (item.path in frozen.named and not is_test(item.path))
        ):
            yield item.path, _recorded(frozen, item) or ""


def _ask(question: Mapping[str, object]) -> _Answer:
    """Put the question to a process of its own. SubprocessError or ValueError where it gives no answer."""
    done = apart.ask("gaming", question, SECONDS)
    if done.returncode:
        last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
        ended = "no end within its time and memory" if done.returncode < 0 else f"exit code {done.returncode}"
        raise ValueError(last[0] if last else ended)
    return msgspec.json.decode(done.stdout, type=_Answer)


def _news(found: Iterable[Said], store: Holds, before: str, tests: Collection[str]) -> list[Said]:
    """Findings without those whose literals stood in the workspace already, outside of the tests."""
    found = list(found)
    words = sorted({word for one in found for word in one.words if "\n" not in word})
    known = store.mentioned(before, words, tests) if words else set()
    return [one for one in found if not one.words or not known.issuperset(one.words)]


def _spoken(test: str) -> str:
    """The part of a test's name that stands in a source as it is."""
    return max(re.split(r"[\"'`\\\n]|\.(?=\w+$)", test), key=len)


def _were_there(found: Sequence[Said], store: Holds, first: str) -> list[Said]:
    """Findings without those of tests that were not there when the session began: a worker's own want what it says."""
    names = sorted({_spoken(one.test) for one in found if one.test})
    known = store.mentioned(first, names, ()) if first and names else set()

    def was_there(one: Said) -> bool:
        if not first or one.test is None:
            return True
        return _spoken(one.test) in known if one.test else _stood(store, first, one.path) is not None

    return [one for one in found if was_there(one)]


def _reason(error: Exception) -> str:
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no end after {SECONDS:g} s"
    return safe_line(str(error), 200)
