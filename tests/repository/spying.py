"""Looks for the words of a hidden file in everything of git that a worker can reach."""

from __future__ import annotations

import sys
from pathlib import Path

from repository.conftest import git, session

SECRET = "kennwort-7f3a"
HIDE = ("secrets/", "top.key")

READ = r"""
import os, subprocess, sys, zlib

secret, ways = sys.argv[1].encode(), set()

def look(way, data):
    if secret in data:
        ways.add(way)

def git(*words, where="."):
    done = subprocess.run(["git", "-C", where, *words], capture_output=True)
    return done.stdout

def inflated(data):
    start = data.find(b"x")
    while start >= 0:
        try:
            yield zlib.decompressobj().decompress(data[start:], 1 << 20)
        except zlib.error:
            pass
        start = data.find(b"x", start + 1)

for place in (".", *sys.argv[2:]):
    look("log", git("log", "-p", "--all", "--reflog", where=place))
    look("objects", git("cat-file", "--batch-all-objects", "--batch", where=place))
    look("show", git("show", "HEAD:./secrets/x", where=place) + git("show", ":./secrets/x", where=place))
    look("grep", git("grep", "--cached", secret.decode(), where=place))
    look("stash", git("stash", "list", "-p", where=place))
for root in (".", "/run"):
    for top, folders, files in os.walk(root):
        for name in files:
            try:
                data = open(os.path.join(top, name), "rb").read()
            except OSError:
                continue
            look("files", data)
            for piece in inflated(data) if ".git" in top or root == "/run" else ():
                look("bytes", piece)
print(*sorted(ways))
"""


def ways(place: Path, hide: tuple[str, ...], *repositories: str, protect: tuple[str, ...] = ()) -> set[str]:
    """In which ways the secret can be read inside."""
    (place / "READ.py").write_text(READ)
    script = f"{sys.executable} -I READ.py {SECRET} {' '.join(repositories)}"
    try:
        return set(session(place, script, hide=hide, protect=protect).split())
    finally:
        (place / "READ.py").unlink()


def written(place: Path) -> None:
    (place / "secrets").mkdir(exist_ok=True)
    (place / "secrets" / "x").write_text(f"{SECRET}\n")
    (place / "secrets" / "deep").mkdir(exist_ok=True)
    (place / "secrets" / "deep" / "y").write_text("y\n")
    (place / "top.key").write_text(f"{SECRET} too\n")


def committed(place: Path) -> Path:
    written(place)
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Secrets")
    return place
