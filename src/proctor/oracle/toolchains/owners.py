"""Whose the scripts are that checks start: a check's own, which is frozen, or the work, which it looks at. Pure.

A check that is judged by its exit code owns its script: whoever may edit that may pass. One that says what has to come
out, on its output or in a file, may as well run the work itself (`python cli.py 2 3`), which must never be frozen.
Called or placed like something that judges (`tools/verify.py`), a script is the check's own all the same.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable

from proctor.journal.events import CheckFact
from proctor.oracle.toolchains.commands import find_runner, own_scripts

_FOLDERS = re.compile(r"\.?(?:ci|github)|tests?|__tests__|checks?|specs?|e2e|tools?|scripts?|hack|qa|x?t")
_JUDGING = re.compile(
    r"accept(?:ance|ed)?|assert(?:s|ions?)?|assess(?:ment|or)?|audit(?:or)?|bench(?:mark)?s?|check(?:s|er|ers|ing)?|ci"
    r"|compar(?:e|er|ison|ator)|confirm|e2e|eval(?:uate|uation|uator)?|expect(?:ed|ations?)?|golden|grad(?:e|er|ing)"
    r"|judge|lint(?:er)?|measure|oracle|prove|review|scor(?:e|er|ing)|smoke|specs?|suite|test(?:s|er|ing)?"
    r"|validat(?:e|or|ion|ing)|verif(?:y|ier|ication)|chk|tst|regress(?:ions?)?|runall"
    r"|(?:all|auto|full|func|integration|pre|quick|regression|run|self|smoke|sys|system|unit)(?:tests?|checks?|specs?)"
    r"|(?:tests?|checks?|lint|verify)(?:all|run|runner|suite)"
)
_CHECKS_FOLDERS = frozenset({"test", "tests", "__tests__", "check", "checks", "ci", "spec", "e2e", ".ci", "qa"})
_TELLING = frozenset(
    """test tests testing check checks ci e2e lint verify validate spec specs jest vitest mocha pytest smoke runtest
    runtests unittest unittests selftest selfcheck smoketest smoketests regression qa""".split()  # noqa: SIM905 - a list to read
)
_BESIDE = frozenset(
    """run all unit integration setup teardown env global coverage quick fast slow acceptance functional helpers
    runner""".split()  # noqa: SIM905
)
_WORD = re.compile(r"e2e|[A-Z]?[a-z]+\d*|[A-Z]+|\d+")


def of_work(checks: Iterable[CheckFact], smoke: Iterable[CheckFact] = ()) -> frozenset[str]:
    """The scripts that are the work: run by checks that say what has to come out, or by a `smoke` check, which is a
    look at the work and verifies nothing; and by no check that is judged by its exit code alone."""
    checks = list(checks)
    looking = [*filter(_says_what_comes_out, checks), *smoke]
    looked_at = {path for check in looking for path in _scripts(check) if not judges(path)}
    return frozenset(looked_at.difference(*map(owned, checks)))


def owned(check: CheckFact) -> frozenset[str]:
    """The scripts that are a check's own for no other reason than that it is judged by its exit code."""
    return frozenset() if _says_what_comes_out(check) else frozenset(p for p in _scripts(check) if not judges(p))


def judges(path: str) -> bool:
    """Whether a script is called or placed like one that judges."""
    *folders, name = path.split("/")
    words = [word.lower() for word in _WORD.findall(name.partition(".")[0])]
    return (
        any(_FOLDERS.fullmatch(folder.removesuffix(".d")) for folder in folders)
        or any(map(_JUDGING.fullmatch, words))
        or {"run", "all"} <= set(words)
    )


def is_of_checks(path: str) -> bool:
    """Whether a script is called or placed as nothing but a check is: what many things name may as well be the work."""
    *folders, name = path.split("/")
    words = {word.lower() for word in re.split(r"[-_.]", name.rpartition(".")[0] or name) if word}
    return any(folder.removesuffix(".d") in _CHECKS_FOLDERS for folder in folders) or (
        words <= _TELLING | _BESIDE and bool(words & _TELLING)
    )


def _says_what_comes_out(check: CheckFact) -> bool:
    return bool(check.expect or check.artifact or check.schema)


def _scripts(check: CheckFact) -> set[str]:
    if not check.run or find_runner(check.run, {}):
        return set()
    return {posixpath.normpath(path) for path in own_scripts(check.run)}
