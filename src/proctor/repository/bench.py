"""Where a commit for the operator's repository is put together: a scratch repository that reads the objects of the
checkpoint store and of the operator's repository, and holds the new ones until they are handed over as one pack.

Its attributes are those of the commit that is built upon, its configuration holds no program. So line ends are
converted as the operator's git would, while filters, hooks and monitors are never run.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from proctor.checkpoint.record import Held, is_below, is_inside, parents, raw, text
from proctor.checkpoint.store.command import GitFailed
from proctor.checkpoint.store.draft import adopt
from proctor.checkpoint.store.hygiene import git_program
from proctor.checkpoint.store.plumbing import Git, disk_faults, joined, split
from proctor.checkpoint.view import NOTHING, Delta, deltas
from proctor.lookup import search_path
from proctor.repository.aside import Aside
from proctor.repository.layout import Layout
from proctor.text import safe_line
from proctor.trees import remove_tree

if TYPE_CHECKING:  # `run` asks whether there can be a branch, and waits for what this loads
    from proctor.checkpoint.repository import Store

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree of nothing, which git knows without having it."""
_LINK = 0o160000
_FOREIGN = re.compile(rb".*\.quarantined(-\d+)?\Z|(\.git|git~\d+)[ .]*(:.*)?\Z", re.IGNORECASE | re.DOTALL)
"""What was put out of the way, and names that some file systems take for `.git`, which no git would check out."""
_UNSEEN = re.compile(rb"\xe2\x80[\x8c-\x8f\xaa-\xae]|\xe2\x81[\xaa-\xaf]|\xef\xbb\xbf")
"""Characters that such a file system passes over."""
_ATTRIBUTES = ("filter", "text", "crlf", "eol", "ident", "working-tree-encoding")
_FILTER = re.compile(r"filter\.(.+)\.(?:clean|smudge|process)\Z", re.DOTALL)
_PATHS = ("core.attributesfile", "core.excludesfile")
_FAST = ("core.fsync=none",)
_NAMED = 10


class Bench:
    """One scratch repository, gone when its context is left. `folder` is the bench's own.

    `left_out` are files and folders of the workspace that are not the worker's work: in a commit they stay as the
    one before it has them.
    """

    def __init__(self, folder: Path, layout: Layout, store: Store, left_out: Iterable[str]) -> None:
        assert layout.git_dir is not None
        assert layout.common is not None
        self._folder = folder
        self._layout = layout
        self._git_dir, self._common = layout.git_dir, layout.common
        self._store = store
        self._left_out = frozenset(raw(os.path.normpath(path)) for path in (*left_out, ".proctor"))
        self._prefix = raw(layout.prefix) + b"/" if layout.prefix else b""
        empty = folder / "empty"
        self.theirs = Git(empty, self._common)
        """The operator's repository."""
        self._worktree = Git(empty, self._git_dir)
        self._git = Git(empty, folder / "git")
        self._plain = Git(empty, folder / "plain")
        self._new = folder / "git" / "objects"
        self._objects = self._common / "objects"
        self._config: dict[str, str] = {}
        self._filters: frozenset[str] = frozenset()
        """Those that the operator's configuration defines: any other does nothing to git."""
        self._base: dict[bytes, tuple[int, str]] = {}
        self._theirs: frozenset[str] = frozenset()
        self._tracked: dict[bytes, bool] = {}
        self._tree = EMPTY
        self._wanted: set[str] = set()

    def __enter__(self) -> Bench:
        remove_tree(self._folder)
        with disk_faults(self._folder):
            (self._folder / "empty").mkdir(mode=0o700, parents=True)
            for git in (self._git, self._plain):
                git.create()
                named = b"".join(os.fsencode(place) + b"\n" for place in (self._store.objects, self._objects))
                (git.gitdir / "objects" / "info" / "alternates").write_bytes(named)
            info = self._git.gitdir / "info"
            for name in ("attributes", "exclude"):
                _copy(self._common / "info" / name, info / name)
        self._config = _configuration(self._git_dir)
        self._filters = frozenset(
            one[1] for key, value in self._config.items() if value and (one := _FILTER.match(key))
        )
        listed = self._worktree.run("ls-files", "-z", "-t", env={"GIT_OBJECT_DIRECTORY": str(self._objects)})
        self._tracked = {line[2:]: line.startswith(b"S") for line in split(listed)}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        remove_tree(self._folder)

    # --- building -----------------------------------------------------------------------------

    def head(self) -> str:
        """The commit that is checked out in the operator's worktree; "" before the first one."""
        env = {"GIT_OBJECT_DIRECTORY": str(self._objects)}
        with self._worktree.start("rev-parse", "-q", "--verify", "HEAD^{commit}", env=env) as run:
            return run.output(ok=(0, 1)).decode().strip()

    def begin(self, base: str) -> None:
        """Build on a commit, or on nothing."""
        self._git.run("read-tree", *([base] if base else ["--empty"]))
        self._base = self._entries()
        self._theirs = frozenset(oid for _, oid in self._base.values())
        self._tree = self.tree()

    def become(self, held: Held, start: Held) -> None:
        """Make the tree what the operator's git would make of a checkpoint."""
        tree = self._subtree()
        skipped = {path for path, skip in self._tracked.items() if skip}
        found = [delta for delta in deltas(self._git, tree, held.files) if self._full(delta.path) not in skipped]
        self._change(found, held, start)
        self._base = self._entries()

    def _entries(self) -> dict[bytes, tuple[int, str]]:
        found = {}
        for line in split(self._git.run("ls-files", "-s", "-z")):
            head, path = line.split(b"\t", 1)
            mode, oid, _ = head.decode().split(" ")
            found[path] = int(mode, 8), oid
        return found

    def follow(self, before: Held, after: Held, start: Held, theirs: Callable[[bytes], bool]) -> list[str]:
        """Change in the tree what differs between two checkpoints, and what was left out of the commits so far, unless
        `theirs` says of a path in the repository that the operator made it what it is. What is left out of the
        difference, a line each."""
        tree = self._subtree()
        found = {delta.path: delta for delta in deltas(self._git, before.files, after.files)}
        fresh = frozenset(found)
        for delta in deltas(self._git, tree, after.files):
            full = self._full(delta.path)
            if not (theirs(full) or self._tracked.get(full, False)):
                found.setdefault(delta.path, delta)
        return self._change(list(found.values()), after, start, fresh)

    def differing(self, before: str, after: str) -> set[bytes] | None:
        """The paths that differ between two commits of the operator's repository; None if one is not there."""
        try:
            command = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after)
            return set(split(self._git.run(*command)))
        except GitFailed:
            return None

    def changed(self) -> bool:
        """Whether the tree differs from that of the last commit."""
        return self.tree() != self._tree

    def tree(self) -> str:
        """Write the tree as it stands."""
        return self._git.run("write-tree", "--missing-ok", config=_FAST).decode().strip()

    def commit(self, parent: str, message: str) -> str:
        """Write a commit of the tree as it stands, by the operator as his git names him."""
        name, email = self._config.get("user.name", ""), self._config.get("user.email", "")
        who = {"NAME": name, "EMAIL": email} if name.strip() and email.strip() else {}
        env = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()}
        parents = ["-p", parent] if parent else []
        tree = self.tree()
        said = self._git.run("commit-tree", tree, *parents, input=message.encode(), env=env, config=_FAST)
        commit = said.decode().strip()
        self._wanted |= {commit, tree, *self._new_between(self._tree, tree)}
        self._tree = tree
        return commit

    def _new_between(self, before: str, after: str) -> Iterator[str]:
        """The files and folders of a tree that another one has not. Some may be in the checkpoint store alone."""
        command = ("diff-tree", "-r", "-t", "-z", "--raw", "--no-renames", "--no-abbrev")
        fields = split(self._git.run(*command, before, after))
        for at in range(0, len(fields) - 1, 2):
            _, mode, _, oid, _ = fields[at].decode().split(" ")
            if int(mode, 8) not in (0, _LINK):
                yield oid

    def hand_over(self) -> None:
        """Put everything new into the operator's repository as one pack, on disk when this returns."""
        wanted = sorted(self._wanted - self._theirs)
        pack = self._new / "pack"
        command = ("pack-objects", "-q", "--window=0", str(pack / "pack"))
        self._git.run(*command, input="\n".join([*wanted, ""]).encode(), config=_FAST)
        place = self._objects / "pack"
        with disk_faults(place):
            place.mkdir(exist_ok=True)
            for suffix in ("pack", "rev", "idx"):  # a pack counts once its index is there
                for path in pack.glob(f"*.{suffix}"):
                    adopt(path, place / path.name)
            fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    # --- what goes in -------------------------------------------------------------------------

    def _change(self, found: list[Delta], held: Held, start: Held, told: frozenset[bytes] = frozenset()) -> list[str]:
        """Take these differences in. What of the paths to be `told` of is left out, a line each."""
        chosen, lines = self._chosen(found, held, start, told)
        gone = [delta.path for delta in chosen if delta.new == NOTHING]
        coming = {delta.path: delta for delta in chosen if delta.new != NOTHING}
        secret = self._ignored(coming.keys() - held.notes.ignored, start)
        coming = {path: d for path, d in coming.items() if path not in secret and not self._hidden(path, held)}
        if shown := secret & told:
            lines.append(f"ignored by the rules that the session began with: {_names(shown)}")
        attributes = self._attributes(coming)
        filtered = {path: given["filter"] for path, given in attributes.items() if given["filter"] in self._filters}
        if shown := filtered.keys() & told:
            rules = " and ".join(self._rule(name) for name in sorted({filtered[path] for path in shown}))
            lines.append(
                f"left as they were committed, because your git filters them by {rules}: {_names(shown)}; commit them"
                " yourself from the workspace, or take the rule away, and the next commit has them"
            )
        coming = {path: delta for path, delta in coming.items() if path not in filtered}
        converted = self._converted([path for path in coming if self._converts(attributes.get(path))], held.files)
        rows = [b"0 %s\t%s" % (NOTHING.encode(), self._full(path)) for path in gone]
        for path, delta in coming.items():
            oid = converted.get(path, delta.new)
            rows.append(b"%o %s\t%s" % (self._mode(path, delta.new_mode), oid.encode(), self._full(path)))
        self._git.run("update-index", "-z", "--add", "--replace", "--index-info", input=joined(rows))
        return lines

    def _chosen(
        self, found: list[Delta], held: Held, start: Held, told: frozenset[bytes]
    ) -> tuple[list[Delta], list[str]]:
        """Without what is not the worker's, and without repositories and what nested ones hold; lines on those."""
        renamed = Aside(self._paths(held))
        repositories = held.notes.repositories | start.notes.repositories | renamed.nested
        folders = {parent for path in self._base for parent in parents(path)} if repositories else set()
        nested = {path for path in repositories if self._full(path) not in folders}
        links = {path for path, (mode, _) in self._base.items() if mode == _LINK}
        chosen = [
            delta
            for delta in found
            if not is_below(delta.path, self._left_out)
            and not any(_FOREIGN.match(_UNSEEN.sub(b"", part)) for part in delta.path.split(b"/"))
            and not is_below(self._full(delta.path), links)
            and not (renamed.is_innards(delta.path) and self._full(delta.path) not in self._base)
            and not (
                delta.new == NOTHING and (is_below(delta.path, held.notes.not_kept) or renamed.is_head(delta.path))
            )
        ]
        within = {
            path for path in nested if any(is_inside(delta.path, {path}) for delta in chosen if delta.path in told)
        }
        lines = []
        if within:
            lines.append(f"in a git repository of its own, whose files are not taken in: {_names(within)}")
        return [delta for delta in chosen if not is_inside(delta.path, nested)], lines

    def _paths(self, held: Held) -> set[bytes]:
        """All that is there in a checkpoint, or was not kept in it."""
        files = split(self._git.run("ls-tree", "-r", "-z", "--name-only", "--full-tree", held.files))
        return {*files, *held.manifest.empty, *held.manifest.fifos, *held.notes.not_kept}

    def _rule(self, name: str) -> str:
        """An attribute that names a filter, and the files that may say so."""
        files = {path: oid for path, (_, oid) in self._base.items() if path.rpartition(b"/")[2] == b".gitattributes"}
        said = f"filter={name}".encode(errors="surrogateescape")
        found = [path for path, oid in sorted(files.items()) if said in self._git.run("cat-file", "blob", oid)]
        return f"{safe_line(said, 60)} in {_names(found) if found else 'your own attributes'}"

    def _hidden(self, path: bytes, held: Held) -> bool:
        return path in held.notes.ignored and self._full(path) not in self._tracked

    def _ignored(self, paths: Iterable[bytes], start: Held) -> set[bytes]:
        """Those that the rules at the start leave out, whatever a worker made of the rules since."""
        asked = [path for path in paths if self._full(path) not in self._tracked]
        if not asked:
            return set()
        self._lay_rules(start)
        told = joined(b"./" + self._full(path) for path in asked)
        rules = self._folder / "rules"
        command = ("check-ignore", "-z", "--stdin", "--no-index")
        with self._git.start(*command, input=told, work=rules, config=self._settings("core.excludesfile")) as run:
            said = split(run.output(ok=(0, 1)))
        return {path.removeprefix(b"./" + self._prefix) for path in said}

    def _lay_rules(self, start: Held) -> None:
        """The ignore rules as the session found them: above the workspace the operator's files, in it the start's."""
        rules = self._folder / "rules"
        if rules.exists():
            return
        for folder in Path(self._layout.prefix).parents if self._layout.prefix else ():
            _copy(self._layout.top / folder / ".gitignore", rules / folder / ".gitignore")
        listed = split(self._plain.run("ls-tree", "-r", "-z", "--full-tree", start.files))
        files = [line.split(b"\t", 1)[1] for line in listed if line.startswith(b"100")]
        named = [path for path in files if path.rpartition(b"/")[2] == b".gitignore"]
        self._lay(named, start.files, rules / self._layout.prefix)

    def _lay(self, paths: list[bytes], files: str, where: Path) -> None:
        """Write files of a checkpoint's tree below a folder, their bytes as they are."""
        where.mkdir(parents=True, exist_ok=True)
        if not paths:
            return
        self._plain.run("read-tree", files)
        self._plain.run("checkout-index", "-z", "--stdin", "-f", "-q", input=joined(paths), work=where)

    def _attributes(self, coming: dict[bytes, Delta]) -> dict[bytes, dict[str, str]]:
        """What the attributes of the commit that is built upon say of files."""
        paths = {self._full(path): path for path, delta in coming.items() if stat.S_ISREG(delta.new_mode)}
        command = ("check-attr", "--cached", "-z", "--stdin", *_ATTRIBUTES)
        said = split(self._git.run(*command, input=joined(paths), config=self._settings("core.attributesfile")))
        found: dict[bytes, dict[str, str]] = {path: {} for path in paths.values()}
        for at in range(0, len(said), 3):
            found[paths[said[at]]][said[at + 1].decode()] = text(said[at + 2])
        return found

    def _converts(self, given: dict[str, str] | None) -> bool:
        if given is None:
            return False
        auto = self._config.get("core.autocrlf", "").lower() in ("true", "yes", "on", "1", "input")
        return auto or any(value not in ("unspecified", "unset") for value in given.values())

    def _converted(self, paths: list[bytes], files: str) -> dict[bytes, str]:
        """The ids of files after git's own conversions: line ends, encodings, `$Id$`. One that git cannot convert, as
        its bytes are not in the encoding that an attribute names, has none."""
        if not paths:
            return {}
        raw_files = self._folder / "raw"
        remove_tree(raw_files)
        self._lay(paths, files, raw_files / self._layout.prefix)
        aside = {"GIT_INDEX_FILE": str(self._folder / "aside")}
        shutil.copyfile(self._git.gitdir / "index", aside["GIT_INDEX_FILE"])
        full = {self._full(path): path for path in paths}
        config = (*_FAST, *self._settings("core.autocrlf", "core.eol", "core.attributesfile"))
        command = ("update-index", "-z", "--add", "--replace", "--stdin")
        try:
            self._git.run(*command, input=joined(full), env=aside, work=raw_files, config=config)
        except GitFailed:
            middle = len(paths) // 2
            return self._converted(paths[:middle], files) | self._converted(paths[middle:], files) if middle else {}
        entries = [line.split(b"\t", 1) for line in split(self._git.run("ls-files", "-s", "-z", env=aside))]
        return {full[path]: head.decode().split(" ")[1] for head, path in entries if path in full}

    def _mode(self, path: bytes, mode: int) -> int:
        if stat.S_ISREG(mode) and self._config.get("core.filemode", "").lower() in ("false", "no", "off", "0"):
            known = self._base.get(self._full(path), (0, ""))[0]
            return known if stat.S_ISREG(known) else 0o100644
        return mode

    def _settings(self, *keys: str) -> list[str]:
        return [f"{key}={self._config[key]}" for key in keys if key in self._config]

    def _subtree(self) -> str:
        """The part of the tree that is the workspace's."""
        where = [f"--prefix={self._layout.prefix}/"] if self._prefix else []
        with self._git.start("write-tree", "--missing-ok", *where, config=_FAST) as run:
            return run.output(ok=(0, 128)).decode().strip() or EMPTY

    def _full(self, path: bytes) -> bytes:
        return self._prefix + path


def _names(paths: Iterable[bytes]) -> str:
    """A few of the paths, safe to show."""
    known = sorted(paths)
    more = f" and {len(known) - _NAMED} more" if len(known) > _NAMED else ""
    return ", ".join(safe_line(path, 200) for path in known[:_NAMED]) + more


def _copy(file: Path, to: Path) -> None:
    """Copy a small plain file of the operator's; one that is not there is empty."""
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(file.read_bytes() if file.is_file() else b"")


def _configuration(git_dir: Path) -> dict[str, str]:
    """The operator's git configuration where a commit depends on it; the paths in it absolute."""
    home = os.environ.get("HOME", "/nonexistent")
    xdg = os.environ.get("XDG_CONFIG_HOME") or f"{home}/.config"
    env = {"HOME": home, "XDG_CONFIG_HOME": xdg, "PATH": search_path(), "GIT_DIR": str(git_dir)}
    ask = [git_program(), "config", "--null", "--list"]
    said = subprocess.run(ask, cwd="/", env=env, capture_output=True, check=False).stdout
    found = dict(item.partition("\n")[::2] for item in text(said).split("\0") if item)
    found.setdefault("core.attributesfile", f"{xdg}/git/attributes")
    return found | {key: os.path.expanduser(found[key]) for key in _PATHS if key in found}
