"""Runs the probes as root and as an ordinary user, whoever started the tests.

Root becomes the ordinary user by itself; a user becomes root only where `sudo` asks for no password. Where the
ordinary user cannot read the interpreter, the packages or the probes that root uses, copies of them are made for it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import proctor

NOBODY = 65534
TESTS = Path(__file__).parents[1]
KEPT = ("PATH", "LANG", "TERM")
NOT_COPIED = shutil.ignore_patterns(
    "__pycache__", "site-packages", "dist-packages", "test", "tests", "config-*", "idlelib"
)


class NotHere(Exception):
    """This machine gives no way to be that account; why, in words."""


@dataclass(frozen=True, slots=True)
class Account:
    """How to run a program as somebody: words before it, the id to become, an interpreter and a copy of the tests."""

    before: tuple[str, ...]
    uid: int | None
    python: Path
    tests: Path
    home: Path

    def run(self, *words: str, seconds: float) -> subprocess.CompletedProcess[str]:
        """The probes' runner with these words."""
        kept = {name: text for name, text in os.environ.items() if name in KEPT}
        environment = {**kept, "HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1"}
        names = [f"{name}={text}" for name, text in environment.items()] if self.before else []
        become = {"user": self.uid, "group": self.uid, "extra_groups": ()} if self.uid is not None else {}
        return subprocess.run(
            [*self.before, *names, str(self.python), str(self.tests / "probes" / "run.py"), *words],
            env=environment,
            cwd=self.home,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
            **become,  # type: ignore[call-overload]
        )


def root(home: Path) -> Account:
    """NotHere where neither this process is root nor `sudo -n` makes one."""
    before: tuple[str, ...] = ()
    if os.geteuid():
        if (
            not shutil.which("sudo")
            or subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False).returncode
        ):
            raise NotHere("root is not to be had here without a password")
        before = ("sudo", "-n", "env", "-i")
    return Account(before, None, Path(sys.executable), TESTS, home)


def user(home: Path) -> Account:
    """This process's own account; for root nobody's, or the one that PROCTOR_PROBES_USER names."""
    if os.geteuid():
        return Account((), None, Path(sys.executable), TESTS, home)
    name = os.environ.get("PROCTOR_PROBES_USER")
    uid = pwd.getpwnam(name).pw_uid if name else NOBODY
    os.chown(home, uid, uid)
    own = Account((), uid, Path(sys.executable), TESTS, home)
    if _runs(own):
        return own
    copied = _copied(home.parent / "copy", uid)
    own = Account((), uid, copied / "environment/bin/python", copied / "tests", home)
    if not _runs(own):
        raise NotHere("the interpreter in use cannot be run by an ordinary user, nor a copy of it")
    return own


def _runs(account: Account) -> bool:
    try:
        return account.run("--help", seconds=60).returncode == 0
    except OSError:
        return False


def _copied(place: Path, uid: int) -> Path:
    """Packages, this program and the probes where everybody can read them, with an interpreter that all may run."""
    binary = _interpreter(place, uid)
    environment = place / "environment"
    site = environment / Path(sysconfig.get_path("purelib")).relative_to(sys.prefix)
    shutil.copytree(sysconfig.get_path("purelib"), site, ignore=shutil.ignore_patterns("__pycache__", "*.pth"))
    package = Path(proctor.__file__).parent
    if not (site / "proctor" / "__init__.py").exists():  # of one in use from its source only the data is there
        shutil.copytree(package, site / "proctor", ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    (environment / "bin").mkdir()
    (environment / "bin/python").symlink_to(binary)
    (environment / "pyvenv.cfg").write_text(f"home = {binary.parent}\ninclude-system-site-packages = false\n")
    shutil.copytree(TESTS / "probes", place / "tests/probes", ignore=shutil.ignore_patterns("__pycache__"))
    _open(place)
    return place


def _interpreter(place: Path, uid: int) -> Path:
    """The one in use, else one of its kind among the system's, else a copy of it; NotHere where none of them runs."""
    name = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for candidate in (os.path.realpath(sys.executable), shutil.which(name, path="/usr/local/bin:/usr/bin")):
        if candidate and _version(Path(candidate), uid):
            return Path(candidate)
    base, library = Path(sys.base_prefix), Path(sysconfig.get_path("stdlib"))
    shutil.copytree(library, place / "python" / library.relative_to(base), ignore=NOT_COPIED, symlinks=True)
    for shared in (base / "lib").glob("libpython3*.so*"):
        shutil.copy2(shared, place / "python/lib", follow_symlinks=False)
    (place / "python/bin").mkdir()
    copy = Path(shutil.copy2(os.path.realpath(sys.executable), place / "python/bin"))
    _open(place)
    if _version(copy, uid) != sys.version:  # it found another's library
        raise NotHere(f"an ordinary user can run no {name} here, and a copy of this one does not work elsewhere")
    return copy


def _open(place: Path) -> None:
    """Lets everybody read."""
    for path in (place, *place.rglob("*")):
        if not path.is_symlink():
            path.chmod(path.stat().st_mode | (0o555 if path.is_dir() else 0o444))


def _version(binary: Path, uid: int) -> str:
    """What an interpreter says of itself when that account runs it; empty if it cannot."""
    try:
        done = subprocess.run(
            [binary, "-I", "-S", "-c", "import sys, threading, socket, ctypes; print(sys.version)"],
            user=uid, group=uid, extra_groups=(), capture_output=True, text=True, check=False,
        )  # fmt: skip
    except OSError:
        return ""
    return done.stdout.rstrip("\n")


@contextmanager
def ground(place: Path) -> Iterator[Path]:
    """A folder of its own below `place` that everybody can pass through; gone afterwards."""
    folder = place / f"proctor-probes-{os.urandom(4).hex()}"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        sudo = () if not os.geteuid() or not any(p.owner() == "root" for p in folder.iterdir()) else ("sudo", "-n")
        subprocess.run([*sudo, "rm", "-rf", str(folder)], check=False)
