"""HTTP/1 read strictly: what two programs could read in two ways is refused, and everything has a bound."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

MOST_HEAD: Final = 1 << 16
MOST_FIELDS: Final = 100
PIECE: Final = 1 << 16

# fmt: off
HOP_BY_HOP: Final = frozenset((
    "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "trailer",
    "transfer-encoding", "upgrade", "http2-settings",
))
"""Headers of one connection, not of the message (RFC 9110, 7.6.1)."""
# fmt: on

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")
_LENGTH = re.compile(r"[0-9]{1,18}")
_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")

Fields = list[tuple[str, str]]


class Malformed(Exception):
    """What came is not HTTP as it is understood here; the status and the reason are the answer to it."""

    def __init__(self, reason: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    first: str
    fields: Fields

    def all(self, name: str) -> list[str]:
        return [value for key, value in self.fields if key.lower() == name]

    def end_to_end(self) -> Fields:
        """The fields that belong to the message, without its length, which the sender of each hop states anew."""
        named = {name.strip().lower() for value in self.all("connection") for name in value.split(",")}
        dropped = HOP_BY_HOP | named | {"content-length"}
        return [(name, value) for name, value in self.fields if name.lower() not in dropped]

    def length(self) -> int | None:
        """How many bytes of body follow, as the head says; None: chunks. Malformed if it says it in two ways."""
        lengths, codings = self.all("content-length"), self.all("transfer-encoding")
        if codings:
            if lengths or [coding.lower() for coding in codings] != ["chunked"]:
                raise Malformed("the length of the body is not clear")
            return None
        if len(lengths) > 1 or not all(map(_LENGTH.fullmatch, lengths)):
            raise Malformed("the length of the body is not clear")
        return int(lengths[0]) if lengths else 0


async def _line(reader: asyncio.StreamReader) -> bytes:
    try:
        line = await reader.readuntil(b"\n")
    except asyncio.LimitOverrunError:
        raise Malformed("a line is too long", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE) from None
    if not line.endswith(b"\r\n"):
        raise Malformed("a line does not end as lines of HTTP do")
    return line[:-2]


async def read_head(reader: asyncio.StreamReader) -> Head:
    """The first line and the fields of a message; Malformed, or EOFError where it ends before."""
    first = (await _line(reader)).decode("latin-1")
    fields: Fields = []
    size = len(first)
    while line := (await _line(reader)).decode("latin-1"):
        size += len(line)
        if size > MOST_HEAD or len(fields) == MOST_FIELDS:
            raise Malformed("the headers are too large", HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        name, colon, value = line.partition(":")
        if not colon or not _NAME.fullmatch(name) or not _VALUE.fullmatch(value):
            raise Malformed("a header is not well formed")
        fields.append((name, value.strip(" \t")))
    if not _VALUE.fullmatch(first):
        raise Malformed("the first line is not well formed")
    return Head(first, fields)


async def body(reader: asyncio.StreamReader, length: int | None) -> AsyncIterator[bytes]:
    """The pieces of a body of so many bytes, or in chunks; Malformed, or EOFError where it breaks off."""
    if length is not None:
        async for piece in _exactly(reader, length):
            yield piece
        return
    while size := await _size(reader):
        async for piece in _exactly(reader, size):
            yield piece
        if await _line(reader):
            raise Malformed("a chunk is longer than it says")
    if await _line(reader):
        raise Malformed("headers after the body are not passed on")


async def _size(reader: asyncio.StreamReader) -> int:
    line = await _line(reader)
    if not _SIZE.fullmatch(line):
        raise Malformed("a chunk's size is not well formed")
    return int(line, 16)


async def _exactly(reader: asyncio.StreamReader, length: int) -> AsyncIterator[bytes]:
    while length:
        piece = await reader.read(min(length, PIECE))
        if not piece:
            raise EOFError("the body broke off")
        length -= len(piece)
        yield piece


def chunk(piece: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(piece), piece)


LAST_CHUNK: Final = b"0\r\n\r\n"


def write_head(first: str, fields: Iterable[tuple[str, str]]) -> bytes:
    return "".join((f"{first}\r\n", *(f"{name}: {value}\r\n" for name, value in fields), "\r\n")).encode("latin-1")
