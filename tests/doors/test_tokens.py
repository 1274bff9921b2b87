from __future__ import annotations

import gzip
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.doors.gateway import tokens
from proctor.doors.gateway.tokens import CHUNK, count_tokens, encoding_for, method


@pytest.fixture
def forgetful() -> Iterator[None]:
    """No encoding is remembered from before the test or after it."""
    tokens._load.cache_clear()
    yield
    tokens._load.cache_clear()


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        (None, "o200k_base"),
        ("", "o200k_base"),
        ("claude-sonnet-4-5", "o200k_base"),
        ("gpt-5-codex", "o200k_base"),
        ("gpt-4o-mini", "o200k_base"),
        ("gpt-4.1", "o200k_base"),
        ("openai/gpt-4-turbo", "cl100k_base"),
        ("GPT-4", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
    ],
)
def test_a_model_without_a_public_encoding_takes_the_nearest(model: str | None, encoding: str) -> None:
    assert encoding_for(model) == encoding
    assert method(model) == encoding


def test_counts_are_those_of_the_encodings() -> None:
    assert count_tokens("hello world", "gpt-4") == 2
    assert count_tokens("antidisestablishmentarianism", "gpt-4") == 6
    assert count_tokens("", "gpt-4") == 0
    assert count_tokens(b"hello world") == count_tokens("hello world") == 2


def test_special_words_and_broken_text_are_only_text() -> None:
    assert count_tokens("<|endoftext|>") > 1
    assert count_tokens(b"\xff\xfe\x00ok") > 0
    assert count_tokens("lone \udcff surrogate") > 0


@given(st.text(max_size=300))
@settings(max_examples=50)
def test_any_text_has_a_count_between_nothing_and_its_bytes(text: str) -> None:
    size = len(text.encode())
    assert 0 <= count_tokens(text) <= size
    assert (count_tokens(text) == 0) == (size == 0)


@pytest.mark.parametrize("unit", ["a", " ", "\n", "é", "a1!", "\u0301", "=-"])
def test_a_megabyte_of_anything_is_counted_quickly(unit: str) -> None:
    begin = time.process_time()
    assert count_tokens(unit * (1_000_000 // len(unit.encode()))) > 0
    assert time.process_time() - begin < 5


def test_cutting_text_into_chunks_costs_at_most_a_token_a_cut() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 2_000
    encoding = tokens._encoding("o200k_base")
    assert encoding is not None
    whole = len(encoding.encode_ordinary(text))
    assert whole <= count_tokens(text) <= whole + len(text) // CHUNK + 1


@pytest.mark.usefixtures("forgetful")
def test_without_the_data_four_bytes_are_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_data_folder", lambda: tmp_path)
    assert method("gpt-5") == "bytes/4"
    assert count_tokens("123456789") == 3
    assert count_tokens("\udcff" * 4) == 1


@pytest.mark.usefixtures("forgetful")
@pytest.mark.parametrize(
    "content", [b"", b"no gzip", gzip.compress(b"YQ== 0\n", mtime=0), gzip.compress(b"x" * 99, mtime=0)[:-9]]
)
def test_data_that_tiktoken_does_not_expect_is_not_used(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "o200k_base.tiktoken.gz").write_bytes(content)
    monkeypatch.setattr(tokens, "_data_folder", lambda: tmp_path)
    assert method(None) == "bytes/4"


def test_nothing_is_loaded_before_the_first_count_and_nothing_is_downloaded_by_it() -> None:
    program = """
import sys
def refuse(event, _):
    if event.startswith("socket."):
        raise AssertionError(event)
sys.addaudithook(refuse)
from proctor.doors.gateway.tokens import count_tokens, method
assert "tiktoken" not in sys.modules
assert (count_tokens("hello world"), method(None), method("gpt-4")) == (2, "o200k_base", "cl100k_base")
assert "requests" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
