"""What a shell runs as it reads a file."""

from __future__ import annotations

import pytest

from proctor.oracle.toolchains.shellcode import LARGEST, MOST_OPENINGS, When, steps

SURE, MAYBE = When(), When(sure=False)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a b; c", [("a", "b"), ("c",)]),
        ("A=1 builtin command exit 0", [("exit", "0")]),
        ("ex\"it\" '0' $'1' \\2", [("exit", "0", "1", "2")]),
        ("a \\\n  b", [("a", "b")]),
        ("end=exit ok=0\n$end ${ok} $more", [("exit", "0", None)]),
        ("ok=$(x); exit $ok", [("exit", None)]),
        ("ok=0; x || ok=1; exit $ok", [("x",), ("exit", None)]),
        ("eval 'a; b'; eval $x", [("a",), ("b",), ("eval", None)]),
        ("(a); b | c; d & e; x=$(f)", [("e",)]),
        ("f() { a; }\ng() { b; }\nf", [("f",), ("a",)]),
        ("f() { f; }\nf", [("f",), ("f",)]),
        ("cat <<E && b\na\nE\nc", [("cat",), ("b",), ("c",)]),
        ("a > b 2>&1; exec 3>&1", [("a",), ("exec",)]),
        ("# a\nb # c", [("b",)]),
        ("export A=1; unset a", [("export",), ("unset", "a")]),
        ("if a; then b; elif c; then d; else e; fi", [("a",), ("b",), ("c",), ("d",), ("e",)]),
        ("for x in a; do b; done; while c; do d; done", [("b",), ("c",), ("d",)]),
        ("", []),
        ("if (", []),
    ],
)
def test_commands(text: str, words: list[tuple[str | None, ...]]) -> None:
    assert [step.words for step in steps(text)] == words


@pytest.mark.parametrize(
    ("text", "when"),
    [
        ("x", SURE),
        ("{ x; }", SURE),
        (": && x", SURE),
        ("if true; then x; fi", SURE),
        ("if [ 1 = 1 ]; then x; fi", SURE),
        ("if ((1)); then x; fi", SURE),
        ("echo $A && x", SURE),
        ("if [ $A = 1 ]; then x; fi", MAYBE),
        ("if [ -f a ]; then x; fi", MAYBE),
        ("a && x", MAYBE),
        ("a || x", When(sure=False, failing=True)),
        ("a || { b; x; }", When(sure=False, failing=True)),
        ("if ! a; then x; fi", When(sure=False, failing=True)),
        ("if a; then b; else x; fi", When(sure=False, failing=True)),
        ("! a || x", MAYBE),
        ("case $1 in a) x;; esac", MAYBE),
        ("case $1 in -h|'--help') x;; esac", When(sure=False, asked=True)),
        ("while a; do case $1 in --help) if b; then x; fi;; esac; done", When(sure=False, asked=True)),
        ('if [ "$1" = "--help" ]; then x; fi', When(sure=False, asked=True)),
        ("[[ $1 == -h ]] && { b; x; }", When(sure=False, asked=True)),
        ('if [ "$1" != "--help" ]; then x; fi', MAYBE),
        ('if [ "$0" = "$BASH_SOURCE" ]; then x; fi', When(sure=False, asked=True)),
        ('if [ "${BASH_SOURCE[0]}" != "$0" ]; then x; fi', MAYBE),
        ("case ${0##*/} in add.sh) x;; esac", When(sure=False, asked=True)),
        ("case $0 in *) x;; esac", MAYBE),
        ('if a; then b; elif [ "$1" = -v ]; then x; fi', When(sure=False, asked=True)),
    ],
)
def test_when_a_command_is_run(text: str, when: When) -> None:
    assert steps(text)[-1].when == when


def test_the_line_is_the_one_that_is_written() -> None:
    text = "f() {\n  x\n}\n  f # now\neval 'y'  "
    assert [step.line for step in steps(text)] == ["  f # now", "  x", "eval 'y'  "]


@pytest.mark.parametrize("text", ["a\n" * LARGEST, "f(){\n" * MOST_OPENINGS * 2, "((((" * 10_000, "`" * 100_001])
def test_what_is_too_much_is_read_line_by_line(text: str) -> None:
    assert steps(f"{text}\nexit 0\n")[-1].words in {("exit", "0"), ("a",)}
