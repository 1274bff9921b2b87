"""The part that tests rest on of what other languages declare packages in: Ruby, PHP, Elixir, .NET, Haskell and more.

Pure. A dependency, a source, a target may come; what runs tests, and how, has to stay.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from proctor.oracle.toolchains import statements
from proctor.oracle.toolchains.tools import written, xml

Part = dict[str, Any]

_TOOLS = re.compile(
    r"rspec(?:[-_].+)?|minitest(?:[-_].+)?|test-unit|simplecov(?:[-_].+)?|rake|cucumber(?:-.+)?|capybara|mocha|webmock|vcr"
    r"|phpunit|pest(?:-.+)?|mockery|behat|phpspec|codeception|prophecy|test|test_api|test_core|matcher|mockito|mocktail"
    r"|flutter_test|integration_test|ex_unit|mox|excoveralls|stream_data|hspec(?:-.+)?|tasty(?:-.+)?|quickcheck|hedgehog"
)


def is_tool(name: str) -> bool:
    """Whether a package of this name is part of what runs tests in one of these languages."""
    return bool(_TOOLS.fullmatch(name.lower()))


# --- Ruby -------------------------------------------------------------------------------------------

_VALUE = (
    r"""(?:"[^"#\\]*"|'[^'\\]*'|:\w+|%[wi]\[[\w ]*\]|\[(?:[\s,]|"[^"#\\]*"|'[^'\\]*'|:\w+)*\]|true|false|nil|\d+)"""
)
_PLAIN = re.compile(
    rf"""(?:gem|source|ruby|platforms?|gemspec|group|plugin)(?:[ (]\s*(?:\w+:\s*|:\w+\s*=>\s*)?{_VALUE}
    (?:\s*,\s*(?:\w+:\s*|:\w+\s*=>\s*)?{_VALUE})*\s*\)?)?(?:\s+do)?|end|git_source\(:\w+\).*""",
    re.VERBOSE,
)
_GEM = re.compile(r"""gem[ (]\s*["']([^"']+)["'](.*)""", re.DOTALL)
_FROM = re.compile(r"\b(?:path|git|github|gist|bitbucket|source|require)\b")


def gemfile(text: str) -> Part:
    """All but plain declarations, which cannot do anything; and test tools that are taken from elsewhere."""
    said = list(statements.statements(text))
    gems = ((found, one) for one in said if (found := _GEM.match(one)))
    moved = [one for found, one in gems if is_tool(found[1]) and _FROM.search(found[2])]
    return {"code": [one for one in said if not _PLAIN.fullmatch(one)], "moved": moved}


# --- PHP --------------------------------------------------------------------------------------------


def composer(text: str) -> Part:
    data = json.loads(text)
    scripts = data.get("scripts", {})
    hooks = {name: one for name, one in scripts.items() if re.search(r"test|check|^pre-|^post-", name)}
    others = frozenset((name, str(one)) for name, one in scripts.items() if name not in hooks)
    found: Part = {"scripts": hooks, "other scripts": others}
    for table, one in data.get("autoload-dev", {}).items():
        pairs = one.items() if isinstance(one, Mapping) else enumerate(one)
        found[f"autoload {table}"] = frozenset((str(name if table != "files" else ""), str(to)) for name, to in pairs)
    sources = data.get("repositories", [])
    sources = list(sources.values()) if isinstance(sources, Mapping) else sources
    found["from"] = [one for one in sources if any(map(is_tool, re.split(r"[^\w-]+", json.dumps(one))))]
    config = data.get("config", {})
    found |= {f"config.{name}": config[name] for name in ("vendor-dir", "bin-dir", "process-timeout") if name in config}
    for table in ("require", "require-dev", "replace", "provide"):
        for name, version in data.get(table, {}).items():
            if is_tool(name.rpartition("/")[2]) and (table in ("replace", "provide") or "dev-" in version):
                found[f"{table}.{name}"] = version
    return found


# --- .NET -------------------------------------------------------------------------------------------

_PROPERTY = re.compile(
    r"test|vstest|runsettings|coverlet|coverage|treatas|imports?$|CustomBefore|CustomAfter|DefineConstants",
    re.IGNORECASE,
)
_OF_TESTS = re.compile(r"test|xunit|nunit|coverlet|moq|fluentassertions", re.IGNORECASE)


def msbuild(text: str) -> Part:
    """Of a project: its properties about tests, what it leaves out, its imports and targets, test tools by a path."""
    top = xml(text)
    found: Part = {name: [] for name in ("properties", "left out", "imports", "targets", "references")}
    for one in top.iter():
        kept = written(one)
        if one.tag in ("Import", "UsingTask", "Sdk"):
            found["imports"].append(kept)
        elif one.tag == "Target":
            found["targets"].append(kept)
        elif one.get("Remove") or one.get("Exclude"):
            found["left out"].append(kept)
        elif one.tag in ("Reference", "Analyzer") and _OF_TESTS.search(kept):
            found["references"].append(kept)
    for group in top.iter("PropertyGroup"):
        condition = group.get("Condition", "")
        found["properties"] += [(condition, written(one)) for one in group if _PROPERTY.search(one.tag)]
    return found


def solution(text: str) -> Part:
    """The projects of a solution, of which more may come."""
    return {"projects": frozenset(re.findall(r'"([^"\n]+proj)"', text))}


def global_json(text: str) -> Part:
    data = json.loads(text)
    return {name: data[name] for name in ("test", "msbuild-sdks") if name in data}


# --- indented files ---------------------------------------------------------------------------------


def _blocks(text: str, comment: str) -> Iterator[tuple[str, list[str]]]:
    """The lines that begin at the margin, each with those below it that do not."""
    head, below = "", list[str]()
    for line in text.splitlines():
        if not line.strip() or line.lstrip().startswith(comment):
            continue
        if line[0] in " \t":
            below.append(line.rstrip())
            continue
        if head or below:
            yield head, below
        head, below = line.rstrip(), []
    yield head, below


_CABAL_GROWS = re.compile(
    r"\s*(?:build-depends|other-modules|default-extensions|other-extensions|build-tool-depends)\s*:", re.I
)
_CABAL_FIELD = re.compile(r"\s+[\w-]+\s*:|\s*(?:if|else|elif|import)\b")
_HPACK_GROWS = re.compile(r"\s*(?:dependencies|other-modules|build-tools|(?:default|other)-extensions)\s*:")
_HPACK_FIELD = re.compile(r"\s*[^\s-]")


def _suite(below: list[str], grows: re.Pattern[str], field: re.Pattern[str]) -> list[str]:
    """The lines of a test suite but for the fields that may grow."""
    kept, growing = list[str](), False
    for line in below:
        growing = bool(grows.match(line)) or (growing and not field.match(line))
        kept += [] if growing else [" ".join(line.split())]
    return kept


def cabal(text: str) -> Part:
    """The test suites, but for what they depend on and which modules they have."""
    suite = re.compile(r"test-suite\b|common\b.*test", re.IGNORECASE)
    blocks = ((head, below) for head, below in _blocks(text, "--") if suite.match(head))
    return {head.lower(): _suite(below, _CABAL_GROWS, _CABAL_FIELD) for head, below in blocks}


def hpack(text: str) -> Part:
    """Of the test suites the same; and scripts of the name of tests, where it is a node package's."""
    found: Part = {}
    for head, below in _blocks(text, "#"):
        if re.match(r"_\w*test\w*\s*:|tests\s*:", head):
            found[head] = _suite(below, _HPACK_GROWS, _HPACK_FIELD)
        elif head.startswith("scripts"):
            found[head] = [line.strip() for line in below if re.search(r"test|check", line)]
    return found


def devbox(text: str) -> Part:
    """What a shell does before a command, and the scripts; packages may come."""
    data = json.loads(text)
    return {name: data[name] for name in ("shell", "env", "env_from", "include") if name in data}


def pubspec(text: str) -> Part:
    """Test tools that Dart takes from a path or a repository."""
    found: Part = {}
    for head, below in _blocks(text, "#"):
        name = ""
        for line in below:
            key = line.strip().partition(":")[0].strip("\"'")
            if len(line) - len(line.lstrip()) <= 2:
                name = key
            if is_tool(name) and re.search(r"\b(?:path|git|url|hosted)\b *:", line):
                found[f"{head}.{name}"] = [*found.get(f"{head}.{name}", ()), " ".join(line.split())]
    return found


# --- by lines ---------------------------------------------------------------------------------------


def _lines(wanted: str, but: str = r"\A\b\B", comment: str = "#") -> Callable[[str], Part]:
    """Reads the lines in which something is found."""
    search, leave = re.compile(wanted).search, re.compile(but).search

    def read(text: str) -> Part:
        said = (" ".join(line.split()) for line in text.splitlines() if not line.lstrip().startswith(comment))
        return {"lines": [line for line in said if search(line) and not leave(line)]}

    return read


def _calls(head: str) -> Callable[[str], Part]:
    wanted = re.compile(head)
    return lambda text: statements.growing(statements.calls(text, wanted))


def automake(text: str) -> Part:
    """The tests of an Automake file, of which more may come, and how they are run."""
    found: Part = {"how": [], "rules": []}
    lines = text.replace("\\\n", " ").splitlines()
    for at, line in enumerate(lines):
        if match := re.match(r"(\w+)\s*\+?=(.*)", line):
            name, words = match[1], match[2].split()
            if name in ("TESTS", "SUBDIRS") or name.endswith("check_PROGRAMS"):
                found[name] = found.get(name, frozenset()) | frozenset(words)
            elif re.search(r"TESTS|LOG_(?:COMPILER|DRIVER|FLAGS)|TEST_(?:EXT|ENV)", name):
                found["how"].append((name, words))
        elif re.match(r"[\w-]*check[\w-]*\s*:", line):
            end = next((n for n in range(at + 1, len(lines)) if not lines[n].startswith("\t")), len(lines))
            found["rules"].append(lines[at:end])
    return found


_NAMES: Mapping[str, Callable[[str], Part]] = {
    "CMakeLists.txt": statements.cmake,
    **dict.fromkeys(("CMakePresets.json", "CMakeUserPresets.json"), statements.presets),
    "meson.build": statements.meson,
    **dict.fromkeys(("BUILD", "BUILD.bazel", "BUCK"), statements.bazel),
    **dict.fromkeys(("MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"), statements.bazel_module),
    "Makefile.am": automake,
    **dict.fromkeys(("Gemfile", "gems.rb"), gemfile),
    "composer.json": composer,
    "global.json": global_json,
    **dict.fromkeys(("Directory.Build.props", "Directory.Build.targets", "Directory.Packages.props"), msbuild),
    **dict.fromkeys(("pubspec.yaml", "pubspec_overrides.yaml"), pubspec),
    "Package.swift": _calls(r"\.testTarget\s*\("),
    "build.zig": _calls(r"\baddTest\s*\(|\w*test\w*\.dependOn\s*\(|\b(?:addRunArtifact|addSystemCommand|step)\s*\("),
    "mix.exs": _lines(
        r"\balias|\btests?\b|test_\w+:|elixirc_paths|preferred_|System\.|halt|Mix\.|Code\.", r"^\{:|^only:|^use "
    ),
    "rebar.config": _lines(r"eunit|ct_|cover|\btest\b|alias|hooks", comment="%"),
    "stack.yaml": _lines(r"\btests?\b|test-"),
    **dict.fromkeys(("cabal.project", "cabal.project.local"), _lines(r"\btests\b|run-tests|test-", comment="--")),
    "Makefile.PL": _lines(r"\btest(?:_\w+)?\b|TESTS|MY::|HARNESS|\bexit\b", r"TEST_REQUIRES|Test::"),
    "Build.PL": _lines(r"\btest_\w+|TESTS|HARNESS|\bexit\b", r"test_requires|Test::"),
    "DESCRIPTION": _lines(r"testthat/"),
    "package.yaml": hpack,
    "devbox.json": devbox,
    **dict.fromkeys(("build.sc", "build.mill"), _lines(r"\b[tT]est", r"\b(?:ivy|mvn)\"", comment="//")),
    "build.sbt": _lines(r"\b[tT]est", "%", comment="//"),
    "project.clj": _lines(r":test-|\btest-paths|:aliases", comment=";"),
    "deps.edn": _lines(r":main-opts|:exec-|extra-paths", comment=";"),
    "dune": _lines(r"\(tests?\b|runtest|enabled_if|\(action", comment=";"),
    "pants.toml": _lines(r"test|skip"),
}
_SUFFIXES: Mapping[str, Callable[[str], Part]] = {
    "cmake": statements.cmake,
    **dict.fromkeys(("csproj", "fsproj", "vbproj"), msbuild),
    **dict.fromkeys(("sln", "slnx"), solution),
    "cabal": cabal,
    "nimble": _lines(r"\btests?\b"),
}
_WHOLE = frozenset({"CTestConfig.cmake", "CTestCustom.cmake", "CTestTestfile.cmake"})
_OVERRIDING = frozenset(
    """CMakeUserPresets.json Directory.Build.props Directory.Build.targets gems.rb pubspec_overrides.yaml cabal.project
    cabal.project.local global.json CMakeLists.txt""".split()  # noqa: SIM905 - a list to read
)
"""What is found beside others, and changes what they say."""


def reader_of(name: str) -> Callable[[str], Part] | None:
    """The reader of a file's part, by its name; None for other files."""
    if name in _WHOLE:
        return None
    return _NAMES.get(name) or _SUFFIXES.get(name.rpartition(".")[2])


def is_overriding(name: str) -> bool:
    """Whether a new file of this name may change what others say of tests."""
    return name in _OVERRIDING or (name.endswith(".cmake") and name not in _WHOLE)


def is_remembered(path: str) -> bool:
    """Whether CMake keeps in a file what it found and wrote down for a build: a check does that anew."""
    return path.rpartition("/")[2] in ("CMakeCache.txt", "CTestTestfile.cmake", "DartConfiguration.tcl")


def anew(name: str, part: Part) -> Part:
    """The part of a new file that tells anything of the tests there were: of CMake's, what it calls like its own."""
    return {"overrides": part.get("overrides", [])} if reader_of(name) is statements.cmake else part
