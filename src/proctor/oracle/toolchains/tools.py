"""Which packages run tests or say what they found, and where a manifest says that they come from. Pure."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_PYTHON = (
    r"pytest(?:-.+)?|pluggy|iniconfig|coverage|hypothesis(?:-.+)?|tox(?:-.+)?|nox|nose2?|testtools|testfixtures|mock"
)
_NODE = (
    r"jest(?:-.+)?|@jest/.+|(?:ts|babel|esbuild)-jest|@swc/jest|vitest(?:-.+)?|@vitest/.+|vite-node|mocha(?:-.+)?"
    r"|chai(?:-.+)?|sinon(?:-.+)?|ava|tap|@tapjs/.+|tape|uvu|jasmine(?:-.+)?|karma(?:-.+)?|cypress|playwright(?:-.+)?"
    r"|@playwright/.+|nyc|c8|istanbul-.+|expect|supertest|@testing-library/.+|@std/(?:assert|testing|expect)/?"
)
_RUST = (
    r"proptest(?:-.+)?|quickcheck(?:-macros)?|pretty-assertions|similar-asserts|assert-.+|rstest(?:-.+)?|insta"
    r"|criterion(?:-.+)?|trybuild|mockall(?:-.+)?|test-case(?:-.+)?|serial-test(?:-.+)?|libtest-mimic|nextest-.+"
)
_GO = (
    r"github\.com/(?:stretchr/testify|onsi/ginkgo(?:/v\d+)?|onsi/gomega|google/go-cmp|golang/mock|smartystreets/.+)"
    r"|gotest\.tools(?:/v\d+)?|gopkg\.in/check\.v\d|go\.uber\.org/mock|pgregory\.net/rapid"
)
_PHP = r"(?:phpunit|pestphp|behat|codeception|phpspec|sebastian|phar-io)/.+|mockery/mockery|myclabs/deep-copy"
JVM = re.compile(r"junit|testng|mockito|assertj|hamcrest|spock|kotest|surefire|failsafe|jacoco")
_TOOL = re.compile("|".join((_PYTHON, _NODE, _RUST, _GO, _PHP)))
_RUNNER = re.compile(
    r"(?:jest|vitest|mocha|ava|tap|tape|uvu|jasmine|karma|cypress|playwright)(?:-cli|-core)?|karma-.+|_mocha|nyc|c8"
    r"|@playwright/test|pytest|py\.test|coverage|tox|nox"
)
_SYSTEM = re.compile(
    r"(?:ba|da|z)?sh|env|node(?:js)?|np[mx]|pnpm|pnpx|yarn|corepack|bunx?|deno|g?make|python[\d.]*|cargo|rustc|go|gradle"
    r"|mvn|java|git|timeout|uv|poetry|pdm|hatch|true|false|test|cat|cmp|diff|[ef]?grep|g?sed|[gm]?awk|find|xargs|sort"
    r"|head|tail|wc|tr|echo|printf|expr|jq|curl"
)
LINTERS = frozenset(
    """autopep8 bandit biome black clang-format clang-tidy codespell cppcheck djlint eslint flake8 gofmt golangci-lint
    hadolint isort ktlint markdownlint markdownlint-cli2 mypy phpcs phpstan prettier psalm pycodestyle
    pydocstyle pyflakes pylint pyright rubocop ruff rustfmt shellcheck shfmt sqlfluff standard staticcheck
    stylelint swiftlint tsc typos vulture yamllint yapf""".split()  # noqa: SIM905 - a list to read
)
"""Programs that look at the files that they are told of, and run none of them."""

_ELSEWHERE = re.compile(
    r"(?:file|link|portal|patch|npm|git\S*|https?|ssh|github|gitlab|bitbucket|workspace):|[./~]|\w[\w.-]*/"
)
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*(.*)", re.DOTALL)
_MOST_DOTS = 200
_PLACES = frozenset({"path", "git", "url", "file", "registry", "registry-index", "package", "workspace", "editable"})


def toml(text: str) -> dict[str, Any]:
    """What a TOML text says. ValueError if it cannot be read, or if a line has more dots than anybody writes: a key of
    a thousand parts takes its reader longer than all else together."""
    if any(line.count(".") > _MOST_DOTS for line in text.splitlines()):
        raise ValueError("a line of too many parts")
    return tomllib.loads(text)


def xml(text: str) -> Element:
    """The top of an XML text, without namespaces and blanks. ValueError if it declares entities, which could grow;
    SyntaxError if it cannot be read."""
    from xml.etree import ElementTree  # which hardly any project needs

    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise ValueError("declares entities")
    top = ElementTree.fromstring(text)  # noqa: S314 - what could grow is refused above
    for element in top.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.text, element.tail = (element.text or "").strip(), ""
    return top


def written(element: Element) -> str:
    """An element with all that it holds, as a text."""
    from xml.etree import ElementTree

    return ElementTree.tostring(element, "unicode")


def is_tool(name: str) -> bool:
    """Whether a package of this name is part of what runs tests."""
    return bool(_TOOL.fullmatch(name.lower().replace("_", "-")))


def is_program(name: str) -> bool:
    """Whether a program of this name runs tests, or is one of the system's that checks are made of."""
    return bool(_RUNNER.fullmatch(name) or _SYSTEM.fullmatch(name))


def is_runner(name: str) -> bool:
    """Whether a node package of this name starts tests, or is loaded unasked by one that does."""
    return bool(_RUNNER.fullmatch(name))


def is_elsewhere(source: str) -> bool:
    """Whether what a node manifest asks for is no version: a file, a repository, another package under this name."""
    return bool(_ELSEWHERE.match(source))


def wanted(data: Any) -> Iterator[tuple[str, str]]:
    """The test tools that a manifest asks for, wherever in it, each with what is asked: a version, a place."""
    queue = [data]
    while queue:
        one = queue.pop()
        if isinstance(one, Mapping):
            for name, value in one.items():
                if is_tool(name) and (isinstance(value, str) or (isinstance(value, Mapping) and _is_source(value))):
                    yield name, str(value)
                else:
                    queue.append(value)
        elif isinstance(one, list):
            for value in one:
                if isinstance(value, str):
                    if (found := _REQUIREMENT.fullmatch(value)) and is_tool(found[1]):
                        yield found[1], found[2]
                else:
                    queue.append(value)


def redirected(tables: Mapping[str, Any]) -> dict[str, Any]:
    """The test tools that tables of dependencies, by their names, take from elsewhere than a registry."""
    found = {}
    for table, content in tables.items():
        if isinstance(content, Mapping):
            entries = list(content.items())
        elif isinstance(content, list):
            named = (_REQUIREMENT.fullmatch(one) for one in content if isinstance(one, str))
            entries = [(match[1], match[2]) for match in named if match and match[2].startswith("@")]
        else:
            continue
        for name, value in entries:
            if is_tool(name) and (
                _PLACES & value.keys()
                if isinstance(value, Mapping)
                else isinstance(value, list) or (isinstance(value, str) and (value[:1] == "@" or is_elsewhere(value)))
            ):
                found[f"{table}.{name}"] = value
    return found


def _is_source(value: Mapping[str, Any]) -> bool:
    return bool({"version", *_PLACES} & value.keys())
