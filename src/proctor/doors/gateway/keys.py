"""Keys of providers: where they are read, and that they never come out again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from proctor.errors import UsageError

LONGEST_KEY = 16_384
SHORTEST_MASKED = 8
"""Shorter keys are words such as `none` or `ollama`, which answers may hold without giving anything away."""


def read_key(where: str, environ: Mapping[str, str], folder: Path) -> str:
    """The key that the contract names as `env:NAME`, `file:PATH` (its first line; a relative path is below `folder`)
    or `keyring:SERVICE/USER`. UsageError says what is missing, never what was found. May block: a keyring asks."""
    kind, _, name = where.partition(":")
    mend = ""
    match kind:
        case "env":
            key = environ.get(name, "")
            mend = f"`export {name}=…` where you start proctor"
        case "file":
            key = _first_line(where, folder / Path(name).expanduser())
            mend = "write the key into the file's first line"
        case "keyring":
            service, _, user = name.partition("/")
            key = _from_keyring(where, service, user)
            mend = f"`python -m keyring set {shlex.quote(service)} {shlex.quote(user)}` stores one"
        case _:
            raise UsageError("gateway.upstream: a key is named as env:NAME, file:PATH or keyring:SERVICE/USER")
    key = key.strip()
    if not key:
        raise UsageError(
            f"gateway.upstream: {where}: there is no key; {mend}, or name another place for it (env:, file:, keyring:)"
        )
    if len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable():
        raise UsageError(f"gateway.upstream: {where}: what is there is no key: one line of plain characters is wanted")
    return key


def _first_line(where: str, path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.readline(LONGEST_KEY + 2).decode("utf-8", "replace")
    except OSError as error:
        why = (
            "there is no such file"
            if isinstance(error, FileNotFoundError)
            else (error.strerror or "unreadable").lower()
        )
        raise UsageError(
            f"gateway.upstream: {where}: {why}; the key is wanted as the first line of {path}, "
            "readable by you alone (chmod 600)"
        ) from None


def _from_keyring(where: str, service: str, user: str = "") -> str:
    try:
        import keyring
    except ImportError:
        raise UsageError(
            f"gateway.upstream: {where}: keyrings need `pip install keyring`, in the environment that proctor runs from"
        ) from None
    try:
        return keyring.get_password(service, user) or ""
    except Exception as error:  # every back end raises its own
        raise UsageError(
            f"gateway.upstream: {where}: the keyring does not answer ({type(error).__name__}); unlock it, or name "
            "another place for the key (env:, file:)"
        ) from None


class Mask:
    """Replaces keys in bytes that pass by, in whatever pieces they come, by as many asterisks.

    Bytes that may be the beginning of a key wait for those that follow; `end()` gives them back.
    """

    def __init__(self, keys: Iterable[str | None]) -> None:
        self._keys = [key.encode() for key in keys if key and len(key) >= SHORTEST_MASKED]
        self._kept = b""

    def __call__(self, chunk: bytes) -> bytes:
        if not self._keys:
            return chunk
        data = self.whole(self._kept + chunk if self._kept else chunk)
        kept = max(_begun(data, key) for key in self._keys)
        self._kept = data[len(data) - kept :]
        return data[: len(data) - kept]

    def end(self) -> bytes:
        kept, self._kept = self._kept, b""
        return kept

    def whole(self, data: bytes) -> bytes:
        """With no key in it; `data` is all there is."""
        for key in self._keys:
            if key in data:
                data = data.replace(key, b"*" * len(key))
        return data

    def text(self, text: str) -> str:
        for key in self._keys:
            text = text.replace(key.decode(), "*" * len(key))
        return text


def _begun(data: bytes, key: bytes) -> int:
    """How many bytes at the end of the data begin the key."""
    at = data.find(key[:1], max(0, len(data) - len(key) + 1))
    while at >= 0:
        if key.startswith(data[at:]):
            return len(data) - at
        at = data.find(key[:1], at + 1)
    return 0
