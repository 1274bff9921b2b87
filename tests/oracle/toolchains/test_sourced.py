"""What scripts of checks run and read by patterns, and what they read into their own shell."""

from __future__ import annotations

import pytest

from proctor.oracle.toolchains import mentions, sourced
from proctor.words import TamperKind

from ..placed import Placed

ENDS = "python3 app.py > /tmp/out.txt\ndiff /tmp/out.txt expected.txt\n"
DIFF = "diff() { return 0; }\n"
GIVES = "add() {\n  test $1\n}\nPORT=1\n"
READS = {
    "if": "#!/bin/sh\nset -e\nif [ -f local.sh ]; then . ./local.sh; fi\n",
    "and": "#!/bin/sh\nset -e\n[ -f local.sh ] && . ./local.sh\n",
    "unasked": "#!/bin/bash\nsource local.sh 2>/dev/null || true\n",
    "its folder": '#!/bin/sh\n. "$(dirname "$0")/local.sh"\n',
    "default": "#!/bin/sh\n. ${SETTINGS:-./local.sh}\n",
}
LOOP = '#!/bin/sh\nfor f in hooks.d/*.sh; do\n  [ -r "$f" ] || continue\n  . "./$f"\ndone\n'


def placed(name: str, script: str, work: dict[str, str], found: TamperKind | None, path: str = "verify.sh") -> Placed:
    return Placed(name, "make test" if path == "Makefile" else f"sh {path}", {path: script + ENDS}, work, found)


RUNNER, CHANGED = TamperKind.RUNNER, TamperKind.CHANGED
TEST = "test:\n\t"
A = {"checks.d/10-a.sh": "exit 1\n", "checks/a.py": "exit(1)\n", "examples/a.py": "1\n", "scripts/a.sh": "exit 1\n"}
CASES = [
    *(placed(f"function: {name}", script, {"local.sh": DIFF}, RUNNER) for name, script in READS.items()),
    *(placed(f"work: {name}", script, {"local.sh": GIVES}, None) for name, script in READS.items()),
    placed("function by a loop", LOOP, {"hooks.d/2.sh": DIFF}, RUNNER),
    placed("work by a loop", LOOP, {"hooks.d/2.sh": "add() { echo 1; }\n"}, None),
    placed("function that no script reads", LOOP, {"lib/2.sh": DIFF}, None),
    placed("function by a recipe", f"{TEST}@[ -f .env.sh ] && . ./.env.sh; ", {".env.sh": DIFF}, RUNNER, "Makefile"),
    Placed("function by a command", "sh -c .\t./local.sh;\tdiff\ta\tb", {}, {"local.sh": DIFF}, RUNNER),
    *(
        Placed(f"run by {name}", "make test", {"Makefile": f"{TEST}{line}\n", **A}, {path: "exit 0\n"}, found)
        for name, line, path, found in [
            ("a loop", "for f in checks.d/*.sh; do sh $$f || exit 1; done", "checks.d/10-a.sh", CHANGED),
            ("a loop of Python", "for f in checks/*.py; do python3 -B $$f || exit 1; done", "checks/a.py", CHANGED),
            ("itself", "for f in ./checks/*; do ./$$f; done", "checks/a.py", CHANGED),
            ("run-parts", "run-parts --exit-on-error checks.d", "checks.d/10-a.sh", CHANGED),
            ("nobody", "for f in checks/*.py; do ruff check $$f; done", "checks/a.py", None),
            ("a loop over the work", "for f in examples/*.py; do python3 $$f; done", "examples/a.py", None),
        ]
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_what_a_script_reads_or_runs_by_a_pattern(case: Placed) -> None:
    assert case.is_right, case.undone()


@pytest.mark.parametrize(
    "text",
    [
        "test () {\n  true\n}",
        "function [ { :; }",
        "x=1; grep() { :; }",
        "if true; then cmp() { :; }; fi",
        "alias diff=true",
        "set +e",
        "set -u +eo pipefail; set +eu",
        "trap 'exit 0' EXIT",
        "echo all good; exit",
        "exit 0 # done",
        "enable -n test",
        "export PATH=$PWD/bin:$PATH",
        "hash -p /bin/true diff",
        "exec echo fine",
        "set +o errexit",
        "set -u +e",
        "ok=0; exit $ok",
        "exit 00",
        "exit 256",
        "case x in x) exit;; esac",
        'eval "$(echo exit)"',
        'ex"it" 0',
        "ex\\it 0",
        "builtin exit $ok",
        "A=1 exec true",
        "if exec true; then :; fi",
        ". ./evil.txt",
        "source evil.txt",
        "$END 0",
        'x=1; "$END" 0',
        "end() {\n  exit $1\n}\nlast() { end 0; }\nlast",
        "trap 'exit $ok' EXIT",
    ],
)
def test_what_a_file_takes_over(text: str) -> None:
    assert sourced.takes_over(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "PORT=1\nexport NAME='x'",
        "add() {\n  local a=$1\n  diff a b || return 1\n}",
        "# set +e\nset -euo pipefail",
        "die() { echo no >&2; exit 1; }",
        "test -f x && grep -q x y",
        "my-diff() { :; }",
        "die() {\n  echo no >&2\n  exit ${2:-1}\n}\nadd() { die x; }\nPORT=1",
        "end() { exit $1; }\nrun() {\n  exec $1\n}\nload() { . ./more.sh; }",
        "test -n a || exit 1\nexec 3>&1",
        "# what is there: exit; source it; . more",
        "NAME=$(hostname) # the exit\nDIR=${HOME}/x\nexit_code=3; execute=1; set -o pipefail",
        "trap 'rm -rf a' EXIT",
        'ALL=($HOME/a) MORE=("$HOME/b")',
        "echo $HOME; echo '. ./a'",
        "\xff",
    ],
)
def test_what_a_file_gives(text: str) -> None:
    assert not sourced.takes_over(text.encode("latin-1"))


def test_places_of_what_is_read_are_those_of_the_script_and_the_top() -> None:
    assert mentions.sources("ci/run.sh", "for h in a/*.sh b; do . $h; done; . ./x.sh") == {
        *("a/*.sh", "ci/a/*.sh", "x.sh", "ci/x.sh")
    }
