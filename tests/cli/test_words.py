"""What the command line says to somebody who is nearly right: where the session is, how a verb is written, and which
amount or word was meant."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.cli.main import main
from proctor.supervisor import sessions
from tui.story import Story


@pytest.fixture
def story(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Story]:
    """A session that is up, and known to this machine."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    told = Story(tmp_path / "csv tool").running()
    sessions.remember(told.workspace)
    yield told
    told.close()


@pytest.mark.parametrize("verb", ["attach", "status"])
def test_in_a_folder_without_a_session_the_one_that_is_up_is_named(
    verb: str, story: Story, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "elsewhere").mkdir()
    assert main([verb, str(tmp_path / "elsewhere")]) == 2
    assert f"`proctor attach '{story.workspace}'`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "example"),
    [
        (["approve", "7"], "proctor approve --id 1"),
        (["extend", "tokens", "1M"], "proctor extend --dimension tokens --by 1M"),
    ],
)
def test_what_lacks_an_option_is_shown_how_it_is_written(
    words: list[str], example: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(words)
    assert f"as in `{example}`" in capsys.readouterr().err


def test_a_ceiling_is_not_raised_by_what_was_mistyped(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    before = story.state.raised
    assert main(["extend", str(story.workspace), "--dimension", "tokens", "--by", "9999999999999"]) == 2
    assert "at most 200M at once" in capsys.readouterr().err
    assert story.state.raised == before


def test_a_note_has_something_in_it(story: Story, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (["", " "], "there is nothing in it"),
        ([str(story.workspace), ""], "there is nothing in it"),
        ([str(story.workspace)], "no word follows"),
    ):
        assert main(["note", *words]) == 2
        assert said in capsys.readouterr().err
