"""Examples in the sources that `doctest` or `rustdoc` runs: gone, left out, or wanting something else.

Those of Python for changes under checks that run them (`toolchains.doctests.runs_sources`), since elsewhere they are
words like others; those of Rust always, since `cargo test` runs them.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from doctest import ELLIPSIS, SKIP, DocTestParser, Example
from functools import cached_property

from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.gaming.syntax import FUNCTIONS, parsed, walk
from proctor.words import Gaming, Weight

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_CRATE = "the crate"
_LINE = 1_000
_SAID = re.compile(r"^\s*//(?:!|/(?!/)) ?(.*)$")
_BLOCK = re.compile(r"^\s*/\*(?:!|\*(?![*/]))(.*)$")
_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})\s*([^`]*)$")
_ITEM = re.compile(r"\b(?:fn|struct|enum|trait|mod|type|const|static|macro_rules!)\s+(\w+)")
_RUNS = re.compile(r"rust|edition\d+|standalone\w*|E\d{4}")
_LEFT_OUT = re.compile(
    r"no_run|should_panic|compile_fail|test_harness|ignore(?!-(?:windows|msvc|macos|apple|ios|android|wasm)).*"
)
_PROGRAMS = re.compile(r"(?:.*/)?(?:src/main\.rs|build\.rs|(?:src/bin|examples|benches)/.*)")
"""Sources whose examples are not run."""
_REMARK = re.compile(r"(?:^|\s)//.*")
_CODE = re.compile(r"\b(?:let|use|fn)\s|\)\s*;")
_ELSEWHERE = re.compile(
    r"(?i:tcp|udp|socket|connect|bind|listen|serve|http|url)|\b(?:File|fs|stdin|Command|args?|loop|env)\b"
)
"""What an example does that is better not done where it is tested."""
_LEAVES = re.compile(
    r"return;|macro_rules!assert|(?:std::)?process::exit\(|if(?:false|!true)\b|#!?\[cfg\((?:any\(\)|not\(all|FALSE|false|never)"
)
_FUNCTION = re.compile(r"(?<!async )\bfn (?!main\b)(\w+)\(\)")


def look(changes: Sequence[Change], is_fair: Callable[[str, str], bool] = lambda was, now: False) -> Iterator[Found]:
    """What a change does to the examples of Python sources. One that stands elsewhere now has moved; those of what is
    gone altogether go with it. `is_fair` says of two texts whether the one may stand for the other."""
    pairs = [(one, _examples(one.before), _examples(one.after)) for one in changes if one.language is Language.PYTHON]
    now = {example.source for _, _, after in pairs for examples in after.values() for example in examples}
    for change, before, after in pairs:
        for name in before.keys() & after.keys():
            line = max(1, min([example.lineno for example in after[name]], default=change.first))
            for said, one in _of(change, before[name], after[name], now, line, is_fair=is_fair):
                yield replace(one, test=said)


def bare(change: Change) -> Change:
    """A change without what it does to docstrings."""
    if change.language is not Language.PYTHON:
        return change
    return Change(change.path, _undocumented(change.before), _undocumented(change.after))


def _undocumented(text: str | None) -> str | None:
    tree = parsed(text)
    if text is None or tree is None:
        return text
    lines = text.splitlines()
    for node in walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            end = node.end_lineno or node.lineno
            lines[node.lineno - 1 : end] = [""] * (end - node.lineno + 1)
    return "\n".join(lines)


def _of(
    change: Change,
    before: Sequence[Example],
    after: Sequence[Example],
    now: set[str],
    line: int,
    *,
    is_fair: Callable[[str, str], bool],
) -> Iterator[tuple[str, Found]]:
    wanted = {example.source: example for example in after}
    known = {example.source for example in before}
    fresh = [example for example in after if example.want and example.source not in known]
    for old in before:
        said = old.source.strip().splitlines()[0] if old.source.strip() else ""
        new = wanted.get(old.source)
        if new is None:
            other = fresh.pop(0) if fresh and old.want and old.source not in now else None
            if other and not is_fair(old.source + old.want, other.source + other.want):
                why = f"an example that doctest runs is another: {said}"
                yield said, found(change, Gaming.ASSERTION, Weight.SUSPICION, other.lineno, why)
            elif other is None and old.want and old.source not in now:
                why = f"an example that doctest runs is gone: {said}"
                yield said, found(change, Gaming.ASSERTION, Weight.TAMPERING, line, why)
        elif new.options.get(SKIP) and not old.options.get(SKIP):
            why = f"an example that doctest runs is left out: {said}"
            yield said, found(change, Gaming.SKIP, Weight.TAMPERING, new.lineno, why)
        elif _is_weaker(old, new):
            why = f"an example that doctest runs takes anything: {said}"
            yield said, found(change, Gaming.ASSERTION, Weight.TAMPERING, new.lineno, why)
        elif old.want != new.want and not is_fair(old.want, new.want):
            why = f"an example that doctest runs wants something else: {said}"
            yield said, found(change, Gaming.ASSERTION, Weight.SUSPICION, new.lineno, why)


def _is_weaker(old: Example, new: Example) -> bool:
    """Whether an example asks for nothing that it asked for: it has no answer, or only what stands for any."""
    return old.want != new.want and (not new.want or (new.want.strip() == "..." and bool(new.options.get(ELLIPSIS))))


def _examples(text: str | None) -> dict[str, list[Example]]:
    """The examples of each documented name, an option of it being part of no source; lines are those of the file."""
    tree = parsed(text)
    return dict(_documented(tree, "")) if tree is not None else {}


def _documented(node: _Documented, name: str) -> Iterator[tuple[str, list[Example]]]:
    body = node.body
    first = body[0].value if body and isinstance(body[0], ast.Expr) else None
    text = first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""
    yield name, _parsed(text, first.lineno if first else 1)
    for child in body:
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            yield from _documented(child, f"{name}.{child.name}")


def _parsed(text: str, line: int) -> list[Example]:
    try:
        examples = DocTestParser().get_examples(text) if ">>>" in text else []
    except ValueError:
        return []
    for example in examples:
        example.lineno += line
        example.source = example.source.partition("# doctest:")[0].rstrip() + "\n"
    return examples


# --- Rust -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Fenced:
    """An example of a Rust source: where it begins, whose it is, what its fence says, and its lines without remarks."""

    line: int
    owner: str
    says: str
    lines: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        return [word for word in re.split(r"[,\s]+", self.says.strip("{} ")) if word]

    @property
    def is_run(self) -> bool:
        """Whether it is run, and must come to its end."""
        if any(map(_LEFT_OUT.fullmatch, self.words)):
            return False
        return "rust" in self.words or all(map(_RUNS.fullmatch, self.words))

    @cached_property
    def asserts(self) -> frozenset[str]:
        """What it asserts, without layout and paths."""
        parts = self.bare.split(";")
        return frozenset(part[part.index("assert") :].rstrip("}") for part in parts if re.search(r"assert\w*!", part))

    @cached_property
    def bare(self) -> str:
        return _bare(" ".join(self.lines))


def fenced(change: Change, is_asked: Callable[[str], bool] = lambda name: False) -> Iterator[Found]:
    """What a change does to the examples in the documentation of a Rust source. `is_asked` says of what they explain
    whether tests ask elsewhere now what its examples asked."""
    if change.language is not Language.RUST or change.is_test or _PROGRAMS.fullmatch(change.path):
        return
    if change.before is None or change.after is None or change.before == change.after:
        return
    (old, rested), (new, rest) = _fences(change.before), _fences(change.after)
    run, off = [one for one in new if one.is_run], [one for one in new if not one.is_run]
    asked = frozenset().union(*(one.asserts for one in run))
    code = _bare("".join(line for line in rest if not line.lstrip().startswith("//")))
    words = _bare("".join(line for line in rest if line.lstrip().startswith("//")))
    known = {(one.says, one.lines) for one in old if not one.is_run}
    left_out = _index([one for one in off if (one.says, one.lines) not in known])
    runs = _index(run)
    for was in [one for one in old if one.is_run]:
        lost = {one for one in was.asserts - asked if one not in code}
        near = (one for key in (was.owner, was.bare, *sorted(lost)) for one in left_out.get(key, ()))
        left = next((one for one in near if _is_left(was, one, lost)), None)
        line = change.first
        if left is not None:
            weight = Weight.TAMPERING if lost else Weight.SUSPICION
            why = f"an example that rustdoc runs is {left.says.strip() or 'left out'}: {was.owner}"
            yield found(change, Gaming.SKIP, weight, left.line, why)
        elif any(one in words for one in lost):
            yield found(
                change, Gaming.SKIP, Weight.TAMPERING, line, f"an example that rustdoc runs is words: {was.owner}"
            )
        elif lost and _is_gone(was, new, _items(rested), _items(rest)) and not is_asked(was.owner):
            why = f"an example that rustdoc runs is gone: {was.owner}"
            yield found(change, Gaming.ASSERTION, Weight.SUSPICION, line, why, gone=not change.added)
        for one in runs.get(was.owner, ()):
            if was.asserts and was.asserts <= one.asserts and _leaves(one) > _leaves(was):
                why = f"an example that rustdoc runs leaves before what it asserts: {one.owner}"
                yield found(change, Gaming.ASSERTION, Weight.TAMPERING, one.line, why)


def _index(examples: Sequence[_Fenced]) -> dict[str, list[_Fenced]]:
    """Examples by whose they are, by their code, and by what they assert."""
    by: dict[str, list[_Fenced]] = {}
    for one in examples:
        for key in (one.owner, one.bare, *one.asserts):
            by.setdefault(key, []).append(one)
    return by


def _is_left(was: _Fenced, now: _Fenced, lost: set[str]) -> bool:
    """Whether an example stands for one that was run, and is not run."""
    if was.asserts:
        shapes = {_shape(one) for one in lost} if was.owner == now.owner else set[str]()
        return bool(lost & now.asserts) or (bool(shapes) and not shapes.isdisjoint(map(_shape, now.asserts)))
    said = " ".join(was.lines)
    same = was.bare == now.bare and _CODE.search(said)
    return bool(same) and not ("no_run" in now.words and _ELSEWHERE.search(said))


def _is_gone(was: _Fenced, new: Sequence[_Fenced], before: Counter[str], after: Counter[str]) -> bool:
    """Whether what an example explains is there, and has no example that asks for anything."""
    is_there = after[was.owner] >= before[was.owner]
    return is_there and not any(one.asserts or not one.is_run for one in new if one.owner == was.owner)


def _items(lines: Sequence[str]) -> Counter[str]:
    return Counter(match[1] for line in lines if (match := _ITEM.search(line[:_LINE])))


def _leaves(one: _Fenced) -> int:
    """How often an example leaves before what it asserts, or puts it where nobody calls it."""
    said = " ".join(one.lines)
    first = _bare(said.partition("assert")[0])
    uncalled = [name for name in _FUNCTION.findall(said.partition("assert")[0]) if said.count(name) == 1]
    return len(_LEAVES.findall(first)) + len(uncalled)


def _bare(text: str) -> str:
    """Code without layout, paths and the comma at an end."""
    return re.sub(r"\s+|\b\w+::(?=\w+[(!])", "", text).replace(",)", ")")


def _shape(text: str) -> str:
    """An assertion without what it wants."""
    return re.sub(r"\"[^\"]*\"|-?\b\d[\w.]*|\b(?:true|false)\b", "_", text)


def _fences(text: str) -> tuple[list[_Fenced], list[str]]:
    """The examples of a source, and all its other lines, those of documentation as remarks."""
    examples: list[_Fenced] = []
    rest: list[str] = []
    waiting: list[tuple[int, str, tuple[str, ...]]] = []
    code: list[str] = []
    fence, says, start, is_block = "", "", 0, False
    for number, line in enumerate(text.splitlines(), 1):
        said, is_block = _documentation(line[:_LINE], is_block)
        if said is None:
            fence = ""
            rest.append(f"{line}\n")
            if waiting and line.strip() and (match := _ITEM.search(line[:_LINE])):
                examples += [_Fenced(at, match[1], word, lines) for at, word, lines in waiting]
                waiting = []
            elif waiting and not line.strip():
                examples += [_Fenced(at, _CRATE, word, lines) for at, word, lines in waiting]
                waiting = []
            continue
        match = _FENCE.match(said)
        if fence and match and match[1].startswith(fence) and not match[2].strip():
            waiting.append((start, says, tuple(code)))
            fence, code = "", []
        elif fence:
            shown = re.sub(r"^\s*#(?:\s|$)", "", said)
            code.append(_REMARK.sub("", shown).strip())
            rest += [f"// {one[0]}\n" for one in [_REMARK.search(shown)] if one]
        elif match:
            fence, says, start, code = match[1], match[2], number, []
        else:
            rest.append(f"// {said}\n")
    return examples + [_Fenced(at, _CRATE, word, lines) for at, word, lines in waiting], rest


def _documentation(line: str, is_block: bool) -> tuple[str | None, bool]:
    """What a line says in documentation, None where it is none of it, and whether a block of it goes on."""
    if is_block:
        said, closed, _ = line.partition("*/")
        return re.sub(r"^\s*\*(?=\s|$) ?", "", said), not closed
    if match := _SAID.match(line):
        return match[1], False
    if match := _BLOCK.match(line):
        said, closed, _ = match[1].partition("*/")
        return said, not closed
    return None, False
