"""The session repository: what stands in for the operator's `.git` in a sandbox, and borrows its objects.

It is the worker's to write. So the host never runs git on it once a worker has had it; what it was made from is
noted beside it, not in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.checkpoint.store.plumbing import disk_faults, write_file
from proctor.repository import hidden, recipe, subtree
from proctor.repository.layout import REPOSITORY, Kind, Layout, content
from proctor.repository.planted import SUFFIX, Before, quarantine
from proctor.repository.source import Facts, borrowed, operator_settings, read
from proctor.sandbox import host
from proctor.sandbox.below import open_own
from proctor.sandbox.policy import Repository
from proctor.trees import remove_tree

PLACE = Path("/run/session.git")
OBJECTS = Path("/run/objects")
MODULES = "modules"
_RESTING = f"HEAD.{SUFFIX}"

_FOLDERS = ("objects/info", "objects/pack", "refs/heads", "refs/tags", "hooks", "info", MODULES)
_APART = (
    "the worker's repository is one commit without what is hidden; to give it your history, take that path out of git's"
    " (a rewrite and `git gc --prune=now`, or `git rm --cached`), or out of state.hide"
)
_BUSY = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "BISECT_LOG", "sequencer")
_VERSION = b"1"

Say = Callable[[str], None]


def prepare(
    layout: Layout,
    folder: Path,
    always: bool = False,
    say: Say = lambda line: None,
    hide: Sequence[str] = (),
    *,
    blank: Sequence[str] = (),
) -> Repository | None:
    """The session repository at `folder`, made new or kept; None where the workspace has no git inside.

    It is kept, with all that workers committed, as long as the operator's HEAD, branches, tags, index and settings
    are what it was made from; else the old one moves to `kept/session-N.git` beside it. `always` gives a workspace
    without a repository an empty history. Where the operator's objects tell what lies at a path to `hide` (relative to
    the workspace), none are borrowed: it begins with one commit, of what HEAD has without those paths. What is tracked
    of the `blank` paths, which are shown empty, counts as unchanged inside.
    `say` gets a line for the operator on what they would not expect.
    UsageError when git cannot read the operator's repository; Unrecoverable when the disk is full.
    """
    if layout.kind is Kind.NONE and not always:
        if layout.reason:
            say(f"{layout.reason}: there is no git inside the sandbox")
        return None
    repository = _mounted(layout, folder)
    parent = layout.workspace.parent
    if layout.kind in (Kind.ABOVE, Kind.NONE) and host.is_closed(parent / REPOSITORY, host.view(layout.workspace)):
        say(f"{parent} is a read-only folder of the host, so that there is no git inside: move the workspace")
        return None
    hide = hidden.normal(hide)
    with disk_faults(folder):
        is_apart = _fresh_or_kept(layout, folder, _plan(layout, repository.place, hide, blank), say)
        ready(folder)
        return replace(repository, borrowed=tuple(_uncovered(layout, folder, repository, hide, is_apart)))


def environment(layout: Layout) -> dict[str, str]:
    """Variables for git inside. The workspace is a mount there, and git looks for a repository above one only when
    told to; and where files are another user's, it has to be told that this is meant."""
    found = {"GIT_DISCOVERY_ACROSS_FILESYSTEM": "1"} if layout.kind in (Kind.ABOVE, Kind.NONE) else {}
    places = [layout.workspace, layout.workspace / REPOSITORY]
    if all(os.stat(place).st_uid == os.geteuid() for place in places if place.exists()):
        return found
    trust = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*"}
    return found | trust


def ready(folder: Path) -> None:
    """Puts right what a worker may have made of the session repository: an empty folder where the operator's modules
    are mounted, and its HEAD after a rest. Call before each start, while no worker runs."""
    top = open_own(folder, stat.S_IRWXU)
    try:
        with contextlib.suppress(FileNotFoundError):
            if not _there("HEAD", top):
                os.rename(_RESTING, "HEAD", src_dir_fd=top, dst_dir_fd=top)
        if _there(MODULES, top) != stat.S_IFDIR:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(MODULES, dir_fd=top)
            os.mkdir(MODULES, dir_fd=top)
    finally:
        os.close(top)


def rest(folder: Path) -> None:
    """Makes the session repository, and whatever a worker put into it, nothing that git would work in: somebody may
    look around in its folder, and its settings are the worker's. Call at the end of each iteration."""
    top = open_own(folder, stat.S_IRWXU)
    try:
        if _there("HEAD", top) and _there(_RESTING, top) == stat.S_IFREG:
            os.unlink(_RESTING, dir_fd=top)
    finally:
        os.close(top)
    quarantine(folder, Before(), state="")


def _there(name: str, folder: int) -> int:
    """The type of what has this name, 0 for nothing."""
    try:
        return stat.S_IFMT(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return 0


def _beside(folder: Path, what: str) -> str:
    return f"{folder.name.removesuffix('.git')}.{what}"


def _mounted(layout: Layout, folder: Path) -> Repository:
    own = layout.workspace / REPOSITORY
    upper = layout.workspace.parent / REPOSITORY
    modules = layout.git_dir / MODULES if layout.git_dir else None
    if modules is not None and not (modules.is_dir() and not modules.is_symlink()):
        modules = None
    place: Path = PLACE
    pointer: Path | None = upper
    if layout.kind is Kind.FOLDER:
        place, pointer = own, None
    elif layout.kind is Kind.FILE:
        pointer = own
    elif modules is not None and modules.parent == upper:  # both stand in the folder that the pointer would take
        place, pointer = upper, None
    binds: list[tuple[Path, Path]] = []
    if layout.common is not None:
        for number, objects in enumerate(borrowed(layout.common)):
            binds.append((objects, OBJECTS / str(number)))
    if modules is not None and not (layout.kind is not Kind.FOLDER and modules.is_relative_to(layout.workspace)):
        binds.append((modules, modules if pointer else place / MODULES))
    return Repository(folder, place, pointer, tuple(binds))


def _uncovered(
    layout: Layout, folder: Path, repository: Repository, hide: Sequence[str], is_apart: bool
) -> Iterator[tuple[Path, Path]]:
    """What is shown of the operator's: no objects to one that stands apart, and an empty folder over the repository of
    a hidden submodule."""
    for source, target in repository.borrowed:
        is_objects = target.is_relative_to(OBJECTS)
        if not (is_objects and is_apart):
            yield source, target
        if hide and not is_objects:
            for way in hidden.hidden_modules(source, layout.workspace, hide):
                nothing = folder.with_name(_beside(folder, "nothing"))
                nothing.mkdir(exist_ok=True)
                yield nothing, target / way


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a session repository that stands at `place` inside is made of. `blanks` are the tracked files that are
    shown empty. `tree` is the workspace's, where it is not all that there is: where that is a part of the operator's,
    or stands apart, with nothing borrowed, for what is hidden."""

    layout: Layout
    place: Path
    facts: Facts
    texts: Mapping[str, str]
    entries: tuple[bytes, ...] = ()
    blanks: tuple[bytes, ...] = ()
    tree: str = ""
    origin: tuple[Path, ...] = ()
    hide: tuple[str, ...] = ()
    is_apart: bool = False

    def digest(self) -> bytes:
        """Changes when a repository that was made from this is out of date. A mere fetch, or a commit elsewhere above
        the workspace, does not do that: what workers committed is worth more."""
        refs = [
            f"{found} {name}"
            for name, found in sorted(self.facts.refs.items())
            if name.startswith(("refs/heads/", "refs/tags/")) and not name.startswith(recipe.SESSION_BRANCHES)
        ]
        counted = {name: text for name, text in self.texts.items() if name not in ("packed-refs", *self.facts.links)}
        if self.layout.kind is Kind.ABOVE:
            refs = [self.tree]
            counted["HEAD"] = self.facts.branch
        elif self.is_apart:
            refs = [self.facts.head]
        digest = hashlib.sha256(_VERSION)
        head = [self.layout.kind.name, self.layout.prefix, *map(str, self.origin)]
        head += ["apart" if self.is_apart else "borrowing", *self.hide] if self.hide else []
        for part in (head, [text for item in sorted(counted.items()) for text in item], refs):
            digest.update(os.fsencode("\0".join(part)) + b"\0\0")
        digest.update(b"\0".join(self.entries))
        if self.blanks:
            digest.update(b"\0\0" + b"\0".join(self.blanks))
        return digest.hexdigest().encode() + b"\n"


def _plan(layout: Layout, place: Path, hide: tuple[str, ...], blank: Sequence[str]) -> _Plan:
    if layout.git_dir is None or layout.common is None:
        facts = Facts(operator_settings(layout), {}, {}, "", "", ())
        return _Plan(layout, place, facts, recipe.empty(layout, facts, hide), hide=hide)
    facts = read(layout)
    texts, origin = recipe.texts(layout, facts, place, hide), borrowed(layout.common)
    if layout.kind is not Kind.ABOVE:
        blanks = subtree.tracked(facts.entries, blank)
        return _Plan(layout, place, facts, texts, facts.entries, blanks, origin=origin, hide=hide)
    entries = subtree.entries_below(facts.entries, layout.prefix)
    tree, blanks = subtree.tree_of(layout, facts), subtree.tracked(entries, blank)
    return _Plan(layout, place, facts, texts, entries, blanks, tree, origin, hide)


def _apart(plan: _Plan) -> _Plan:
    """The same with nothing in it of the hidden paths, and of no history."""
    layout, facts = plan.layout, plan.facts
    entries = hidden.visible(plan.entries, plan.hide)
    return replace(
        plan,
        texts=recipe.texts(layout, facts, plan.place, plan.hide, is_apart=True),
        entries=entries,
        blanks=tuple(path for path in plan.blanks if not hidden.is_hidden(os.fsdecode(path), plan.hide)),
        tree=plan.tree if layout.kind is Kind.ABOVE else subtree.tree_of(layout, facts),
        origin=(),
        is_apart=True,
    )


def _fresh_or_kept(layout: Layout, folder: Path, plan: _Plan, say: Say) -> bool:
    """Whether it stands apart from the operator's objects."""
    hide = plan.hide
    record = folder.with_name(_beside(folder, "made-from"))
    recorded = content(record)
    where = ""
    if hide and layout.git_dir:
        searched = _beside(folder, "searched")
        apart = _apart(plan)
        # One that stands apart stays so while it fits: what was hidden may be in the objects without a name.
        is_kept_apart = recorded == apart.digest()
        where = "" if is_kept_apart else hidden.held(layout, plan.facts, hide, folder.with_name(searched))
        if is_kept_apart or where:
            plan = apart
    made_from = plan.digest()
    is_current = recorded == made_from
    if is_current and _is_whole(folder):
        return plan.is_apart
    cause = "your repository has changed since, or what is hidden"
    if is_current:
        cause = "the worker broke its own git repository, so that git would not open it"
    draft = folder.with_name(_beside(folder, "draft"))
    remove_tree(draft)
    _make(plan, draft)
    if os.path.lexists(folder):
        say(f"{cause}: the worker gets a new one made from yours, and its old one is kept as {_put_aside(folder)}")
    write_file(record, made_from)
    os.rename(draft, folder)
    _sync(folder.parent)
    if layout.git_dir and any((layout.git_dir / name).exists() for name in _BUSY):
        say("a merge, rebase or the like is going on in the repository: the worker sees its files, but not its state")
    if plan.is_apart:
        say(f"{where or 'hidden files were in git'}: {_APART}")
    return plan.is_apart


def _make(plan: _Plan, draft: Path) -> None:
    layout, branch = plan.layout, plan.facts.branch
    for name in _FOLDERS:
        (draft / name).mkdir(parents=True)
    for name, text in plan.texts.items():
        _write(draft / name, text)
    if layout.kind is Kind.ABOVE or plan.is_apart:
        commit = ""
        if plan.tree:
            tree = subtree.without(layout, plan.tree, plan.hide, draft) if plan.is_apart else plan.tree
            commit = subtree.commit(layout, plan.facts, tree, draft)
            _write(draft / (branch or "HEAD"), f"{commit}\n")
        elif not branch:  # detached at a commit that has no such folder
            _write(draft / "HEAD", "ref: refs/heads/main\n")
        subtree.index(layout, plan.entries, draft)
        if plan.is_apart:
            subtree.pack(layout, commit, draft)
    elif layout.git_dir is not None:
        _copy_index(layout.git_dir, draft)
    if plan.blanks:
        subtree.pass_over(layout, plan.blanks, draft)
    _write(draft / "objects/info/alternates", "".join(f"{OBJECTS}/{number}\n" for number in range(len(plan.origin))))
    for top, _, files in os.walk(draft):
        for name in files:
            _sync(Path(top, name))
        if files:
            _sync(Path(top))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(os.fsencode(text))


def _copy_index(git_dir: Path, draft: Path) -> None:
    index = git_dir / "index"
    found = index.read_bytes() if index.is_file() else b""
    if found:
        (draft / "index").write_bytes(found)
        written = os.stat(index).st_mtime_ns  # by that git knows which files it has to look at again
        os.utime(draft / "index", ns=(written, written))
    for shared in git_dir.glob("sharedindex.*"):
        with contextlib.suppress(ValueError):
            if bytes.fromhex(shared.suffix[1:]) in found:
                shutil.copyfile(shared, draft / shared.name)


def _is_whole(folder: Path) -> bool:
    """Whether what a worker left is a repository still; its pieces are looked at, not into."""
    try:
        top = open_own(folder, stat.S_IRWXU)
    except OSError:
        return False
    try:
        head = _there("HEAD", top) or _there(_RESTING, top)
        folders = [_there(name, top) for name in ("objects", "refs")]
        return (head, _there("config", top), *folders) == (stat.S_IFREG, stat.S_IFREG, stat.S_IFDIR, stat.S_IFDIR)
    finally:
        os.close(top)


def _put_aside(folder: Path) -> Path:
    kept = folder.parent / "kept"
    kept.mkdir(exist_ok=True)
    number = 1
    while os.path.lexists(kept / f"session-{number}.git"):
        number += 1
    with contextlib.suppress(OSError):  # what cannot be read, git cannot work in either
        rest(folder)
    os.rename(folder, kept / f"session-{number}.git")
    _sync(kept)
    return kept / f"session-{number}.git"


def _sync(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
