"""Freezing: what the checks rest on is recorded before the work, out of the worker's reach.

Policy for odd files: a link is recorded as a link, never followed (what it points to is frozen only if it is declared
too); a socket, FIFO or device is left out and named in `skipped`; a file that cannot be read, or more than
`recording.TOTAL_LIMIT` bytes altogether, refuses the session.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path, PurePosixPath

from proctor.errors import UsageError
from proctor.oracle import borrowed, made
from proctor.oracle.frozen import (
    CURRENT,
    FILES,
    MANIFEST,
    Frozen,
    Item,
    decode,
    encode,
    is_within,
    load_frozen,
    revision,
    sync_all,
    write_whole,
)
from proctor.oracle.recording import Recorder, unreadable
from proctor.oracle.toolchains import (
    claims,
    discovery,
    doctests,
    loaders,
    makes,
    mentions,
    modules,
    settings,
    starts,
    supports,
)
from proctor.oracle.toolchains.commands import own_scripts
from proctor.text import safe_line
from proctor.trees import remove_tree

__all__ = ["Frozen", "freeze", "load_frozen"]


def freeze(
    workspace: Path,
    store: Path,
    protect: Iterable[str],
    checks: Iterable[Sequence[str]],
    ignored: Collection[str] = (),
    *,
    named: Iterable[str] = (),
    earlier: Frozen | None = None,
    held: Collection[str] = (),
    mine: Collection[str] = (),
    work: Collection[str] = (),
    entrust: Iterable[str] = (),
) -> Frozen:
    """Record the frozen set of a workspace and make it the one in force.

    `protect`: files and folders declared by the contract; `checks`: the argv of every check; `named`: the files that
    checks compare with, and specs; `work`: scripts that checks run and that a worker may write; `entrust`: files and
    folders that he may write whatever rests on them; `ignored`: folders that are in no checkpoint. Where there is an
    `earlier` set, only what is or was protected, is known to be the operator's (`mine`) or is a script that no check
    named before, and neither is, nor lies below, a path of `held` is recorded anew; all else stays as it was, since a
    worker could have written it. Durable when it returns; the same workspace gives the same revision. UsageError for a
    path that cannot be protected.
    """
    ignored = {path.rstrip("/") for path in ignored}
    checks = [tuple(word.replace(f"{workspace}/", "./") for word in argv) for argv in checks]
    of_checks = _of_checks(workspace, checks, earlier) - set(work)
    asked = _Asked(
        workspace=workspace,
        roots=_roots(workspace, "protect", protect),
        entrusted=_roots(workspace, "entrust", entrust),
        checks=checks,
        of_checks=of_checks,
        work=work,
        ignored=ignored,
        environments=sorted(path for path in ignored if borrowed.is_environment(workspace / path)),
        earlier=earlier,
        mine={*mine, *(of_checks - earlier.by_path.keys() - set(earlier.named) if earlier else ())},
        held=held,
    )
    store.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=".new-", dir=store))
    try:
        recorder = Recorder(workspace, stage / FILES)
        tree = _record(asked, recorder, named)
        documents = _documents(asked, recorder, tree.texts)
        for path in documents:
            recorder.record(path)
        manifest = encode(
            **_modules(asked, recorder, tree),
            **_environments(asked, recorder),
            **made.record(recorder, checks, ignored, earlier),
            cases=_cases(asked, recorder),
            items=[item for path, item in sorted(recorder.items.items()) if not is_within(path, asked.entrusted)],
            entrusted=asked.entrusted,
            roots=asked.roots,
            awaited=sorted(recorder.awaited),
            named=sorted(of_checks),
            run=sorted({*(" ".join(argv) for argv in checks), *(earlier.run if earlier else ())}),
            tested=sorted(tree.tested),
            documents=sorted({*documents, *(earlier.documents if earlier else ())}),
            sourced=sorted({*recorder.sourced, *(earlier.sourced if earlier else ())}),
            supports=sorted({*recorder.supports, *(earlier.supports if earlier else ())}),
            joined=sorted({*recorder.joined, *(earlier.joined if earlier else ())}),
            skipped=sorted(recorder.skipped),
        )
        folder = _put(store, stage, manifest)
    finally:
        remove_tree(stage)
    return decode(folder, manifest)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """What is to be frozen, as `freeze` is told; `of_checks` are the paths that checks name as their own."""

    workspace: Path
    roots: tuple[str, ...]
    entrusted: tuple[str, ...]
    checks: Collection[Sequence[str]]
    of_checks: Collection[str]
    work: Collection[str]
    ignored: Collection[str]
    environments: Collection[str]
    earlier: Frozen | None
    mine: Collection[str]
    held: Collection[str]

    def anew(self, path: str) -> bool:
        """Whether nobody but the operator can have written what stands at a path."""
        if self.earlier is None:
            return True
        ours = is_within(path, self.roots) or path in self.mine or self.earlier.protects(path)
        return ours and not is_within(path, self.held)


def _record(asked: _Asked, recorder: Recorder, named: Iterable[str]) -> _Tree:
    """Record what is declared, what runners find by themselves, and what these name in turn; the tree that was seen."""
    workspace, of_checks = asked.workspace, asked.of_checks
    told = {os.path.basename(path) for argv in asked.checks for path in makes.files(argv)}
    recorder.make_files |= {path for path in of_checks if os.path.basename(path) in told}
    recorder.awaited |= {path for path in of_checks if "*" in path and _is_awaited(workspace, path, asked.earlier)}
    if asked.earlier:
        recorder.keep(asked.earlier, asked.anew)
    for path in filter(asked.anew, _declared(workspace, asked.roots, (*named, *of_checks), asked.environments)):
        recorder.record(path, declared=True)
    tree = _Tree(asked.earlier)
    packages = discovery.go_packages(recorder.items)
    for path, entry in discovery.walk(workspace, asked.ignored, lenient=True):
        if discovery.is_cache(path):
            continue
        anew = asked.anew(path)
        tree.add(path, anew)
        found = anew and (discovery.is_discovery(path) or discovery.is_of_go_tests(path, packages))
        if found and not (loaders.is_variables(entry.name) and _is_silent(workspace / path)):
            recorder.record(path)
    recorder.follow(asked.anew, asked.ignored, {path for path in of_checks if not path.endswith(claims.DATA)})
    recorder.sources("", "\n".join(word for argv in asked.checks for word in argv))
    recorder.support(asked.anew, asked.ignored, supports.of_commands(asked.checks))
    return tree


def _environments(asked: _Asked, recorder: Recorder) -> dict[str, list[Item] | list[str]]:
    """The parts about environments that are lent to checks: as they were before the first worker."""
    if asked.earlier:
        guarded, trees = list(asked.earlier.guarded), list(asked.earlier.trees)
        return {"guarded": guarded, "trees": trees, "borrowed": list(asked.earlier.borrowed)}
    paths = sorted({path for name in asked.environments for path in borrowed.guarded(asked.workspace, name)})
    guarded = list(filter(None, map(recorder.item, paths)))
    return {
        "guarded": guarded,
        "trees": [recorder.describe(name) for name in asked.environments],
        "borrowed": list(asked.environments),
    }


def _cases(asked: _Asked, recorder: Recorder) -> list[Item]:
    """The part about data that checks take whatever there is of it."""
    earlier = asked.earlier.cases if asked.earlier else ()
    commands = "\n".join(" ".join(argv) for argv in asked.checks)
    found = {item.path: item for item in earlier if not asked.anew(item.path)}
    found |= {item.path: item for item in recorder.cases(asked.anew, asked.ignored, commands)}
    return [item for path, item in sorted(found.items()) if not is_within(path, asked.entrusted)]


def _modules(asked: _Asked, recorder: Recorder, tree: _Tree) -> dict[str, list[str]]:
    """The parts about modules: those that were there, and those in whose place a new one would come."""
    sites = borrowed.sites(asked.workspace, asked.environments, asked.checks)
    imports, installed = _from_elsewhere(recorder.imports, sites)
    taken = modules.LIBRARY | imports | installed
    own = {module.rpartition("/")[2] for module in tree.modules if modules.is_top(module)}
    known = tree.modules | {"/".join(filter(None, whole)) for whole in tree.stood if whole[1] in taken}
    firsts = _starts(asked, recorder, tree)
    if asked.earlier:
        imports, firsts = imports | set(asked.earlier.imports), firsts | set(asked.earlier.starts)
        installed = set(asked.earlier.installed)
    return {
        "modules": sorted(known),
        "imports": sorted(imports - own),
        "installed": sorted(installed - own),
        "starts": sorted(firsts),
    }


def _put(store: Path, stage: Path, manifest: bytes) -> Path:
    """Make what was recorded the set in force; its folder."""
    (stage / MANIFEST).write_bytes(manifest)
    sync_all(stage, (stage / MANIFEST, *(stage / FILES).iterdir(), stage / FILES, stage))
    folder = store / revision(manifest)
    if not folder.is_dir():
        os.rename(stage, folder)
    write_whole(store / CURRENT, folder.name.encode())
    return folder


class _Tree:
    """The folders of a workspace, "" for its top; and of what is not a worker's those with tests for Python (`tested`),
    the top-level modules, what `stood` as a module wherever, and the texts."""

    def __init__(self, earlier: Frozen | None) -> None:
        self.tested = set(earlier.tested if earlier else ())
        self.modules = set(earlier.modules if earlier else ())
        self.stood: set[tuple[str, str]] = set()
        self.folders = {""}
        self.texts: list[str] = []
        self._hold: set[str] = {""}
        self._packages: set[str] = set()

    @property
    def homes(self) -> set[str]:
        """Those that modules are imported from, or that commands start in."""
        return self._hold - self._packages

    def add(self, path: str, anew: bool) -> None:
        """Take a file in; `anew`: it is not a worker's."""
        folder, _, name = path.rpartition("/")
        whole = modules.whole_module(path)
        if anew:
            self.texts += [path] if name.endswith(doctests.SUFFIXES) else []
            self.tested |= {folder} if discovery.is_python_test(name) else set()
            self.modules |= set(filter(None, (modules.top_module(path),)))
            self.stood |= set(filter(None, (whole,)))
        if name.startswith("__init__."):
            self._packages.add(folder)
        if whole:
            self._hold.add(whole[0])
        elif name in discovery.MANIFESTS:
            self._hold.add(folder)
        while folder not in self.folders:
            self.folders.add(folder)
            folder = folder.rpartition("/")[0]


def _declared(
    workspace: Path, roots: Iterable[str], named: Iterable[str], environments: Collection[str]
) -> Iterator[str]:
    """The files below the protected paths, and those of the workspace that checks name as their own; not an
    environment's, which are guarded where they stand and in no copy."""
    for root in roots:
        full = workspace / root
        if full.is_dir() and not full.is_symlink():
            try:
                yield from (p for p, entry in discovery.walk(workspace, top=root) if entry.name != discovery.CACHE)
            except OSError as error:
                raise unreadable(os.path.relpath(error.filename, workspace), error) from error
        elif os.path.lexists(full):
            yield root
    for name in named:
        full = Path(os.path.normpath(workspace / name))
        if full.is_relative_to(workspace) and full.is_file():
            place = full.relative_to(workspace)
            ours = place.parts[0] in discovery.OWN or is_within(str(place), environments)
            if not ours and discovery.on_plain_folders(workspace, str(place)):
                yield str(place)


def _starts(asked: _Asked, recorder: Recorder, tree: _Tree) -> set[str]:
    """The folders that unwatched checks, and the scripts that these name, let Python import from first."""
    work = set(asked.work)
    watching = [argv for argv in asked.checks if work.isdisjoint(map(os.path.normpath, own_scripts(argv)))]
    told = [one for argv in watching if (one := starts.of_check(argv)).gone]
    found = {place for one in told for place in one.resolve("", tree.folders, tree.homes)}
    scripts = _scripts(watching, recorder)
    for item in recorder.plain() if told else ():
        if item.path in scripts or mentions.names_commands(item.path):
            data, base = recorder.text(item), item.path.rpartition("/")[0]
            found |= {base} if item.path in scripts and mentions.is_python(item.path, data) else set()
            found |= starts.of_text(item.path, data.decode(errors="replace")).resolve(base, tree.folders, tree.homes)
    return found


def _documents(asked: _Asked, recorder: Recorder, texts: Iterable[str]) -> list[str]:
    """Those of some texts whose examples checks read, as their commands or what holds these says."""
    scripts = _scripts(asked.checks, recorder)
    holding = (item for item in recorder.plain() if item.path in scripts or mentions.names_files(item.path))
    held = ((item.path, recorder.text(item).decode(errors="replace")) for item in holding)
    told = doctests.told([*(("", " ".join(argv)) for argv in asked.checks), *held])
    return [
        path
        for path in texts
        if path not in recorder.items
        and (told.takes(path) or (told.open and b">>>" in discovery.read(recorder.workspace / path)))
    ]


def _scripts(checks: Iterable[Sequence[str]], recorder: Recorder) -> set[str]:
    """The scripts that checks and what these come to name."""
    return recorder.reached | {path for argv in checks for path in claims.named(argv)}


def _of_checks(workspace: Path, checks: Iterable[Sequence[str]], earlier: Frozen | None) -> set[str]:
    """The paths that checks name as their own, and what stands where a pattern is named that was not named before."""
    named = {name for argv in checks for name in claims.named(argv)}
    patterns = {path for path in named if "*" in path} - set(earlier.named if earlier else ())
    return named | {path for pattern in patterns for path in glob(pattern, root_dir=workspace)}


def _is_awaited(workspace: Path, pattern: str, earlier: Frozen | None) -> bool:
    """Whether nothing more may come to stand where a check's pattern leads: not where all of it is still to be made."""
    if earlier and pattern in earlier.named:
        return pattern in earlier.awaited
    module = re.sub(r"/__\w+__\.\*$|\.\*so$", "", pattern)
    return any(glob(one, root_dir=workspace) for one in (pattern, f"{module}.py", f"{module}/*.py"))


def _is_silent(place: Path) -> bool:
    """Whether a file of variables says nothing to runners: it may hold secrets, and is not kept."""
    plain = os.access(place, os.R_OK) and not place.is_symlink()
    return settings.part(place.name, discovery.read(place)) == {} if plain else not place.is_symlink()


def _roots(workspace: Path, key: str, names: Iterable[str]) -> tuple[str, ...]:
    """Declared paths, each in its one spelling; each must name something in the workspace, reached without a link."""
    places = set()
    for name in names:
        place = PurePosixPath(name)
        if not place.parts or place.is_absolute() or ".." in place.parts or place.parts[0] in discovery.OWN:
            raise UsageError(f"state.{key}: {safe_line(name) or '(empty)'}: must be a path inside the workspace")
        if not discovery.on_plain_folders(workspace, str(place)):
            raise UsageError(f"state.{key}: {safe_line(name)}: lies behind a link; name the place it points to")
        places.add(str(place))
    return tuple(sorted(places))


def _from_elsewhere(names: Iterable[str], sites: Collection[Path]) -> tuple[set[str], set[str]]:
    """Those of the names that Python's library or an installed package provides, and the plugins that are installed;
    and all that the packages of some sites provide."""
    folders = dict.fromkeys((*sites, *Path(sys.prefix).glob("lib*/python*/site-packages")))
    installed = {entry.name.partition(".")[0] for folder in folders for entry in folder.iterdir()}
    plugins = {name for folder in folders for name in borrowed.plugins(folder)}
    known = {name for name in names if name in sys.stdlib_module_names or name in installed}
    return plugins | known, borrowed.installed_names(sites)
