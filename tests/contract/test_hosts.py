from __future__ import annotations

import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.contract.hosts import Grant, authority, grant, granted, is_address

ODD_LOOPBACKS = [
    *("2130706433", "0x7f000001", "0x7f.1", "0x7f.0.0.1", "017700000001", "0177.0.0.1", "127.1", "127.0.1", "0", "0x"),
    *("127.0.0.01", "127.0.0.1.", "127.0.0.256", "127.0.0.0x1", "1.1", "..1", "foo.0x7f", "foo.1"),
    *("①②⑦.⓪.⓪.①", "１２７.0.0.1", "127。0。0。1", "١٢٧.0.0.1"),
]
TRICKS = [
    *("", ".", "..", ".a", "a..b", "a b", "a\tb", "a\nb", "a\r\nX: y", "a\0b", " a", "a ", "a/b", "a\\b", "a?b", "a#b"),
    *("a:", "a:0", "a:00443", "a:0443", "a:+443", "a:-1", "a:4_43", "a: 443", "a:443 ", "a:65536", "a:99999", "a:１"),
    *("a:443:443", "a:443@b", "user@a", "user:pass@a", "@a", "a%2eb", "%61", "a%00b", "fe80::1", "[::1", "::1]", "[]"),
    *("[fe80::1%eth0]", "[fe80::1%25eth0]", "[::ffff:127.0.0.1", "[::g]", "[1.2.3.4]", "[::1]x", "[[::1]]", "ex ample"),
    *(
        "bücher.example",
        "ｅxample.org",
        "exam\u200bple.org",
        "exam\xadple.org",
        "example。org",
        "-a",
        "a-",
        "a" * 64,
        "*",
    ),
    *("*.a", "a.*", "a,b", "a;b", "a|b", "$(a)", "`a`", "'a'", '"a"', ".".join(["a" * 60] * 5)),
]


@pytest.mark.parametrize("text", [*ODD_LOOPBACKS, *TRICKS])
def test_what_could_be_read_in_two_ways_is_no_host(text: str) -> None:
    for form in (text, f"{text}:443"):
        if form != "a:443":
            with pytest.raises(ValueError):
                authority(form)


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [
        ("example.org", "example.org", None),
        ("EXAMPLE.Org:443", "example.org", 443),
        ("example.org.", "example.org", None),
        ("example.org.:8080", "example.org", 8080),
        ("xn--bcher-kva.example", "xn--bcher-kva.example", None),
        ("_srv.a-b.example:1", "_srv.a-b.example", 1),
        ("localhost", "localhost", None),
        ("3com.example", "3com.example", None),
        ("93.184.216.34:65535", "93.184.216.34", 65535),
        ("[2606:4700:0:0::1111]:443", "2606:4700::1111", 443),
        ("[::FFFF:127.0.0.1]", "::ffff:7f00:1", None),
    ],
)
def test_a_host_has_one_form(text: str, host: str, port: int | None) -> None:
    assert authority(text) == (host, port)
    assert authority(f"[{host}]" if ":" in host else host)[0] == host


@given(st.text(max_size=30) | st.from_regex(r"[0-9a-fx.:\[\]]{1,20}", fullmatch=True))
def test_every_address_is_taken_for_the_one_that_the_system_takes_it_for(text: str) -> None:
    """Where the system's own reading of numbers finds an address, there is none here, or the very same."""
    try:
        host, _ = authority(text)
    except ValueError:
        return
    assert host == host.lower() == authority(f"[{host}]" if ":" in host else host)[0]
    if ":" not in host:
        try:
            known = socket.inet_ntoa(socket.inet_aton(host))
        except OSError:
            assert not is_address(host)
        else:
            assert known == host


@pytest.mark.parametrize(
    ("entry", "host", "port", "covered"),
    [
        ("example.org", "example.org", 443, True),
        ("example.org", "example.org", 80, True),
        ("example.org", "example.org", 22, False),
        ("example.org", "www.example.org", 443, False),
        ("example.org", "badexample.org", 443, False),
        ("example.org", "example.org.evil.example", 443, False),
        ("Example.ORG.:8443", "example.org", 8443, True),
        ("example.org:8443", "example.org", 443, False),
        ("*.example.org", "www.example.org", 443, True),
        ("*.example.org", "a.b.example.org", 80, True),
        ("*.example.org", "example.org", 443, False),
        ("*.example.org", "badexample.org", 443, False),
        ("*.example.org:8443", "a.example.org", 443, False),
        ("93.184.216.34", "93.184.216.34", 443, True),
        ("[2606:4700::1111]:443", "2606:4700::1111", 443, True),
    ],
)
def test_an_entry_covers_what_it_names(entry: str, host: str, port: int, covered: bool) -> None:
    assert grant(entry).covers(host, port) is covered
    assert granted([entry], host, port) is covered


@pytest.mark.parametrize(
    "text",
    ["*", "*.", "*.*", "*example.org", "a.*.org", "*.1.2.3.4", "*.[::1]", "http://a", "a/", "a:b", "a:*", "bücher.de"],
)
def test_an_entry_that_cannot_be_read_grants_nothing(text: str) -> None:
    with pytest.raises(ValueError):
        grant(text)
    for entries in (["example.org", text], [text, "example.org"]):
        with pytest.raises(ValueError):
            granted(entries, "example.org", 443)


def test_without_entries_nothing_is_granted() -> None:
    assert not granted([], "example.org", 443)
    assert Grant("example.org").covers("example.org", 443)
