"""A canary for each mask: planted, seen by a bare command, and neither read, written nor reached from inside.

The masks are those of the real argument list; one for which no canary is known fails.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.sandbox import host, private
from proctor.sandbox.mounts import LATCH, Mounts
from proctor.sandbox.places import Is, Place, places
from proctor.sandbox.policy import Policy, settled

from .conftest import Shell

NAME = f"canary-{os.getpid()}"

TRY = """
import json, os, socket, sys
def tried(what):
    try:
        return bool(what())
    except OSError:
        return False
def reach(path):  # which may be longer than a socket's address
    here = os.open(os.path.dirname(path), os.O_PATH)
    with socket.socket(socket.AF_UNIX) as one:
        one.connect(f"/proc/self/fd/{here}/{os.path.basename(path)}")
        return True
def write(path):
    return os.write(os.open(path, os.O_WRONLY | os.O_APPEND), b"+")
wanted = json.loads(open(sys.argv[1]).read())
acts = {"read": lambda path: open(path, "rb").read(1), "list": os.listdir, "write": write, "connect": reach}
print(json.dumps([[act, path] for act, path in wanted if tried(lambda: acts[act](path))]))
"""

Canary = tuple[str, str]
"""What is tried, and the path."""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    def clear() -> None:
        for known in (private._searched, host._view, host._homes):
            known.cache_clear()

    clear()
    yield
    clear()


@pytest.fixture
def planted() -> Iterator[ExitStack]:
    with ExitStack() as undo:
        yield undo


def plant(undo: ExitStack, folder: Path) -> list[Canary]:
    """A file and a listening socket in a folder."""
    file, end = folder / NAME, folder / f"{NAME}.s"
    undo.callback(file.unlink, missing_ok=True)
    file.write_text("SECRET")
    return [("read", str(file)), ("write", str(file)), *listen(undo, end)]


def listen(undo: ExitStack, end: Path) -> list[Canary]:
    server = undo.enter_context(socket.socket(socket.AF_UNIX))
    here = os.open(end.parent, os.O_RDONLY)  # a path may be longer than a socket's address
    server.bind(f"/proc/self/fd/{here}/{end.name}" if len(str(end)) > 100 else str(end))
    os.close(here)
    undo.callback(end.unlink, missing_ok=True)
    server.listen()
    return [("connect", str(end))]


def canaries(undo: ExitStack, place: Place) -> list[Canary]:
    path = Path(place.path)
    if path.is_dir():
        if os.access(path, os.W_OK) and not path.is_relative_to("/proc"):
            return plant(undo, path)
        return [("list", str(path))] if os.access(path, os.R_OK) and os.listdir(path) else []
    if not path.is_file():
        return []
    return [("read", str(path))] if os.access(path, os.R_OK) and path.open("rb").read(1) else []


def bare(wanted: list[Canary], given: Path) -> list[Canary]:
    given.write_text(json.dumps(wanted))
    said = subprocess.run([sys.executable, "-I", "-c", TRY, given], capture_output=True, text=True, check=True).stdout
    return [(act, path) for act, path in json.loads(said)]


def inside(shell: Shell, wanted: list[Canary], policy: Policy) -> list[Canary]:
    (policy.workspace / "try.py").write_text(TRY)
    (policy.workspace / "wanted").write_text(json.dumps(wanted))
    changes = {name: getattr(policy, name) for name in ("workspace", "protect", "hide", "blank", "readonly")}
    code, said = shell(f"{sys.executable} -I try.py wanted", **changes)
    assert code == 0, said
    return [(act, path) for act, path in json.loads(said)]


def show(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Makes a folder one of the system's."""
    monkeypatch.setattr(host, "SYSTEM", (*host.SYSTEM, str(folder)))
    monkeypatch.setattr(host, "SCRATCH", ("/run/tmp",))  # the test's folders lie in a real one
    monkeypatch.setattr(private, "SEARCHED", (str(folder),))


def real(policy: Policy) -> tuple[Place, ...]:
    mounts = Mounts(settled(policy))
    try:
        return places(mounts.words)
    finally:
        mounts.close()


def test_each_mask_of_the_real_list_holds(
    shell: Shell, policy: Policy, workspace: Path, home: Path, planted: ExitStack, tmp_path: Path
) -> None:
    (workspace / "blank.json").write_text("{SECRET}")
    (workspace / "blank").mkdir()
    policy = replace(policy, blank=("blank.json", "blank"))
    wanted: list[Canary] = []
    for place in real(policy):
        if place.kind in {Is.HIDDEN, Is.SCRATCH, Is.FILE}:
            # What the bare user cannot read either needs no mask to be closed to him: nothing is to be shown then.
            found = canaries(planted, place)
            assert found or not os.access(place.path, os.R_OK) or is_empty(place.path), f"no canary for {place.path}"
            wanted += found
    masked = {path for _, path in wanted}
    assert {str(workspace / ".proctor" / NAME), str(home / NAME), f"/tmp/{NAME}"} <= masked
    assert bare(wanted, tmp_path / "wanted") == wanted
    blanks = [("read", str(workspace / "blank.json"))]  # reads as `{}`
    assert inside(shell, wanted, policy) == blanks
    assert shell("cat blank.json; ls -A blank; touch blank/x || mv blank y || rm blank.json", blank=policy.blank)[
        1
    ].startswith("{}\n")


def is_empty(path: str) -> bool:
    """A file or folder of the kernel's that says nothing here."""
    try:
        if os.path.isdir(path):
            return not os.listdir(path)
        return Path(path).is_file() and not Path(path).open("rb").read(1)
    except OSError:
        return True


@pytest.mark.parametrize(
    "folder",
    [
        folder
        for folder in ("/", "/boot", "/home", "/media", "/mnt", "/root", "/run", "/srv", "/var", "/var/lib", "/var/log",
                       "/var/mail", "/var/opt", "/var/spool", "/tmp", "/var/tmp", "/dev/shm")
        if os.access(folder, os.W_OK)
    ],
)  # fmt: skip
def test_each_private_place_of_the_host_holds(
    shell: Shell, policy: Policy, planted: ExitStack, tmp_path: Path, folder: str
) -> None:
    wanted = plant(planted, Path(folder))
    assert bare(wanted, tmp_path / "wanted") == wanted
    assert inside(shell, wanted, policy) == []


def test_nothing_stands_in_the_top_folders_but_what_is_listed(shell: Shell, policy: Policy) -> None:
    folders = ("/", "/var", "/var/lib", "/var/cache", "/sys", "/dev", "/run", "/nix", "/gnu")
    code, said = shell("\n".join(f"ls -A {folder} 2>/dev/null | sed s,^,{folder.rstrip('/')}/," for folder in folders))
    assert code == 0
    devices = "console core fd full null ptmx pts random shm stderr stdin stdout tty urandom zero"
    known = [LATCH, *(place.path for place in real(policy))] + [f"/dev/{name}" for name in devices.split()]
    assert [path for path in said.split() if not any(f"{other}/".startswith(f"{path}/") for other in known)] == []


def test_a_socket_in_a_visible_folder_is_not_reached(
    shell: Shell, policy: Policy, planted: ExitStack, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendor, tools = tmp_path / "vendor", home / ".nvm"
    (vendor / "deep").mkdir(parents=True)
    tools.mkdir()
    show(monkeypatch, vendor)
    old = socket.socket(socket.AF_UNIX)
    old.bind(str(vendor / "old"))
    old.close()  # as one that another network's program listens on: this network's list does not have it
    shell("true")  # what was looked for once
    late = listen(planted, vendor / "deep" / "late")
    late += listen(planted, tools / "late")
    assert bare(late, tmp_path / "wanted") == late
    assert inside(shell, late, policy) == []
    code, said = shell(f"test ! -S {vendor}/old && ls {vendor} && ls {tools}")
    assert (code, said) == (0, "deep\nold\nlate\n")
    (vendor / "old").unlink()
    assert shell("true")[0] == 0


def test_a_private_file_in_a_visible_folder_is_not_read(
    shell: Shell, policy: Policy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vendor = tmp_path / "vendor"
    vendor.mkdir()
    for name, mode in (("open", 0o644), ("mine", 0o600), ("program", 0o700)):
        (vendor / name).write_text("x")
        (vendor / name).chmod(mode)
    show(monkeypatch, vendor)
    wanted = [("read", str(vendor / name)) for name in ("open", "mine", "program")]
    assert bare(wanted, tmp_path / "wanted") == wanted
    assert inside(shell, wanted, policy) == [("read", str(vendor / name)) for name in ("open", "program")]
    (vendor / "mine").unlink()  # what was there once need not stay
    assert shell("true")[0] == 0


def test_what_else_is_mounted_below_the_system_is_not_seen(tmp_path: Path) -> None:
    script = f"""
        mount -t tmpfs x /opt && mkdir /opt/data /opt/tool && mount -t tmpfs x /opt/data && echo SECRET > /opt/data/a
        cat /opt/data/a
        cd {tmp_path} && exec {sys.executable} -P -c '
import sys
from pathlib import Path
from proctor.sandbox.choose import choose
from proctor.sandbox.policy import Policy
with choose("bwrap").launch(["ls", "-R", "/opt"], Policy(Path.cwd()), stdout=1, stderr=2) as one:
    sys.exit(one.wait(20).code)'
    """.replace("\n        ", "\n")
    own = [] if os.geteuid() == 0 else ["-Ur"]
    done = subprocess.run(
        ["unshare", *own, "-m", "sh", "-c", script], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "SECRET\n/opt:\ndata\ntool\n\n/opt/data:\n\n/opt/tool:\n"), done.stderr


BASES = ("/tmp", "/var/tmp", "/dev/shm", "/opt", "/mnt", "/srv", "/usr/local")


@pytest.mark.parametrize("base", [base for base in BASES if os.access(base, os.W_OK)])
def test_a_workspace_may_lie_anywhere_and_its_neighbours_are_not_seen(
    shell: Shell, planted: ExitStack, base: str, tmp_path: Path
) -> None:
    parent = Path(base) / NAME
    planted.callback(shutil.rmtree, parent, ignore_errors=True)
    (parent / "neighbour").mkdir(parents=True)
    wanted = plant(planted, parent / "neighbour")
    assert bare(wanted, tmp_path / "wanted") == wanted
    for name in (b"plain", b"with space", b"two\nlines", b"not \xff text", b"--bind"):
        workspace = parent / os.fsdecode(name)
        workspace.mkdir()
        if name == b"plain":
            assert inside(shell, wanted, Policy(workspace)) == []
        link = tmp_path / "link"
        link.symlink_to(workspace)
        code, said = shell("touch made; ls -A . .. | tail -n 1; test ! -e ../neighbour", workspace=link, hide=())
        assert code == 0, said
        assert (workspace / "made").exists()
        link.unlink()


@pytest.mark.parametrize("kind", ["plain", "link", "link above", "below /var", "beside the workspace"])
def test_a_home_may_lie_anywhere(
    shell: Shell, planted: ExitStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    base = Path("/var/tmp") / NAME if kind == "below /var" else tmp_path / "people"
    planted.callback(shutil.rmtree, base, ignore_errors=True)
    for name in ("me/.ssh", "me/.local/bin", "you", "me/work/project"):
        (base / name).mkdir(parents=True)
    home = named = base / "me"
    if kind == "link":
        named = tmp_path / "linked"
        named.symlink_to(home)
    if kind == "link above":
        (tmp_path / "linked").symlink_to(base)
        named = tmp_path / "linked" / "me"
    program = home / ".local/bin/hello"
    program.write_text("#!/bin/sh\necho hello\n")
    program.chmod(0o755)
    monkeypatch.setenv("HOME", str(named))
    monkeypatch.setenv("PATH", f"{named}/.local/bin:{os.environ['PATH']}")
    wanted = [canary for folder in ("me", "you", "me/.ssh") for canary in plant(planted, base / folder)]
    assert bare(wanted, tmp_path / "wanted") == wanted
    project = home / "work/project" if kind == "beside the workspace" else tmp_path / "outside/project"
    assert inside(shell, wanted, Policy(project)) == []
    code, said = shell("hello; cd; pwd; touch x; ls", workspace=project, protect=(), hide=())
    below = "work\n" if kind == "beside the workspace" else ""
    assert (code, said) == (0, f"hello\n{home}\n{below}x\n")
    assert not (home / "x").exists()
