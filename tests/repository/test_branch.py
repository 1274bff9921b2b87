"""What is in the commits of the session branch, in repositories of every shape; what stays untouched."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checkpoint.photo import git, write
from proctor.repository.planted import look, quarantine
from repository.sitting import NAME, OWNED, SESSION, Sitting, changed, committed, message, own, project, subjects, tree


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return home


@pytest.fixture
def work(tmp_path: Path) -> Path:
    return project(tmp_path / "work")


def test_each_task_becomes_one_commit_of_exactly_its_work(work: Path) -> None:
    head = git(work, "rev-parse", "HEAD").strip()
    sitting = Sitting(work)
    before = own(work / ".git")
    write(work / "src/a.py", "a = 2\n")
    write(work / "src/new.sh", "#!/bin/sh\n", 0o755)
    os.symlink("a.py", work / "src/link")
    first = sitting.task(1, "Write\nmore")
    (work / "src/b.py").unlink()
    second = sitting.task(2)
    assert git(work, "rev-parse", NAME).strip() == second.commit
    assert git(work, "rev-parse", f"{second.commit}^", f"{first.commit}^").split() == [first.commit, head]
    assert changed(work, first.commit) == ["src/a.py", "src/link", "src/new.sh"]
    assert changed(work, second.commit) == ["src/b.py"]
    assert {tree(work)[name].split()[0] for name in ("src/new.sh", "run.sh")} == {"100755"}
    assert tree(work)["src/link"].startswith("120000")
    assert message(work, first.commit).strip() == (
        "Task 1: Write more\n\nProctor-Session: 0123456789ab\nProctor-Task: 1\n"
        "Proctor-Check: pytest -q 'tests/a b.py'\nProctor-Checkpoint: c2"
    )
    assert own(work / ".git") == before
    assert git(work, "fsck", "--full", "--strict") == ""
    assert git(work, "config", "--get-all", "core.bare").strip() == "false"


def test_publishing_twice_is_publishing_once(work: Path) -> None:
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 2\n")
    done = sitting.verified(1)
    once = sitting.publish(done)
    again = sitting.branch.publish(done, sitting.start, sitting.points)
    assert again.commit == once.commit
    assert subjects(work) == ["Task 1: do it"]


def test_a_task_that_changes_nothing_has_its_commit_too(work: Path) -> None:
    Sitting(work).task(1)
    assert subjects(work) == ["Task 1: do it"]
    assert changed(work) == []


def test_what_was_not_committed_at_the_start_comes_first_and_alone(work: Path) -> None:
    write(work / "src/a.py", "a = 'mine'\n")
    write(work / "untracked", "mine\n")
    sitting = Sitting(work)
    write(work / "src/b.py", "b = 2\n")
    sitting.task(1)
    assert subjects(work) == [f"State at the start of session {SESSION}", "Task 1: do it"]
    assert changed(work, f"{NAME}^") == ["src/a.py", "untracked"]
    assert changed(work) == ["src/b.py"]
    assert "Proctor-Task" not in message(work, f"{NAME}^")


def test_files_of_the_harness_stay_as_the_operator_has_them(work: Path) -> None:
    sitting = Sitting(work)
    for name in OWNED:
        write(work / name, "of the harness\n")
    sitting.task(1)
    assert changed(work) == []
    assert tree(work)["tasks.json"] == tree(work, "trunk")["tasks.json"]


def test_ignored_files_are_never_published(work: Path) -> None:
    write(work / ".env", "SECRET=1\n")
    sitting = Sitting(work)
    write(work / "deep/.env", "SECRET=2\n")
    write(work / "x.log", "log\n")
    write(work / "deep/code.py", "1\n")
    sitting.task(1)
    assert changed(work) == ["deep/code.py"]


def test_nor_when_a_worker_takes_the_rule_away(work: Path) -> None:
    write(work / ".env", "SECRET=1\n")
    sitting = Sitting(work)
    write(work / ".gitignore", "/.proctor/\n!.env\n")
    first = sitting.task(1)
    assert changed(work) == [".gitignore"]
    write(work / ".env", "SECRET=2\n")
    write(work / "other/.env", "SECRET=3\n")
    second = sitting.task(2)
    assert changed(work) == []
    assert first.left or second.left
    assert "other/.env" in second.left[0]


def test_nor_by_the_rules_that_only_the_operator_s_git_has(work: Path, home: Path) -> None:
    write(home / ".config/git/ignore", "*.secret\n")
    write(work / ".git/info/exclude", "*.hidden\n")
    sitting = Sitting(work)
    write(work / "a.hidden", "x\n")
    sitting.task(1)
    assert changed(work) == []


def test_a_file_that_comes_out_of_the_ignored_by_the_worker_s_own_rules_is_published(work: Path) -> None:
    sitting = Sitting(work)
    write(work / ".gitignore", ".env\n*.log\n/.proctor/\n*.tmp\n")
    write(work / "x.tmp", "x\n")
    sitting.task(1)
    assert changed(work) == [".gitignore"]
    write(work / ".gitignore", ".env\n*.log\n/.proctor/\n")
    sitting.task(2)
    assert changed(work) == [".gitignore", "x.tmp"]


def test_tracked_files_stay_tracked_whatever_the_rules_say(work: Path) -> None:
    write(work / "kept.log", "1\n")
    git(work, "add", "-f", "kept.log")
    sitting = Sitting(work)
    write(work / "kept.log", "2\n")
    sitting.task(1)
    assert changed(work, f"{NAME}^") == ["kept.log"]
    assert changed(work) == ["kept.log"]


def test_hidden_and_quarantined_paths_are_no_work_of_a_task(work: Path) -> None:
    write(work / "secrets/key", "k\n")
    sitting = Sitting(work, hide=("secrets/",))
    write(work / "lib/.git.quarantined/config", "[core]\n")
    write(work / "lib/.git.quarantined-2/config", "[core]\n")
    write(work / "lib/code.py", "1\n")
    sitting.task(1)
    assert subjects(work) == ["Task 1: do it"]
    assert changed(work) == []


def test_repositories_of_a_worker_and_what_lies_in_them_are_in_no_commit(work: Path) -> None:
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 2\n")
    for name in ("src", "own"):
        git(work, "init", "-q", name)
        write(work / name / "x.py", "1\n")
    git(work, "init", "-q", "--bare", "bare")
    write(work / "bare/README", "a file of no repository\n")
    renamed = [one.now for one in quarantine(work, look(work, (), (), ()))]
    assert renamed == ["bare/HEAD.quarantined", "own/.git.quarantined", "src/.git.quarantined"]
    (line,) = sitting.task(1).left
    assert "own" in line
    assert "src" not in line
    assert changed(work) == ["bare/README", "src/a.py", "src/x.py"]
    git(work, "init", "-q", "own")
    (work / "bare/HEAD.quarantined").rename(work / "bare/HEAD")
    write(work / "own/y.py", "1\n")
    quarantine(work, look(work, (), (), ()))
    assert (work / "own/.git.quarantined-2").is_dir()
    sitting.task(2)
    assert changed(work) == []
    for place in work.glob("own/.git.*"):
        shutil.rmtree(place)
    assert sitting.task(3).left == ()
    assert changed(work) == ["own/x.py", "own/y.py"]


def test_a_bare_repository_of_the_project_s_keeps_its_head_in_the_branch(work: Path) -> None:
    git(work, "init", "-q", "--bare", "store")
    write(work / "store/objects/.keep", "")
    write(work / "store/refs/.keep", "")
    committed(work)
    sitting = Sitting(work)
    before = look(work, (), (), ("store",))
    write(work / "store/config", "[core]\n\tbare = true\n\tfsmonitor = x\n")
    assert [one.now for one in quarantine(work, before)] == ["store/HEAD.quarantined"]
    sitting.task(1)
    assert changed(work) == ["store/config"]


def test_names_that_would_keep_git_from_checking_the_branch_out_are_left_out(work: Path, tmp_path: Path) -> None:
    sitting = Sitting(work)
    for name in ("git~1", ".git ", ".Git.", "d/.g\u200cit", ".git::$INDEX_ALLOCATION"):
        write(work / name / "config", "[core]\n")
    write(work / ".gitx", "fine\n")
    write(work / "git~x", "fine\n")
    sitting.task(1)
    assert changed(work) == [".gitx", "git~x"]
    protected = ("-c", "core.protectHFS=true", "-c", "core.protectNTFS=true")
    git(tmp_path, *protected, "clone", "-q", "-b", NAME, str(work), "clone")


def test_nested_repositories_stay_what_they_are(work: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    write(other / "o.py", "1\n")
    git(other, "init", "-q")
    committed(other)
    git(work, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), "sub")
    committed(work)
    write(work / "old/.env", "SECRET=1\n")
    git(work / "old", "init", "-q")
    sitting = Sitting(work)
    (work / "old/.git").rename(work / "old/.git.quarantined")
    write(work / "old/x.py", "1\n")
    write(work / "sub/o.py", "2\n")
    write(work / "own/x.py", "1\n")
    git(work / "own", "init", "-q")
    write(work / "plain.py", "1\n")
    write(work / "src/a.py", "a = 2\n")
    git(work / "src", "init", "-q")  # around tracked files: those stay the operator's repository's
    sitting.task(1)
    assert changed(work) == ["plain.py", "src/a.py"]
    assert tree(work)["sub"] == tree(work, "trunk")["sub"]
    (work / "own/.git").rename(work / "own/.git.quarantined")
    assert sitting.task(2).left == ()
    assert changed(work) == []


def test_line_ends_are_converted_as_git_converts_them(work: Path) -> None:
    write(work / ".gitattributes", "*.txt text=auto\n*.bat text eol=crlf\n")
    write(work / "one.bat", "echo\r\n")
    write(work / "raw.txt", "x\n")
    committed(work)
    write(work / "raw.txt", "x\r\n")  # the same to git
    sitting = Sitting(work)
    write(work / "one.bat", "echo\r\nmore\r\n")
    write(work / "two.bat", "new\r\n")
    sitting.task(1)
    assert subjects(work) == ["Task 1: do it"]
    assert changed(work) == ["one.bat", "two.bat"]
    assert git(work, "cat-file", "-p", f"{NAME}:one.bat") == "echo\nmore\n"


def test_what_cannot_be_converted_goes_in_as_it_is(work: Path) -> None:
    write(work / ".gitattributes", "*.txt text working-tree-encoding=UTF-16LE-BOM\n")
    committed(work)
    sitting = Sitting(work)
    write(work / "bad.txt", b"odd\xd8")
    write(work / "good.txt", "\ufeffx\r\n".encode("utf-16-le"))
    sitting.task(1)
    assert changed(work) == ["bad.txt", "good.txt"]
    assert git(work, "cat-file", "-p", f"{NAME}:good.txt") == "x\n"
    assert git(work, "cat-file", "-s", f"{NAME}:bad.txt") == "4\n"


def test_a_repository_with_autocrlf_shows_no_file_as_changed(work: Path) -> None:
    git(work, "config", "core.autocrlf", "true")
    write(work / "src/a.py", "a = 1\r\n")
    write(work / "src/b.py", "b = 1\r\n")
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 1\r\na = 2\r\n")
    sitting.task(1)
    assert subjects(work) == ["Task 1: do it"]
    assert git(work, "diff", "--stat", f"{NAME}^", NAME).split("|")[1].split()[:2] == ["1", "+"]


def test_filtered_files_stay_as_committed_and_are_named_and_no_filter_runs(work: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    write(work / ".gitattributes", "*.bin filter=lfs\n")
    write(work / "big.bin", "version https://git-lfs\n")
    committed(work)
    for key in ("clean", "smudge", "process"):
        git(work, "config", f"filter.lfs.{key}", f"touch {ran}; cat")
    write(work / "big.bin", "the content itself\n")
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 2\n")
    assert sitting.task(1).left == ()
    assert subjects(work) == ["Task 1: do it"]
    write(work / "big.bin", "other content\n")
    write(work / "new.bin", "new\n")
    published = sitting.task(2)
    assert changed(work) == []
    assert "big.bin, new.bin" in published.left[0]
    assert not ran.exists()


def test_a_filter_that_the_operator_s_git_does_not_define_is_none(work: Path) -> None:
    sitting = Sitting(work)
    write(work / ".gitattributes", "* filter=x\n*.py filter=y\n")
    git(work, "config", "filter.y.required", "true")
    git(work, "config", "filter.x.clean", "")
    sitting.task(1)
    write(work / "src/a.py", "a = 2\n")
    write(work / "new", "new\n")
    assert sitting.task(2).left == ()
    assert changed(work) == ["new", "src/a.py"]


def test_what_was_left_out_comes_with_the_next_commit_once_nothing_keeps_it_out(work: Path) -> None:
    git(work, "config", "filter.lfs.process", "no-such-program")
    sitting = Sitting(work)
    write(work / ".gitattributes", "* filter=lfs\n")
    sitting.task(1)
    write(work / "src/a.py", "a = 2\n")
    write(work / "new", "new\n")
    (line,) = sitting.task(2).left
    assert "by filter=lfs in .gitattributes: new, src/a.py" in line
    write(work / "src/b.py", "b = 2\n")
    (line,) = sitting.task(3).left
    assert "src/a.py" not in line
    assert changed(work) == []
    (work / ".gitattributes").unlink()
    sitting.task(4)
    assert changed(work) == [".gitattributes"]
    assert sitting.task(5).left == ()
    assert changed(work) == ["new", "src/a.py", "src/b.py"]
    assert git(work, "rev-parse", f"{NAME}^{{tree}}") == by_hand(work)


def test_modes_do_not_count_where_the_operator_s_git_says_so(work: Path) -> None:
    git(work, "config", "core.fileMode", "false")
    for path in ("src/a.py", "src/b.py"):
        (work / path).chmod(0o755)
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 2\n", 0o755)
    sitting.task(1)
    assert subjects(work) == ["Task 1: do it"]
    assert tree(work)["src/a.py"].startswith("100644")


def test_nothing_of_the_operator_s_configuration_runs(work: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    for hook in ("reference-transaction", "post-commit", "pre-commit", "post-index-change", "commit-msg"):
        write(work / f".git/hooks/{hook}", f"#!/bin/sh\ntouch {ran}\n", 0o755)
    for key in ("core.fsmonitor", "gpg.program", "core.pager", "core.editor", "diff.external", "trailer.x.command"):
        git(work, "config", key, f"touch {ran}")
    git(work, "config", "commit.gpgSign", "true")
    git(work, "config", "log.showSignature", "true")
    sitting = Sitting(work)
    write(work / "src/a.py", "a = 2\n")
    ran.unlink(missing_ok=True)
    sitting.task(1)
    sitting.task(2)
    assert not ran.exists()


def test_names_of_any_bytes_and_kinds_changing_places(work: Path) -> None:
    sitting = Sitting(work)
    odd = os.fsdecode(b"odd \xff\n\t\"name'")
    write(work / odd, "1\r\n")
    (work / "src/a.py").unlink()
    write(work / "src/a.py/deep", "1\n")
    (work / "run.sh").unlink()
    os.symlink("src", work / "run.sh")
    sitting.task(1)
    raw = git(work, "-c", "core.quotePath=true", "ls-tree", "-r", "--name-only", NAME)
    assert "\\377" in raw
    assert "src/a.py/deep" in raw
    assert git(work, "ls-tree", NAME, "run.sh").startswith("120000")
    write(work / ".gitattributes", "* text\n")
    sitting.task(2)
    write(work / odd, "2\r\n")
    sitting.task(3)
    (oid,) = (line.split()[2] for line in git(work, "ls-tree", NAME).splitlines() if "odd" in line)
    assert git(work, "cat-file", "-s", oid) == "2\n"  # converted: the line end is one byte
    assert git(work, "fsck", "--full") == ""


def below(work: Path) -> Path:
    inner = work / "services/my api"
    write(inner / "api.py", "1\n")
    write(work / ".gitignore", "*.secret\n")
    write(work / "services/.gitignore", "*.private\n")
    committed(work)
    return inner


def test_a_workspace_below_the_top_changes_its_part_alone(work: Path) -> None:
    inner = below(work)
    write(work / "src/a.py", "a = 'changed outside'\n")
    sitting = Sitting(inner)
    write(inner / "api.py", "2\n")
    write(inner / "x.secret", "s\n")
    write(inner / "y/x.private", "s\n")
    sitting.task(1)
    assert subjects(work) == ["Task 1: do it"]
    assert git(work, "diff", "--name-only", "trunk", NAME).splitlines() == ["services/my api/api.py"]


def test_a_workspace_below_the_top_of_which_nothing_is_committed(work: Path) -> None:
    inner = work / "fresh"
    write(inner / "x.py", "1\n")
    sitting = Sitting(inner)
    write(inner / "y.py", "1\n")
    sitting.task(1)
    assert changed(work, f"{NAME}^") == ["fresh/x.py"]
    assert changed(work) == ["fresh/y.py"]


def test_before_the_first_commit_the_branch_has_a_root_of_its_own(tmp_path: Path) -> None:
    work = tmp_path / "work"
    write(work / "a", "1\n")
    git(work, "init", "-q", "-b", "trunk")
    sitting = Sitting(work)
    write(work / "b", "1\n")
    sitting.task(1)
    assert git(work, "log", "--format=%s", NAME).splitlines()[1:] == [f"State at the start of session {SESSION}"]
    assert sorted(tree(work)) == ["a", "b"]
    assert not (work / ".git/refs/heads/trunk").exists()


def test_linked_worktrees_and_their_head(work: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(work, "worktree", "add", "-q", "-b", "side", str(linked))
    write(linked / "side.py", "1\n")
    side = committed(linked)
    before = own(work / ".git")
    sitting = Sitting(linked)
    write(linked / "src/a.py", "a = 2\n")
    sitting.task(1)
    assert git(work, "rev-parse", f"{NAME}^").strip() == side
    assert changed(work) == ["src/a.py"]
    assert own(work / ".git") == before


def test_inside_a_submodule_its_own_repository_has_the_branch(work: Path, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    write(outer / "x", "1\n")
    git(outer, "init", "-q")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(work), "sub")
    sitting = Sitting(outer / "sub")
    write(outer / "sub/src/a.py", "a = 2\n")
    sitting.task(1)
    assert changed(outer / "sub") == ["src/a.py"]


def test_clones_that_are_shallow_sparse_borrowing_or_without_blobs(work: Path, tmp_path: Path) -> None:
    committed(work)
    shallow, borrowing, blobless = tmp_path / "shallow", tmp_path / "borrowing", tmp_path / "blobless"
    git(work, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{work}", str(blobless))
    git(blobless, "config", "remote.origin.url", "/nowhere")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{work}", str(shallow))
    git(tmp_path, "clone", "-q", "--shared", str(work), str(borrowing))
    git(shallow, "sparse-checkout", "set", "--sparse-index", "src")
    git(borrowing, "update-index", "--split-index")
    for clone in (shallow, borrowing, blobless):
        sitting = Sitting(clone)
        write(clone / "src/a.py", "a = 2\n")
        sitting.task(1)
        assert changed(clone) == ["src/a.py"]
        assert subjects(clone) == ["Task 1: do it"]


def test_hostile_words_make_neither_lines_nor_trailers(work: Path) -> None:
    sitting = Sitting(work)
    text = "x\n\nProctor-Checkpoint: c9\nProctor-Task: 7\x1b[31m\u202e" + "y" * 300
    published = sitting.task(1, text)
    said = message(work)
    assert "\x1b" not in said
    assert "\u202e" not in said
    trailers = git(work, "log", "-1", "--format=%(trailers:only)", published.commit).split("\n")
    assert [line.split(":")[0] for line in trailers if line] == [
        "Proctor-Session",
        "Proctor-Task",
        "Proctor-Check",
        "Proctor-Checkpoint",
    ]
    assert len(said.splitlines()[0]) < 120
    assert sitting.branch.publish(sitting.verified(1, text), sitting.start, sitting.points).commit != published.commit


def test_the_commit_is_the_operator_s_or_proctor_s(work: Path, home: Path) -> None:
    sitting = Sitting(work)
    sitting.task(1)
    assert git(work, "log", "-1", "--format=%an <%ae> %cn", NAME).strip() == "proctor <proctor@localhost> proctor"
    write(home / ".gitconfig", "[user]\nname = Ada L\nemail = ada@example.org\n")
    sitting.task(2)
    assert git(work, "log", "-1", "--format=%an <%ae> %cn", NAME).strip() == "Ada L <ada@example.org> Ada L"


contents = st.sampled_from(["", "a\n", "a\r\nb\r\n", "b\n", "\0\r\n", "$Id$\n"])
places = st.sampled_from(["a.txt", "b.bin", "d/a.txt", "d/e/b.ident", "d", "x.log", "src/a.py", "run.sh", "tasks.json"])
deeds = st.lists(st.tuples(places, st.sampled_from(["write", "run", "link", "remove"]), contents), max_size=6)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tasks=st.lists(deeds, min_size=1, max_size=3))
def test_the_tree_is_what_the_operator_s_own_git_would_make_of_it(
    tmp_path: Path, tasks: list[list[tuple[str, str, str]]]
) -> None:
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        work = Path(folder)
        write(work / ".gitattributes", "*.txt text\n*.ident ident\nrun.sh text=auto\n")
        write(work / ".gitignore", "*.log\n/.proctor/\n")
        write(work / "src/a.py", "a = 1\n")
        write(work / "tasks.json", "[]\n")
        git(work, "init", "-q", "-b", "trunk")
        committed(work)
        sitting = Sitting(work)
        for number, doing in enumerate(tasks, 1):
            for path, deed, content in doing:
                do(work / path, deed, content)
            sitting.task(number)
            assert git(work, "rev-parse", f"{NAME}^{{tree}}") == by_hand(work)
        assert subjects(work) == [f"Task {number}: do it" for number in range(1, len(tasks) + 1)]


def do(place: Path, deed: str, content: str) -> None:
    if place.parent.is_dir() and (place.is_symlink() or place.is_file()):
        place.unlink()
    elif place.is_dir():
        shutil.rmtree(place)
    if deed != "remove":
        for folder in place.parents:
            if folder.is_file() or folder.is_symlink():
                folder.unlink()
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to("src") if deed == "link" else write(place, content, 0o755 if deed == "run" else 0o644)


def by_hand(work: Path) -> str:
    """The tree that `git add -A` makes, but for the harness's own files."""
    index = work / ".git" / "by-hand"
    shutil.copy2(work / ".git" / "index", index)  # with its time: by that git knows what it has to look at again
    aside = ("-c", "core.safecrlf=false")
    os.environ["GIT_INDEX_FILE"] = str(index)
    try:
        run = ["git", "-C", str(work)]
        subprocess.run([*run, *aside, "add", "-A"], check=True, capture_output=True)
        subprocess.run([*run, "reset", "-q", "HEAD", "--", "tasks.json"], check=True, capture_output=True)
        return subprocess.run([*run, "write-tree"], check=True, capture_output=True, text=True).stdout
    finally:
        del os.environ["GIT_INDEX_FILE"]
        index.unlink()
