"""Whatever a worker plants for the operator's next git is renamed before it; the canary of each fires unless it is."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from proctor.repository import planted
from proctor.repository.executed import executed, standing
from proctor.repository.layout import find
from proctor.repository.planted import Before, bare_repositories, look, quarantine
from proctor.repository.session import rest
from proctor.sandbox.survey import survey
from repository.conftest import bytes_of, git, new_repository, session


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """Exists once something planted was run."""
    return tmp_path / "fired"


@pytest.fixture
def top(tmp_path: Path) -> Path:
    place = new_repository(tmp_path / "work")
    (place / ".gitignore").write_text(".proctor/\n")
    git(place, "add", ".gitignore")
    git(place, "commit", "-qm", "Ignore")
    return place


def operate(top: Path) -> None:
    """What an operator does after a session, at the top and in every folder of the tree."""
    subprocess.run(["chmod", "-R", "u+rwX", top], check=True)
    (top / "part0").mkdir(exist_ok=True)
    (top / "part0" / "file0.txt").write_text("own\n")
    for words in (["status"], ["diff"], ["add", "-A"], ["commit", "-qm", "Mine"], ["status"], ["diff", "HEAD"]):
        git(top, *words, ok=False)
    for folder, folders, _ in os.walk(top):
        dull = {"objects", "refs", "hooks", "logs", "info"} | ({".git"} if folder == str(top) else set())
        folders[:] = [name for name in folders if name not in dull]
        git(Path(folder), "status", ok=False)


REPOSITORY_WITH = """
    git config --global user.name w; git config --global user.email w@x
    hostile() {{
        git init -q -b main "$1"; (cd "$1"; echo x > file; git add file; git commit -qm x; echo changed > file
        git config core.fsmonitor "touch {canary}; false")
    }}
"""

WAYS = {
    "a new nested repository with a monitor": REPOSITORY_WITH + "hostile lib",
    "a repository deep in the tree": REPOSITORY_WITH + "mkdir -p a/b/c; hostile a/b/c/d",
    "a repository in a repository": REPOSITORY_WITH + "hostile lib; hostile lib/deeper",
    "a repository in a folder that may not be read": REPOSITORY_WITH + "hostile locked/in; chmod 000 locked",
    "a filter in a nested repository": """
        git init -q lib; cd lib; echo x > file; git add file; git -c user.name=w -c user.email=w@x commit -qm x
        echo "* filter=evil" > .gitattributes; git config filter.evil.clean "touch {canary}; cat"; echo y > file
    """,
    "a file that names a planted repository": REPOSITORY_WITH
    + """
        hostile lib; mv lib/.git lib/store; echo "gitdir: store" > lib/.git
    """,
    "a link to a planted repository": REPOSITORY_WITH + "hostile lib; mv lib/.git lib/store; ln -s store lib/.git",
    "a commondir elsewhere in the tree": REPOSITORY_WITH
    + """
        hostile lib; mkdir lib/split; mv lib/.git lib/common; mv lib/common/HEAD lib/common/index lib/split
        echo ../common > lib/split/commondir; echo "gitdir: split" > lib/.git
    """,
    "a worktree that stands bare": REPOSITORY_WITH
    + """
        hostile lib; mv lib common; mkdir split; mv common/.git/HEAD common/.git/index split
        git config -f common/.git/config extensions.worktreeConfig true
        git config -f split/config.worktree core.worktree "$PWD/common"
        echo ../common/.git > split/commondir
    """,
    "a bare repository": REPOSITORY_WITH
    + """
        hostile lib; mv lib/.git bare; git config -f bare/config core.worktree "$PWD/lib"
    """,
    "a bare repository whose HEAD is a link": REPOSITORY_WITH
    + """
        hostile lib; mv lib/.git bare; git config -f bare/config core.worktree "$PWD/lib"
        rm bare/HEAD; ln -s refs/heads/main bare/HEAD
    """,
    "a repository in capitals, to stand in": REPOSITORY_WITH
    + """
        hostile lib; mv lib/.git lib/.GIT; git config -f lib/.GIT/config core.worktree "$PWD/lib"
    """,
    "a repository named like one that was renamed": REPOSITORY_WITH
    + """
        hostile lib; git config -f lib/.git/config core.worktree "$PWD/lib"; cp -r lib/.git lib/.git.quarantined
    """,
    "the session's own repository, at rest": REPOSITORY_WITH
    + """
        hostile lib; cp -r lib/.git .git/more; rm -rf lib
        for config in .git/config .git/more/config; do
            git config -f $config core.worktree "$PWD"; git config -f $config core.fsmonitor "touch {canary}; false"
        done
    """,
    "a nested repository with a submodule's store": REPOSITORY_WITH
    + """
        hostile lib; hostile other; mkdir -p lib/.git/modules; mv other lib/sub; mv lib/sub/.git lib/.git/modules/sub
        git config -f lib/.git/modules/sub/config core.worktree ../../../sub
        echo "gitdir: ../.git/modules/sub" > lib/sub/.git
    """,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_bare", [True, False], ids=["bare", "quarantined"])
def test_what_was_planted_is_not_run(top: Path, canary: Path, way: str, is_bare: bool) -> None:
    before = now(top)
    session(top, WAYS[way].format(canary=canary))
    if not is_bare:
        rest(top / ".proctor" / "session.git")
        quarantine(top, before)
    operate(top)
    assert canary.exists() == is_bare
    assert is_bare or quarantine(top, before) == ()


def now(top: Path) -> Before:
    nested = survey(top).repositories
    return look(top, nested, executed(find(top), nested), bare_repositories(top))


ORDERS = {
    "a hooks folder that is not there yet": (
        "git config core.hooksPath .hooks",
        "mkdir .hooks; plant .hooks/pre-commit",
    ),
    "a hooks folder": (
        "mkdir .hooks; echo 'exit 0' > .hooks/README; git config core.hooksPath .hooks",
        "plant .hooks/pre-commit",
    ),
    "a hook": ("mkdir .hooks; touch .hooks/pre-commit; git config core.hooksPath .hooks", "plant .hooks/pre-commit"),
    "a hook that is a link": (
        "mkdir tools; touch tools/check; chmod +x tools/check; ln -s ../../tools/check .git/hooks/pre-commit",
        "plant tools/check",
    ),
    "hooks that are a link to nothing": (
        "rm -rf .git/hooks; ln -s ../hooks .git/hooks",
        "mkdir hooks; plant hooks/pre-commit",
    ),
    "a filter that is a script": (
        "echo '*.txt filter=f' > .gitattributes; echo cat > clean; git config filter.f.clean 'sh ./clean'",
        "plant clean",
    ),
    "a filter's script that is not there yet": (
        "echo '*.txt filter=f' > .gitattributes; git config filter.f.clean 'sh tools/clean %f'",
        "mkdir tools; plant tools/clean",
    ),
    "a way to a script that is a link": (
        "mkdir one; echo cat > one/clean; ln -s one tools; echo '*.txt filter=f' > .gitattributes;"
        "git config filter.f.clean 'sh tools/clean'",
        "mkdir two; plant two/clean; ln -sfn two tools",
    ),
    "an included file": ("echo > more; git config include.path ../more", "git config -f more core.fsmonitor {touch}"),
    "an included file that is not there yet": (
        "git config includeIf.gitdir:/.path ../more",
        "git config -f more core.fsmonitor {touch}",
    ),
    "settings of the operator's own": ("git config --global core.fsmonitor ./watch", "plant watch"),
    "an external diff": ("git config diff.external ./differ", "plant differ"),
    "a text conversion": (
        "echo '*.txt diff=t' > .gitattributes; git config diff.t.textconv tools/text",
        "mkdir tools; plant tools/text",
    ),
    "a nested repository's file": (
        "git init -q --separate-git-dir lib.git lib; echo x > lib/x; git -C lib add x",
        "git config -f lib.git/config core.fsmonitor {touch}",
    ),
    "a nested repository's own settings": (
        "git init -q lib; echo x > lib/x; git -C lib add x",
        "git config -f lib/.git/config core.fsmonitor {touch}",
    ),
    "a nested repository's included settings": (
        "git init -q lib; echo x > lib/x; git -C lib add x; git -C lib config include.path ../more",
        "git config -f lib/more core.fsmonitor {touch}",
    ),
    "a nested repository's replaced folder": (
        "git init -q lib; echo x > lib/x; git -C lib add x",
        "cp -r lib/.git new; git config -f new/config core.fsmonitor {touch}; mv lib/.git old; mv new lib/.git",
    ),
    "a hook in a folder of the tree that is a link": (
        "mkdir .hooks tools; touch tools/check; chmod +x tools/check; ln -s ../tools/check .hooks/pre-commit;"
        "git config core.hooksPath .hooks",
        "plant tools/check",
    ),
    "a script that a hook of the tree sources": (
        """mkdir -p .hooks/more; touch .hooks/more/own; git config core.hooksPath .hooks; ln -s .hooks/more common
        printf '#!/bin/sh\n. "$(dirname -- "$0")/../common/own"\n' > .hooks/pre-commit; chmod +x .hooks/pre-commit""",
        "rm -f common; mkdir common; plant common/own",
    ),
    "a script that a hook of git's own folder calls": (
        """mkdir tools; touch tools/check; chmod +x tools/check
        printf '#!/bin/sh\nif true; then ./tools/check; fi\n' > .git/hooks/pre-commit; chmod +x .git/hooks/*""",
        "plant tools/check",
    ),
    "a script that a hook would call if it were there": (
        """printf '#!/bin/sh\n[ ! -x own ] || ./own\n' > .git/hooks/pre-commit; chmod +x .git/hooks/*""",
        "plant own",
    ),
    "a script that a hook's script calls": (
        """mkdir tools; touch tools/inner; printf '#!/bin/sh\nsh tools/inner\n' > tools/outer; chmod +x tools/outer
        printf '#!/bin/bash\nexec timeout 9 ./tools/outer "$@"\n' > .git/hooks/pre-commit; chmod +x .git/hooks/*""",
        "plant tools/inner",
    ),
    "a folder of hooks that run what is beside it": (
        """mkdir -p .husky/_; printf '#!/bin/sh\n. "${0%%/*}/h"\n' > .husky/_/pre-commit; chmod +x .husky/_/*
        printf 's=$(dirname "$(dirname "$0")")/$(basename "$0")\n[ ! -f "$s" ] || sh -e "$s"\n' > .husky/_/h
        git config core.hooksPath .husky/_""",
        "plant .husky/pre-commit",
    ),
    "hooks at the top itself": ("git config core.hooksPath $PWD", "plant pre-commit"),
    "settings of the operator's own, in a nested repository": (
        "git config --global core.fsmonitor ./watch; git init -q lib; echo x > lib/x; git -C lib add x",
        "plant lib/watch",
    ),
    "settings of the operator's own that hold for some repositories": (
        "git config --global includeIf.gitdir:**/lib/.git.path some; git config -f ~/some core.fsmonitor ./watch;"
        "git init -q lib; echo x > lib/x; git -C lib add x",
        "plant lib/watch",
    ),
    "a module that is asked for by name": (
        "echo '*.txt filter=f' > .gitattributes; git config filter.f.clean 'python3 -m surely_absent'",
        """echo "open('{canary}', 'w')" > surely_absent.py""",
    ),
    "a module of a package": (
        "mkdir tools; echo > tools/strip.py; echo '*.txt filter=f' > .gitattributes;"
        "git config filter.f.clean 'python3 -m tools.strip'",
        """echo "open('{canary}', 'w')" > tools/strip.py""",
    ),
    "a module that a module imports": (
        "echo '*.txt filter=f' > .gitattributes; git config filter.f.clean 'python3 -m json.tool'",
        """mkdir argparse; echo "open('{canary}', 'w')" > argparse/__init__.py""",
    ),
    "a module beside a script": (
        "mkdir tools; echo 'import json' > tools/clean.py; echo '*.txt filter=f' > .gitattributes;"
        "git config filter.f.clean 'python3 tools/clean.py'",
        """echo "open('{canary}', 'w')" > tools/json.py""",
    ),
    "a module beside a script that says who runs it": (
        "mkdir tools; printf '#!/usr/bin/env python3\nimport json\n' > tools/clean; chmod +x tools/clean;"
        "echo '*.txt filter=f' > .gitattributes; git config filter.f.clean tools/clean",
        """echo "open('{canary}', 'w')" > tools/json.py""",
    ),
    "a module beside a script at the top": (
        "echo 'import json' > clean.py; echo '*.txt filter=f' > .gitattributes;"
        "git config filter.f.clean 'python3 clean.py'",
        """echo "open('{canary}', 'w')" > json.py""",
    ),
    "a command that says where it is": (
        """mkdir tools; touch tools/clean; chmod +x tools/clean; echo '*.txt filter=f' > .gitattributes
        git config filter.f.clean '"$PWD"/tools/clean'""",
        "plant tools/clean",
    ),
    "a command that asks where it is": (
        """mkdir tools; touch tools/clean; chmod +x tools/clean; echo '*.txt filter=f' > .gitattributes
        git config filter.f.clean '$(pwd)/tools/clean'""",
        "plant tools/clean",
    ),
    "a command that goes elsewhere first": (
        "echo '*.txt filter=f' > .gitattributes; git config filter.f.clean 'cd tools && ./clean'",
        "mkdir tools; plant tools/clean",
    ),
    "a command that is run elsewhere": (
        "echo '*.txt filter=f' > .gitattributes; git config filter.f.clean 'env -C tools ./clean'",
        "mkdir tools; plant tools/clean",
    ),
    "a script that a shell is told to source": (
        """echo '*.txt filter=f' > .gitattributes; git config filter.f.clean "bash -euo pipefail -c '. ./clean'" """,
        "plant clean",
    ),
    "a bare repository that was there": (
        "git init -q s; mv s/.git store; rmdir s; git config -f store/config core.worktree $PWD",
        "git config -f store/config core.fsmonitor {touch}",
    ),
}


@pytest.mark.parametrize("way", ORDERS)
@pytest.mark.parametrize("is_bare", [True, False], ids=["bare", "guarded"])
def test_what_the_operator_s_settings_name_is_not_the_worker_s(
    top: Path, canary: Path, way: str, is_bare: bool
) -> None:
    setting, planting = ORDERS[way]
    script = f"""
        plant() {{ rm -f "$1"; printf '#!/bin/sh\\ntouch {canary}\\n' > "$1"; chmod +x "$1"; }}
        {planting.format(touch=f"'touch {canary};false'", canary=canary)}
    """
    subprocess.run(["sh", "-ec", setting], cwd=top, check=True)
    nested = survey(top).repositories
    paths = executed(find(top), nested)
    before = now(top)
    protect = () if is_bare else (*nested, *standing(top, paths))
    prepared(top, script, protect)
    if not is_bare:
        quarantine(top, before)
    operate(top)
    assert canary.exists() == is_bare


def test_a_file_that_names_a_repository_is_another_once_it_names_another(top: Path) -> None:
    git(top.parent, "init", "-q", "--separate-git-dir", "store", str(top / "lib"))
    before = now(top)
    assert quarantine(top, before) == ()
    (top / "lib" / ".git").write_text("gitdir: planted\n")
    assert quarantine(top, before) == (("lib/.git", "lib/.git.quarantined"),)


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("git-lfs clean -- %f", []),
        ("!/usr/bin/gh auth git-credential", []),
        ("sh -c 'npm run lint'", []),
        ("python clean", ["clean"]),
        ("FLAG=1 exec ./tools/clean --config=tools/rules.ini %f", ["tools/clean", "tools/rules.ini"]),
        ("sh -c 'sed s/a/b/ | python3 tools/clean.py'", ["s/a/b", "tools/clean.py"]),
        ('!f() { cd x && node "$(git rev-parse --show-toplevel)/bin/it"; }; f', ["bin/it"]),
        ("unbalanced 'tools/clean", ["tools/clean"]),
        ("sh -e clean", ["clean"]),
        ("perl -ne 'print if 1' clean", []),
        ("TOOL=./tools/it sh -c '$TOOL'", ["tools/it"]),
        ("PYTHONPATH=part0 python3 -P clean", ["clean", "part0"]),
        ("${TOOL:-./tools/it} %f", ["tools/it"]),
        ("timeout 5 python3 -I clean", ["clean"]),
        ("python3 -I -m /", []),
        ("true", []),
    ],
)
def test_of_a_command_what_may_be_a_file_counts(top: Path, command: str, paths: list[str]) -> None:
    git(top, "config", "filter.f.clean", command.removeprefix("!"))
    assert list(executed(find(top))) == sorted(paths)


@pytest.mark.parametrize(
    ("key", "value", "path"),
    [
        ("tar.foo.command", "./t/it", "t/it"),
        ("gc.recentObjectsHook", "./t/it", "t/it"),
        ("imap.tunnel", "./t/it -q", "t/it"),
        ("hook.lint.command", "t/it", "t/it"),
        ("lfs.customtransfer.c.path", "t/it", "t/it"),
        ("lfs.customtransfer.c.args", "t/it", "t/it"),
        ("lfs.extension.e.clean", "t/it %f", "t/it"),
        ("core.alternateRefsCommand", "t/it", "t/it"),
        ("svn.authorsProg", "t/it", "t/it"),
        ("web.browser", "t/it", "t/it"),
        ("remote.x.vcs", "t/it", "t/it"),
        ("remote.x.url", "ext::./t/it %S", "t/it"),
        ("remote.x.pushurl", "ext::sh -c ./t/it", "t/it"),
        ("url.ext::./t/it.insteadOf", "x:", "t/it"),
        ("commit.template", "t/it", None),
        ("core.excludesFile", "t/it", None),
        ("user.email", "it@example.org", None),
        ("remote.x.url", "../t/it", None),
        ("credential.helper", "gcloud.sh", None),
    ],
)
def test_a_key_that_names_a_command_is_known_by_its_end(top: Path, key: str, value: str, path: str | None) -> None:
    git(top, "config", key, value)
    assert executed(find(top)) == ((path,) if path else ())


def test_the_operator_s_own_folder_of_hooks_stands_in_each_repository(top: Path) -> None:
    git(top, "config", "--global", "core.hooksPath", ".hooks")
    git(top, "config", "core.fsmonitor", "./watch")
    git(top, "init", "-q", "lib")
    assert executed(find(top), ["lib/.git"]) == (".hooks", "lib/.hooks", "watch")


@pytest.mark.parametrize("option", ["-I", "-P", "-sP"])
def test_python_that_looks_nowhere_of_its_own_needs_no_names(top: Path, option: str) -> None:
    (top / "tools").mkdir()
    (top / "tools" / "clean.py").touch()
    git(top, "config", "filter.f.clean", f"python3 {option} tools/clean.py")
    assert executed(find(top)) == ("tools/clean.py",)


def test_what_a_hook_only_speaks_of_stays_the_worker_s(top: Path) -> None:
    (top / "README.md").touch()
    (top / "tools.sh").touch()
    hook = top / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\n# see tools.sh\necho 'see README.md'\ncat absent.json part0\n")
    assert executed(find(top)) == ()


def test_below_the_top_what_counts_is_what_lies_in_the_workspace(top: Path) -> None:
    git(top, "config", "core.hooksPath", "part0/hooks")
    git(top, "config", "core.fsmonitor", "part1/watch")
    assert executed(find(top / "part0")) == ("hooks",)


def prepared(top: Path, script: str, protect: tuple[str, ...]) -> None:
    """Runs a script that may fail: what it plants may be refused to it."""
    session(top, f"({script}\n) || true", protect=protect)


HARMLESS = [".GIT", ".Git", "git~1", ".g\u200cit", ".git ", ".git."]


@pytest.mark.parametrize("name", HARMLESS)
def test_a_name_that_git_does_not_take_for_its_own_is_left_alone(top: Path, canary: Path, name: str) -> None:
    before = now(top)
    (top / "lib" / name).mkdir(parents=True)
    (top / "lib" / name / "config").write_text(f'[core]\n\tfsmonitor = "touch {canary}"\n')
    assert quarantine(top, before) == ()
    operate(top)
    assert not canary.exists()


@pytest.mark.parametrize(
    "script", ["rm -rf .git/* ", "mv .git gone", "echo ../evil > .git/commondir", "rmdir .git/modules"]
)
def test_the_operator_s_own_folder_is_out_of_reach(top: Path, script: str) -> None:
    before = bytes_of(top / ".git")
    session(top, f"{script} || true; git config core.fsmonitor 'touch fired' || true; touch .git/index || true")
    assert bytes_of(top / ".git") == before
    session(top, "test ! -L .git/modules; git status > /dev/null || true")


def test_a_repository_made_where_there_was_none_is_renamed(tmp_path: Path, canary: Path) -> None:
    place = tmp_path / "plain"
    place.mkdir()
    before = now(place)
    session(place, f"git init -q; echo x > x; git add x; git config core.fsmonitor 'touch {canary}; false'")
    assert quarantine(place, before) == ((".git", ".git.quarantined"),)
    operate(place)
    assert not canary.exists()
    assert sorted(os.listdir(place / ".git.quarantined")) != []


def test_a_workspace_that_is_a_bare_repository_stays_one(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "store")
    before = now(tmp_path / "store")
    assert quarantine(tmp_path / "store", before) == ()


def test_names_depth_and_numbers_do_not_matter(top: Path) -> None:
    before = now(top)
    script = """
        import os
        for name in (b"new\\nline", b"bad\\xff", b"-rf", b"\\x1b[31m", b"*", b" "):
            os.makedirs(name + b"/.git")
        for number in range(3000):
            os.makedirs(f"many/{number}/.git")
        top = os.getcwd()
        for depth in range(3000):
            os.mkdir("deep"); os.chdir("deep")
        os.mkdir(".git")
        os.chdir(top)
        os.makedirs("closed/in/.git"); os.chmod("closed/in", 0o555); os.chmod("closed", 0)
        os.makedirs("links"); os.symlink("/", "links/.git"); os.symlink("..", "links/up")
        os.makedirs("taken/.git"); os.makedirs("taken/.git.quarantined"); os.mkfifo("taken/HEAD")
    """
    (top.parent / "script.py").write_text(textwrap.dedent(script))
    subprocess.run([sys.executable, top.parent / "script.py"], cwd=top, check=True)
    renamed = quarantine(top, before)
    assert len(renamed) == 6 + 3000 + 1 + 1 + 1 + 1
    assert len(planted.named(renamed)) == planted.MOST_NAMED
    assert max(len(one.path) for one in renamed) < 2100
    assert (top / "taken" / ".git.quarantined-2").is_dir()
    assert (top / "links" / ".git.quarantined").is_symlink()
    assert stat.S_IMODE(os.stat(top / "closed").st_mode) == 0
    assert os.path.isdir("/bin")
    assert quarantine(top, before) == ()
    os.chmod(top / "closed", 0o700)
    os.chmod(top / "closed" / "in", 0o700)
    subprocess.run(["rm", "-rf", top], check=True)  # deeper than what cleans up afterwards can go


def test_a_folder_that_is_moved_meanwhile_leads_nowhere_else(
    top: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere" / "other" / ".git").mkdir(parents=True)
    (top / "way" / "moved" / "last").mkdir(parents=True)
    (top / "way" / "other").mkdir()
    (top / "zz" / ".git").mkdir(parents=True)
    before, enter = Before(), planted._enter

    def move(name: str, above: int) -> tuple[int, int | None]:
        found = enter(name, above)
        if name == "last":
            (top / "way" / "moved").rename(tmp_path / "elsewhere" / "moved")
        return found

    monkeypatch.setattr(planted, "_enter", move)
    quarantine(top, before)
    assert (tmp_path / "elsewhere" / "other" / ".git").exists()
    assert (top / "zz" / ".git.quarantined").exists()


def test_a_workspace_that_was_closed_to_its_owner_is_open_again(top: Path) -> None:
    before = now(top)
    (top / "lib" / ".git").mkdir(parents=True)
    top.chmod(0)
    assert [one.path for one in quarantine(top, before)] == ["lib/.git"]
    assert stat.S_IMODE(top.stat().st_mode) == 0o700


def test_in_the_session_s_repository_no_folder_is_passed_by(top: Path) -> None:
    session(top, "mkdir -p .git/.proctor/x; git init -q .git/.proctor/x")
    rest(top / ".proctor" / "session.git")
    assert not (top / ".proctor/session.git/.proctor/x/.git").exists()
