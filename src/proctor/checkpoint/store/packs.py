"""New objects as one git pack with its index, written in this process and taken into a store whole or not at all.

A pack costs two files to flush, however many objects it holds. Nothing in it is a difference to another object: that
is left to the packing in idle time.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
import zlib
from pathlib import Path

from proctor.checkpoint.record import id_of

IN_ONE = 16 << 20
"""Bytes up to which a file or another pack is read whole; larger ones go through in pieces or stay as they are."""
_PIECE = 1 << 20
_KINDS = {"commit": 1, "tree": 2, "blob": 3}
_HEAD = struct.Struct(">4sII")
_INDEX = b"\xfftOc\0\0\0\2"
_FAR = 1 << 31


class Pack:
    """A pack that grows in a store's folder of packs, under a name that git passes over. One at a time."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "tmp_new"  # whatever its name, git would use NAME.pack once there is NAME.idx
        self._file: io.BufferedRandom | None = None
        self._places: dict[bytes, tuple[int, int]] = {}
        """By id: the checksum of the packed bytes, and where they begin."""
        self._end = _HEAD.size

    def add(self, kind: str, body: bytes) -> str:
        """Write one object; its id."""
        oid = id_of(kind, body)
        key = bytes.fromhex(oid)
        if key not in self._places:
            self._place(key, _entry_head(kind, len(body)) + zlib.compress(body, 1))
        return oid

    def add_file(self, source: int, size: int, unless: str = "") -> str:
        """Write a file of `size` bytes, read from a descriptor in pieces; its id. Nothing is written if the id is
        `unless`, which the store has. A file that turns out to have another size is none: its id is ""."""
        file, start = self._open(), self._end
        name, packed = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False), zlib.compressobj(1)
        head = _entry_head("blob", size)
        crc, left = self._append(file, head, 0), size
        while piece := os.read(source, min(_PIECE, left + 1)):
            left -= len(piece)
            if left < 0:
                break
            name.update(piece)
            crc = self._append(file, packed.compress(piece), crc)
        crc = self._append(file, packed.flush(), crc)
        key = name.digest()
        if left or key in self._places or key.hex() == unless:
            file.seek(start)
            file.truncate()
            self._end = start
        else:
            self._places[key] = crc, start
        return "" if left else key.hex()

    def add_loose(self, path: Path) -> None:
        """Take over an object that git wrote into a file of its own."""
        head, _, body = zlib.decompress(path.read_bytes()).partition(b"\0")
        self.add(head.split(b" ")[0].decode(), body)

    def absorb(self, pack: Path) -> bool:
        """Take over a whole small pack as it is; False if it is large or holds what is here already."""
        if pack.stat().st_size > IN_ONE:
            return False
        places = _read_index(pack.with_suffix(".idx"))
        if places.keys() & self._places.keys():
            return False
        shift = self._end - _HEAD.size  # distances inside the pack stay what they are
        self._append(self._open(), pack.read_bytes()[_HEAD.size : -20], 0)
        self._places |= {key: (crc, at + shift) for key, (crc, at) in places.items()}
        return True

    def finish(self) -> None:
        """Let it be one of the store's. It is on disk, and then it counts: its index comes last."""
        if self._file is None:
            return
        with self._file as file:
            file.seek(0)
            file.write(_HEAD.pack(b"PACK", 2, len(self._places)))
            file.seek(0)
            digest = hashlib.file_digest(file, "sha1").digest()
            file.write(digest)
            file.flush()
            os.fsync(file.fileno())
        self._file = None
        index = self._path.with_name("tmp_new_index")
        with _created(index) as file:
            file.write(_index(self._places, digest))
            file.flush()
            os.fsync(file.fileno())
        for path, suffix in ((self._path, "pack"), (index, "idx")):
            os.replace(path, path.with_name(f"pack-{digest.hex()}.{suffix}"))
        flush_folder(self._path.parent)

    def forget(self) -> None:
        """Remove it, unless it is one of the store's."""
        if self._file is not None:
            self._file.close()
            self._file = None
            self._path.unlink(missing_ok=True)

    def _place(self, key: bytes, packed: bytes) -> None:
        start = self._end
        self._places[key] = self._append(self._open(), packed, 0), start

    def _append(self, file: io.BufferedRandom, data: bytes, crc: int) -> int:
        file.write(data)
        self._end += len(data)
        return zlib.crc32(data, crc)

    def _open(self) -> io.BufferedRandom:
        if self._file is None:
            self._file = _created(self._path)
            self._file.write(bytes(_HEAD.size))
        return self._file


def flush_folder(place: Path) -> None:
    """Have the names in a folder on disk."""
    fd = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _created(path: Path) -> io.BufferedRandom:
    path.unlink(missing_ok=True)  # a dead process left it
    return io.BufferedRandom(io.FileIO(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o444), "w+"))


def _entry_head(kind: str, size: int) -> bytes:
    """The kind and the size of an object, as a pack says them: four bits of it first, then seven at a time."""
    head = bytearray()
    byte, size = _KINDS[kind] << 4 | size & 15, size >> 4
    while size:
        head.append(byte | 128)
        byte, size = size & 127, size >> 7
    head.append(byte)
    return bytes(head)


def _index(places: dict[bytes, tuple[int, int]], digest: bytes) -> bytes:
    """The index of a pack, version 2."""
    keys = sorted(places)
    fan, count = [0] * 256, len(keys)
    for key in keys:
        fan[key[0]] += 1
    for byte in range(1, 256):
        fan[byte] += fan[byte - 1]
    far = [at for key in keys if (at := places[key][1]) >= _FAR]
    number = iter(range(len(far)))
    near = [at if (at := places[key][1]) < _FAR else _FAR | next(number) for key in keys]
    body = b"".join(
        (
            _INDEX,
            struct.pack(">256I", *fan),
            *keys,
            struct.pack(f">{count}I", *(places[key][0] for key in keys)),
            struct.pack(f">{count}I", *near),
            struct.pack(f">{len(far)}Q", *far),
            digest,
        )
    )
    return body + hashlib.sha1(body, usedforsecurity=False).digest()


def _read_index(path: Path) -> dict[bytes, tuple[int, int]]:
    """What an index of a small pack says: by id, the checksum and the place."""
    data = path.read_bytes()
    (count,) = struct.unpack_from(">I", data, len(_INDEX) + 255 * 4)
    start = len(_INDEX) + 256 * 4
    crcs = struct.unpack_from(f">{count}I", data, start + 20 * count)
    offsets = struct.unpack_from(f">{count}I", data, start + 24 * count)
    keys = (data[start + 20 * at : start + 20 * at + 20] for at in range(count))
    return dict(zip(keys, zip(crcs, offsets, strict=True), strict=True))
