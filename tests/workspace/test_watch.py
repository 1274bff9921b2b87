"""The feed tells what was touched, and says when it no longer can."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from harness import PATIENCE
from proctor.workspace.tree import Kind, Touch
from proctor.workspace.watch import Watcher


async def gather(feed: Watcher, enough: Callable[[dict[str, Kind]], bool]) -> dict[str, Kind]:
    """The last kind of every path, as soon as that is enough."""
    found: dict[str, Kind] = {}

    async def collect() -> None:
        async for group in feed:
            for touch in group:
                found[touch.path] = touch.kind
            if enough(found):
                return

    await asyncio.wait_for(collect(), PATIENCE)
    return found


def holds(*paths: str) -> Callable[[dict[str, Kind]], bool]:
    return lambda found: found.keys() >= set(paths)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/old").write_text("old")
    (tmp_path / "node_modules").mkdir()
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    return tmp_path


async def test_files_that_are_written_changed_and_removed_are_told(workspace: Path) -> None:
    async with Watcher(workspace) as feed:
        (workspace / "src/new").write_text("new")
        assert (await gather(feed, holds("src/new")))["src/new"] is Kind.ADDED
        (workspace / "src/old").write_text("longer than before")
        assert (await gather(feed, holds("src/old")))["src/old"] is Kind.CHANGED
        (workspace / "src/old").unlink()
        assert (await gather(feed, holds("src/old")))["src/old"] is Kind.REMOVED
        assert (feed.alive, feed.reason) == (True, "")


async def test_what_is_ignored_is_not_told(workspace: Path) -> None:
    async with Watcher(workspace) as feed:
        for name in ("node_modules/x", ".git", "x.log", "seen"):
            (workspace / name).write_text("x")
        assert await gather(feed, holds("seen")) == {"seen": Kind.ADDED}


async def test_folders_that_are_new_are_followed_however_deep(workspace: Path) -> None:
    async with Watcher(workspace) as feed:
        (workspace / "a/b/c").mkdir(parents=True)
        (workspace / "a/b/c/first").touch()
        await gather(feed, holds("a/b/c/first"))
        (workspace / "a/b/c/second").touch()
        await gather(feed, holds("a/b/c/second"))
        shutil.move(workspace / "a", workspace / "z")
        moved = await gather(feed, holds("a/b/c/first", "z/b/c/second"))
        assert (moved["a/b/c/first"], moved["z/b/c/second"]) == (Kind.REMOVED, Kind.ADDED)
        (workspace / "z/b/c/third").touch()
        await gather(feed, holds("z/b/c/third"))
        assert feed.alive


async def test_no_file_of_a_flood_is_missed(workspace: Path) -> None:
    names = [f"d{number % 50}/{number}" for number in range(5_000)]

    def flood() -> None:
        for name in names:
            path = workspace / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(name)

    async with Watcher(workspace) as feed:
        flooding = asyncio.to_thread(flood)
        found, _ = await asyncio.gather(gather(feed, holds(*names)), flooding)
        assert set(found) == set(names)


async def test_a_name_that_is_not_utf_8_ends_the_kernel_s_feed_and_walks_take_over(workspace: Path) -> None:
    async with Watcher(workspace, pause=0.05) as feed:
        os.close(os.open(os.fsencode(workspace) + b"/src/bad\xff", os.O_CREAT))
        await gather(feed, holds("src/bad\udcff"))
        assert not feed.alive
        assert feed.reason == "a file name is not UTF-8, which ends the kernel's feed; walking the folders instead"
        (workspace / "later").touch()
        assert await gather(feed, holds("later")) == {"later": Kind.ADDED}


async def test_a_folder_whose_name_is_not_utf_8_is_walked_from_the_start(workspace: Path) -> None:
    os.mkdir(os.fsencode(workspace) + b"/bad\xff")
    async with Watcher(workspace, pause=0.05) as feed:
        assert not feed.alive
        (workspace / "bad\udcff/x").touch()
        await gather(feed, holds("bad\udcff/x"))


async def test_a_death_is_told_at_once_even_if_nothing_else_is(workspace: Path) -> None:
    async with Watcher(workspace, most_folders=1) as feed:
        groups: list[tuple[Touch, ...]] = []
        async for group in feed:
            groups.append(group)
            break
        assert groups == [()]
        assert feed.reason == "more than 1 folders to watch; walking the folders instead"


async def test_a_workspace_that_vanishes_is_told_as_removed(workspace: Path) -> None:
    async with Watcher(workspace, pause=0.05) as feed:
        shutil.rmtree(workspace)
        found = await gather(feed, holds("src/old", ".gitignore"))
        assert set(found.values()) == {Kind.REMOVED}


async def test_leaving_ends_the_iteration_and_the_thread(workspace: Path) -> None:
    async with Watcher(workspace) as feed:
        listening = asyncio.create_task(gather(feed, lambda found: False))
    assert await listening == {}
    assert "watcher" not in {thread.name for thread in threading.enumerate()}


LIMITED = """
import asyncio, sys
from pathlib import Path
from proctor.workspace.watch import Watcher

async def main():
    async with Watcher(Path(sys.argv[1])) as feed:
        print(feed.alive, feed.reason)

asyncio.run(main())
"""


def test_a_limit_on_watches_is_one_line_and_then_walks(workspace: Path) -> None:
    for number in range(20):
        (workspace / str(number)).mkdir()
    shell = 'echo 5 > /proc/sys/user/max_inotify_watches && exec "$@"'
    command = ["unshare", "-Ur", "sh", "-c", shell, "sh", sys.executable, "-c", LIMITED, str(workspace)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    if "unshare" in run.stderr or "max_inotify_watches" in run.stderr:
        pytest.skip(f"no user namespace to set a limit in: {run.stderr.strip()}")
    assert run.stdout == (
        "False the kernel's limit on watches is reached (fs.inotify.max_user_watches, max_user_instances); "
        "walking the folders instead\n"
    )
