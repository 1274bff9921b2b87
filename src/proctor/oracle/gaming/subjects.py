"""Whether a test still asks what it was written for: the function it asserts on, replaced inside the test."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from proctor.oracle.gaming.change import Change, Found, Language, found
from proctor.oracle.gaming.regions import regions
from proctor.words import Gaming, Weight

_NAME = r"((?:\w{1,60}(?:\.|::)){0,4}\w{1,60})"
_ASKED = {
    Language.SCRIPT: re.compile(rf"\b(?:expect|assert(?:\.\w{{1,30}})?)\(\s*(?:await\s+)?{_NAME}\("),
    Language.GO: re.compile(
        rf"\bif\s+(?:\w+(?:,\s*\w+)?\s*:=\s*)?{_NAME}\(|\b(?:assert|require)\.\w+\(t,[^()]{{0,80}}?\b{_NAME}\("
    ),
    Language.RUST: re.compile(rf"\bassert\w*!\(\s*!?\s*{_NAME}\("),
}
_BOUND = {
    Language.SCRIPT: re.compile(rf"\b(?:const|let|var)\s+(\w{{1,60}})\s*=\s*(?:await\s+)?{_NAME}\("),
    Language.GO: re.compile(rf"\b(\w{{1,60}})(?:,\s*\w+)?\s*:=\s*{_NAME}\("),
    Language.RUST: re.compile(rf"\blet\s+(?:mut\s+)?(\w{{1,60}})(?::[^=]{{0,60}})?\s*=\s*{_NAME}\("),
}
_WEIGHED = {
    Language.SCRIPT: re.compile(r"\b(?:expect|assert(?:\.\w{1,30})?)\(\s*(\w{1,60})\s*[,)]"),
    Language.GO: re.compile(r"\bif\s+!?(\w{1,60})\s*[!=]=|;\s*(\w{1,60})\s*!=|\.\w+\(t,[^()]{0,80}?\b(\w{1,60})\)"),
    Language.RUST: re.compile(r"\bassert\w*!\(\s*!?(\w{1,60})\s*[,)=!]"),
}
_IMPORTED = re.compile(
    r"""\bimport\s+(?:\*\s+as\s+)?(?:(\w+)|\{([^}]{0,400})\})\s+from\s+['"]([^'"]{1,200})['"]
      | \b(?:const|let|var)\s+(?:(\w+)|\{([^}]{0,400})\})\s*=\s*require\(\s*['"]([^'"]{1,200})['"]""",
    re.VERBOSE,
)
_MOCKED = re.compile(
    r"(?:\b(?:jest|vi|vitest|mock)\.(?:mock|doMock|unstable_mockModule|module)\(|\brequire\.cache\[\s*require\.resolve\()"
    r"\s*(?:import\(\s*)?['\"]([^'\"]{1,200})['\"]"
)
_OBJECT = (
    r"\(?\s*(?:(?:require|(?:await\s+)?import|\w{1,60}\.(?:require|import)Actual)\(\s*['\"](?P<path>[^'\"]{1,200})['\"]\s*\)"
    r"|(?P<object>[\w$]{1,60}(?:\.[\w$]{1,60}){0,2}?))(?:\s+as\s+\w{1,60})?\s*\)?"
)
_QUOTED = r"['\"`](?P<member>[\w$]{1,60})['\"`]"
_REPLACES = (
    re.compile(
        rf"\b(?:jest|vi|vitest|sinon|mock|td)\s*\.\s*(?:spyOn|stub|method|replace)\(\s*{_OBJECT}\s*,\s*{_QUOTED}"
        r"(?:[^;]{0,40}?(?:\.\s*mock(?:Return|Impl|Resol)|\.\s*(?:returns|resolves|callsFake)\()|\s*,(?P<value>[^;]{0,400}))"
    ),
    re.compile(
        rf"\b(?:Object|Reflect)\.(?:defineProperty|set)\(\s*{_OBJECT}\s*,\s*{_QUOTED}\s*,"
        r"\s*(?:\{\s*(?:[^{};]{0,80}?\b(?:value|get)\s*(?::|(?=\()))?)?(?P<value>[^;]{0,400})"
    ),
    re.compile(
        rf"(?<![\w.$]){_OBJECT}(?:\.(?P<member>[\w$]{{1,60}})|\[\s*['\"`](?P<named>[\w$]{{1,60}})['\"`]\s*\])\s*=(?![=>])(?P<value>[^;]{{0,400}})"
    ),
)
"""What gives a member of an object to something else, which stands in `value`."""
_ASSIGNS = re.compile(
    rf"\bObject\.assign\(\s*{_OBJECT}\s*,\s*(?:\{{(?P<body>[^;]{{0,400}})|(?P<fakes>\w{{1,60}})\s*\))"
)
_MEMBER = re.compile(r"(?<![.\w$])(\w{1,60})\s*(?::|(?=[(,}]))")
_TOLD = re.compile(
    r"(?<![\w.$])([\w$]{1,60}(?:\.[\w$]{1,60}){0,2})\)?\s*\.\s*(?:mock(?:Return|Impl|Resol)\w*|returns|resolves|callsFake)\("
)
"""What only watches, and is told an answer."""
_WATCHED = rf"\s*=\s*(?:jest|vi|vitest|sinon|mock)\s*\.\s*(?:spyOn|spy)\(\s*{_OBJECT}\s*,\s*{_QUOTED}"
_FUNCTION = (
    r"(?:async\s*)?(?:(?:jest|vi|vitest|sinon|mock|td)\.(?:fn|stub|fake|func|function)\b|function\b"
    r"|\([^;]{0,200}?=>|\w+\s*=>|\(\)\s*\{)"
)
_OTHERS = re.compile(
    r"(?:Date|Math|JSON|Promise|process|console|global(?:This)?|window|document|performance|crypto|navigator|fs|https?)(?:\.|$)"
)
"""What is nobody's own to be tested."""
_PUTS_BACK = re.compile(
    r"\b(?:jest|vi|sinon|sandbox|mock|\w{0,40}(?:[sS]py|[mM]ock|[sS]tub))\.(?:mockRestore|restoreAll(?:Mocks)?|restore)\("
    r"|\b(?:t|ctx|context)\.mock\."
)
_JOINED = 5
"""Lines that are read together where something is replaced."""
_PARTLY = re.compile(r"requireActual|importActual|importOriginal")
_FACTORY = 15
"""Lines of a module's mock that are looked at."""
_STANDS = {
    Language.SCRIPT: re.compile(
        r"^\s*(?:(?:const|let|var)\s+)?(\w{1,60})\s*=\s*(?:async\s*)?(?:jest\.fn|vi\.fn|sinon\.|mock\.fn|function\b|\(|\w+\s*=>)"
        r"|^\s*(?:async\s+)?function\s+(\w{1,60})\s*\("
    ),
    Language.GO: re.compile(r"^\s*(?:var\s+)?(\w{1,60})\s*:?=\s*func\b"),
    Language.RUST: re.compile(r"^\s*(?:pub\s+)?fn\s+(\w{1,60})\s*[(<]|^\s*let\s+(\w{1,60})\s*=\s*(?:move\s*)?\|"),
}


def look(change: Change, start: int = 1) -> Iterator[Found]:
    """What stands in for a function that the tests of a file ask for, and went on to ask for. In a Rust source tests
    begin at the line `start`."""
    if change.before is None or change.after is None:
        return
    asked = _asked(change.before, change.language) & _asked(change.after, change.language)
    if not asked:
        return
    plain = {name for name in asked if not re.search(r"\.|::", name)}
    for number, text in change.added:
        line = text[:1_000]
        name = ""
        if number >= start and (match := _STANDS[change.language].match(line)):
            given = match[1] or (match[2] if match.re.groups > 1 else "")
            name = given if given in plain and not _is_own(change, given) else ""
        if not name and change.language is Language.SCRIPT:
            name = _mocked(change, number, line, asked)
        if name:
            yield found(change, Gaming.ASSERTION, Weight.TAMPERING, number, f"the test asserts on a stand-in of {name}")


def _asked(text: str, language: Language) -> set[str]:
    """What the assertions of a text call themselves, or by a variable."""
    names = {name for match in _ASKED[language].finditer(text) for name in match.groups() if name}
    weighed = {name for match in _WEIGHED[language].finditer(text) for name in match.groups() if name}
    names |= {match[2] for match in _BOUND[language].finditer(text) if match[1] in weighed}
    return names


def _is_own(change: Change, name: str) -> bool:
    """Whether the old file had a function of that name for itself."""
    if change.language is Language.RUST and not change.is_test:
        text = (change.before or "").rpartition("#[cfg(test)]")[2]
    else:
        text = change.before or ""
    stands = _STANDS[change.language]
    return any(name in (match.groups()) for line in text.splitlines() if (match := stands.match(line[:1_000])))


def _mocked(change: Change, number: int, line: str, asked: set[str]) -> str:
    if name := _replaced(change, number, asked):
        return name
    match = _MOCKED.search(line)
    if not match or not match[1].startswith((".", "/", "@/", "~/", "src/")):
        return ""
    module = _base(match[1])
    names = {name for name, path in _imports(change.before or "") if _base(path) == module}
    told = ""
    for text in change.new[number - 1 : number - 1 + _FACTORY]:
        told += f"{text[:400]}\n"
        if re.search(r"\)\s*;?\s*$", text[:400]):
            break
    for name in sorted(asked):
        first, _, last = name.partition(".")
        if first in names and (not _PARTLY.search(told) or re.search(rf"\b{re.escape(last or first)}\s*[:(]", told)):
            return name
    return ""


def _replaced(change: Change, number: int, asked: set[str]) -> str:
    """What is asked, and gets another value on a line and those below it."""
    text = change.after or ""
    said = "\n".join(line[:400] for line in change.new[number - 1 : number - 1 + _JOINED])
    first = said.partition("\n")[0]
    for match in filter(None, (pattern.search(said) for pattern in _REPLACES)):
        if match.start() > len(first):
            continue
        given = match.groupdict()
        member = given["member"] or given.get("named") or ""
        value = None if given.get("value") is None else said[match.start("value") :].strip()
        name = _asked_as(text, match["path"], match["object"], member, asked)
        if name and (value is None or _stands_in(text, value, member)):
            is_spy = match.re is _REPLACES[0]
            return "" if is_spy and name and _is_of_another(change, number, name) else name
    if (assigns := _ASSIGNS.search(said)) and assigns.start() <= len(first):
        fakes = re.search(rf"\b{assigns['fakes']}\s*=\s*\{{([^;]{{0,400}})", text) if assigns["fakes"] else None
        body = assigns["body"] or (fakes[1] if fakes else "")
        for one in _MEMBER.finditer(body):
            value = body[one.end() :].strip() if body[one.end() - 1] == ":" or body[one.end()] == "(" else one[1]
            name = _asked_as(text, assigns["path"], assigns["object"], one[1], asked)
            if name and _stands_in(text, value, one[1]):
                return name
    if (told := _TOLD.search(said)) and told.start() <= len(first):
        name = told[1] if told[1] in asked else ""
        if watched := re.search(rf"\b{re.escape(told[1])}{_WATCHED}", text):
            name = _asked_as(text, watched["path"], watched["object"], watched["member"], asked)
        return "" if name and _is_of_another(change, number, name) else name
    return ""


def _is_of_another(change: Change, number: int, name: str) -> bool:
    """Whether a line is part of a test that does not assert on a name, and what is replaced there is put back."""
    text = change.after or ""
    tests = (one for one in regions(text, change.language) if one.name)
    within = next((one for one in tests if one.line <= number <= one.tokens[-1].line), None)
    said = "\n".join(change.new[within.line - 1 : within.tokens[-1].line]) if within else ""
    each = text.partition("afterEach(")[2].partition("\n}")[0][:400]
    return bool(_PUTS_BACK.search(f"{said}\n{each}")) and name not in _asked(said, change.language)


@lru_cache(maxsize=64)
def _kept(text: str, member: str) -> frozenset[str]:
    """The names under which a text keeps a member as it was."""
    found = re.finditer(rf"\b(\w+)\s*=\s*[^;\n]{{0,80}}\b{re.escape(member)}\b(?!\s*[(:])", text)
    return frozenset(match[1] for match in found)


def _stands_in(text: str, value: str, member: str) -> bool:
    """Whether a value is a function of the test's own, and neither the member as it was nor what only watches it."""
    kept = _kept(text, member)
    if match := re.match(r"(?:jest|vi|vitest|sinon)\.(?:fn|fake|spy)\(\s*(?:\w+\.)*(\w+)\s*\)", value):
        return match[1] != member and match[1] not in kept
    if any(re.search(rf"(?:\breturn|=>)\s+(?:await\s+)?{one}(?:\.(?:apply|call))?\(", value) for one in kept):
        return False
    if match := re.match(r"(\w+)\s*(?:[,;})]|$)", value):
        name = match[1]
        return name not in kept and bool(
            re.search(rf"\b{name}\s*=\s*(?:{_FUNCTION}|\{{)|\bfunction\s+{name}\s*\(", text)
        )
    return bool(re.match(_FUNCTION, value))


def _asked_as(text: str, path: str | None, of: str | None, member: str, asked: set[str]) -> str:
    """The name by which tests ask for a member of a module, or of an object."""
    of = (of or "").removesuffix(".default")
    if _OTHERS.match(of):
        return ""
    if f"{of}.{member}" in asked:
        return f"{of}.{member}"
    kind = of.removesuffix(".prototype")
    for one in sorted(asked) if kind != of else ():
        owner, _, last = one.rpartition(".")
        if last == member and owner and re.search(rf"\b{re.escape(owner)}\s*=\s*new\s+{re.escape(kind)}\b", text):
            return one
    paths = {_base(path)} if path else {_base(where) for name, where in _imports(text) if name == of}
    wholes = {match[1] or match[4] for match in _importing(text) if _base(match[3] or match[6]) in paths}
    if path:
        paths = paths if path.startswith((".", "/", "@/", "~/", "src/")) else set()
        whole = next((f"{one}.{member}" for one in sorted(filter(None, wholes)) if f"{one}.{member}" in asked), "")
        if paths and whole:
            return whole
    for match in _importing(text):
        if _base(match[3] or match[6]) in paths:
            for one in (match[2] or match[5] or "").split(","):
                first, *rest = re.split(r"\s+as\s+|\s*:\s*", one.strip())
                if first == member and (rest[-1] if rest else first) in asked:
                    return rest[-1] if rest else first
    return ""


@lru_cache(maxsize=8)
def _importing(text: str) -> tuple[re.Match[str], ...]:
    return tuple(_IMPORTED.finditer(text))


def _imports(text: str) -> Iterator[tuple[str, str]]:
    for match in _importing(text):
        whole, some, path = match[1] or match[4], match[2] or match[5], match[3] or match[6]
        for name in (some or whole or "").split(","):
            yield re.split(r"\bas\b|:", name)[-1].strip(), path


def _base(path: str) -> str:
    return re.sub(r"\.[cm]?[jt]sx?$", "", path).rpartition("/")[2]
