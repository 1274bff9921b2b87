"""`proctor demo`: copy a sample workspace somewhere fresh and run it as any other."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from proctor import data
from proctor.cli import run
from proctor.errors import Unrecoverable, UsageError
from proctor.lookup import find_program
from proctor.tui.terminal import wrapped
from proctor.words import ExitCode

AUDITED = "proctor audit"
"""In the words of a sample that is for what an audit finds."""


def demo(given: argparse.Namespace) -> int:
    """Copy a sample and call what `run` calls."""
    folders = sorted(data.samples_dir().iterdir())
    samples = {folder.name: folder for folder in folders if (folder / "proctor.yaml").exists()}
    if given.list:
        for name, folder in samples.items():
            print(wrapped(f"{name:12} {purpose(folder)}", 13))
        return ExitCode.DONE
    if given.name not in samples:
        raise UsageError(f"no sample {given.name!r}; there are: {', '.join(samples)}")
    print(wrapped(f"{given.name}: {purpose(samples[given.name])}"), flush=True)
    workspace = copy(samples[given.name], Path(given.into).resolve() if given.into else None)
    print(f"workspace: {workspace}")
    allow_weak(workspace)
    sys.stdout.flush()
    given.dir = workspace
    given.no_audit = True  # it shows the loop, and is short
    given.headless = run.is_headless(given)
    with operator(workspace, given.headless):
        code = run.run(given)
    if code == ExitCode.DONE and AUDITED in purpose(samples[given.name]):
        print(wrapped(f"{given.name} is there for what `{AUDITED}` finds: run it as the line above says"))
    return code


@contextlib.contextmanager
def operator(workspace: Path, headless: bool) -> Iterator[None]:
    """Without a screen nobody sits at the desk: the sample's own script does, with the commands a person would type."""
    script = workspace / "tools" / "desk.py"
    if not (headless and script.exists()):
        yield
        return
    child = subprocess.Popen([sys.executable, script, workspace], stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        yield
    finally:
        child.terminate()
        child.wait()


def purpose(folder: Path) -> str:
    """The first paragraph of a sample's README, on one line."""
    paragraphs = (folder / "README.md").read_text().split("\n\n")
    return next((" ".join(text.split()) for text in paragraphs if text and not text.startswith("#")), "")


def copy(sample: Path, into: Path | None) -> Path:
    """A fresh copy of a sample, with a git repository of its own where git is at hand."""
    workspace = into or Path(tempfile.mkdtemp(prefix="proctor-demo-")) / sample.name
    if workspace.exists():
        raise UsageError(f"{workspace}: exists already; name a folder that does not")
    shutil.copytree(sample, workspace, ignore=shutil.ignore_patterns("__pycache__", ".proctor"))
    git = find_program("git")
    if git:
        quiet = ["-c", "user.name=proctor demo", "-c", "user.email=demo@localhost", "-c", "commit.gpgsign=false"]
        for words in (["init", "-q"], ["add", "-A"], [*quiet, "commit", "-qm", f"The {sample.name} sample"]):
            subprocess.run([git, *words], cwd=workspace, check=False, stdout=subprocess.DEVNULL)
    return workspace


def allow_weak(workspace: Path) -> None:
    """Where namespaces are refused, the demo alone may run in the weak sandbox: its workers are ours."""
    from proctor.contract.load import load
    from proctor.sandbox.choose import choose
    from proctor.supervisor.policies import base

    contract = load(workspace)
    try:
        choose(contract.sandbox.kind).selftest(base(workspace, contract))
    except Unrecoverable as error:
        print(f"proctor: {error}", file=sys.stderr)
        banner = "WEAK SANDBOX: the demo goes on without namespaces, because its workers are ours"
        print(f"proctor: {banner}", file=sys.stderr)
        path = workspace / "proctor.yaml"
        path.write_text(path.read_text().replace("kind: bwrap", "kind: weak"))
        if load(workspace).sandbox.kind != "weak":
            path.write_text(path.read_text() + "\nsandbox: {kind: weak}\n")
