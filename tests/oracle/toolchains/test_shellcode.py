"""What a shell runs as it reads a file."""

from __future__ import annotations

import pytest

from proctor.oracle.toolchains.shellcode import LARGEST, MOST_OPENINGS, Step, When, run


def steps(text: str) -> list[Step]:
    return run(text).steps


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
        ("a || { b; x; }", MAYBE),
        ("if ! a; then x; fi", MAYBE),
        ("if a; then b; else x; fi", MAYBE),
        ("! a || x", When(sure=False, failing=True)),
        ("case $1 in a) x;; esac", MAYBE),
        ("case $1 in -h|'--help') x;; esac", When(sure=False, asked=True)),
        ("while a; do case $1 in --help) if b; then x; fi;; esac; done", When(sure=False, asked=True)),
        ('if [ "$1" = "--help" ]; then x; fi', When(sure=False, asked=True)),
        ("[[ $1 == -h ]] && { b; x; }", When(sure=False, asked=True)),
        ('if [ "$1" != "--help" ]; then x; fi', MAYBE),
        ('if [ "$0" = "$BASH_SOURCE" ]; then x; fi', When(sure=False, asked=True)),
        ('if [[ $BASH_SOURCE != "$0" ]]; then a; else x; fi', When(sure=False, asked=True)),
        ('[[ "${BASH_SOURCE[0]}" -ef "$0" ]] && x', When(sure=False, asked=True)),
        ('[ "${BASH_SOURCE[0]}" = "$0" ] || return 0\nx', When(asked=True)),
        ("[[ $BASH_SOURCE != $0 ]] && return\nx", When(asked=True)),
        ("return 0 2>/dev/null || x", When(sure=False, failing=True, asked=True)),
        ("while getopts hv o; do case $o in h) x;; esac; done", When(sure=False, asked=True)),
        ("case $1 in help | --help) x;; esac", When(sure=False, asked=True)),
        ('[ "x$1" = x--help ] && x', When(sure=False, asked=True)),
        ('[[ " $* " == *" --help "* ]] && x', When(sure=False, asked=True)),
        ("[[ $1 =~ ^(-h|--help)$ ]] && x", When(sure=False, asked=True)),
        ('[ "$0" = ./check.sh ] && x', MAYBE),
        ('[ "$0" = "$0" ] && x', MAYBE),
        ("[ -x = -x ] && x", MAYBE),
        ("case -x in -*) x;; esac", MAYBE),
        ("[ 1 = 2 ] && x", MAYBE),
        ("echo a > /no/dir && x", MAYBE),
        ('if [ "${BASH_SOURCE[0]}" != "$0" ]; then x; fi', MAYBE),
        ("case ${0##*/} in add.sh) x;; esac", MAYBE),
        ("case $0 in *) x;; esac", MAYBE),
        ('if a; then b; elif [ "$1" = -v ]; then x; fi', When(sure=False, asked=True)),
    ],
)
def test_when_a_command_is_run(text: str, when: When) -> None:
    assert steps(text)[-1].when == when


def test_the_line_is_the_one_that_is_written() -> None:
    text = "f() {\n  x\n}\n  f # now\neval 'y'  "
    assert [step.line for step in steps(text)] == ["  f # now", "  x", "eval 'y'  "]


HUGE = ["a\n" * LARGEST, "f(){\n" * MOST_OPENINGS * 2, "((((" * 10_000, "`" * 100_001]


@pytest.mark.parametrize("text", HUGE, ids=["lines", "functions", "brackets", "quotes"])
def test_what_is_too_much_is_read_line_by_line(text: str) -> None:
    made = run(f"{text}\nexit 0\n")
    assert made.steps[-1].words == ("exit", "0") or not made.clear


def test_what_takes_room_or_time_without_end_is_not_known() -> None:
    doubled = run("a=xxxxxxxx\n" + "a=$a$a\n" * 60 + "$a\n")
    assert (doubled.steps[-1].words, doubled.clear) == ((None,), True)
    again = 'x=\'eval "$x"; eval "$x"\'\nif false; then eval "$x"; fi\n'
    assert any(step.words[0] == "eval" for step in run(again).steps)
    assert not run("{ " * 200 + "a" + "; }" * 200).clear
    assert not run(":\n" * 30_000 + "exit 0\n").clear


def test_a_library_of_functions_is_read_without_them_however_large() -> None:
    function = 'one_%d() {\n  [ "$1" = a ] || exit 0\n}\n\n'
    made = run("".join(function % number for number in range(1_000)) + "two=2\n")
    assert (made.steps, made.clear) == ([], True)


def test_what_the_grammar_cannot_read_hides_nothing() -> None:
    assert run("[ a \\< b ] || :\nexit 0\n").steps[-1].words == ("exit", "0")


def test_a_trap_has_what_it_runs_at_the_end() -> None:
    (trap,) = run("cleanup() { rm -f x; exit 0; }\ntrap -- cleanup EXIT\n").steps
    assert [step.words for step in trap.last] == [("cleanup",), ("rm", "-f", "x"), ("exit", "0")]
