"""What the runners of other languages find by themselves, by name: Perl, Ruby, PHP, Elixir, .NET and more. Pure.

Their settings and start-up files, whole; and modules of the runner's own names, which a language would load from the
workspace before the real ones. What is shared with a worker is in `manifests.py` and `statements.py`.
"""

from __future__ import annotations

import re

_SETTINGS = re.compile(
    r"\.proverc|\.yath(?:\.user)?\.rc|\.t2harness|\.rspec-local|\.simplecov|Thorfile|Guardfile|.+\.rake|cucumber\.ya?ml"
    r"|phpunit(?:\.dist)?\.xml(?:\.dist)?|behat(?:\.dist)?\.(?:ya?ml|php)(?:\.dist)?|phpspec(?:\.dist)?\.ya?ml(?:\.dist)?"
    r"|codeception(?:\.dist)?\.ya?ml|kahlan-config\.php|CTest(?:Config|Custom|Testfile)\.cmake"
    r"|Package@swift-.+\.swift|.+\.(?:runsettings|testsettings)|(?:Directory\.Build|MSBuild)\.rsp|\.bazelrc|\.bazelignore|\.buckconfig(?:\.local)?"
    r"|\.plzconfig(?:\.local)?|Earthfile|\.hspec|\.ghci|tests\.edn|dart_test\.yaml|\.busted|\.luacov|\.R(?:profile|environ)"
)
"""Counted like those of `discovery`: in folders that checks start in, and a new one too."""
_ANYWHERE = re.compile(
    r"(?:^|/)(?:setup_suite\.bash|tests/testthat/(?:helper|setup|teardown)[^/]*\.[rR]|tests/Pest\.php|xunit\.runner\.json"
    r"|testconfig\.json|\.config/dotnet-tools\.json|[^/]+\.xctestplan|\.bundle/config|tools/bazel|.+\.suite\.yml"
    r"|src/[^/]*[tT]est[^/]*/resources/(?:junit-platform\.properties|META-INF/services/org\.junit\.[^/]*(?:Extension|Listener|Engine)))$"
)
"""Counted wherever it stands, and a new one too: its runner loads it unasked."""
_ENDS = (
    *(".bash", ".R", ".r", ".php", ".json", ".xctestplan", "config", "bazel", ".yml", ".properties"),
    *("Extension", "Listener", "Engine"),
)
"""Of these, to leave all else out at once."""
_HELPERS = re.compile(
    r"(?:^|/)(?:(?:test|spec|rails|system|feature)_helper\.rb|spec/support/.+\.rb|features/support/env\.rb"
    r"|t/(?:lib|inc)/.+\.p[lm]|t/[^/]+\.p[lm]|tests?/(?:bootstrap|TestCase)\.php|test/test_helper\.exs"
    r"|test_helper\.(?:bash|bats)|tests/testthat\.[rR]|test/runtests\.jl|(?:test|tests|spec)/(?:Spec|Main|Tests?)\.hs)$"
)
"""Counted if it stands before the work; the tests ask for it by name, so that a new one changes nothing."""

_PERL = (
    r"(?:Test(?:/(?:More|Simple|Tester|Harness|Builder(?:/.+)?|use/ok))?|Test2(?:/(?:API|IPC|Util|Hub|Event|Formatter)(?:/.+)?)?"
    r"|ok|App/Prove(?:/State(?:/.+)?)?|TAP/(?:Harness|Parser|Base|Object|Formatter/(?:Base|Console|Color|File|Session))"
    r"|strict|warnings(?:/register)?|utf8|lib|vars|base|parent|fields|overload(?:ing)?|constant|feature|integer|bytes|re|mro"
    r"|Exporter(?:/Heavy)?|Carp(?:/Heavy)?|Config|POSIX|Cwd|Symbol|SelectSaver|English|Errno|IO|Storable|Encode|XSLoader"
    r"|DynaLoader|AutoLoader|IO/(?:Handle|File|Select|Seekable)|File/(?:Spec(?:/.+)?|Basename|Path|Temp|Find|Copy)"
    r"|Scalar/Util|List/Util|Data/Dumper|Time/HiRes|Getopt/Long|Text/ParseWords|IPC/Open3|Benchmark)\.pm"
)
_RUBY = (
    r"(?:minitest(?:/(?:autorun|test|unit|spec|mock|assertions|benchmark|hell|pride|parallel|[^/]*_plugin))?"
    r"|test/unit(?:/(?:autorunner|testcase|assertions|collector|testresult|testsuite))?|test-unit|simplecov|rake|rake/testtask"
    r"|rspec(?:/(?:core|autorun|expectations|mocks|support|matchers)(?:/.+)?)?|bundler(?:/setup)?|rubygems|cucumber"
    r"|optparse|stringio|tempfile|timeout|rbconfig|etc|English|monitor|delegate|pp|tmpdir|fileutils|shellwords)\.rb"
)
_LUA = r"(?:busted(?:/.+)?|luassert(?:/.+)?|mediator|cliargs(?:/.+)?)\.lua"
_SHADOWS = re.compile(rf"(?:(?:.+/)?(?:lib|inc|lib/perl5|test|spec)/)?(?:{_PERL}|{_RUBY})|(?:(?:src|lib|spec)/)?{_LUA}")
"""From where these languages load what is asked for by name."""


def is_settings(name: str) -> bool:
    """Whether a runner or a build tool reads a file of this name in the folder that it starts in."""
    return bool(_SETTINGS.fullmatch(name))


def is_loaded(path: str) -> bool:
    """Whether a runner loads this file unasked, wherever it stands."""
    return path.endswith(_ENDS) and bool(_ANYWHERE.search(path))


def is_helper(path: str) -> bool:
    """Whether a file is what tests are made of, if it is there before the work."""
    return bool(_HELPERS.search(path))


def is_shadow(path: str) -> bool:
    """Whether a new file stands where a language would take it for a part of its test framework."""
    return path.endswith((".pm", ".rb", ".lua")) and bool(_SHADOWS.fullmatch(path))
