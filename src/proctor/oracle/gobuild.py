"""What Go's standard library is built to, kept for all checks: by a build in which no code of a worker takes part.

A check builds into a folder that nobody has filled. Since Go comes without its library built, that alone would take
each one half a minute.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

from proctor.oracle import witness_go
from proctor.oracle.toolchains.commands import Kind, Runner, watched
from proctor.oracle.watch import files, toolchains
from proctor.sandbox.policy import DOOR, Policy
from proctor.sandbox.programs import passes
from proctor.sandbox.run import run
from proctor.sandbox.running import Backend
from proctor.trees import scratch_folder

SECONDS = 600.0
"""How long building the library may take; without it every check builds what it needs."""

_LOG_LIMIT = 1 << 20
_MODULE = "module library\n\ngo 1.18\n"
_TEST = "package library\n\nimport (\n{}\n)\n\nfunc Test(*testing.T) {{}}\n"
_PACKAGES = """
archive/tar archive/zip bufio bytes compress/gzip container/heap container/list context crypto/hmac crypto/md5
crypto/rand crypto/sha1 crypto/sha256 crypto/sha512 crypto/tls database/sql embed encoding/base64 encoding/binary
encoding/csv encoding/gob encoding/hex encoding/json encoding/xml errors expvar flag fmt go/ast go/format go/parser
go/token hash/crc32 hash/fnv html html/template image image/png io io/fs io/ioutil log math math/big math/bits
math/cmplx math/rand mime/multipart net net/http net/http/httptest net/mail net/netip net/url os os/exec os/signal
os/user path path/filepath reflect regexp runtime/debug sort strconv strings sync sync/atomic syscall testing/fstest
testing/iotest testing/quick text/tabwriter text/template time unicode unicode/utf16 unicode/utf8
""".split()  # noqa: SIM905 - a list to read
_LATER = """//go:build go1.21

package library

import (
	_ "cmp"
	_ "log/slog"
	_ "maps"
	_ "slices"
)
"""


def library(program: str, backend: Backend, base: Policy) -> Path | None:
    """The built library for the Go that `program` names, as a cache of Go's; made if it is not there.

    None where that is a program of the workspace, or where it cannot be built. Blocks for as long as that takes.
    """
    found = shutil.which(program)
    if found is None or not found.startswith("/") or passes(Path(found), base.workspace):
        return None
    about = os.stat(found)
    mark = f"{os.path.realpath(found)} {about.st_mtime_ns} {about.st_size} {Path(witness_go.__file__).read_bytes()!r}"
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "proctor"
    return _library(found, caches / f"go-{hashlib.sha256(mark.encode()).hexdigest()[:16]}", backend, base)


@cache
def _failed() -> set[Path]:
    """What could not be built in this process's time, which is not tried again."""
    return set()


def _library(program: str, place: Path, backend: Backend, base: Policy) -> Path | None:
    if place.is_dir() or place in _failed():
        return None if place in _failed() else place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(".go-", place.parent) as scratch:
            tree, door, plugin = scratch / "tree", scratch / "door", "_library"
            tree.mkdir()
            door.mkdir()
            (tree / "go.mod").write_text(_MODULE)
            imports = "\n".join(f'\t_ "{name}"' for name in _PACKAGES)
            (tree / "library_test.go").write_text(_TEST.format(f'{imports}\n\t"testing"'))
            (tree / "later_test.go").write_text(_LATER)
            for name, content, _ in files(Kind.GO, plugin):
                (door / name).write_bytes(content)
            inside = base.workspace.resolve() if backend.name == "bwrap" else tree
            policy = replace(
                base,
                source=tree,
                hide=(),
                protect=(),
                environment={**base.environment, **toolchains(Kind.GO, inside / "built")},
                door=door,
            )
            argv = watched((program, "test", "."), Runner(Kind.GO, 0, 2), DOOR, plugin, sys.executable)
            ended = run(backend, argv, policy, SECONDS, scratch / "log", _LOG_LIMIT)
            if ended.exit.code == 0:
                with contextlib.suppress(FileExistsError):
                    (tree / "built" / "go").rename(place)
    except OSError:
        pass
    if not place.is_dir():
        _failed().add(place)
        return None
    return place
