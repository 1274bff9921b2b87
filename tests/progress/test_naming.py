"""What a plan names: paths anywhere, symbols and commands in backticks."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from proctor.progress.naming import Names, lines_that_take_leave, names


def test_paths_symbols_and_commands_are_found_each_for_what_it_is() -> None:
    found = names(
        "Read src/csv/reader.py and `docs/`; keep `Parser.read_row()` and `MAX_ROWS`. "
        "Run `make docs`, `npm run build -- --fast`, `python -m tools.gen --all` and `./bin/go src/a.go`. "
        "See https://example.com/a/b.html, version 1.2.3, e.g. this; mail a@b.org."
    )
    assert found.symbols == {"Parser.read_row", "MAX_ROWS"}
    assert found.targets == {"docs"}
    assert found.scripts == {"build"}
    assert {"src/csv/reader.py", "docs", "tools/gen.py", "bin/go", "src/a.go"} <= found.paths
    assert not any("example.com" in path for path in found.paths)


def test_what_is_to_be_removed_or_renamed_is_told_from_the_rest() -> None:
    text = "Use `old.py`.\nRename `a.py` to `b.py`.\nDelete c.py\nThe parser moves fast in d.py"
    assert names(lines_that_take_leave([text])).paths == {"a.py", "b.py", "c.py", "d.py"}


@given(st.text(max_size=300))
def test_any_text_at_all_gives_names_without_a_fault(text: str) -> None:
    assert isinstance(names(text + "`" + text + "`"), Names)


def test_a_huge_text_costs_little() -> None:
    began = time.process_time()
    for hostile in ("a" * 10**6, "a/" * 500_000, "`" * 10**6, "`a " * 300_000, "a.b" * 300_000, "(" * 10**6):
        names(hostile)
    assert time.process_time() - began < 5
