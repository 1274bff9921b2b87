"""An index as a difference from a tree, against git's own reading of what comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from checkpoint.gitstate.gits import Repo, make
from checkpoint.gitstate.test_shared_state import apart_from_settings, opened
from proctor.checkpoint.gitstate import index as indexes

LONG = "/".join(["folder" * 20] * 40)


def tree_of(git: Repo) -> dict[bytes, bytes]:
    found = {}
    for line in git.run("ls-tree", "-r", "-z", "HEAD").split("\0")[:-1]:
        head, path = line.split("\t")
        mode, _, oid = head.encode().split(b" ")
        found[path.encode()] = indexes.packed(mode, oid)
    return found


def everything_odd(git: Repo) -> None:
    """Conflicts, flags, removals, additions, a path longer than the index counts."""
    oid = git.run("rev-parse", "HEAD:README").strip()
    for number in range(40):
        git.run("update-index", "--add", "--cacheinfo", f"100644,{oid},many/{number}")
    git.run("commit", "-q", "-m", "many")
    git.run("rm", "-q", "--cached", "many/3")
    git.run("update-index", "--add", "--cacheinfo", f"100755,{oid},{LONG}")
    git.run("update-index", "--add", "--cacheinfo", f"160000,{git.run('rev-parse', 'HEAD').strip()},module")
    git.run("update-index", "--assume-unchanged", "many/4")
    git.run("update-index", "--skip-worktree", "many/5")
    (git.work / "later").touch()
    git.run("add", "-N", "later")
    git.run("update-index", "--index-info", input=f"100644 {oid} 1\tboth\n100644 {oid} 2\tboth\n")


@pytest.mark.parametrize("version", [2, 4])
def test_git_reads_what_was_rebuilt_as_it_read_the_index_itself(tmp_path: Path, version: int) -> None:
    git = make(tmp_path / "work")
    everything_odd(git)
    git.run("update-index", "--index-version", str(version))
    was = [git.run("ls-files", "-s", "-v", "-z"), git.run("diff", "--cached", "--raw"), git.run("status", "-s")]
    place, tree = git.git_dir / "index", tree_of(git)
    parsed = indexes.parse(place.read_bytes(), stats=True)
    wanted = indexes.Difference.decode(indexes.difference(parsed, tree).encode())
    for present in (None, parsed):
        body = indexes.rebuilt(wanted, tree, present, place.stat().st_mtime_ns)
        assert int.from_bytes(body[4:8], "big") == (4 if version == 4 else 3)
        assert indexes.difference(indexes.parse(body), tree) == wanted
        place.write_bytes(body)
        assert [
            git.run("ls-files", "-s", "-v", "-z"),
            git.run("diff", "--cached", "--raw"),
            git.run("status", "-s"),
        ] == was
    git.run("update-index", "--refresh", ok=(0, 1))


def test_an_index_that_is_no_longer_whole_is_refused_not_guessed_at(tmp_path: Path) -> None:
    body = (make(tmp_path / "work").git_dir / "index").read_bytes()
    for broken in (b"", body[:40], body[:-1], body[:30] + b"\xff" + body[31:], b"\0" * 100):
        with pytest.raises(indexes.Unreadable):
            indexes.parse(broken)


@pytest.mark.parametrize(
    "how", [("update-index", "--split-index"), ("sparse-checkout", "set", "--sparse-index", "src")]
)
def test_an_index_that_only_git_can_read_is_kept_as_it_is(tmp_path: Path, how: tuple[str, ...]) -> None:
    git = make(tmp_path / "work")
    git.commit("other/deep/file", "file\n")
    git.run(*how)
    store = opened(git.work)
    first, was = store.snapshot("c1"), git.photograph()
    (git.work / "src/main.py").write_text("staged\n")
    git.run("add", "src/main.py")
    second = store.snapshot("c2")
    store.restore(second.commit, first.commit)
    assert apart_from_settings(git.photograph()) == apart_from_settings(was)
