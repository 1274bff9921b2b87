"""What a check may ask for beside an exit code, in the contract: read whole, or refused in one line with its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from proctor.contract.load import load
from proctor.journal.events.checks import Artifact, Expect, Page, Schema

from .conftest import SMALLEST

Write = Callable[[str | bytes], Path]
Refusal = Callable[[str | bytes], list[str]]
BASE = "".join(line for line in SMALLEST.splitlines(keepends=True) if not line.startswith("progress"))


def contract(check: str) -> str:
    return f"{BASE}progress:\n  checks:\n    - {check}\n"


def test_all_kinds_are_read_whatever_yaml_takes_their_values_for(write: Write) -> None:
    check = (
        "{run: [x], expect: {text: a, regex: 'b+', json: '$.n', equals: 3, golden: ./tests/g.txt}, "
        "artifact: {path: dist/a.js, differs: src/a.js, matches: x}, schema: {output: true, schema: s.json}, "
        "page: {run: [serve, 010], port: 8000, path: '/a?b', status: 404, text: no, within: 5s, browser: chromium}}"
    )
    fact = load(write(contract(check))).progress.checks[0].fact
    assert fact.expect == Expect(text="a", regex="b+", json="$.n", equals="3", golden="tests/g.txt")
    assert fact.artifact == Artifact(path="dist/a.js", differs="src/a.js", matches="x")
    assert fact.schema == Schema(output=True, schema="s.json")
    page = Page(run=("serve", "010"), url="http://127.0.0.1:8000/a?b", status=404, text="no", within=5.0)
    assert fact.page == replace(page, browser="chromium")
    assert fact.files == {"expect.golden": "tests/g.txt", "artifact.differs": "src/a.js", "schema.schema": "s.json"}


@pytest.mark.parametrize(("written", "equals"), [("3", "3"), ("'\"3\"'", '"3"'), ("three", '"three"'), ("~", "null")])
def test_a_value_is_json_where_it_reads_as_json_and_else_itself(write: Write, written: str, equals: str) -> None:
    given = load(write(contract(f"{{run: [x], expect: {{json: $.n, equals: {written}}}}}"))).progress.checks[0]
    assert given.fact.expected.equals == equals


@pytest.mark.parametrize("check", ["{artifact: dist/a.js}", "{page: {run: [serve], url: 'http://localhost:80/'}}",
                                   "{schema: {file: a.json, schema: s.json}}"])  # fmt: skip
def test_a_command_may_be_left_out_where_the_rest_says_enough(write: Write, check: str) -> None:
    assert load(write(contract(check))).progress.checks[0].fact.run == ()


NO_RUN = "run: missing: the command, as a list of words such as [pytest, -q]; or an artifact, a page"


@pytest.mark.parametrize(
    ("check", "line"),
    [
        ("{timeout: 5m}", f"progress.checks[0].{NO_RUN}"),
        ("{expect: x}", f"progress.checks[0].{NO_RUN}"),
        ("{artifact: a, expect: x}",
         "progress.checks[0].expect: there is no output without run; name the command that writes it"),
        ("{run: [x], expect: {}}",
         "progress.checks[0].expect: asks for nothing; name one of text, regex, json, golden"),
        ("{run: [x], expect: ' '}", "progress.checks[0].expect: should not be empty"),
        ("{run: [x], expect: {txt: a}}", "progress.checks[0].expect.txt: unknown key, nearest: text"),
        ("{run: [x], expect: {regex: '(a'}}", "progress.checks[0].expect.regex: is no regular expression: "
         "missing ), unterminated subpattern at position 0"),
        ("{run: [x], expect: {json: '$.a['}}", "progress.checks[0].expect.json: '$.a[' is no path such as $.a.b[0], "
         "of names, places and *"),
        ("{run: [x], expect: {text: a, equals: 3}}",
         "progress.checks[0].expect.equals: is for what stands at a `json` path; name that"),
        ("{run: [x], expect: {golden: ../g}}", "progress.checks[0].expect.golden: '../g' leaves the workspace"),
        ("{run: [x], artifact: ''}", "progress.checks[0].artifact.path: should not be empty"),
        ("{run: [x], artifact: {equals: a}}", "progress.checks[0].artifact.path: missing"),
        ("{run: [x], artifact: /etc/passwd}",
         "progress.checks[0].artifact.path: '/etc/passwd' is not a path relative to the workspace"),
        ("{run: [x], artifact: {path: a, equals: ./a}}", "progress.checks[0].artifact.equals: is the artifact "
         "itself, and would be laid back over it; name another file"),
        ("{run: [x], schema: s.json}",
         "progress.checks[0].schema: should hold keys of its own: schema, file, output"),
        ("{run: [x], schema: {schema: s.json}}",
         "progress.checks[0].schema: says of what: name one of `file: PATH` and `output: true`"),
        ("{page: {run: serve x, port: 80}}",
         "progress.checks[0].page.run: is a list of words, for no shell reads it: [serve, x]"),
        ("{page: {run: [serve]}}", "progress.checks[0].page: says where: name one of `url: http://127.0.0.1:PORT/…` "
         "and `port: PORT`"),
        ("{page: {run: [serve], url: 'https://example.com/'}}", "progress.checks[0].page.url: must be "
         "http://127.0.0.1:PORT/…, for a sandbox has no network but its own loopback"),
        ("{page: {run: [serve], port: 80, within: 10m}}",
         "progress.checks[0].page.within: is more than the check's timeout (300 s)"),
        ("{page: {run: [serve], port: 80, within: soon}}", "progress.checks[0].page.within: 'soon' is not a duration; "
         "write it like 90s, 15m, 4h, 1h30m (units: ms s m h d w)"),
        ("{page: {run: [serve], port: 80, browser: chromium}}",
         "progress.checks[0].page.browser: looks for nothing without `text` or `matches`; name one"),
        ("{page: {run: [serve], port: 80, text: x, browser: ' '}}",
         "progress.checks[0].page.browser: must start with a program, and hold no NUL"),
        ("{page: {run: [serve], port: 70000}}", "progress.checks[0].page.port: must be a number from 1 to 65535"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line_with_its_place(refusal: Refusal, check: str, line: str) -> None:
    assert refusal(contract(check)) == [f"proctor.yaml:6: {line}"]


def test_a_page_needs_walls(refusal: Refusal) -> None:
    weak = contract("{page: {run: [serve], port: 80}}") + "sandbox: {kind: weak}\n"
    (line,) = refusal(weak)
    assert line == (
        "proctor.yaml:6: progress.checks[0].page: needs a network of its own, which only `sandbox.kind: bwrap` gives"
    )
