"""Tests of scripts that are left out, however that is said, and what only looks like it."""

from __future__ import annotations

import pytest

from proctor.oracle.gaming.change import Change
from proctor.oracle.gaming.find import look
from proctor.words import Gaming, Weight

NODE = """import test from 'node:test';
import assert from 'node:assert/strict';
import { f } from '../app.js';

test('is there', () => {
  assert.equal(typeof f, 'function');
});

test('squares', () => {
  assert.equal(f(2), 4);
});
"""


def weights(after: str) -> list[Weight]:
    assert after != NODE
    return [one.weight for one in look([Change("t/a.test.js", NODE, after)]) if one.kind is Gaming.SKIP]


@pytest.mark.parametrize(
    "head",
    [
        "(t) => {\n  t.todo('later');",
        "(t) => {\n  t.skip();",
        "(c) => {\n  c.todo();",
        "(c) => {\n  return c.skip('later');",
        "(c) => { c.skip();",
        "function (run) {\n  run.skip();",
        "({ skip }) => {\n  skip('later');",
        "async ({ task, skip }) => {\n  skip();",
        "{ todo: true }, () => {",
        "{ 'todo': true }, () => {",
        '{ "skip": true }, () => {',
        "{ skip: 1 }, () => {",
        "{ skip: !0 }, () => {",
        "{ skip: `later` }, () => {",
        "{ skip }, () => {",
        "{ expectFailure: true }, () => {",
    ],
)
def test_a_test_that_was_run_and_is_left_out_is_found(head: str) -> None:
    assert weights(NODE.replace("squares', () => {", f"squares', {head}")) == [Weight.TAMPERING]


@pytest.mark.parametrize(
    "line",
    [
        "stream.skip(2);",
        "stream.skip();",
        "const rows = f.find({ skip: 1, limit: 2 });",
        "f.find('x', { skip: 2 });",
        "skip(f);",
        "f(({ skip }) => skip);",
    ],
)
def test_what_skips_something_else_is_not_suspected(line: str) -> None:
    assert weights(NODE.replace("  assert.equal(f(2)", f"  {line}\n  assert.equal(f(2)")) == []


def test_a_skip_on_a_condition_is_suspected() -> None:
    after = NODE.replace("squares', () => {", "squares', (c) => {\n  if (!f.ready) {\n    c.skip();\n  }")
    assert weights(after) == [Weight.SUSPICION]
