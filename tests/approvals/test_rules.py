from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.approvals.rules import OUTWARD, Decision, Rules

RULES = Rules(
    allow=["read(*)", "write(src/*)", "shell(pytest *)", "shell(git *)", "shell(ls *)"],
    ask=["shell(git push *)", "host(*)"],
    deny=["shell(rm -rf /*)", "read(secrets/*)", "write(src/frozen/*)"],
    workspace="/work",
)


def shell(line: str | list[str], rules: Rules = RULES) -> Decision:
    return rules.decide("shell", {"command": line})


@pytest.mark.parametrize(
    ("tool", "path", "decision"),
    [
        ("read", "src/a.py", "allow"), ("read", "", "allow"), ("write", "src/a.py", "allow"),
        ("edit", "src/a.py", "allow"), ("write", "/work/src/a.py", "allow"), ("write", "./src//a.py", "allow"),
        ("write", "setup.py", "ask"), ("write", "/src/a.py", "ask"), ("write", "src/../setup.py", "ask"),
        ("write", "src/x/../frozen/a", "deny"), ("write", "/work/src/frozen/a", "deny"),
        ("read", "secrets/key", "deny"), ("read", "src/../secrets/key", "deny"), ("read", "/work/secrets/key", "deny"),
        ("unheard_of", "x", "ask"), ("Write", "src/a.py", "ask"),
    ],
)  # fmt: skip
def test_a_path_is_judged_as_what_it_really_is(tool: str, path: str, decision: str) -> None:
    assert RULES.decide(tool, {"path": path}) == decision


@pytest.mark.parametrize(
    ("given", "decision"),
    [
        ({"file_path": "src/a.py", "content": "rm -rf /etc"}, "allow"),
        ({"changes": [{"path": "src/a.py", "diff": "x"}, {"path": "src/b.py", "diff": "x"}]}, "allow"),
        ({"changes": [{"path": "src/a.py"}, {"path": "/etc/passwd"}]}, "ask"),
        ({"changes": [{"path": "src/a.py", "kind": {"type": "update", "move_path": "src/frozen/a"}}]}, "deny"),
        ({"changes": {"src/a.py": {"type": "add"}, "src/frozen/b": {"type": "add"}}}, "deny"),
        ({"paths": ["src/a.py", "b.py"]}, "ask"),
        ({"path": "src/a.py", "paths": ["src/b.py"]}, "allow"),
        ({"patch": "*** Begin Patch\n*** Update File: src/a.py\n*** Move to: setup.py\n*** End Patch"}, "ask"),
        ({"patch": "*** Begin Patch\n*** Add File: src/a.py\n+x\n*** End Patch"}, "allow"),
        ({"diff": "--- a/src/a.py\n+++ b/src/frozen/a.py\n@@\n"}, "deny"),
        ({"patch": "*** Add File: src/a\n+x\n*** Add File:setup.py\n+x"}, "ask"),
        ({"patch": "*** Add File: src/a\n+x\n  *** Delete File: src/frozen/a"}, "deny"),
        ({"include": ["src/a.py", "src/frozen/a"]}, "deny"), ({"dir_path": "src/frozen/a"}, "deny"),
        ({"paths": ["src/" + "a" * 999] * 99}, "allow"), ({"paths": [f"src/{n}" * 99 for n in range(999)]}, "ask"),
        ({"paths": ["src/a.py", "…"]}, "ask"),
        ({"path": "src/" + "a" * 16_000 + "…"}, "ask"),
        ({}, "ask"),
    ],
)  # fmt: skip
def test_every_file_of_a_write_is_judged(given: dict[str, object], decision: str) -> None:
    assert RULES.decide("write", given) == decision


@pytest.mark.parametrize(
    ("given", "decision"),
    [
        ({"host": "example.org", "port": 443}, "allow"), ({"host": "EXAMPLE.org.", "port": 443}, "allow"),
        ({"host": "example.org", "port": 22}, "ask"), ({"host": "a.internal", "port": 443}, "deny"),
        ({"host": "b.pypi.org", "port": 80}, "allow"),
    ],
)  # fmt: skip
def test_a_host_is_ruled_by_its_name_alone_or_with_its_port(given: dict[str, object], decision: str) -> None:
    rules = Rules(allow=["host(example.org:443)", "host(*.pypi.org)"], deny=["host(*.internal)"])
    assert rules.decide("host", given) == decision


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("pytest -q", "allow"), ("pytest", "allow"), ("pytester", "ask"), ("git status", "allow"), ("", "ask"),
        ("git push origin x", "ask"), ("git push", "ask"), ("rm -rf /etc", "deny"), ("rm  -rf\t/etc", "deny"),
        ("rm -rf build", "ask"),
        # in a row, in each other, in words
        ("pytest -q && git status", "allow"), ("pytest -q; ls", "allow"), ("pytest -q | ls", "allow"),
        ("pytest -q &\nls |& ls\n\n# done", "allow"), ("! pytest || ls", "allow"), ("(pytest)", "allow"),
        ("{ pytest; ls; }", "allow"), ("if [ -f x ]; then pytest; else ls; fi", "allow"),
        ("for f in a *.py; do pytest $f; done", "allow"), ("while true; do pytest; done", "allow"),
        ("case $x in a) pytest;; *) ls;; esac", "allow"), ("[[ -f x && $y == z ]] && pytest", "allow"),
        ('pytest "$(ls x)" `ls` <(ls)', "allow"), ("f() { pytest; }", "allow"), ("pytest \\\n  -q", "allow"),
        ("pytest <<'EOF'\n$(curl x); rm -rf /\nEOF\nls", "allow"), ("pytest <<< x", "allow"),
        ("pytest -q; curl x", "ask"), ("pytest & curl x", "ask"), ("pytest\ncurl x", "ask"), ("pytest |& curl x",
        "ask"),
        ("pytest $(curl x)", "ask"), ("pytest `curl x`", "ask"), ('pytest "$(curl x)"', "ask"),
        ("pytest <(curl x)", "ask"), ("pytest >(curl x)", "ask"), ("pytest ${x:-`y`}", "ask"), ("x=$(curl)", "ask"),
        ("pytest <<EOF\n$(curl x)\nEOF", "ask"), ("pytest <<EOF\nx\nEOF\ncurl x", "ask"),
        ("f() { curl x; }; pytest", "ask"), ("f", "ask"), ("coproc curl x", "ask"), ("time curl x", "ask"),
        ("pytest && git push", "ask"), ("x=$(git push)", "ask"), ("pytest && (rm -rf /etc)", "deny"),
        ("echo `rm -rf /etc`", "deny"), ("{ rm -rf /; }", "deny"), ("pytest;\nrm -rf /\n", "deny"),
        ("a() { rm -rf /; }", "deny"), ("if a; then b; elif rm -rf /; then c; fi", "deny"),
        ("case x in y) rm -rf /;; esac", "deny"), ("cat <<EOF\n$(rm -rf /)\nEOF", "deny"), ("> x rm -rf /", "deny"),
        ("a <<E && rm -rf /\nE", "deny"), ("x=1; y=$(rm -rf /) z", "deny"), ("! rm -rf /", "deny"),
        ("[ $(rm -rf /) ]", "deny"), ("echo $((`rm -rf /`))", "deny"), ("echo ${x:=$(rm -rf /)}", "deny"),
        # quoted, escaped, spelt otherwise
        ("pytest -k 'a|b; c'", "allow"), ('pytest -k "a && b $x"', "allow"), (r"pytest -k a\;b", "allow"),
        ('"pytest" -q', "allow"), (r"py\test", "allow"), ("p''ytest", "allow"), (r"$'pytest' -q", "allow"),
        ("pytest ~/x ${x} ${y:-z} ${#x} $1 \"$@\"", "allow"), ("/usr/bin/pytest", "allow"), ("/bin/ls x", "allow"),
        ("pytest 'unclosed", "ask"), ("pytest \\", "ask"), (r"pytest $'\''; curl x #'", "ask"),
        ("pytest # it's\ncurl x #'", "ask"), ('pytest $"a"', "ask"), ("py\\\ntest", "ask"), ("a\\\nb", "ask"),
        ("./pytest", "ask"), ("/tmp/pytest", "ask"), ("/opt/bin/pytest", "ask"), ("'pytest -q'", "ask"),
        ("pytest\r\ncurl", "ask"), ("pytest ${x@P}", "ask"), ("pytest $((x))", "ask"), ("pytest ${!x}", "ask"),
        ("pytest ${x[`ls`]}", "ask"), ("pytest\0", "ask"), ("pytest )", "ask"), ("if pytest", "ask"),
        ("'rm' -rf /", "deny"), ("r''m \"-rf\" /", "deny"), (r"\rm -rf /", "deny"), (r"$'\x72\155' -rf /", "deny"),
        ("/bin/rm -rf /", "deny"), ("./rm -rf /", "deny"), ("rm -rf /$x", "deny"), ("rm -rf \"/\"*", "deny"),
        ("rm -rf /{etc,usr}", "deny"), ("'rm -rf /", "deny"), ("r'm' -rf / )", "deny"),
        ("echo `echo \\`rm -rf /\\``", "deny"), ("rm \\\n-rf /", "deny"),
        ("git -C x push", "ask"), ("git --no-pager push", "ask"), ("/usr/bin/git push", "ask"), ("git $x", "ask"),
        ("git -c alias.x=push x", "ask"), ("git unheard-of", "ask"), ("git -c alias.x='!rm -rf /' x", "deny"),
        ("git submodule foreach 'rm -rf /'", "deny"), ("git rebase -x 'rm -rf /' main", "deny"),
        # known only to a running shell
        ("$x -rf /", "ask"), ("rm -rf $x", "ask"), ("r$x -rf /", "ask"), ("{rm,-rf,/}", "ask"), ("r? -rf /", "ask"),
        ("$(ls)", "ask"), ("\"$@\"", "ask"), ("x=pytest; $x", "ask"),
        # variables
        ("CI=1 LC_ALL=C x=2 pytest", "allow"), ("x=1; pytest", "allow"), ("PATH=. pytest", "ask"),
        ("LD_PRELOAD=./x.so pytest", "ask"), ("export PATH=.; pytest", "ask"), ("PATH=.", "ask"),
        ("for PATH in .; do ls; done", "ask"), ("npm_config_shell=x pytest", "ask"),
        ("X=1 rm -rf /", "deny"), ("X=$(rm -rf /) ls", "deny"), ("a=(b $(rm -rf /))", "deny"),
        # redirections
        ("pytest -q >/dev/null 2>&1", "allow"), ("pytest -q 2>&1 | ls", "allow"), ("pytest > src/x", "allow"),
        ("pytest >> src/x 2>&1 < y", "allow"), ("pytest &> /work/src/x", "allow"), ("> src/x", "allow"),
        ("ls | git >/dev/null push", "ask"), ("ls && ! git 2>&1 push", "ask"),
        ("ls | rm >/dev/null -rf /", "deny"), ("(ls) >/dev/null push", "ask"), ("ls | pytest </dev/null -q", "allow"),
        ("pytest <<<$(ls)\\%${#x}", "ask"), ("pytest 2>&1x", "ask"), ("pytest >& -x", "ask"),
        ("pytest &> src/y ls", "ask"), ("pytest &> src/y > src/z ls", "ask"), ("git >/dev/null push", "ask"),
        ("git 2>&1 <<< x push", "ask"), ("> src/x git </dev/null push", "ask"), ("timeout 3 </dev/null curl x", "ask"),
        ("git <<E push\nE", "ask"), ("git <<E >src/x push\nE", "ask"), ("git >& src/y push", "ask"),
        ("pytest </dev/null -q", "allow"), ("rm >/dev/null -rf </dev/null /", "deny"),
        ("pytest > /etc/x", "ask"), ("pytest > x", "ask"), ("pytest > src/../x", "ask"), ('pytest > "$x"', "ask"),
        ("pytest >| x", "ask"), ("pytest >& x", "ask"), ("pytest <> x", "ask"), ("pytest > src/$x", "ask"),
        ("cd / && pytest > src/x", "ask"),
        ("for i in 1 2; do pytest > src/x; command cd /; done", "ask"), ("pytest < /dev/tcp/example.org/80", "ask"),
        ("pytest > src/frozen/x", "deny"), ("ls < secrets/key", "deny"),
        # programs that run others
        ("timeout 5 pytest -q", "allow"), ("timeout -k 3 5 nice -n 2 env -u A CI=1 pytest", "allow"),
        ("bash -lc 'pytest -q && ls'", "allow"), ("sh -c \"pytest -k 'a b'\"", "allow"), ("eval pytest -q", "allow"),
        ("exec pytest", "allow"), ("command pytest", "allow"), ("time -p pytest", "allow"),
        ("env PATH=. pytest", "ask"), ("env -S 'pytest' x", "ask"), ("timeout $x pytest", "ask"), ("env $x ls", "ask"),
        ("sudo pytest", "ask"), ("ls | xargs pytest", "ask"), ("find . -name x", "ask"), ("pytest | sh", "ask"),
        ("bash -c \"$x\"", "ask"), ("bash -c pytest --rcfile x", "allow"), ("bash --rcfile x -c pytest", "ask"),
        ("zsh -c pytest", "ask"), ("eval $x", "ask"), ("source x", "ask"), (". x", "ask"), ("python -c 'x'", "ask"),
        ("alias ls=x; ls", "ask"), ("trap x EXIT; ls", "ask"), ("hash -p x ls; ls", "ask"), ("shopt -s x; ls", "ask"),
        ("sh -c 'a; rm -rf /'", "deny"), ("bash -lc \"bash -c 'rm -rf /'\"", "deny"), ("eval 'rm -rf /'", "deny"),
        ("eval rm -rf /", "deny"), ("env -i A=b rm -rf /", "deny"), ("env -u rm rm -rf /", "deny"),
        ("sudo -u root /bin/rm -rf /", "deny"), ("nohup nice rm -rf /", "deny"),
        ("nice -n 1 X=1 sh -c 'rm -rf /'", "deny"),
        ("timeout 1 rm -rf /", "deny"),
        ("exec rm -rf /", "deny"), ("command rm -rf /", "deny"), ("builtin rm -rf /", "deny"), ("time rm -rf /",
        "deny"),
        ("xargs rm -rf /", "deny"), ("xargs -I x rm -rf / x", "deny"), ("find . -exec rm -rf / {} +", "deny"),
        (r"find . -name x -o -execdir rm -rf / \;", "deny"), ("ssh host rm -rf /", "deny"), ("ssh h 'ls; rm -rf /'",
        "deny"),
        ("watch -n 1 'rm -rf /'", "deny"), ("parallel rm -rf / ::: a", "deny"), ("busybox rm -rf /", "deny"),
        ("coproc rm -rf /", "deny"), ("trap 'rm -rf /' EXIT", "deny"), ("alias ls='rm -rf /'; ls", "deny"),
        ("su -c 'rm -rf /'", "deny"), ("docker run x rm -rf /", "deny"), ("uv run rm -rf /", "deny"),
        ("python -c \"import os; os.system('rm -rf /')\"", "deny"), ("env -S 'rm -rf /'", "deny"),
        ("echo 'rm -rf /' | sh", "deny"), ("sh <<E\nrm -rf /\nE", "deny"), ("perl -e 'exec \"rm -rf /\"'", "deny"),
        ("sudo --unheard-of rm -rf /", "deny"), ("strace -f rm -rf /", "deny"), ("flock x rm -rf /", "deny"),
    ],
)  # fmt: skip
def test_a_shell_line_is_judged_by_each_of_its_commands(line: str, decision: str) -> None:
    assert shell(line) == decision


@pytest.mark.parametrize(
    ("words", "decision"),
    [
        (["pytest", "-q"], "allow"), (["/bin/bash", "-lc", "pytest -q && ls"], "allow"), (["pytest",
        "; curl x"], "allow"),
        (["/bin/bash", "-lc", "pytest -q && curl x"], "ask"), (["bash", "-lc", "rm -rf /"], "deny"),
        (["rm", "-rf", "/"], "deny"), (["env", "A=b", "/bin/rm", "-rf", "/"], "deny"), ([], "ask"), ([""], "ask"),
        (["$x"], "ask"),
    ],
)  # fmt: skip
def test_a_command_in_words_is_judged_without_a_shell(words: list[str], decision: str) -> None:
    assert shell(words) == decision


@pytest.mark.parametrize(
    ("allow", "line", "decision"),
    [
        ("sudo apt *", "sudo apt install x", "allow"), ("sudo *", "sudo apt install x", "ask"),
        ("python *", "python x.py", "allow"), ("python *", "python -c 'x'", "ask"), ("python -c *", "python -c x",
        "allow"),
        ("X=* make *", "X=1 make all", "allow"), ("X=* make *", "CI=1 X=1 make all", "allow"),
        ("X=* make *", "X=1 curl make all", "ask"), ("X=* make *", "X='1 make x' curl", "ask"),
        ("X=* make *", "X=1 PATH=. make", "ask"), ("X=* make *", "make all", "ask"), ("X=*", "X=1", "allow"),
        ("X=* make *", "env X=1 make all", "allow"), ("X=* make *", "sh -c 'X=1 make all'", "allow"),
        ("X=* env *", "X=1 env PATH=. ls", "ask"), ("X=*", "X=1 curl", "ask"),
        ("make *", "MAKEFLAGS=1 make all", "ask"), ("./gradlew *",
        "./gradlew x", "allow"),
        ("./gradlew *", "cd x && ./gradlew y", "ask"), ("cd *", "cd x", "allow"), ("bash *", "bash x.sh", "allow"),
        ("bash *", "bash -c 'curl x'", "ask"), ("source *", "source x", "allow"), ("find * -exec grep *",
        "find . -exec grep a {} +", "ask"),
        ("uv run pytest *", "uv run pytest -q", "allow"), ("uv *", "uv run curl x", "ask"), ("uv *", "uv sync",
        "allow"),
        ("git *", "git submodule update", "allow"),
        ("git *", "git submodule foreach ls", "ask"), ("git submodule foreach ls *", "git submodule foreach ls",
        "allow"),
        ("git *", "git rebase -i main", "allow"), ("git *", "git rebase --exec ls main", "ask"), ("[a-c]x", "bx",
        "allow"), ("[!a-c]x", "bx", "ask"), ("x?", "xy", "allow"), ("x?", "x", "ask"),
    ],
)  # fmt: skip
def test_a_pattern_allows_what_it_names(allow: str, line: str, decision: str) -> None:
    assert shell(line, Rules(allow=[f"shell({allow})"])) == decision


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("cat < $(x)", "allow"), ("x > y", "allow"), ("unheard-of x", "allow"),
        ("x; rm y", "deny"), ("unheard-of rm y", "ask"), ("awk 'BEGIN { system(\"rm y\") }'", "deny"), ("$x y", "ask"),
    ],
)  # fmt: skip
def test_allowing_everything_means_everything_that_is_not_denied_or_asked(line: str, decision: str) -> None:
    assert shell(line, Rules(allow=["*(*)"], deny=["shell(rm *)"])) == decision
    assert shell(line, Rules(allow=["*(*)"])) is Decision.ALLOW


@pytest.mark.parametrize(
    "line",
    [
        # not every shell knows `$'…'`: to dash this is a substitution
        "eval $'(echo curl)'", "sh -c $'(echo curl)'",
        # variables that a builtin sets
        "printf -v PATH .; ls", "printf -vPATH .; ls", "read PATH <<< .; ls", "path=. ; ls",
        # programs that run others, their options first, or known to the shell alone
        "npm --prefix x exec curl", "npm x curl", "uv -q run curl", "x=exec; npm $x curl", "find . $x curl {} +",
        # code in an argument or on stdin
        "python -W ignore -c x", "python -c'x'", "perl -I x -e y", "perl -Mx=y z", "node -r x -e y", "python *.py",
        "echo x | python", "python -", "python -u <<E\nx\nE", "git -c core.pager=curl log", "git grep -Ocurl x",
        "git clone -u curl x", "git fetch --upload-pack=curl", "git fetch 'ext::curl'", "git archive --exec=curl x",
    ],
)  # fmt: skip
def test_what_can_run_another_program_is_not_allowed_with_the_program_that_runs_it(line: str) -> None:
    names = ["ls", "echo", "printf", "read", "npm", "uv", "find", "python", "perl", "node", "git"]
    assert shell(line, Rules(allow=[f"shell({name} *)" for name in names])) is Decision.ASK


@pytest.mark.parametrize(
    "line",
    ["python --version", "python -m pytest -q", "python x.py -c y", "uv run ls", "git fetch --prune", "git log -c",
     "printf '%s' x", "read -r line", "npm install exec", "find . -name '*.py'"],
)  # fmt: skip
def test_what_runs_nothing_else_is_allowed_with_its_program(line: str) -> None:
    names = ["ls", "printf", "read", "npm", "uv", "find", "python", "git"]
    assert shell(line, Rules(allow=[f"shell({name} *)" for name in names])) is Decision.ALLOW


WAYS = [
    "sed -n '1,5p' x", "sed -E 's/a/b/g; /x[ab]y/d' x", "sed -i.bak -e 's|a|b|' -e '$!N' x", "sed -n '/a/,/b/{p;q}' x",
    "sed 'y/abc/xyz/;a text' x", "awk '{ print $2 }' x", "awk -F: -v n=3 '$1 == n || $2 > n { print }' x",
    "tar -czf x.tgz src", "tar xf x --strip-components=1", "tar --totals -tf x", "make -j4 V=1 -C sub all",
    "rsync -a x y", "sort -k2 x", "rg -n x", "go test ./...", "cargo test", "npm test", "cmake --build x",
    "gcc -Wall -o x x.c", "git config --get user.name", "git config --global --list", "git config user.name",
    "git -C x log --oneline", "git init x", "git remote add x https://example.org/x", "git add *.py", "zip -r x y",
]  # fmt: skip
RUNNING = [
    "sed 1e x", "sed '1e curl x' x", "sed 's/a/b/e' x", "sed 's/a/b/gew f' x", "sed 's/a/b/w f' x", "sed -n 'w f' x",
    "sed -f x y", "sed --file=x y", "sed -e p -e '1e curl' x", "sed -ne '1!{p;e curl' x", "sed p x -e 'e curl'",
    "sed 's,a,b,;e' x", "sed $'p\ne curl' x", "sed \"$x\" y", "sed -n p *.py", "sed 's/[/]/e/;s/]/x/e' y",
    "sed 's/a\\\\/b/e curl/' x", "sed 'a\\\ne curl' x", "sed ':a;ta;e curl' x",
    "awk 'BEGIN { system(\"x\") }'", "awk '{ print | \"x\" }' y", "awk '\"x\" | getline' y", "awk '{ print > $1 }' x",
    "awk '{ print \"}\" > $1 }' x",
    "awk -f x y", "gawk -i x '{ print }' y", "gawk '@load \"x\"' y", "mawk -W exec x", "awk \"$x\" y",
    "tar --to-command=x -xf y", "tar xf y --checkpoint-action=exec=x", "tar -I x -cf y z", "tar cIf x y z",
    "tar --use-c x -cf y z", "tar -cf host:x y", "tar -xf y -T x", "tar czf x.tgz *", "tar -F x -cf y z",
    "make SHELL=./x", "make CC=x all", "make 'V=$(shell x)'", "make --eval=x", "make -f x", "make -sf x", "make A!=x",
    "rsync -e x a b", "rsync -ave x a b", "sort --compress-program=x y", "split --filter=x y", "rg --pre x y",
    "zip x y -TT z", "go test -exec x ./...", "cargo --config x test", "npm --script-shell x test", "cmake -P x",
    "gcc -wrapper x,y z.c", "scp -S x a b:c", "man -P x y", "less +!x y", "socat - EXEC:x",
    "sqlite3 x '.shell y'", "sqlite3 x $'select 1;\\n.shell y'", "psql -c '\\! x'",
    "git config alias.x '!curl'", "git config core.pager curl", "git config --global -e", "git config --unset a.b",
    "git config --get x y --add z", "git -c core.pager=x log", "git --config-env=a.b=C log", "git --exec-path=x log",
    "git unheard-of", "git clone 'ext::sh -c x'", "git remote add x 'ext::x'", "git clone --template=x y",
    "git init --template x", "git mergetool", "git difftool -x y", "git maintenance start", "git fetch --upload-pack x",
]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "decision"), [*((line, "allow") for line in WAYS), *((one, "ask") for one in RUNNING)]
)
def test_an_allowed_program_that_is_told_to_run_another_is_asked(line: str, decision: str) -> None:
    assert shell(line, Rules(allow=[f"shell({line.split(maxsplit=1)[0]} *)"])) == decision


def test_a_pattern_may_name_the_way() -> None:
    assert shell("make CC=gcc all", Rules(allow=["shell(make CC=gcc *)"])) is Decision.ALLOW
    assert shell("git config a.b c", Rules(allow=["shell(git config *)"])) is Decision.ALLOW
    assert shell("git lfs pull", Rules(allow=["shell(git lfs *)"])) is Decision.ALLOW
    assert shell("tar --to-command=rm -xf x", Rules(allow=["shell(tar *)"], deny=["shell(rm *)"])) is Decision.DENY


@pytest.mark.parametrize(
    ("beside", "decision"),
    [
        ({"env": {"PATH": "/tmp/x"}}, "ask"), ({"env": {"LANG": "C", "CI": 1}}, "allow"), ({"env": {}}, "allow"),
        ({"env": ["LD_PRELOAD=x"]}, "ask"), ({"environment": [{"name": "BASH_ENV", "value": "x"}]}, "ask"),
        ({"envs": [{"name": "CI", "value": "1"}]}, "allow"), ({"env": "PATH=x"}, "ask"), ({"env": [3]}, "ask"),
        ({"env": {"GIT_SSH_COMMAND": "x"}}, "ask"), ({"env": {"PYTHONPATH": "src"}}, "allow"),
        ({"env": {"PYTHONPATH": "src", "X": "1"}}, "ask"), ({"env": {"SECRET": "1"}}, "deny"),
        ({"shell": "/tmp/sh"}, "ask"), ({"shell": False}, "allow"), ({"stdin": "x"}, "ask"), ({"env": None}, "allow"),
    ],
)  # fmt: skip
def test_variables_beside_a_command_are_judged_as_if_they_stood_before_it(
    beside: dict[str, object], decision: str
) -> None:
    rules = Rules(allow=["shell(ls *)", "shell(PYTHONPATH=* ls *)"], deny=["shell(SECRET=* *)"])
    for line in ("ls x", ["ls", "x"], "ls; ls x"):
        assert rules.decide("shell", {"command": line, **beside}) == decision
    assert rules.decide("shell", {"command": "bash -c ls", **beside}) in (decision, "ask")


def test_what_only_could_be_denied_is_asked() -> None:
    for line in ("python $x", 'node "$f"', 'python -c "$x"', 'git submodule foreach "echo $x"'):
        assert shell(line) is Decision.ASK


def test_a_line_of_which_a_part_was_left_out_is_asked() -> None:
    assert shell("pytest " + "x" * 16_000 + "…") is Decision.ASK
    assert shell(["pytest", "x", "…"]) is Decision.ASK


def test_a_line_that_runs_elsewhere_has_no_known_paths() -> None:
    given = {"command": "pytest > src/x", "cwd": "/work"}
    assert RULES.decide("shell", given) is Decision.ALLOW
    for elsewhere in ({"cwd": "/etc"}, {"cwd": "/"}, {"dir_path": "../etc"}):
        assert RULES.decide("shell", {**given, **elsewhere}) is Decision.ASK


def test_a_link_is_judged_by_where_it_leads_too(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/in").symlink_to("deep")
    (tmp_path / "src/out").symlink_to("../secrets")
    (tmp_path / "src/far").symlink_to("/etc")
    allow, deny = ["write(src/*)", "shell(ls *)"], ["write(secrets/*)"]
    rules = Rules(allow, [], deny, str(tmp_path.resolve()), os.path.realpath)
    found = {path: rules.decide("write", {"path": f"src/{path}"}) for path in ("in/a", "out/a", "far/a", "far/../a")}
    assert found == {"in/a": "allow", "out/a": "deny", "far/a": "ask", "far/../a": "ask"}
    assert [shell(f"ls > src/{path}/x", rules) for path in ("in", "out", "far")] == ["allow", "deny", "ask"]


def test_a_fetch_is_judged_by_its_address_whatever_else_stands_beside_it() -> None:
    rules = Rules(allow=["fetch(https://docs.example/*)"], deny=["fetch(*evil*)"])
    assert rules.decide("fetch", {"url": "https://evil.example", "path": "https://docs.example/x"}) is Decision.DENY


def test_without_rules_everything_is_asked() -> None:
    assert Rules().decide("read", {"path": "x"}) is Decision.ASK


def test_outward_acts_that_nothing_gates_are_named() -> None:
    assert RULES.ungated() == ()
    everything = Rules(allow=["*(*)"], ask=["host(*)"]).ungated()
    assert everything == tuple(f"shell({act['command']})" for tool, act in OUTWARD if tool == "shell")


@pytest.mark.parametrize("text", ["", "shell", "shell()", "shell(x", "sh ell(x)", "(x)"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"tool\(glob\)"):
        Rules(allow=[text])


@pytest.mark.parametrize(
    "line",
    [
        "pytest " + "x" * 200_000, "(" * 5_000 + "pytest" + ")" * 5_000, "$(" * 5_000, "pytest;" * 20_000,
        "`" * 9_999, "{ " * 9_000, "if " * 9_000, "<<a " * 4_000, "sh -c " + "'" * 30_001, '"$(' * 3_000,
        "pytest " * 9_000, "bash -c " * 3_000, "env " * 10_000, "((" * 9_000, "a=(" * 9_000, "${x:-" * 6_000,
        "\\\n" * 9_000, "a|" * 2_000, "echo " + "{," * 9_000 + "'y'", "echo a" + "{..'y'" * 5_000,
        "echo 'y'" + "{" * 30_000, "find " + "-exec a " * 5_000,
        "sed '" + "s/[a]/b/;" * 7_000 + "e'", "sed '" + "/" * 60_000 + "'", "sed 's/" + "[a" * 30_000 + "'",
        "awk '" + "print" * 12_000 + "|'", "sed '" + "1,2!" * 15_000 + "'", "sed '" + "/a/ " * 15_000 + "e'",
    ],
    ids=lambda line: line[:8],
)  # fmt: skip
def test_a_line_beyond_all_measure_is_asked_and_soon(line: str) -> None:
    assert shell(line) is Decision.ASK
    assert shell(f"rm -rf /; {line}") is not Decision.ALLOW


# --- what must hold for every line ---------------------------------------------------------------

AROUND = [
    "{}", "{} ", " {}", "pytest; {}", "pytest && {}", "pytest || {}", "{} | ls", "ls | {}", "{} &", "pytest\n{}",
    "({})",
    "{{ {}; }}", "! {}", "echo $({})", "echo `{}`", 'echo "$({})"', "cat <({})", "ls > >({})", "if {}; then ls; fi",
    "if ls; then {}; fi", "while {}; do ls; done", "for i in a; do {}; done", "for i in $({}); do ls; done",
    "case a in a) {};; esac", "f() {{ {}; }}; f", "x=$({})", "x=$({}) ls", "X=1 {}", "CI=1 {}", "> src/x {}",
    "{} > src/x",
    "2>&1 {}", "env {}", "env -i A=b {}", "sudo {}", "nice -n 1 {}", "timeout 3 {}", "nohup {}", "time {}", "exec {}",
    "command {}", "builtin {}", "xargs {}", "find . -exec {} ;", "find . -exec {} \\;", "stdbuf -oL {}", "setsid {}",
    "cat <<E\n$({})\nE", "cat <<E\nx\nE\n{}", "pytest <<'E'\nx\nE\n{}", "ls # it's\n{}", "ls 'a\nb'\n{}", "ls \\\n; {}",
    "[ -n \"$({})\" ]", "[[ -n $({}) ]]", "echo ${{x:-$({})}}", "echo $(( $({}) ))", "pytest $'\\''; {}", "coproc {}",
    "watch {}", "ssh host {}", "git submodule foreach {}", "pytest; {}; ls", "function g {{ {}; }}",
    "until {}; do ls; done",
]  # fmt: skip
GIVEN = ["sh -c {}", "bash -lc {}", "/bin/sh -ec {}", "eval {}", "sudo sh -c {}", "watch {}", "ssh host {}",
"trap {} EXIT",
         "env sh -c {}", "xargs sh -c {}", "find . -exec sh -c {} ;", "su -c {}", "git rebase -x {}"]  # fmt: skip


def quoted(line: str) -> str:
    return "'" + line.replace("'", "'\\''") + "'"


def spelt(word: str, way: int) -> str:
    """The same word to a shell."""
    inside = max(1, len(word) // 2)
    ways = (word, f"'{word}'", f'"{word}"', f"{word[:inside]}''{word[inside:]}", f"\\{word}", f"$'{word}'",
            "$'" + "".join(f"\\x{ord(one):02x}" for one in word) + "'",
            f'{word[:inside]}"{word[inside:]}"')  # fmt: skip
    return ways[way % len(ways)]


@st.composite
def holding(draw: st.DrawFn, command: tuple[str, ...]) -> str:
    """A line that runs the command, somewhere."""
    words = [spelt(word, draw(st.integers(0, 7))) for word in command]
    if draw(st.booleans()):
        words[0] = draw(st.sampled_from(["/bin/", "./", "/usr/bin/"])) + words[0].removeprefix("\\")
    line = draw(st.sampled_from([" ", "  ", "\t", " >/dev/null ", " 2>&1 ", " </dev/null ", " <<< x "])).join(words)
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.integers(0, 3)):
            around = draw(st.sampled_from(AROUND))
            line = around.format(line)
        else:
            line = draw(st.sampled_from(GIVEN)).format(quoted(line))
    return line


@given(holding(("rm", "-rf", "/etc")))
@settings(max_examples=250)
def test_a_denied_command_is_never_allowed_wherever_it_stands(line: str) -> None:
    assert shell(line) is not Decision.ALLOW
    assert shell(line, Rules(allow=["shell(*)"], deny=["shell(rm -rf /*)"])) is not Decision.ALLOW


@given(holding(("curl", "x")))
@settings(max_examples=200)
def test_a_command_that_no_rule_allows_is_never_allowed_wherever_it_stands(line: str) -> None:
    assert shell(line) is not Decision.ALLOW


respelt = [
    "{}", " {} ", "{};", "({})", "{{ {}; }}", "{} && ls", "{} | ls -l", "ls; {}", "{} >/dev/null 2>&1", "CI=1 {}",
    "{}\n",
    "if {}; then ls; fi", "bash -lc '{}'", "timeout 5 {}", "nice {}", "{} # a word", "! {}", "true && {}", "exec {}",
]  # fmt: skip


@given(st.lists(st.integers(0, 5), min_size=3, max_size=3), st.sampled_from(respelt))
def test_an_allowed_line_stays_allowed_however_it_is_spelt(ways: list[int], around: str) -> None:
    line = " ".join(spelt(word, way) for word, way in zip(("pytest", "-q", "tests"), ways, strict=True))
    if around != "bash -lc '{}'" or "'" not in line:
        assert shell(around.format(line)) is Decision.ALLOW


tokens = [
    "a", " ", "'", '"', "$'\\''", '$"', " # '", "\ncurl x #'", ";curl x #'", "&curl ", "|curl ", "`curl`", "$(curl)",
    ")",
    "\\", ">", "#", "\n", "<<E", "\nE\n", "curl", "{", "}", "(", "$x", "=", "[", "pytest ", "-", "${x}", "\\\n", "*",
]  # fmt: skip


@given(st.lists(st.sampled_from(tokens), max_size=8).map("".join))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=400)
def test_a_real_shell_runs_nothing_else_for_a_line_that_was_allowed(tmp_path: Path, line: str) -> None:
    stubs = tmp_path / "stubs"
    for name in ("pytest", "curl"):
        stub = stubs / name
        if not stub.exists():
            stubs.mkdir(exist_ok=True)
            stub.write_text(f"#!/bin/sh\n: > {tmp_path}/ran-{name}\n")
            stub.chmod(0o755)
    for text in (line, f"pytest {line}"):
        if shell(text, Rules(allow=["shell(pytest *)"])) is Decision.ALLOW:
            for program in ("/bin/bash", "/bin/sh"):
                run = [program, "-c", text]
                subprocess.run(run, cwd=stubs, env={"PATH": str(stubs)}, capture_output=True, check=False)
                assert not (tmp_path / "ran-curl").exists(), text
                assert {one.name for one in stubs.iterdir()} == {"pytest", "curl"}, text


@given(st.text(max_size=20), st.dictionaries(st.text(max_size=8), st.text(max_size=80) | st.lists(st.text(max_size=9))))
def test_any_call_gets_an_answer(tool: str, given: dict[str, object]) -> None:
    assert RULES.decide(tool, given) in Decision
    assert RULES.decide("shell", {"command": next(iter(given.values()), "")}) in Decision


@pytest.mark.parametrize(
    "patch", ["--- a" + "\t" * 500_000 + "b", "*** " + " " * 500_000, "*** \n\n" * 200_000, "--- \n" * 200_000]
)
def test_a_patch_of_any_shape_is_judged_soon(patch: str) -> None:
    begun = time.process_time()
    assert RULES.decide("write", {"patch": patch}) is Decision.ASK
    assert time.process_time() - begun < 5
