"""Tests in JavaScript, TypeScript, Go and Rust as values to compare, by their tokens."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from proctor.oracle.gaming.change import Language, is_test
from proctor.oracle.gaming.imports import usual
from proctor.oracle.gaming.regions import Region, regions
from proctor.oracle.gaming.tokens import Token, closing, lexed
from proctor.oracle.moves import calm, groups, rust, tables, words
from proctor.oracle.moves.bodies import NAME, SIGN, TARGET, VALUE, Beside, Module, Piece, Statement, Test
from proctor.oracle.moves.groups import Level
from proctor.oracle.moves.spelled import spelled
from proctor.oracle.moves.trees import Tree

_GOES_ON = frozenset(". , ? : && || + - * = == != === !== => := else ) ] } |".split())  # noqa: SIM905 - a list to read
_GOES_ON_AFTER = _GOES_ON - {")", "]", "}"}
_GROUPS = {"it": "test", "specify": "test"}
_RUNS_UNASKED = ("init", "TestMain")
_UNNAMED = frozenset({"_", "."})
"""What a Go import may be called that gives no name of its own."""
_VERSION = re.compile(r"v\d+")
_AT_END = frozenset({"defer", "Cleanup", "Setenv", "Chdir", "TempDir", "onTestFinished"})
"""Words by which a test has something done at its end."""
_NO_ASSERTION = frozenset({"=>", "=", ":=", "function", "func", "await"})


@dataclass(frozen=True)
class _File:
    """What is known of a file: its path, what its imports give, its package, the names that it declares more than once,
    and those of runners that stand for something else."""

    path: str
    bound: Mapping[str, str]
    head: tuple[Piece, ...]
    apart: frozenset[str] = frozenset()
    shadowed: frozenset[str] = frozenset()


def read(path: str, text: str, language: Language, tree: Tree) -> Module:
    """The tests of a file, and what stands beside them."""
    text = usual(text, language)
    tokens = lexed(text, language)
    in_source = language is Language.RUST and not is_test(path)
    *found, others = regions(text, language, in_source)
    found = [one for one in found if one.name not in _RUNS_UNASKED]
    if not found and language is not Language.GO:
        return Module(path)
    spans = list(_spans(tokens, found))
    left_out = {at for span in spans for at in span}
    if language is Language.SCRIPT:
        places = groups.levels(tokens, left_out)
    elif language is Language.RUST:
        places = [Level(tokens=rust.unwrapped(others.tokens))]
    else:
        places = [Level(tokens=[token for at, token in enumerate(tokens) if at not in left_out])]
    found = [replace(one, tokens=tuple(spelled(one.tokens, language, one.name))) for one in found]
    for place in places:
        place.statements += split(spelled(place.tokens, language))
    bound: dict[str, str] = {}
    given: list[str] = []
    used: list[tuple[str, bool]] = []
    stated = []
    for said in (said for place in places for said in place.statements):
        is_use = language is Language.RUST and said[0].text == "use"
        names = dict(rust.imported(said, path, text, tree) if is_use else _imported(said, path, language))
        bound |= {name: leads for name, leads in names.items() if name not in _UNNAMED}
        given += names
        used += [(leads, "*" in tables.texts(said)) for leads in names.values() if is_use]
        stated += [said] if not names or _UNNAMED & names.keys() else []
    written = [beside for said in stated if (beside := _beside(said, path, language, bound))]
    given += [name for beside in written for name in beside.gives]
    # a trait counts without being named
    written += [Beside(((SIGN, "use"), (TARGET, leads)), plain=is_whole) for leads, is_whole in used]
    twice = {name for name in bound if given.count(name) > 1}
    written += [Beside(((SIGN, "again"), (NAME, name)), frozenset({name})) for name in sorted(twice)]
    head = _package(path, tokens, language, tree)
    file = _File(path, bound, head)
    if language is Language.SCRIPT:
        file = _File(path, bound, head, groups.told_apart(places), groups.shadowed(places, bound))
    tests = tuple(_test(file, one, groups.around(places, span[0])) for one, span in zip(found, spans, strict=True))
    for one, test in zip(found, tests, strict=True):
        gives, is_plain = frozenset(calm.assigned(one.tokens)), calm.is_plain_test(one.tokens, language, bound)
        unnamed = tuple(pieces(_unnamed(one), bound))
        written.append(Beside(unnamed, gives, is_plain, test.region.name, own=calm.own_names(one.tokens)))
    return Module(path, tests, tuple(written))


def _unnamed(region: Region) -> list[Token]:
    """A test without its name."""
    at = next((n for n, one in enumerate(region.tokens) if one.text in (f"s:{region.name}", region.name)), 0)
    return [token for n, token in enumerate(region.tokens) if n != at]


def _spans(tokens: Sequence[Token], tests: Sequence[Region]) -> Iterator[range]:
    """Where tests stand among the tokens of their file."""
    at = 0
    for one in tests:
        while tokens[at] != one.tokens[0]:
            at += 1
        yield range(at, at + len(one.tokens))
        at += len(one.tokens)


def _package(path: str, tokens: Sequence[Token], language: Language, tree: Tree) -> tuple[Piece, ...]:
    """What tests inside of a package test without an import."""
    name = tokens[1].text if language is Language.GO and len(tokens) > 1 else "_test"
    return () if name.endswith("_test") else ((TARGET, f"{tree.go_package(path)}#"),)


def split(tokens: Sequence[Token]) -> Iterator[tuple[Token, ...]]:
    """Tokens as statements, each with all that is in it."""
    here: list[Token] = []
    depth = 0
    for token in tokens:
        text = "" if token.value else token.text
        if here and depth == 0 and token.line > here[-1].line:
            last = "" if here[-1].value else here[-1].text
            if text not in _GOES_ON and last not in _GOES_ON_AFTER:
                yield tuple(here)
                here = []
        is_head = bool(here) and here[0].text in ("if", "for", "switch") and all(one.text != "{" for one in here)
        if text == ";" and depth == 0 and not is_head:
            if here:
                yield tuple(here)
            here = []
            continue
        depth = max(0, depth + (text in ("(", "[", "{")) - (text in (")", "]", "}")))
        here.append(token)
    if here:
        yield tuple(here)


def pieces(tokens: Sequence[Token], bound: Mapping[str, str], own: Collection[str] = ()) -> Iterator[Piece]:
    """Tokens as pieces; `bound` are the names that imports give, `own` those that are given here."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        at += 1
        if token.value:
            yield VALUE, token.text
        elif token.text == "." and at < len(tokens) and tokens[at].is_word:
            yield NAME, f".{tokens[at].text}"
            at += 1
        elif token.is_word and (name := token.text.removesuffix("!")) in bound and name not in own:
            target = bound[name]
            if target.endswith("#") and at + 1 < len(tokens) and tokens[at].text == "." and tokens[at + 1].is_word:
                target += tokens[at + 1].text
                at += 2
            yield TARGET, target
        elif token.is_word:
            yield NAME, token.text
        else:
            yield SIGN, token.text


# --- what stands beside tests ---------------------------------------------------------------------


def _imported(said: Sequence[Token], path: str, language: Language) -> Iterator[tuple[str, str]]:
    """The names that an import gives, each with where it leads."""
    texts = [token.text for token in said]
    if language is Language.GO and texts[0] == "import":
        for at, token in enumerate(said):
            if token.text.startswith("s:"):
                module = token.text[2:]
                parts = [part for part in module.split("/") if not _VERSION.fullmatch(part)]
                alias = (
                    texts[at - 1]
                    if at > 1 and (said[at - 1].is_word or texts[at - 1] == ".")
                    else parts[-1]
                    if parts
                    else module
                )
                yield alias, f"{module}#"
    elif language is Language.SCRIPT and (module_at := _module(texts)):
        module = texts[module_at][2:]
        if module.startswith("."):
            module = posixpath.normpath(posixpath.join(posixpath.dirname(path), module))
        end = texts.index("from") if "from" in texts and texts[0] == "import" else module_at - 3
        inside, at = False, 1
        while at < end:
            if said[at].text in ("{", "}"):
                inside = said[at].text == "{"
            elif texts[at] == "*" and at + 2 < end:
                yield texts[at + 2], f"{module}#"
                at += 2
            elif said[at].is_word and texts[at] != "type":
                leaf = texts[at] if inside else "default" if texts[0] == "import" else ""
                is_other = at + 2 < end and texts[at + 1] in ("as", ":")
                at += 2 if is_other else 0
                yield texts[at], f"{module}#{leaf}"
            at += 1


def _module(texts: Sequence[str]) -> int:
    """The place of the module that a statement imports; 0 where it is no plain import."""
    if texts[0] == "import" and "from" in texts:
        at = texts.index("from") + 1
    elif texts[0] in ("const", "let", "var") and "require" in texts:
        at = texts.index("require") + 2
        if texts[at + 1 :] != [")"] or texts[at - 3] != "=":
            return 0
    else:
        return 0
    return at if at < len(texts) and texts[at].startswith("s:") else 0


def _beside(said: Sequence[Token], path: str, language: Language, bound: Mapping[str, str]) -> Beside | None:
    """A statement that stands beside tests; None for one that says nothing."""
    texts = [token.text for token in said]
    if texts[0] in ("package", "}", ")") or (len(said) == 1 and said[0].value):
        return None
    where = ((VALUE, posixpath.dirname(path)),) if language is Language.RUST and texts[0] == "mod" else ()
    written, own = (*pieces(said, bound), *where), calm.own_names(said)
    while texts[0] in ("export", "async", "pub", "default", "declare") and len(texts) > 1:
        texts, said = texts[1:], said[1:]
    words = frozenset(token.text for token in said if token.is_word)
    gives, is_plain, frail = words, False, True
    if texts[0] in ("function", "func", "fn", "class", "type", "interface"):
        at = closing(said, 1) if texts[0] == "func" and texts[1:2] == ["("] else 1
        gives, is_plain, frail = frozenset(texts[at : at + 1]), calm.is_plain(said, language, bound), False
    elif texts[0] in ("const", "let", "var", "static"):
        calls = "(" in texts and not _is_function(said)
        gives = words if calls or "." in texts else calm.own_names(said) or words
        is_plain = calm.is_plain(said, language, bound)
        frail = not is_plain or texts[0] != "const" or bool({"[", "{"} & set(texts))
    return Beside(written, gives, is_plain, frail=frail, hook=bool(words & calm.UNASKED), own=own)


def _is_function(said: Sequence[Token]) -> bool:
    """Whether a statement gives a name to a function, and does not call it."""
    texts = [token.text for token in said]
    at = texts.index("=") + 1 if "=" in texts else 0
    at += texts[at : at + 1] == ["async"]
    if not at or at >= len(said):
        return False
    if texts[at] == "(":
        return texts[closing(said, at) : closing(said, at) + 1] == ["=>"]
    return texts[at] == "function" and texts[-1] == "}"


# --- tests ----------------------------------------------------------------------------------------


def _test(file: _File, region: Region, places: Sequence[Level]) -> Test:
    bound = file.bound
    before, parameters, inner = _parts(region)
    own = calm.own_names(region.tokens)
    others = {name for name, leads in bound.items() if "testify" not in leads}
    theirs = {*own, *(file.shadowed if region.language is Language.SCRIPT else others)}
    body: Sequence[Token] = words.unworded(inner, theirs)
    ids, of_rows = 1, None
    if region.language is Language.SCRIPT:
        rows = tables.each(before, parameters)
        if rows is not None:
            ids, before, parameters = len(rows), before[: tables.texts(before).index("each") - 1], ()
            of_rows = [(body, row) for row in rows]
        of_rows = of_rows or tables.looped(list(split(body)))
    elif region.language is Language.GO:
        body = words.without_messages(body, parameters)
        of = _testing(parameters)
        said = [one for one in split(body) if tables.texts(one) != [of, ".", "Parallel", "(", ")"]]
        of_rows = tables.ranged(said, of)
        ids = len(of_rows) if of_rows and "Run" in tables.texts(body) else 1
    runs = tuple(
        tuple(
            Statement(tuple(pieces(said, bound, own)), (fails := _only_fails(said)), fails)
            for said in tables.inlined(split(tables.filled(tokens, row)))
        )
        for tokens, row in (of_rows or [(body, {})])
    )
    shadowed = file.shadowed & {*region.words, *(place.head for place in places)}
    hidden = sorted(shadowed | (own & bound.keys()))
    head = (*file.head, *(piece for one in hidden for piece in ((NAME, one), (TARGET, bound.get(one, "")))))
    counting = groups.counting(places, region.words, file.apart)
    head = (*head, *(piece for said in counting for piece in ((SIGN, "around"), *pieces(said, bound))))
    group = "".join(f"{place.title} > " for place in places[1:])
    named = Region(f"{group}{region.name}", region.language, region.line, ())
    given = [*before, *parameters]
    if region.language is Language.SCRIPT:
        given = [one for one in given if one.text not in ("(", ")")]
    is_given = bool({"{", ":"} & set(tables.texts(parameters)))
    is_anew = is_given or any(map(groups.is_each, counting)) or not _AT_END.isdisjoint(tables.texts(body))
    return Test(file.path, named, (*head, *pieces(given, bound, own)), runs, own, ids, shadowed, is_anew)


def _testing(parameters: Sequence[Token]) -> str:
    """What a Go test calls the `*testing.T` that it is given."""
    texts = tables.texts(parameters)
    return texts[1] if texts[:1] == ["("] and texts[2:] == ["*", "testing", ".", "T", ")"] else ""


def _parts(region: Region) -> tuple[Sequence[Token], Sequence[Token], Sequence[Token]]:
    """What a test begins with, without its name; what it is given; its body."""
    tokens = region.tokens
    name = next((n for n, one in enumerate(tokens) if one.text in (f"s:{region.name}", region.name)), 0)
    start, end = name + 1, len(tokens)
    before = list(_begin(tokens[:name]))
    if region.language is Language.SCRIPT:
        opened = next((n for n in range(start, end) if tokens[n].text in ("=>", "function")), end)
        if opened < end and tokens[opened].text == "=>" and tokens[opened + 1].text != "{":
            return before, tokens[start + 1 : opened], tokens[opened + 1 : end - 1]
        start = opened
    opening = next((n for n in range(start, end) if tokens[n].text == "{"), end)
    last = closing(tokens, opening) if opening < end else end
    said = tables.texts(tokens[opening:last])
    form = ("=>", ",") if "this" in said or "arguments" in said else ("=>", ",", "function")
    given = [one for one in (*tokens[name + 1 : opening], *tokens[last:]) if one.text not in form]
    return before, given, tokens[opening + 1 : last - 1]


def _begin(tokens: Sequence[Token]) -> Iterator[Token]:
    for token in tokens:
        usual_name = _GROUPS.get(token.text, token.text)
        yield Token(usual_name, usual_name, token.line, token.value) if usual_name != token.text else token


def _only_fails(said: Sequence[Token]) -> bool:
    """Whether a statement asserts and does nothing else."""
    if any(token.text in _NO_ASSERTION for token in said):
        return False
    first, *rest = [token.text for token in said[:3]]
    return first.startswith(("expect", "assert", "require")) and rest[:1] in (["("], ["."])
