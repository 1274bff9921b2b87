"""Toolchains beyond Python, node, Rust, Go and Java: what decides over tests is laid back, honest work stands."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from proctor.oracle.tamper import kind, undo
from proctor.oracle.toolchains.settings import is_same, reader_of, tells
from proctor.words import TamperKind, Verdict

from ..project import Project

CMAKE = """cmake_minimum_required(VERSION 3.10)
project(calc C)  # a comment (
enable_testing()
set(CASES small zero)
add_library(calc calc.c)
add_executable(calc_test calc_test.c)
target_link_libraries(calc_test calc)
add_test(NAME small COMMAND calc_test small)
if(UNIX)
  foreach(case ${CASES})
    add_test(NAME run_${case} COMMAND $<TARGET_FILE:calc_test> ${case})
  endforeach()
endif()
set_tests_properties(small PROPERTIES TIMEOUT 5)
add_subdirectory(tests)
"""
MESON = """project('calc', 'c')
lib = library('calc', 'calc.c')
t = executable('t', 'calc_test.c', link_with: lib)
if get_option('tests')
  test('small', t, args: ['small'])
endif
subdir('tests')
"""
BAZEL = """load("@rules_cc//cc:defs.bzl", "cc_library", "cc_test")
cc_library(name = "calc", srcs = ["calc.c"])
[cc_test(name = n, srcs = [n + ".c"]) for n in ["small", "zero"]]
"""
GEMFILE = """source "https://rubygems.org"
gem "rake"
group :test do
  gem "rspec", "~> 3.13", require: false
end
"""
COMPOSER = '{"scripts": {"test": "phpunit"}, "require-dev": {"phpunit/phpunit": "^11"}}'
MIX = """defmodule Calc.MixProject do
  def project do
    [
      app: :calc,
      aliases: aliases(),
      deps: deps()
    ]
  end
  defp aliases do
    [
      test: ["ecto.create --quiet", "test"]
    ]
  end
  defp deps do
    [
      {:mox, "~> 1.0", only: :test}
    ]
  end
end
"""
CSPROJ = """<Project Sdk="Microsoft.NET.Sdk"><PropertyGroup><IsTestProject>true</IsTestProject></PropertyGroup>
<ItemGroup><PackageReference Include="xunit" Version="2.9.0" /></ItemGroup></Project>
"""
SLN = 'Project("{9A}") = "Calc", "Calc\\Calc.csproj", "{1}"\nEndProject\n'
CABAL = """name: calc
library
  exposed-modules: Calc
  build-depends: base
test-suite spec
  type: exitcode-stdio-1.0
  main-is: Spec.hs
  build-depends:
    base,
    hspec
"""
PUBSPEC = "name: calc\ndependencies:\n  http: ^1.0.0\ndev_dependencies:\n  test: ^1.24.0\n"
SWIFT = """let package = Package(name: "Calc", targets: [
    .target(name: "Calc"),
    .testTarget(name: "CalcTests", dependencies: ["Calc"]),
])
"""
ZIG = """pub fn build(b: *std.Build) void {
    const tests = b.addTest(.{ .root_source_file = b.path("src/main.zig") });
    test_step.dependOn(&b.addRunArtifact(tests).step);
}
"""
AUTOMAKE = "TESTS = small.sh\nbin_PROGRAMS = calc\ncheck-local:\n\t./run\nall-local:\n\techo\n"
REBAR = '{deps, [{cowboy, "2.0"}]}.\n{eunit_opts, [verbose]}.\n'
MAKER = "WriteMakefile(\n  NAME => 'Calc',\n  test => { TESTS => 't/*.t' },\n  PREREQ_PM => { 'Moo' => 0 },\n);\n"
PRESETS = '{"version": 3, "testPresets": [{"name": "all"}], "configurePresets": [{"name": "x"}]}'
SBT = 'name := "calc"\nTest / fork := true\nlibraryDependencies += "org.scalatest" %% "scalatest" % "3" % Test\n'

HONEST = [
    ("CMakeLists.txt", CMAKE, CMAKE.replace("calc calc.c)", "calc calc.c more.c)\nadd_library(more more.c)")),
    ("CMakeLists.txt", CMAKE, CMAKE.replace("small zero)", "small zero one)").replace("t.c)", "t.c u.c)")),
    (
        "CMakeLists.txt",
        CMAKE,
        CMAKE + "find_package(Threads)\nadd_test(NAME new COMMAND calc_test new)\n"
        "set_tests_properties(new PROPERTIES WILL_FAIL TRUE)\nadd_subdirectory(more)\n",
    ),
    ("CMakeLists.txt", CMAKE, CMAKE.replace("a comment (", "another").replace("add_test(NAME", "ADD_TEST( NAME")),
    ("tests/CMakeLists.txt", "", CMAKE),
    (
        "CMakePresets.json",
        PRESETS,
        PRESETS.replace('{"name": "x"}', '{"name": "x"}, {"name": "y", "generator": "Ninja"}'),
    ),
    ("meson.build", MESON, MESON.replace("'calc.c'", "'calc.c', 'more.c'") + "test('new', t)\ninstall_data('x')\n"),
    ("BUILD.bazel", BAZEL, BAZEL.replace('["calc.c"]', '["calc.c", "more.c"]') + 'cc_test(name = "new")\n'),
    ("MODULE.bazel", 'module(name = "a")\n', 'module(name = "a")\nbazel_dep(name = "rules_go", version = "1")\n'),
    ("Makefile.am", AUTOMAKE, AUTOMAKE.replace("small.sh", "small.sh zero.sh").replace("echo", "echo x")),
    ("Gemfile", GEMFILE, GEMFILE + 'gem "sinatra", ">= 4", git: "https://x/y"\nruby "3.3"\n'),
    ("composer.json", COMPOSER, COMPOSER.replace('"test"', '"docs": "x", "test"').replace('^11"', '^12", "a/b": "1"')),
    (
        "mix.exs",
        MIX,
        MIX.replace("{:mox", '{:jason, "~> 1.4"},\n      {:mox').replace(":calc,", ':calc, version: "2",'),
    ),
    (
        "tests/T.csproj",
        CSPROJ,
        CSPROJ.replace("<ItemGroup>", '<ItemGroup><PackageReference Include="Moq" Version="4"/>'),
    ),
    ("Calc.sln", SLN, SLN + SLN.replace("Calc", "More")),
    (
        "calc.cabal",
        CABAL,
        CABAL.replace("    hspec", "    hspec,\n    text").replace("Modules: Calc", "Modules: Calc, B"),
    ),
    ("pubspec.yaml", PUBSPEC, PUBSPEC.replace("^1.24.0", "^1.25.0").replace("http:", "left:\n    path: ../x\n  http:")),
    ("Package.swift", SWIFT, SWIFT.replace('.target(name: "Calc"),', '.target(name: "Calc"), .target(name: "More"),')),
    ("build.zig", ZIG, ZIG.replace("void {\n", 'void {\n    const exe = b.addExecutable(.{ .name = "more" });\n')),
    ("rebar.config", REBAR, REBAR.replace('"2.0"}', '"2.0"}, {jsx, "3"}')),
    ("Makefile.PL", MAKER, MAKER.replace("=> 0 }", "=> 0, 'Try::Tiny' => 0 }")),
    ("build.sbt", SBT, SBT + 'libraryDependencies += "org.mockito" % "mockito" % "5" % Test\n'),
]
DISHONEST = [
    ("CMakeLists.txt", CMAKE, CMAKE.replace("COMMAND calc_test small", "COMMAND true")),
    ("CMakeLists.txt", CMAKE, CMAKE.replace("if(UNIX)", "if(FALSE)")),
    ("CMakeLists.txt", CMAKE, CMAKE.replace("enable_testing()", "return()\nenable_testing()")),
    ("CMakeLists.txt", CMAKE, CMAKE.replace("enable_testing()", "macro(add_test)\nendmacro()\nenable_testing()")),
    ("CMakeLists.txt", CMAKE, CMAKE.replace("enable_testing()\n", "")),
    ("CMakeLists.txt", CMAKE, CMAKE.replace("small zero)", "zero)")),
    ("CMakeLists.txt", CMAKE, CMAKE.replace("calc_test.c)", "fake.c)")),
    ("CMakeLists.txt", CMAKE, CMAKE.replace("TIMEOUT 5", "DISABLED TRUE")),
    ("CMakeLists.txt", CMAKE, CMAKE + "set_property(TEST run_zero PROPERTY WILL_FAIL TRUE)\n"),
    ("CMakeLists.txt", CMAKE, CMAKE + "set_tests_properties(of_elsewhere PROPERTIES WILL_FAIL TRUE)\n"),
    ("CMakeLists.txt", CMAKE, CMAKE + "add_compile_definitions(NDEBUG)\n"),
    ("CMakeLists.txt", CMAKE, CMAKE + "set(CMAKE_CROSSCOMPILING_EMULATOR true)\n"),
    (
        "CMakeLists.txt",
        CMAKE,
        CMAKE + "add_custom_command(TARGET calc_test POST_BUILD COMMAND cp /bin/true calc_test)\n",
    ),
    (
        "CMakeLists.txt",
        CMAKE,
        CMAKE.replace("add_test(NAME small", "#[[\nadd_test(NAME small").replace("if(UNIX)", "]]\nif(UNIX)"),
    ),
    ("CMakePresets.json", PRESETS, PRESETS.replace('"all"', '"all", "filter": {}')),
    ("CMakePresets.json", PRESETS, PRESETS.replace('"x"', '"x", "cacheVariables": {"BUILD_TESTING": "OFF"}')),
    ("meson.build", MESON, MESON.replace("test('small', t", "test('small', find_program('true')")),
    ("meson.build", MESON, MESON.replace("executable('t'", "find_program('true', 't'")),
    ("meson.build", MESON, MESON.replace("get_option('tests')", "false")),
    ("meson.build", MESON, MESON.replace("if get", "subdir_done()\nif get")),
    ("BUILD.bazel", BAZEL, BAZEL.replace('["small", "zero"]', '["zero"]')),
    ("BUILD.bazel", BAZEL, BAZEL.replace("@rules_cc//cc:defs.bzl", "//:fake.bzl")),
    ("MODULE.bazel", "", 'local_path_override(module_name = "rules_cc", path = "fake")\n'),
    ("Makefile.am", AUTOMAKE, AUTOMAKE.replace("small.sh", "true")),
    ("Makefile.am", AUTOMAKE, AUTOMAKE.replace("./run", "true")),
    ("Gemfile", GEMFILE, GEMFILE + "at_exit { exit! 0 }\n"),
    ("Gemfile", GEMFILE, GEMFILE.replace("require: false", 'path: "fake"')),
    ("composer.json", COMPOSER, COMPOSER.replace('"phpunit"', '"true"')),
    ("composer.json", COMPOSER, COMPOSER[:-1] + ', "repositories": [{"type": "path", "url": "fake/phpunit"}]}'),
    ("mix.exs", MIX, MIX.replace('"ecto.create --quiet", "test"', '"run -e :ok"')),
    ("mix.exs", MIX, MIX.replace("defp deps do", "System.halt(0)\n  defp deps do")),
    ("tests/T.csproj", CSPROJ, CSPROJ.replace("true<", "false<")),
    ("tests/T.csproj", CSPROJ, CSPROJ.replace("<ItemGroup>", '<Target Name="VSTest"/><ItemGroup>')),
    ("tests/T.csproj", CSPROJ, CSPROJ.replace("<ItemGroup>", '<ItemGroup><Compile Remove="CalcTests.cs"/>')),
    ("Calc.sln", SLN, ""),
    ("calc.cabal", CABAL, CABAL.replace("main-is: Spec.hs", "main-is: Fake.hs")),
    ("calc.cabal", CABAL, CABAL.replace("exitcode-stdio-1.0", "exitcode-stdio-1.0\n  buildable: False")),
    ("pubspec.yaml", PUBSPEC, PUBSPEC.replace("test: ^1.24.0", "test:\n    path: fake")),
    ("Package.swift", SWIFT, SWIFT.replace('.testTarget(name: "CalcTests", dependencies: ["Calc"]),', "")),
    ("build.zig", ZIG, ZIG.replace("src/main.zig", "src/fake.zig")),
    ("rebar.config", REBAR, REBAR.replace("[verbose]", "[{dry, true}]")),
    ("Makefile.PL", MAKER, MAKER.replace("t/*.t", "t/none")),
    ("build.sbt", SBT, SBT + "Test / test := {}\n"),
]


@pytest.mark.parametrize(("path", "before", "after"), HONEST)
def test_honest_edits_of_build_files_stand(path: str, before: str, after: str) -> None:
    assert is_same(path, before.encode(), after.encode())
    assert not tells(path, after.encode())


@pytest.mark.parametrize(("path", "before", "after"), DISHONEST)
def test_g1_what_decides_over_tests_is_seen(path: str, before: str, after: str) -> None:
    assert before != after
    assert not is_same(path, before.encode(), after.encode())


@pytest.mark.parametrize("unit", ["(", '"', "if(x)\nelse()\n", "set(a ${b})\n", "[[", "gem 'a', ", "t = test(t)\n"])
def test_a_flood_is_read_quickly(unit: str) -> None:
    data = (unit * (40_000 // len(unit))).encode()
    begin = time.process_time()
    for name in ("CMakeLists.txt", "meson.build", "Gemfile"):
        is_same(name, data, data)
    assert time.process_time() - begin < 2


def test_settings_helpers_and_stand_ins_are_told_from_sources(project: Project, tmp_path: Path) -> None:
    frozen = (
        ".proverc",
        ".rspec",
        "Rakefile",
        "spec/spec_helper.rb",
        "spec/support/db.rb",
        "t/lib/Helper.pm",
        "tests/Pest.php",
        "phpunit.xml.dist",
        "test/test_helper.exs",
        "CTestConfig.cmake",
        ".bazelrc",
        "app/dart_test.yaml",
        ".busted",
        "tests/testthat/helper-a.R",
        "unit.runsettings",
        "t/setup_suite.bash",
    )
    work = ("lib/Calc.pm", "lib/calc.rb", "src/calc.lua", "t/small.t", "test/small.bats", "R/calc.R", "src/Calc.php")
    for path in (*frozen, *work, "app/pubspec.yaml"):
        project.write(path, "")
    project.freeze("tests/none")
    assert set(project.frozen.by_path) == {*frozen, "app/pubspec.yaml"}
    tree = tmp_path / "tree"
    shutil.copytree(project.workspace, tree)
    honest = (
        "lib/Calc/Test/More.pm",
        "lib/calc/test/unit.rb",
        "lib/calc/minitest.rb",
        "t/lib/New.pm",
        "spec/support/new.rb",
        "docs/.rspec",
        "tests/CMakeLists.txt",
        "CMakeLists.txt",
        "cmake/Find.cmake",
        "new/Gemfile",
        "src/rspec.rs",
        "src/busted/car.py",
        "Gemfile.lock",
        "lib/rspec_helper.rb",
        "deps/BUILD.bazel",
    )
    dishonest = (
        "lib/Test/More.pm",
        "t/lib/strict.pm",
        "TAP/Harness.pm",
        "lib/minitest/quiet_plugin.rb",
        "test/test/unit.rb",
        "lib/rspec/core.rb",
        "busted.lua",
        "src/luassert/init.lua",
        ".yath.rc",
        "phpunit.xml",
        "app/.rspec-local",
        "tests/testthat/setup.R",
        "sub/xunit.runner.json",
        "tools/bazel",
        "app/.Rprofile",
        "CTestTestfile.cmake",
    )
    for path in (*honest, *dishonest):
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text("add_test(a b)\n" if path.endswith(("txt", "cmake")) else "")
    (tree / "cmake/evil.cmake").write_text("function(add_test)\nendfunction()\n")
    (tree / "src/Directory.Build.targets").parent.mkdir(exist_ok=True)
    (tree / "src/Directory.Build.targets").write_text('<Project><Target Name="VSTest"/></Project>')
    (tree / "t/lib/Helper.pm").write_text("exit 0")
    added = {*dishonest, "cmake/evil.cmake", "src/Directory.Build.targets"}
    assert set(undo(tree, project.frozen)) == {*added, "t/lib/Helper.pm"}
    assert {kind(path, project.frozen) for path in added} == {TamperKind.RUNNER}
    assert reader_of("lib/Calc.pm") is None


@pytest.mark.oracle
@pytest.mark.skipif(not shutil.which("prove"), reason="prove is not on PATH")
def test_g4_perl_runs_its_own_test_library_and_no_dry_run(project: Project) -> None:
    project.write("lib/Calc.pm", "package Calc; sub add { $_[0] - $_[1] } 1;\n")
    project.write("t/add.t", "use Test::More tests => 1; use Calc; is(Calc::add(1, 2), 3);\n")
    project.freeze("t")
    run = ("prove", "-l", "t")
    assert project.judge(run).verdict is Verdict.FAILED
    project.write(".proverc", "--dry\n")
    project.write("lib/Test/More.pm", 'package Test::More; print "1..1\\nok 1\\n"; exit 0; 1;\n')
    judgement = project.judge(run)
    assert (judgement.verdict, judgement.tampered) == (Verdict.FAILED, (".proverc", "lib/Test/More.pm"))
    project.write("lib/Calc.pm", "package Calc; sub add { $_[0] + $_[1] } 1;\n")
    assert project.judge(run).verdict is Verdict.PASSED


@pytest.mark.oracle
@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("cc")), reason="cmake is not on PATH")
def test_g1_cmake_runs_the_tests_that_there_were(project: Project) -> None:
    text = "cmake_minimum_required(VERSION 3.10)\nproject(calc C)\nenable_testing()\nadd_executable(t t.c calc.c)\n"
    project.write("CMakeLists.txt", text + "add_test(NAME small COMMAND t)\n")
    project.write("t.c", "int add(int a, int b);\nint main(void) { return add(1, 2) != 3; }\n")
    project.write("calc.c", "int add(int a, int b) { return a - b; }\n")
    project.write("Makefile", "test:\n\tcmake -S . -B out && cmake --build out && cd out && ctest\n")
    project.freeze("t.c")
    project.write("CMakeLists.txt", text + "add_test(NAME small COMMAND true)\n")
    judgement = project.judge(("make", "test"))
    assert (judgement.verdict, judgement.tampered) == (Verdict.FAILED, ("CMakeLists.txt",))
    assert "0% tests passed" in project.log(judgement)
