"""What a check asks for beside an exit code, as it is written in the contract and in the task list.

Each reader takes what stands under a key and gives the fact, or raises `Wrong` with the key inside it that is
wrong. Values of the contract are text, whatever they look like (`loose`); those of the task list have types.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec

from proctor import jsonpath
from proctor.contract.values import TIMEOUT, argv, program, relative_path
from proctor.contract.wrong import Wrong, of_type, only, wrong_at
from proctor.journal.events import CheckFact
from proctor.journal.events.checks import Artifact, Expect, Page, Schema

HOSTS = ("127.0.0.1", "localhost", "::1")
_MOST = 1000
"""Characters of a regular expression."""
_Rule = TypeVar("_Rule", Expect, Artifact, Schema, Page)


def expect(value: object, loose: bool = False) -> str | Expect | None:
    """What the output has to be; a text is one that it holds."""
    if isinstance(value, str) and not value.strip():
        raise ValueError("should not be empty")
    if value is None or isinstance(value, str):
        return value.strip() if value and loose else value
    keys = _keys(value, Expect)
    if "equals" in keys:
        keys["equals"] = _as_json(keys["equals"], loose)
    rule = _read(keys, Expect, loose)
    if not any((rule.text, rule.regex, rule.json, rule.golden)):
        raise ValueError("asks for nothing; name one of text, regex, json, golden")
    if rule.json:
        told("json", jsonpath.parse, rule.json)
    elif rule.equals or rule.matches:
        raise Wrong(("equals" if rule.equals else "matches",), "is for what stands at a `json` path; name that")
    if rule.equals and rule.matches:
        raise Wrong(("matches",), "beside equals it says nothing; leave one out")
    return rule


def artifact(value: object, loose: bool = False) -> Artifact | None:
    """A file that has to be there; a text is its path."""
    if value is None:
        return None
    rule = _read({"path": value} if isinstance(value, str) else _keys(value, Artifact), Artifact, loose)
    for key in ("equals", "differs"):
        if getattr(rule, key) == rule.path:
            raise Wrong((key,), "is the artifact itself, and would be laid back over it; name another file")
    return rule


def schema(value: object, loose: bool = False) -> Schema | None:
    """JSON that a schema describes."""
    if value is None:
        return None
    rule = _read(_keys(value, Schema), Schema, loose)
    if bool(rule.file) == rule.output:
        raise ValueError("says of what: name one of `file: PATH` and `output: true`")
    if rule.file == rule.schema:
        raise Wrong(("file",), "is the schema itself; name the file that it describes")
    return rule


def page(value: object, loose: bool = False) -> Page | None:
    """A page that a server has to give, named by `url` or by `port` and `path`."""
    if value is None:
        return None
    keys = _keys(value, Page, ("port", "path"))
    try:
        keys["within"] = TIMEOUT.read(keys.get("within", "30s")) / 1000
    except ValueError as error:
        raise Wrong(("within",), error) from error
    keys["url"] = _url(keys.pop("url", None), keys.pop("port", None), keys.pop("path", None))
    told("run", argv, keys.get("run"))
    rule = _read(keys, Page, loose)
    told("run", program, rule.run)
    if not 100 <= rule.status <= 599:
        raise Wrong(("status",), "is not one that a server gives, such as 200")
    if rule.browser:
        told("browser", program, (rule.browser,))
        if not (rule.text or rule.matches):
            raise Wrong(("browser",), "looks for nothing without `text` or `matches`; name one")
    return rule


def told(key: str, read: Any, text: Any) -> Any:
    """What a reader makes of the value of a key. Wrong, with that key, where it cannot."""
    try:
        return read(text)
    except ValueError as error:
        raise wrong_at((key,), error) from error


def together(check: CheckFact) -> None:
    """Wrong where the parts of a check do not go together."""
    if not (check.run or check.artifact or check.page or (check.schema and check.schema.file)):
        raise Wrong(("run",), "missing: the command, as a list of words such as [pytest, -q]; or an artifact, a page")
    if not check.run and (check.expect or (check.schema and check.schema.output)):
        place = ("expect",) if check.expect else ("schema", "output")
        raise Wrong(place, "there is no output without run; name the command that writes it")
    if check.page and check.page.within > check.timeout:
        raise Wrong(("page", "within"), f"is more than the check's timeout ({check.timeout:g} s)")


ALONE: Mapping[tuple[str | int, ...], str] = {
    ("progress", "smoke"): "the smoke check",
    ("termination", "final"): "the final check",
}
"""Checks that stand for themselves, by their place."""


def is_on(value: object) -> bool:
    """Whether a switch is on, as it is written."""
    return str(value).strip().lower() in ("1", "on", "t", "true", "y", "yes")


def idle(given: Mapping[str, object], alone: str = "") -> Iterator[tuple[str, str]]:
    """The keys of a check that are set and mean nothing where they stand, each with why; `alone` names a check that
    stands for itself."""
    if alone:
        for key, why in (("optional", "always decides"), ("allow_vacuous", "is not run before the work")):
            if is_on(given.get(key)):
                yield key, f"means nothing here, for {alone} {why}; leave it out"
    elif is_on(given.get("optional")):
        if is_on(given.get("allow_vacuous")):
            yield "allow_vacuous", "means nothing beside `optional`, for such a check decides nothing; leave it out"
        if given.get("repeat") is not None:
            yield "repeat", "means nothing beside `optional`, for such a check is never run again; leave it out"


def _keys(value: object, kind: type[msgspec.Struct], more: tuple[str, ...] = ()) -> dict[str, Any]:
    """The keys that are given, of those that there are."""
    known = (*kind.__struct_fields__, *more)
    if not isinstance(value, dict):
        raise ValueError(f"should hold keys of its own: {', '.join(known)}")
    only(value, known)
    return {key: item for key, item in value.items() if item is not None or key == "equals"}


def _read(keys: dict[str, Any], kind: type[_Rule], loose: bool) -> _Rule:
    try:
        rule = msgspec.convert(keys, kind, strict=not loose)
    except msgspec.ValidationError as error:
        raise of_type(error) from error
    for key in kind.__struct_fields__:
        text = getattr(rule, key)
        if text == "" and key in keys:
            raise Wrong((key,), "should not be empty")
        if key in ("regex", "matches") and text:
            told(key, _regex, text)
    for key in ("path", "equals", "differs", "golden", "schema", "file"):
        if not (isinstance(rule, Expect) and key == "equals") and (path := getattr(rule, key, "")):
            rule = msgspec.structs.replace(rule, **{key: told(key, relative_path, path)})
    return rule


def _regex(text: str) -> None:
    if len(text) > _MOST:
        raise ValueError(f"is longer than {_MOST} characters")
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"is no regular expression: {error}") from error


def _as_json(value: object, loose: bool) -> str:
    """A value as JSON; a text of the contract that is JSON already means that, any other is itself."""
    if loose and isinstance(value, str):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    return json.dumps(value, sort_keys=True)


def _url(url: object, port: object, path: object) -> str:
    """The page's address, spelt out. Wrong where it is none inside a sandbox."""
    if (url is None) == (port is None):
        raise ValueError("says where: name one of `url: http://127.0.0.1:PORT/…` and `port: PORT`")
    if url is None:
        if not (isinstance(port, int) or (isinstance(port, str) and port.isdecimal())) or not 0 < int(port) < 1 << 16:
            raise Wrong(("port",), "must be a number from 1 to 65535")
        url = f"http://127.0.0.1:{int(port)}{'/' if path is None else path}"
        if path is not None and not str(path).startswith("/"):
            raise Wrong(("path",), "must begin with a slash")
    elif path is not None:
        raise Wrong(("path",), "goes with `port`; with `url` it is a part of that")
    try:
        parts = urlsplit(str(url))
        fits = parts.scheme == "http" and parts.hostname in HOSTS and parts.username is None and parts.port != 0
    except ValueError:
        fits = False
    if not fits or not str(url).isascii() or not str(url).isprintable() or " " in str(url):
        raise Wrong(("url",), "must be http://127.0.0.1:PORT/…, for a sandbox has no network but its own loopback")
    return str(url)
