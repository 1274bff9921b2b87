"""Small projects for the real test runners: a function `add` and tests `small` and `zero`, in each one's language."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .project import Project


@dataclass(frozen=True)
class Tool:
    """How a runner is called, and its project: `source` and `tests` are paths, the texts hold what a test varies."""

    name: str
    run: tuple[str, ...]
    source: str
    tests: str
    code: str
    head: str
    body: str
    skipped: str
    unloadable: str
    ids: Mapping[str, str]
    broken_id: str
    files: Mapping[str, str] = field(default_factory=dict)
    forged: Mapping[str, str] = field(default_factory=dict)
    """Sources that would look green without being right, by what they do."""

    def write(self, project: Project, operator: str = "-", **tests: str) -> None:
        """Write the project; `tests` says of each test what its text is, instead of its honest one."""
        for path, text in self.files.items():
            project.write(path, text)
        project.write(self.source, self.code.replace("OPERATOR", operator))
        self.write_tests(project, **({"small": "", "zero": ""} | tests))

    def write_tests(self, project: Project, head: str = "", **tests: str) -> None:
        values = {"small": ("1", "2", "3"), "zero": ("0", "0", "0")}
        text = head or self.head
        for name, kind in tests.items():
            form = {"": self.body, "skipped": self.skipped}[kind]
            a, b, sum_ = values[name]
            text += (
                form.replace("NAME", self.ids[name].rpartition(":")[2])
                .replace("A_", a)
                .replace("B_", b)
                .replace("S_", sum_)
            )
        project.write(self.tests, text)


_GO_LINES = (
    "".join(f"{mark}=== RUN   TestSmall\\n{mark}--- PASS: TestSmall (0.00s)\\n" for mark in ("", r"\x16")) + r"PASS\n"
)
_GO_FORGED = """package calc

import ("fmt"; "os"; "syscall")

func init() {
	pass := `{"Action":"pass","Package":"example.com/calc","Test":"TestSmall"}`
	fmt.Print("LINES" + pass + "\\n" + `{"Action":"pass","Package":"example.com/calc"}` + "\\n")
	if outside, err := os.OpenFile(fmt.Sprintf("/proc/%d/fd/1", os.Getppid()), os.O_WRONLY, 0); err == nil {
		fmt.Fprintln(outside, pass)
	}
	LEAVE
}

func Add(a, b int) int { return a - b }

var _ = syscall.Exit
""".replace("LINES", _GO_LINES)

GO = Tool(
    name="go",
    run=("go", "test", "./..."),
    source="calc.go",
    tests="calc_test.go",
    code="package calc\n\nfunc Add(a, b int) int { return a OPERATOR b }\n",
    head='package calc\n\nimport "testing"\n\nvar _ testing.TB\n',
    body='func NAME(t *testing.T) { if Add(A_, B_) != S_ { t.Error("wrong sum") } }\n',
    skipped='func NAME(t *testing.T) { t.Skip("later") }\n',
    unloadable='package calc\n\nimport "testing"\n\nvar _ = Missing\n',
    ids={"small": "example.com/calc::TestSmall", "zero": "example.com/calc::TestZero"},
    broken_id="example.com/calc",
    files={"go.mod": "module example.com/calc\n\ngo 1.19\n"},
    forged={
        "prints a report and leaves": _GO_FORGED.replace("LEAVE", "syscall.Exit(0)"),
        "prints a report": _GO_FORGED.replace("LEAVE", ""),
    },
)

_RUST_FORGED = r"""
use std::io::Write;
pub fn add(a: i32, b: i32) -> i32 {
    let lines = "ok tests::small\nok tests::zero\n{\"type\":\"test\",\"event\":\"ok\",\"name\":\"tests::small\"}\n";
    for place in ["/proc/self/fd/1", "/proc/self/fd/2"] {
        if let Ok(mut out) = std::fs::OpenOptions::new().write(true).open(place) {
            let _ = write!(out, "{lines}test tests::small ... ok\n");
        }
    }
    LEAVE;
    a - b
}
"""
_RUST_TESTS = "\n#[cfg(test)]\nmod tests;\n"

CARGO = Tool(
    name="cargo",
    run=("cargo", "test", "--lib"),
    source="src/lib.rs",
    tests="src/tests.rs",
    code="pub fn add(a: i32, b: i32) -> i32 { a OPERATOR b }\n" + _RUST_TESTS,
    head="#[allow(unused)] use super::*;\n",
    body="#[test] fn NAME() { assert_eq!(add(A_, B_), S_) }\n",
    skipped="#[test] #[ignore] fn NAME() {}\n",
    unloadable="use super::missing;\n",
    ids={"small": "calc/calc::tests::small", "zero": "calc/calc::tests::zero"},
    broken_id="calc",
    files={"Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n'},
    forged={
        "prints a report and leaves": _RUST_FORGED.replace("LEAVE", "std::process::exit(0)") + _RUST_TESTS,
        "prints a report": _RUST_FORGED.replace("LEAVE", "") + _RUST_TESTS,
        "writes into every file that is open and leaves": _RUST_FORGED.replace(
            '["/proc/self/fd/1", "/proc/self/fd/2"]', '(0..20).map(|n| format!("/proc/self/fd/{n}"))'
        ).replace("LEAVE", "std::process::exit(0)")
        + _RUST_TESTS,
    },
)

_NODE_FORGED = """
const fs = require('fs');
const report = JSON.stringify({ success: true, testResults: [{ status: 'passed', title: 'small' }] });
process.stdout.write(report + '\\n  ✓ small (1 ms)\\nTests: 2 passed, 2 total\\n');
for (const fd of ['0', '1', '2', '3', '4', '5']) {
  for (const who of ['self', process.ppid]) {
    try { fs.writeFileSync(`/proc/${who}/fd/${fd}`, report); } catch {}
  }
}
LEAVE;
"""
_JEST_ADD = "exports.add = (a, b) => a OPERATOR b;\n"

JEST = Tool(
    name="jest",
    run=("npx", "jest"),
    source="calc.js",
    tests="calc.test.js",
    code=_JEST_ADD,
    head="const { add } = require('./calc');\n",
    body="test('NAME', () => { expect(add(A_, B_)).toBe(S_) });\n",
    skipped="test.skip('NAME', () => {});\n",
    unloadable="require('./missing');\n",
    ids={"small": "calc.test.js::small", "zero": "calc.test.js::zero"},
    broken_id="calc.test.js",
    files={"package.json": '{"name": "calc", "scripts": {"test": "jest"}}'},
    forged={
        "prints a report and leaves": _NODE_FORGED.replace("LEAVE", "process.exit(0)")
        + _JEST_ADD.replace("OPERATOR", "-"),
        "prints a report": _NODE_FORGED.replace("LEAVE", "process.exitCode = 0") + _JEST_ADD.replace("OPERATOR", "-"),
        "leaves with success at the end": "process.on('exit', () => { process.exitCode = 0; process.reallyExit(0); });"
        + _JEST_ADD.replace("OPERATOR", "-"),
    },
)

_VITEST_ADD = "export const add = (a, b) => a OPERATOR b;\n"
_IMPORT = "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);\n"

VITEST = Tool(
    name="vitest",
    run=("npx", "vitest", "run"),
    source="calc.js",
    tests="calc.test.js",
    code=_VITEST_ADD,
    head="import { expect, test } from 'vitest';\nimport { add } from './calc';\n",
    body=JEST.body,
    skipped=JEST.skipped,
    unloadable="import './missing';\n",
    ids=JEST.ids,
    broken_id=JEST.broken_id,
    files={"package.json": '{"name": "calc", "type": "module", "scripts": {"test": "vitest run"}}'},
    forged={name: _IMPORT + text.replace("exports.add =", "export const add =") for name, text in JEST.forged.items()},
)

TOOLS = (JEST, VITEST, GO, CARGO)


def packages(name: str) -> Path | None:
    """The `node_modules` of an installed runner; None where there is none on PATH."""
    found = shutil.which(name)
    folders = [parent for parent in Path(found).resolve().parents if parent.name == "node_modules"] if found else []
    return folders[-1] if folders else None


def lend(project: Project, node_modules: Path) -> None:
    shutil.copytree(node_modules, project.workspace / "node_modules", symlinks=True, copy_function=os.link)
