"""Git inside a sandbox works as the operator's does, in repositories of every shape, and reaches nothing of theirs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.repository.layout import Kind, find
from proctor.repository.session import environment, prepare
from proctor.sandbox.choose import bubblewrap
from proctor.sandbox.policy import Policy
from proctor.sandbox.run import run
from repository.conftest import bytes_of, git, inside, new_repository, session

USE = """
    git status --porcelain > /tmp/before; cat /tmp/before; test ! -s /tmp/before
    before=$(git rev-list --count HEAD)
    echo more >> file0.txt; echo new > new.txt
    git add -A; git commit -qm Second; test $(git rev-list --count HEAD) = $((before + 1))
    git diff HEAD~1 --stat | grep -q new.txt
    here=$(git rev-parse HEAD); git checkout -qb side; echo side > side.txt; git add side.txt; git commit -qm Side
    git checkout -q --detach $here; test ! -e side.txt; git merge -q side; test -e side.txt
    echo stashed >> new.txt; git stash -q; git stash pop -q; grep -q stashed new.txt; git checkout -q new.txt
    git config test.value 1; git tag done; git gc -q; git fsck --no-dangling; git reflog | grep -q Second
    git log --format=%an -1 | grep -q Olga; git status --porcelain
"""


@pytest.fixture
def top(tmp_path: Path) -> Path:
    place = new_repository(tmp_path / "work")
    (place / "file0.txt").write_text("top\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Top")
    return place


def split(top: Path) -> Path:
    git(top, "config", "core.splitIndex", "true")
    git(top, "update-index", "--split-index")
    (top / "staged.txt").write_text("x\n")
    git(top, "add", "staged.txt")
    git(top, "commit", "-qm", "Split")
    assert list((top / ".git").glob("sharedindex.*"))
    return top


def chained(top: Path) -> Path:
    for name, source in (("second", "work"), ("third", "second")):
        git(top.parent, "clone", "-q", "--shared", source, name)
        (top.parent / name / f"{name}.txt").write_text("x\n")
        git(top.parent / name, "add", "-A")
        git(top.parent / name, "commit", "-qm", name)
    git(top.parent / "second", "repack", "-adlq")
    return top.parent / "third"


def sparse(top: Path) -> Path:
    git(top, "sparse-checkout", "set", "--cone", "--sparse-index", "part1")
    assert not (top / "part0").exists()
    return top


def shallow(top: Path) -> Path:
    git(top.parent, "clone", "-q", "--depth", "1", f"file://{top}", "clone")
    return top.parent / "clone"


def worktree(top: Path) -> Path:
    git(top, "worktree", "add", "-q", "../tree")
    return top.parent / "tree"


def submodule(top: Path) -> Path:
    host = new_repository(top.parent / "host")
    git(host, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(top), "sub")
    return host / "sub"


def detached(top: Path) -> Path:
    git(top, "checkout", "-q", "--detach")
    return top


def sha256(top: Path) -> Path:
    place = new_repository(top.parent / "other", "--object-format=sha256")
    (place / "file0.txt").write_text("top\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Top")
    return place


def odd_settings(top: Path) -> Path:
    git(top, "config", "core.autocrlf", "true")
    git(top, "config", "core.safecrlf", "false")
    git(top, "config", "core.fileMode", "false")
    os.chmod(top / "file0.txt", 0o755)
    git(top, "config", 'filter.up"per.clean', 'tr a-z "A-Z" # \\ and\ttab')
    git(top, "config", "core.fsmonitor", "touch fired")
    git(top, "config", "core.untrackedCache", "true")
    git(top, "config", "commit.gpgSign", "true")
    return top


def below(top: Path) -> Path:
    place = top / "projects" / "one"
    place.mkdir(parents=True)
    (place / "file0.txt").write_text("one\n")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "One")
    return place


SHAPES: list[Callable[[Path], Path]] = [
    lambda top: top, split, chained, sparse, shallow, worktree, submodule, detached, sha256, odd_settings, below,
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__.strip("<>"))
def test_a_worker_uses_git_as_usual_and_the_repository_stays_the_same_to_the_byte(
    top: Path, shape: Callable[[Path], Path]
) -> None:
    place = shape(top)
    layout = find(place)
    assert layout.git_dir is not None
    assert layout.common is not None
    before = bytes_of(layout.git_dir), bytes_of(layout.common)
    assert session(place, USE) == ""
    assert (bytes_of(layout.git_dir), bytes_of(layout.common)) == before
    assert not (place / "fired").exists()
    lines = git(place, "status", "--porcelain", "--no-renames", "--", ".").splitlines()
    assert [line.rpartition("/")[2][-9:].strip() for line in lines if "side" in line] == ["side.txt"]


def test_status_inside_is_status_outside(top: Path) -> None:
    (top / "staged.txt").write_text("x\n")
    git(top, "add", "staged.txt")
    (top / "part0" / "file0.txt").write_text("changed\n")
    (top / "part1" / "file1.txt").unlink()
    (top / ".git" / "info" / "exclude").write_text("*.log\n")
    (top / "noise.log").touch()
    (top / "untracked").touch()
    git(top, "update-index", "--assume-unchanged", "file0.txt")
    (top / "file0.txt").write_text("not seen\n")
    (top / ".proctor").mkdir()
    (top / ".proctor" / ".gitignore").write_text("*\n")
    outside = git(top, "status", "--porcelain", "-b")
    assert session(top, "git status --porcelain -b") == outside


def test_the_operator_s_own_ignores_and_attributes_count_inside(top: Path, home: Path) -> None:
    (home / ".config" / "git").mkdir(parents=True)
    (home / ".config" / "git" / "ignore").write_text("*.swp\n")
    (home / "marks").write_text("*.dat binary\n*.txt -text\n")
    git(top, "config", "--global", "core.attributesFile", "~/marks")
    (top / ".gitattributes").write_text("*.txt text\n")
    assert session(top, "touch a.swp; git status --porcelain -- a.swp; git check-attr binary text -- a.dat a.txt") == (
        "a.dat: binary: set\na.dat: text: unset\na.txt: binary: unspecified\na.txt: text: set\n"
    )


def test_an_unborn_branch_gets_its_first_commit(tmp_path: Path) -> None:
    place = tmp_path / "new"
    place.mkdir()
    git(place, "init", "-q", "-b", "trunk")
    (place / "a").write_text("a\n")
    git(place, "add", "a")
    said = session(place, "git status --porcelain; git commit -qm First; git log --format=%D%s")
    assert said == "A  a\nHEAD -> trunkFirst\n"
    assert "No commits yet" in git(place, "status")


def test_every_ref_is_there_the_remote_s_head_and_the_tags_too(top: Path) -> None:
    head = git(top, "rev-parse", "HEAD").strip()
    lines = "".join(f"create refs/heads/many/{number} {head}\n" for number in range(2000))
    (top.parent / "lines").write_text(lines)
    os.system(f"git -C {top} update-ref --stdin < {top.parent / 'lines'}")
    git(top, "tag", "-a", "v1", "-m", "One")
    git(top.parent, "clone", "-q", "work", "clone")
    clone = top.parent / "clone"
    wanted = git(clone, "for-each-ref")
    assert wanted.count("\n") > 2000
    assert session(clone, "git for-each-ref; git describe --tags; git rev-parse --abbrev-ref origin/HEAD @{u}") == (
        wanted + "v1\norigin/main\norigin/main\n"
    )


def test_no_secret_of_a_remote_s_address_comes_in(top: Path) -> None:
    git(top, "remote", "add", "origin", "https://olga:SECRET@example.org/work.git?token=SECRET")
    git(top, "config", "http.extraHeader", "Authorization: SECRET")
    git(top, "config", "credential.helper", "store --file SECRET")
    said = session(top, "git remote -v; cat .git/config")
    assert "https://example.org/work.git" in said
    assert "SECRET" not in said


def test_submodules_and_nested_repositories_answer_read_only(top: Path) -> None:
    other = new_repository(top.parent / "other")
    git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    git(top, "commit", "-qm", "Sub")
    new_repository(top / "nested")
    before = bytes_of(top / ".git"), bytes_of(top / "nested" / ".git")
    script = """
        for place in sub nested; do
            git -C $place status --porcelain; git -C $place log --format=%s
            ! git -C $place config core.fsmonitor evil 2> /dev/null
        done
        ! touch .git/modules/sub/config 2> /dev/null
        git submodule status | grep -q '^ .* sub'; git status --porcelain
    """
    assert session(top, script, protect=("sub/.git", "nested/.git")) == "First\nFirst\n?? nested/\n"
    assert (bytes_of(top / ".git"), bytes_of(top / "nested" / ".git")) == before


@pytest.mark.parametrize("shape", [worktree, below])
def test_submodules_answer_where_the_repository_is_elsewhere(top: Path, shape: Callable[[Path], Path]) -> None:
    other = new_repository(top.parent / "other")
    place = shape(top)
    git(place, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    git(place, "commit", "-qm", "Sub")
    assert (
        session(place, "git -C sub log --format=%s; git -C sub status --porcelain; git status --porcelain") == "First\n"
    )


def test_a_part_directly_below_the_top_with_submodules(top: Path) -> None:
    other = new_repository(top.parent / "other")
    git(top, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "part0/sub")
    git(top, "commit", "-qm", "Sub")
    said = session(top / "part0", "git -C sub log --format=%s; git -C sub status --porcelain; git status --porcelain")
    assert said == "First\n"


def test_a_part_of_a_repository_is_rooted_in_the_workspace(top: Path, home: Path) -> None:
    place = below(top)
    (place / "staged").write_text("staged\n")
    git(place, "add", "staged")
    (place / "keep.o").touch()
    (top / ".gitignore").write_text("*.o\n/projects/*/build/\n/other/\n")
    (top / "projects" / ".gitignore").write_text("one/tmp\n!keep.o\n")
    (top / ".gitattributes").write_text("projects/one/*.x -diff\n")
    for name in ("build/x", "tmp", "other/y", "deep/build/z"):
        (place / name).parent.mkdir(exist_ok=True, parents=True)
        (place / name).touch()
    script = """
        git rev-parse --show-toplevel; git ls-files; git status --porcelain -uall
        git log --format='%an %s %D'; git ls-tree --name-only HEAD; git check-attr diff a.x
    """
    said = session(place, script).splitlines()
    assert said[0] == str(place)
    assert said[1:] == [
        "file0.txt", "staged", "A  staged", "?? deep/build/z", "?? keep.o", "?? other/y", "Olga One HEAD -> main",
        "file0.txt", "a.x: diff: unset",
    ]  # fmt: skip


def test_a_part_that_has_no_commit_yet_begins_with_none(top: Path) -> None:
    place = top / "fresh"
    place.mkdir()
    (place / "a").touch()
    assert session(place, "git add a; git commit -qm First; git log --format=%s") == "First\n"
    git(top, "checkout", "-q", "--detach")
    shutil.rmtree(place / ".proctor")
    assert session(place, "git status --porcelain -b") == "## No commits yet on main\n?? a\n"


def test_without_a_repository_there_is_git_only_if_asked_for(tmp_path: Path) -> None:
    place = tmp_path / "plain"
    place.mkdir()
    (place / "a").touch()
    assert prepare(find(place), place / "session.git") is None
    session(place, "! git status 2> /dev/null")
    script = "git status --porcelain -b; git add a; git commit -qm First; git log --format='%an %s'"
    assert session(place, script, always=True) == "## No commits yet on main\n?? a\nOlga First\n"
    assert not (place / ".git").exists()
    assert not (tmp_path / ".git").exists()


def test_another_user_s_workspace_is_worked_in(top: Path) -> None:
    if os.geteuid():
        pytest.skip("needs root, to give files away")
    os.chown(top, 1234, 1234)
    layout = find(top)
    assert environment(layout)["GIT_CONFIG_KEY_0"] == "safe.directory"
    assert inside(prepare(layout, top.parent / "session.git"), top, "git status --porcelain") == ""


@pytest.mark.parametrize("below", [False, True])
def test_tracked_files_that_are_shown_empty_do_not_show_as_changed(top: Path, below: bool) -> None:
    blank = (".claude/settings.json", ".mcp.json", "hooks")
    place = top / "part0" if below else top
    for name in (".claude/settings.json", ".mcp.json", ".mcp.json.md", "hooks/one"):
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("own\n")
    git(top, "add", "-A")
    git(top, "commit", "-qm", "Settings")
    folder, layout = top.parent / "session.git", find(place)
    said: list[str] = []
    for wanted in (blank, blank, ()):
        repository = prepare(layout, folder, say=said.append, blank=wanted)
        policy = Policy(place, blank=wanted, repository=repository, environment=environment(layout))
        script = ["sh", "-c", "cat .mcp.json; git status --porcelain; git ls-files -v | grep -c ^S"]
        run(bubblewrap(), script, policy, 60, top.parent / "said", 1 << 20)
        assert (top.parent / "said").read_text() == ("{}\n3\n" if wanted else "own\n0\n")
    assert len(said) == 1
    assert git(top, "status", "--porcelain") == ""


def test_a_merge_that_is_going_on_shows_its_conflicts_and_is_told(top: Path) -> None:
    git(top, "checkout", "-qb", "side")
    (top / "file0.txt").write_text("side\n")
    git(top, "commit", "-qam", "Side")
    git(top, "checkout", "-q", "main")
    (top / "file0.txt").write_text("main\n")
    git(top, "commit", "-qam", "Main")
    git(top, "merge", "side", ok=False)
    said: list[str] = []
    repository = prepare(find(top), top.parent / "session.git", say=said.append)
    assert len(said) == 1
    assert "merge" in said[0]
    assert inside(repository, top, "git status --porcelain") == "UU file0.txt\n"
    assert find(top).kind is Kind.FOLDER
