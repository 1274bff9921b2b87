"""What a change does to tests and runs in other languages, told line by line and test by test."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator

from proctor.oracle.gaming import doctests, goldens, subjects
from proctor.oracle.gaming.bodies import empty, leaves_early, titled
from proctor.oracle.gaming.change import Change, Found, Language, found, squeezed, tests_in
from proctor.oracle.gaming.imports import usual
from proctor.oracle.gaming.moved import Moved
from proctor.oracle.gaming.patterns import (
    BUILD,
    BY_CONTEXT,
    CHECKS,
    COMMENT,
    CONFIG,
    DEPENDS,
    DOORS,
    GIVEN,
    HEAD,
    LEAVES,
    LOOSE,
    ONLY,
    PROMISE,
    RULES,
    SKIP,
    STRICT,
    G,
    R,
    Rule,
    S,
    T,
    W,
)
from proctor.oracle.gaming.regions import tests_of
from proctor.oracle.gaming.tolerances import wide_in
from proctor.words import Gaming

_NEAR = 3
"""Lines above a skip in which its condition may stand."""
_TEST = 400
"""Lines of a test in which its head is looked for."""
_HEADER = 40
"""Lines in which a Go file says what it is built for."""
_RETURNS = re.compile(r"(?:^|[\s{)])return\s*(?:;|\}|$)")
_WHERE = re.compile(r"\b(?:platform|GOOS|GOARCH|Short|Getenv|LookupEnv|env|LookPath|version|cfg)\b|[sS]kip")
_EACH = re.compile(r"\bfor\b|forEach|\.each\b")
_HERE = re.compile(rf"{sys.platform}|unix|amd64|arm64|cgo|gc|go1\.\d+|!\s*\w+")


def look(change: Change, moved: Moved) -> Iterator[Found]:
    """What a change to a file in JavaScript, TypeScript, Go or Rust does to tests and runs. `moved` knows what tests
    ask elsewhere now."""
    if change.language not in HEAD:
        return
    if change.after is None:
        yield from _gone(change, moved)
        return
    tests = _in_tests(change)
    seen = set(map(str.strip, change.old))
    usually = usual(change.after, change.language).splitlines()
    more = Counter(map(str.strip, change.new)) - Counter(map(str.strip, change.old))
    for number, text in change.added:
        line = text[:1_000]
        if COMMENT.match(line):
            continue
        inside = tests(number)
        below = change.new[number].strip() if number < len(change.new) else ""
        if more[text.strip()] and (inside or re.match(r"(?:pub\s+)?mod\s+\w*tests?\b", below)):
            yield from _skip(change, number, line)
        if line.strip() in seen:
            continue
        for rule in RULES:
            if change.language is not rule.language or _is_windowed(rule) or not _applies(rule, change, inside):
                continue
            if rule.fits(usually[number - 1][:1_000], change.after):
                mild = rule.kind is Gaming.ASSERTION and change.before is None
                yield found(change, rule.kind, W if mild else rule.weight, number, rule.why)
                break
        if not inside:
            yield from _leave(change, number, line)
    yield from _agrees(change, tests)
    yield from _blocks(change, moved)
    yield from doctests.fenced(change, lambda name: _is_moved(change, name, moved))
    first = next((n for n in range(1, len(change.new) + 1) if tests(n)), 0)
    if first:
        yield from subjects.look(change, first)


def _is_windowed(rule: Rule) -> bool:
    """Whether a rule looks at what stands on more than one line."""
    return rule.kind is Gaming.EQUAL and rule.weight is W


def _agrees(change: Change, tests: Callable[[int], bool]) -> Iterator[Found]:
    """Comparisons that give one answer, their heads and bodies on one line or on some."""
    rules = [rule for rule in RULES if rule.language is change.language and _is_windowed(rule)]
    old, told = "", set[str]()
    for number, _ in change.added:
        if tests(number):
            continue
        near = change.new[max(0, number - 1 - _NEAR) : number + _NEAR - 1]
        text = " ".join(line.strip()[:200] for line in near if not COMMENT.match(line[:200]))
        for rule in rules:
            match = rule.pattern.search(text)
            if match and match[0] not in told:
                told.add(match[0])
                old = old or squeezed(change.before or "")
                if squeezed(match[0]) not in old:
                    yield found(change, rule.kind, rule.weight, number, rule.why)


def _applies(rule: Rule, change: Change, inside: bool) -> bool:
    if rule.where == "both":
        return True
    if rule.where == "tests":
        return inside and (rule.kind is not Gaming.EXIT or change.is_collected or change.language is R)
    return not inside and not CONFIG.fullmatch(change.path)


def _in_tests(change: Change) -> Callable[[int], bool]:
    """Whether a line of the new file is a test's: by the file, and in Rust by the module below `#[cfg(test)]`."""
    inside = tests_in(change.after or "", change.language)
    return lambda line: change.is_test or line in inside


def _skip(change: Change, number: int, line: str) -> Iterator[Found]:
    if change.language is S and ONLY.search(line):
        weight = T if change.before is not None else W
        yield found(change, Gaming.SKIP, weight, number, "only this test is run, the others are not")
        return
    if not SKIP[change.language].search(line) and not _by_context(change, number, line):
        return
    if change.language is G and (match := BUILD.match(line)):
        yield from _tagged(change, number, match[1] or match[2])
        return
    near = change.new[max(0, number - 1 - _NEAR) : number]
    depends = any(DEPENDS.search(text[:1_000]) for text in near)
    name = _name_at(change, number)
    known = change.before is not None and bool(name) and _knows(change.old, change.language, name)
    if "should_panic" in line and (not known or not _still_asserts(change, name)):
        return
    if known or (change.before is not None and "cfg" in line):
        yield found(change, Gaming.SKIP, W if depends else T, number, f"{name or 'the file'} was run and is left out")
    elif not depends and not PROMISE.search(line):
        yield found(change, Gaming.SKIP, W, number, f"the new {name or 'test'} is left out")


def _by_context(change: Change, number: int, line: str) -> bool:
    """Whether a line leaves a test out by what the test is given."""
    call = BY_CONTEXT.search(line) if change.language is S else None
    above = (text[:1_000] for text in reversed(change.new[max(0, number - _TEST) : number]))
    head = next((text for text in above if HEAD[S].match(text)), "") if call else ""
    given = GIVEN.search(head)
    if call is None or given is None:
        return False
    return call[1] == given[1] if call[1] else bool(re.search(r"[{,]\s*(?:skip|todo)\s*[,}]", given[1]))


def _tagged(change: Change, number: int, tags: str) -> Iterator[Found]:
    """A test file that was built, and is built under tags alone."""
    if change.before is None or any(BUILD.match(line[:1_000]) and not _builds(line) for line in change.old[:_HEADER]):
        return
    if not _builds(tags):
        never = re.fullmatch(r"\s*(?:ignore|never|none|false|off|disabled)\s*", tags)
        yield found(
            change, Gaming.SKIP, T if never else W, number, f"the file was run and is built for {tags.strip()} alone"
        )


def _builds(tags: str) -> bool:
    """Whether tags hold without having been asked for: those of this system, of a version, and what is not."""
    plain = re.sub(r"^\s*//\s*(?:go:build|\+build)|[()]", "", tags)
    ways = (re.split(r"&&|,", way) for way in plain.split("||"))
    return any(all(_HERE.fullmatch(tag.strip()) for tag in way) for way in ways)


def _still_asserts(change: Change, name: str) -> bool:
    """Whether a test that is to end in a panic asserts as before: then its failure is what it asks for."""
    old, new = (titled(change, lines).get(name, (0, ""))[1].partition("#[")[0] for lines in (change.old, change.new))
    return "panic!(" in new or ("assert" in new and "assert" in old)


def _name_at(change: Change, number: int) -> str:
    """The title of the test that a line belongs to: on it, below a Rust attribute, or above."""
    head = (
        re.compile(r"^\s*\w+(?:\.\w+)*(?:\([^'\"`()]*\))?\s*\(\s*(['\"`])(.+?)\1")
        if change.language is S
        else HEAD[change.language]
    )
    is_call = change.language is S and BY_CONTEXT.match(change.new[number - 1][:1_000])
    head = HEAD[S] if is_call else head
    forward = change.new[number - 1 : number + _NEAR] if change.language is R else change.new[number - 1 : number]
    above = [] if change.language is R else reversed(change.new[max(0, number - _TEST) : number - 1])
    for text in (*forward, *above):
        if match := head.match(text[:1_000]):
            return str(match[2])
    return ""


def _knows(old: list[str], language: Language, name: str) -> bool:
    """Whether a test stood there, and was not left out."""
    quoted = [f"{mark}{name}{mark}" for mark in "'\"`"] if language is S else [f" {name}("]
    lines = (line[:1_000] for line in old if any(one in line for one in quoted))
    return any(not SKIP[language].search(line) for line in lines)


def _leave(change: Change, number: int, line: str) -> Iterator[Found]:
    if not LEAVES[change.language].search(line) or DOORS.fullmatch(change.path):
        return
    program = (change.after or "").startswith("#!") or (change.language is G and "package main" in change.new[:40])
    if program and not _in_init(change, number):
        return
    top = change.language is S and not line[:1].isspace() and not change.path.endswith(".d.ts")
    weight = T if top or _in_init(change, number) else W
    yield found(change, Gaming.EXIT, weight, number, "the run is left with success")


def _in_init(change: Change, number: int) -> bool:
    if change.language is not G:
        return False
    heads = [text for text in change.new[:number] if text.startswith("func ")]
    return bool(heads) and heads[-1].startswith("func init(")


def _gone(change: Change, moved: Moved) -> Iterator[Found]:
    """The tests that a file has no more, and that nobody asks for elsewhere."""
    now = {one.name for one in tests_of(change, change.after)}
    tests = (one for one in tests_of(change, change.before) if one.name and one.name not in now)
    lost = [one for one in tests if not moved.is_asked(one)]
    if lost:
        more = f", and {len(lost) - 1} more" if len(lost) > 1 else ""
        why = f"{lost[0].name} is gone{more}"
        yield found(change, Gaming.ASSERTION, W, lost[0].line, why, gone=True)


def _blocks(change: Change, moved: Moved) -> Iterator[Found]:
    """Tests that assert less than they did."""
    if not (change.is_test or change.language is R) or change.before is None:
        return
    was, now = (usual(text or "", change.language).splitlines() for text in (change.before, change.after))
    old, new = titled(change, was), titled(change, now)
    checks = CHECKS[change.language]
    before, after = empty(change, change.before), empty(change, change.after)
    total = sum(len(checks.findall(text)) for text in now) - sum(len(checks.findall(text)) for text in was)
    for name, (line, body) in new.items():
        if name not in old:
            continue
        had, has = (
            len(checks.findall(hollow.sub("", text))) for hollow, text in ((before, old[name][1]), (after, body))
        )
        yield from _early(change, name, old[name][1], new[name])
        if had and not has:
            if any("should_panic" in text for text in change.new[max(0, line - 1 - _NEAR) : line - 1]):
                continue
            calls = set(re.findall(r"(\w+)!?\s*\(", body)) - set(re.findall(r"(\w+)!?\s*\(", old[name][1]))
            yield found(change, Gaming.ASSERTION, W if calls else T, line, f"{name} asserted and does so no more")
        elif has < had and total < 0 and not (_EACH.search(body) or _is_asked(change, name, moved)):
            yield found(change, Gaming.ASSERTION, W, line, f"{name} had {had} assertions and has {has}")
        elif len(LOOSE.findall(body)) > len(LOOSE.findall(old[name][1])) and len(STRICT.findall(body)) < len(
            STRICT.findall(old[name][1])
        ):
            yield found(change, Gaming.ASSERTION, W, line, f"{name} compares less strictly")
        elif wide_in(body, change.language) > wide_in(old[name][1], change.language):
            yield found(change, Gaming.ASSERTION, W, line, f"{name} has a tolerance that lets much pass")
    gone = [name for name in old if name not in new]
    for name in gone if change.language is R else ():
        stays = [n for n, text in enumerate(change.new, 1) if re.search(rf"\bfn {re.escape(name)}\s*\(", text[:1_000])]
        if stays and (change.after or "").count(f"{name}(") == 1:
            yield found(change, Gaming.SKIP, T, stays[0], f"{name} was a test and is none any more")
    if gone and len(new) < len(old):
        yield from _gone(change, moved)


def _is_asked(change: Change, name: str, moved: Moved) -> bool:
    """Whether what a test asks no more is asked elsewhere."""
    old, new = ({one.name: one for one in tests_of(change, text)}.get(name) for text in (change.before, change.after))
    return old is not None and moved.is_asked(old, new)


def _is_moved(change: Change, name: str, moved: Moved) -> bool:
    """Whether tests ask now what an example asked."""
    examples = goldens.documented(change.before or "", change.language)
    return any(moved.is_asked(one) for one in examples if one.name == name)


def _early(change: Change, name: str, was: str, now: tuple[int, str]) -> Iterator[Found]:
    """A test that comes to its end, always or sometimes, before anything in it can fail, and did not."""
    checks, (line, body) = CHECKS[change.language], now
    if checks.search(was) and not leaves_early(was, checks) and leaves_early(body, checks):
        yield found(change, Gaming.ASSERTION, T, line, f"{name} leaves before what it asserts")
    elif checks.search(body) and _turns_back(body, checks) > _turns_back(was, checks):
        yield found(change, Gaming.ASSERTION, W, line, f"{name} may leave before what it asserts")


def _turns_back(body: str, checks: re.Pattern[str]) -> int:
    """How often a test may return before the first thing that can fail, but for where it runs."""
    first = checks.search(body)
    lines = body[: first.end() if first else 0].splitlines()
    back = [at for at, line in enumerate(lines) if _RETURNS.search(line)]
    return sum(not any(_WHERE.search(line) for line in lines[max(0, at - _NEAR) : at + 1]) for at in back)
